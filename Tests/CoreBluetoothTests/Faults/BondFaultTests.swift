import BluetoothSimulation
import CoreBluetooth
import Testing

@Suite("Faults of bonds, as an app sees them")
struct BondFaultTests {
    private let scene = LockWorld()
    /// FFE1 is read and notified to bonded devices only.
    private let secret = CBMutableCharacteristic(
        type: CBUUID(string: "FFE1"), properties: [.read, .notifyEncryptionRequired], value: nil,
        permissions: .readEncryptionRequired)

    init() throws {
        let service = CBMutableService(type: CBUUID(string: "FFE0"), primary: true)
        service.characteristics = [secret]
        scene.lockApp.manager.add(service)
        try #require(scene.wait { $0.lockApp.log.contains("didAdd FFE0") })
        scene.lockApp.onRead = { app, request in
            request.value = Data([0x5E])
            app.manager.respond(to: request, withResult: .success)
        }
    }

    private func connect() throws {
        if scene.app.peripherals.isEmpty { try scene.find() }
        scene.app.manager.connect(scene.app.peripheral)
        #expect(scene.wait { $0.app.log.contains { $0.hasPrefix("didConnect") || $0.hasPrefix("didFail") } })
        guard scene.app.peripheral.state == .connected else { return }
        scene.app.peripheral.discoverServices([CBUUID(string: "FFE0")])
        #expect(scene.wait { $0.app.peripheral.services != nil || $0.app.peripheral.state == .disconnected })
        guard let service = scene.app.peripheral.services?.first else { return }
        scene.app.peripheral.discoverCharacteristics(nil, for: service)
        #expect(scene.wait { _ in service.characteristics != nil || scene.app.peripheral.state == .disconnected })
        guard scene.app.peripheral.state == .connected else { return }
        _ = scene.app.take()
    }

    private func read() -> [String] {
        scene.app.peripheral.readValue(for: scene.app.characteristic("FFE1"))
        #expect(scene.wait(for: .seconds(60)) { !$0.app.log.isEmpty })
        return scene.app.take()
    }

    private func disconnect() {
        scene.app.manager.cancelPeripheralConnection(scene.app.peripheral)
        scene.waitForLog("didDisconnect disconnected")
        _ = scene.app.take()
    }

    private func pair() throws {
        try connect()
        #expect(read() == ["didUpdateValue FFE1 5e"])
    }

    @Test("forgotBond: the link ends, and the error says that the peer has removed the pairing, B-K3")
    func forgot() throws {
        try pair()
        disconnect()
        scene.lock.addFault(.forgotBond)
        try connect()
        #expect(scene.wait { $0.app.peripheral.state == .disconnected })
        // CBError 14: peer removed pairing information.
        #expect(scene.app.log.contains { $0.hasSuffix("CBError 14") }, "\(scene.app.log)")
    }

    @Test("wrongKey: the link ends at its first encrypted packet, at each try")
    func wrongKey() throws {
        try pair()
        disconnect()
        scene.lock.addFault(.wrongKey)
        try connect()
        #expect(scene.wait(for: .seconds(40)) { $0.app.peripheral.state == .disconnected })
        #expect(scene.app.log.contains { $0.contains("CBError") }, "\(scene.app.log)")
        #expect(!scene.app.log.contains { $0.hasPrefix("didUpdateValue FFE1 5e") })
    }

    @Test("subscriptionsLostAtReboot: a bonded phone that relies on its subscription hears nothing any more")
    func lost() throws {
        func subscribersAfterReconnecting(_ isFaulty: Bool) throws -> Int {
            let tests = try BondFaultTests()
            try tests.pair()
            tests.scene.app.peripheral.setNotifyValue(true, for: tests.scene.app.characteristic("FFE1"))
            tests.scene.waitForLog("didUpdateNotificationState FFE1 true")
            if isFaulty { tests.scene.lock.addFault(.subscriptionsLostAtReboot) }
            tests.disconnect()
            tests.scene.world.run(for: .seconds(1))
            try tests.connect()
            _ = tests.read()
            return tests.secret.subscribedCentrals?.count ?? 0
        }
        #expect(try subscribersAfterReconnecting(false) == 1)
        #expect(try subscribersAfterReconnecting(true) == 0)
    }

    @Test("refusesPairing: what needs a bond fails at once")
    func refuses() throws {
        scene.lock.addFault(.refusesPairing)
        try connect()
        let start = scene.world.now
        // CBATTError 5 and 15: insufficient authentication, insufficient encryption.
        let log = read()
        #expect(
            log == ["didUpdateValue FFE1 - CBATTError 15"] || log == ["didUpdateValue FFE1 - CBATTError 5"], "\(log)")
        #expect(scene.world.now - start < .seconds(2))
    }

    @Test("ignoresPairing: what needs a bond fails after 30 s")
    func ignores() throws {
        scene.lock.addFault(.ignoresPairing)
        try connect()
        let start = scene.world.now
        let log = read()
        #expect(log.count == 1 && log[0].hasPrefix("didUpdateValue FFE1 - CB"), "\(log)")
        // Core 6.0, Vol 3, Part H, 3.4.
        #expect(scene.world.now - start > .seconds(29))
    }
}
