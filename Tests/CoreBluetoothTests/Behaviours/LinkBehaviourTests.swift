import BluetoothSimulation
import CoreBluetooth
import HostInterface
import Testing

/// Section D of the observed behaviour: connections.
@Suite("Behaviour: links")
struct LinkBehaviourTests {
    @Test("B-D4: disconnecting, then disconnected, then the call, without an error")
    func cancel() throws {
        let scene = LockWorld()
        try scene.connectAndDiscover()
        var stateInCall: CBPeripheralState?
        scene.app.reactions["didDisconnect"] = { _, peripheral in stateInCall = peripheral.state }
        scene.app.manager.cancelPeripheralConnection(scene.app.peripheral)
        #expect(scene.app.peripheral.state == .disconnecting && scene.app.log.isEmpty)
        scene.waitForLog("didDisconnect disconnected")
        #expect(stateInCall == .disconnected && scene.app.errors.isEmpty)
    }

    @Test("B-D6: the peer's app goes: peripheralDisconnected")
    func peerEnds() throws {
        let scene = LockWorld()
        try scene.connectAndDiscover()
        scene.lock.setBluetooth(on: false)
        scene.waitForLog("didDisconnect disconnected CBError 7")
        #expect(scene.app.errors.last?.localizedDescription == "The specified device has disconnected from us.")
    }

    @Test("B-D7: what is outstanding when the link is lost is never answered")
    func outstanding() throws {
        let scene = LockWorld()
        try scene.connectAndDiscover()
        scene.lockApp.onRead = { _, _ in }
        let peripheral = scene.app.peripheral
        scene.lock.position = .init(x: 10_000)
        peripheral.discoverServices(nil)
        peripheral.readValue(for: scene.app.characteristic("FFF1"))
        peripheral.writeValue(Data([1]), for: scene.app.characteristic("FFF1"), type: .withResponse)
        peripheral.setNotifyValue(true, for: scene.app.characteristic("FFF1"))
        peripheral.readRSSI()
        scene.waitForLog("didDisconnect disconnected CBError 6")
        let told = scene.app.take()
        scene.world.run(for: .seconds(60))
        #expect(told.filter { !$0.hasPrefix("didReadRSSI") } == ["didDisconnect disconnected CBError 6"])
        #expect(scene.app.log.isEmpty)
    }

    @Test("B-D8: after a disconnection services are nil, old objects are void, and new ones come with the discovery")
    func voidServices() throws {
        let scene = LockWorld()
        try scene.connectAndDiscover()
        let old = scene.app.characteristic("FFF1")
        scene.app.peripheral.setNotifyValue(true, for: old)
        scene.waitForLog("didUpdateNotificationState FFF1 true")
        scene.app.manager.cancelPeripheralConnection(scene.app.peripheral)
        scene.waitForLog("didDisconnect disconnected")
        #expect(scene.app.peripheral.services == nil && !old.isNotifying)
        scene.app.manager.connect(scene.app.peripheral)
        #expect(scene.wait { $0.app.peripheral.state == .connected })
        try scene.discover()
        let new = scene.app.characteristic("FFF1")
        #expect(new !== old && !new.isNotifying)
        scene.app.peripheral.readValue(for: old)
        scene.waitForLog("didUpdateValue FFF1 - CBError 2")
    }

    @Test("B-D9, B-D10: the old form if it is there, else the new one, with the time and whether it reconnects")
    func forms() throws {
        let scene = LockWorld()
        try scene.find()
        func lose(_ delegate: any CBCentralManagerDelegate, reconnects: Bool = false) {
            scene.app.manager.delegate = scene.app
            scene.app.manager.connect(
                scene.app.peripheral, options: [CBConnectPeripheralOptionEnableAutoReconnect: reconnects])
            #expect(scene.wait { $0.app.peripheral.state == .connected })
            scene.app.manager.delegate = delegate
            scene.lock.position = .init(x: 10_000)
            #expect(scene.wait { $0.app.peripheral.state != .connected })
            scene.lock.position = .init(x: 2)
        }
        let (old, new, both, reconnecting) = (Old(), New(), Both(), New())
        lose(old)
        lose(both)
        lose(new)
        lose(reconnecting, reconnects: true)
        #expect(old.log == ["old"] && both.log == ["old"])
        #expect(new.log == ["new false disconnected CBError 6"])
        #expect(reconnecting.log == ["new true connecting CBError 6"])
        // Worlds begin on 2026-01-01; CFAbsoluteTime counts seconds from 2001-01-01.
        let age = try #require(reconnecting.times.first) - 788_918_400
        #expect((0...scene.world.now / .seconds(1)).contains(age))
        #expect(scene.wait { $0.app.peripheral.state == .connected }, "a later didConnect follows")
        scene.app.manager.delegate = scene.app
        scene.app.manager.cancelPeripheralConnection(scene.app.peripheral)
        scene.waitForLog("didDisconnect disconnected")
        scene.world.run(for: .seconds(10))
        #expect(scene.app.peripheral.state == .disconnected, "cancelling ends it")
    }

