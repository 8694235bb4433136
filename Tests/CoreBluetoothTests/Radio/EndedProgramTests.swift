import BluetoothSimulation
import CoreBluetooth
import Testing

/// What must not be said of programs that have done nothing wrong, and what is left when one is gone.
@Suite("Over the air: programs that have ended")
struct EndedProgramTests {
    private func reports(_ scene: LockWorld, after body: () -> Void) -> [String] {
        let before = scene.world.reports.count
        body()
        scene.world.run(for: .seconds(40))
        return scene.world.reports.dropFirst(before).map(\.text)
    }

    @Test("C11: of a program that its system has ended, or that lost its power, nothing is reported any more")
    func endedByTheSystem() throws {
        for isBattery in [false, true] {
            let scene = LockWorld()
            try scene.connectAndDiscover()
            scene.app.manager.scanForPeripherals(withServices: nil)
            if isBattery { scene.phone.removeBattery() } else { scene.phone.endApp() }
            scene.world.run(for: .seconds(1))
            let said = reports(scene) {
                scene.app.peripheral.readRSSI()
                scene.app.peripherals = []
                scene.app.dropManager()
            }
            #expect(said.isEmpty)
        }
    }

    @Test("C11: the next program on the device is looked at again")
    func nextProgram() throws {
        let scene = LockWorld()
        scene.phone.endApp()
        let next = scene.phone.run { CentralApp() }
        next.manager.scanForPeripherals(withServices: nil)
        #expect(scene.world.reports.last?.text.contains("powered on state") == true)
    }

    @Test("A question that ended with the radio need not be answered, in whatever state the radio is")
    func questionsOfAnEarlierPowerOn() throws {
        for comesBack in [false, true] {
            let scene = LockWorld()
            try scene.connectAndDiscover()
            var kept: [CBATTRequest] = []
            scene.lockApp.onRead = { _, request in kept.append(request) }
            scene.app.peripheral.readValue(for: scene.app.characteristic("FFF1"))
            #expect(scene.wait { $0.lockApp.log.contains("didReceiveRead FFF1 0") })
            scene.lock.setBluetooth(on: false)
            scene.world.run(for: .seconds(1))
            if comesBack { scene.lock.setBluetooth(on: true) }
            scene.world.run(for: .seconds(1))
            let said = reports(scene) { kept = [] }
            #expect(said.isEmpty)
        }
    }

    @Test("A manager that goes takes its links: its peripherals are disconnected, without a callback")
    func peripheralsOfNoManager() throws {
        let scene = LockWorld()
        try scene.connectAndDiscover()
        scene.app.dropManager()
        #expect(scene.app.peripheral.state == .disconnected && scene.app.peripheral.services == nil)
        scene.world.run(for: .seconds(5))
        #expect(scene.app.take().isEmpty)
    }
}
