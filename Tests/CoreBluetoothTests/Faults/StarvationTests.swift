import BluetoothSimulation
import CoreBluetooth
import Testing

@Suite("Peers that take the radio's time")
struct StarvationTests {
    /// A phone that scans, and never stops, finds a strap and peers that say that they can be connected to and take no
    /// connection, and asks for all of them. How long the strap's connection takes.
    private func wait(seed: UInt64, ignoring: Int, scans: Bool) throws -> Duration {
        let world = BluetoothWorld(seed: seed)
        for number in 0..<ignoring {
            world.addDevice(.smartLock, "Deaf \(number)", at: .init(x: 1 + Double(number) / 10))
                .addFault(.ignoresConnections)
        }
        world.addDevice(.heartRateStrap, "Strap", at: .init(x: 2))
        let app = world.addDevice("Phone").run { CentralApp() }
        world.run(until: { app.manager.state == .poweredOn }, within: .seconds(1))
        let options = [CBCentralManagerScanOptionAllowDuplicatesKey: true]
        app.manager.scanForPeripherals(withServices: nil, options: options)
        var found: Set<String> = []
        app.reactions["didDiscover"] = { _, peripheral in found.insert(peripheral.name ?? "") }
        let names = Set((0..<ignoring).map { "Deaf \($0)" } + ["Strap"])
        world.run(until: { names.isSubset(of: found) }, within: .seconds(10))
        #expect(names.isSubset(of: found), "\(found)")
        if !scans { app.manager.stopScan() }
        let begin = world.now
        var asked: Set<ObjectIdentifier> = []
        for peripheral in app.peripherals where asked.insert(ObjectIdentifier(peripheral)).inserted {
            app.manager.connect(peripheral)
        }
        world.run(until: { app.log.contains("didConnect connected") }, within: .seconds(60))
        #expect(app.log.contains("didConnect connected"))
        return world.now - begin
    }

    @Test(
        "Peers that ignore connections do not keep a phone from those that take them, whether it scans or not",
        arguments: [1, 3, 8], [true, false])
    func ignoring(count: Int, scans: Bool) throws {
        var waits: [Duration] = []
        for seed in 1...8 as ClosedRange<UInt64> {
            waits.append(try wait(seed: seed, ignoring: count, scans: scans))
        }
        #expect(waits.allSatisfy { $0 < .seconds(5) }, "\(waits)")
    }
}