    @Test("B-D11: a peer that has lost its bond")
    func lostBond() {
        let host = ScriptedHost()
        let app = host.launch { CentralApp() }
        host.powerOn()
        app.manager.scanForPeripherals(withServices: nil)
        host.answer(.done)
        host.tell(discovery())
        app.manager.connect(app.peripheral)
        // PIN or Key Missing: Core 6.0, Vol 1, Part F, 2.6.
        host.answer(.failure(.disconnected(reason: 0x06)))
        #expect(app.log.last == "didFailToConnect disconnected CBError 14")
        app.manager.connect(app.peripheral)
        host.answer(.connected(mtu: 23))
        host.tell(.disconnected(lockAddress, .disconnected(reason: 0x06)))
        #expect(app.log.last == "didDisconnect disconnected CBError 14")
        #expect(app.errors.last?.localizedDescription == "Peer removed pairing information")
    }

    @Test("B-D13: events of what anyone connects; four services at most; nil ends it")
    func connectionEvents() throws {
        let scene = LockWorld()
        let watcher = scene.phone.run { CentralApp() }
        #expect(scene.wait { _ in watcher.manager.state == .poweredOn })
        try scene.find()
        let identifier = scene.app.peripheral.identifier
        watcher.manager.registerForConnectionEvents(options: [.peripheralUUIDs: [identifier]])
        watcher.reactions["connectionEvent"] = { _, peripheral in
            #expect(peripheral.identifier == identifier && peripheral.state == .disconnected)
        }
        _ = watcher.take()
        scene.app.manager.connect(scene.app.peripheral)
        scene.waitForLog("didConnect connected")
        scene.app.manager.cancelPeripheralConnection(scene.app.peripheral)
        scene.waitForLog("didDisconnect disconnected")
        #expect(watcher.take() == ["connectionEvent peerConnected", "connectionEvent peerDisconnected"])
        watcher.manager.registerForConnectionEvents(
            options: [.serviceUUIDs: (0..<5).map { CBUUID(string: "FFE\($0)") }])
        #expect(scene.world.reports.last?.text.contains("at most 4 services") == true)
        watcher.manager.registerForConnectionEvents(options: nil)
        scene.app.manager.connect(scene.app.peripheral)
        #expect(scene.wait { $0.app.peripheral.state == .connected })
        #expect(watcher.take().isEmpty)
    }
}

/// Delegates with the old form of `didDisconnectPeripheral`, with the new one, with both.
private class Delegate: NSObject {
    var log: [String] = []
    var times: [Double] = []
}
private final class Old: Delegate, CBCentralManagerDelegate {
    func centralManagerDidUpdateState(_ central: CBCentralManager) {}
    func centralManager(
        _ central: CBCentralManager, didDisconnectPeripheral peripheral: CBPeripheral, error: (any Error)?
    ) { log.append("old") }
}
private final class New: Delegate, CBCentralManagerDelegate {
    func centralManagerDidUpdateState(_ central: CBCentralManager) {}
    func centralManager(
        _ central: CBCentralManager, didDisconnectPeripheral peripheral: CBPeripheral,
        timestamp: CFAbsoluteTime, isReconnecting: Bool, error: (any Error)?
    ) {
        log.append("new \(isReconnecting) \(peripheral.state) \(error.map(shortDescription) ?? "-")")
        times.append(timestamp)
    }
}
private final class Both: Delegate, CBCentralManagerDelegate {
    func centralManagerDidUpdateState(_ central: CBCentralManager) {}
    func centralManager(
        _ central: CBCentralManager, didDisconnectPeripheral peripheral: CBPeripheral, error: (any Error)?
    ) { log.append("old") }
    func centralManager(
        _ central: CBCentralManager, didDisconnectPeripheral peripheral: CBPeripheral,
        timestamp: CFAbsoluteTime, isReconnecting: Bool, error: (any Error)?
    ) { log.append("new") }
}
