import BluetoothToolkit
import Foundation
import Testing

/// Whatever waits may be cancelled, after each step of its life: it returns in the same instant, the radio's work
/// ends too, and the next call works. A step is what happens at one deadline of the world, or one piece of work of a
/// program.
///
/// Of what takes several hundred steps every thirteenth one is tried, and all of them by
/// `EVERY_STEP=1 ./test --filter EveryStepTests`.
@Suite("Cancelled after every step")
struct EveryStepTests {
    @Test("A call of a central", arguments: CentralLife.all)
    func central(_ life: CentralLife) throws {
        // Of three things at least: when it begins, on its way, and when the answer is there.
        #expect(try life.make().cancelAfterEachStep() > 2)
    }

    @Test("A call of a peripheral, and waiting for the radio", arguments: FlowLife.peripherals)
    func peripheral(_ life: FlowLife) throws { #expect(try life.make().cancelAfterEachStep() > 2) }

    @Test("Transfers, servers, stability tests, supervisors and channels", arguments: FlowLife.flows)
    func flows(_ life: FlowLife) throws { #expect(try life.make().cancelAfterEachStep() > 50) }
}
