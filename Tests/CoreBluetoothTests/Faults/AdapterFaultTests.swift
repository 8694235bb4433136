import BluetoothSimulation
import BluetoothSimulationTesting
import CoreBluetooth
import Testing

@Suite("Faults of adapters, as an app sees them", .recordsFailures)
struct AdapterFaultTests {
    private let scene = LockWorld()

    @Test("disconnectEventSwallowed: the app believes in a link that is gone, until an operation has no answer")
    func swallowed() throws {
        try scene.connectAndDiscover()
        scene.phone.addFault(.disconnectEventSwallowed)
        scene.lock.removeBattery()
        scene.world.run(for: .seconds(30))
        #expect(scene.app.peripheral.state == .connected && scene.app.log.isEmpty)
        scene.app.peripheral.readValue(for: scene.app.characteristic("FFF4"))
        #expect(scene.wait(for: .seconds(31)) { !$0.app.log.isEmpty })
        #expect(scene.app.log[0].hasPrefix("didUpdateValue FFF4 - CB"), "\(scene.app.log)")
    }

    @Test("hangsAfterReset: switched off and on again, the radio never comes back")
    func hangsAfterReset() {
        scene.phone.addFault(.hangsAfterReset)
        scene.phone.setBluetooth(on: false)
        scene.waitForLog("state poweredOff")
        scene.phone.setBluetooth(on: true)
        scene.waitForLog("state unsupported", within: .seconds(30))
        scene.phone.removeFault(.hangsAfterReset)
        #expect(scene.wait { $0.app.manager.state == .poweredOn })
    }

    @Test("controllerHangs: the next command has no answer, and the state says so")
    func hangs() {
        scene.phone.addFault(.controllerHangs)
        scene.app.manager.scanForPeripherals(withServices: nil)
        scene.waitForLog("state resetting", within: .seconds(30))
        scene.waitForLog("state unsupported")
        #expect(scene.app.peripherals.isEmpty)
        scene.phone.removeFault(.controllerHangs)
        #expect(scene.wait { $0.app.manager.state == .poweredOn })
    }

    @Test("controllerResets: resetting and back; links are gone without a callback, B-B4")
    func resets() throws {
        try scene.connectAndDiscover()
        scene.phone.addFault(.controllerResets)
        scene.waitForLog("state poweredOn")
        #expect(scene.app.log == ["state resetting", "state poweredOn"])
        #expect(scene.app.peripheral.state == .disconnected)
    }

    @Test("twoEventsInOneRead: nothing is lost")
    func twoAtOnce() throws {
        scene.phone.addFault(.twoEventsInOneRead)
        scene.lock.addFault(.twoEventsInOneRead)
        try scene.connectAndDiscover()
        scene.app.peripheral.setNotifyValue(true, for: scene.app.characteristic("FFF1"))
        scene.waitForLog("didUpdateNotificationState FFF1 true")
        _ = scene.app.take()
        for octet in UInt8(0)..<20 {
            scene.lockApp.manager.updateValue(Data([octet]), for: scene.value, onSubscribedCentrals: nil)
        }
        #expect(scene.wait { $0.app.log.count == 20 })
        scene.app.peripheral.writeValue(
            Data(repeating: 7, count: 400), for: scene.app.characteristic("FFF1"), type: .withResponse)
        scene.waitForLog("didWriteValue FFF1")
    }

    @Test("adapterUnplugged: unsupported; put in again, powered on")
    func unplugged() throws {
        try scene.connectAndDiscover()
        scene.phone.addFault(.adapterUnplugged)
        scene.waitForLog("state unsupported")
        #expect(scene.app.peripheral.state == .disconnected)
        scene.phone.removeFault(.adapterUnplugged)
        #expect(scene.wait { $0.app.manager.state == .poweredOn })
        // The objects of before are invalid, as below "powered off" (B-B5).
        scene.app.peripherals = []
        scene.app.manager.scanForPeripherals(withServices: nil)
        #expect(scene.wait { !$0.app.peripherals.isEmpty })
        scene.app.manager.connect(scene.app.peripheral)
        scene.waitForLog("didConnect connected")
    }

    @Test("scanIsSilent: a scan without an error and without a result")
    func silent() {
        scene.phone.addFault(.scanIsSilent)
        scene.app.manager.scanForPeripherals(withServices: nil)
        scene.world.run(for: .seconds(30))
        #expect(scene.app.manager.isScanning && scene.app.peripherals.isEmpty)
        scene.phone.removeFault(.scanIsSilent)
        #expect(scene.wait { !$0.app.peripherals.isEmpty })
    }

    @Test("scanRefused: nothing is found either, for another reason")
    func refused() {
        scene.phone.addFault(.scanRefused)
        scene.app.manager.scanForPeripherals(withServices: nil)
        scene.world.run(for: .seconds(30))
        #expect(scene.app.peripherals.isEmpty)
        scene.phone.removeFault(.scanRefused)
        scene.app.manager.stopScan()
        scene.app.manager.scanForPeripherals(withServices: nil)
        #expect(scene.wait { !$0.app.peripherals.isEmpty })
    }

    @Test("noRSSI: 127, and not a signal of 127 dBm")
    func noRSSI() throws {
        scene.phone.addFault(.noRSSI)
        scene.app.manager.scanForPeripherals(withServices: nil)
        #expect(scene.wait { $0.app.log.contains("didDiscover KL940704079 127") })
        scene.app.manager.stopScan()
        scene.app.manager.connect(scene.app.peripheral)
        scene.waitForLog("didConnect connected")
        scene.app.peripheral.readRSSI()
        scene.waitForLog("didReadRSSI 127")
    }
}
