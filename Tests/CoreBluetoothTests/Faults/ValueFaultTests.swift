import BluetoothSimulation
import CoreBluetooth
import Testing

@Suite("Faults of values and channels, as an app sees them")
struct ValueFaultTests {
    private let scene = LockWorld()

    private func subscribe() throws {
        try scene.connectAndDiscover()
        scene.app.peripheral.setNotifyValue(true, for: scene.app.characteristic("FFF1"))
        scene.waitForLog("didUpdateNotificationState FFF1 true")
        _ = scene.app.take()
    }

    private func notify(_ octet: UInt8) {
        scene.lockApp.manager.updateValue(Data([octet]), for: scene.value, onSubscribedCentrals: nil)
        scene.world.run(for: .milliseconds(200))
    }

    @Test("notificationsVanish: subscribed, and silent")
    func vanish() throws {
        try subscribe()
        scene.lock.addFault(.notificationsVanish)
        for octet in 1...3 { notify(UInt8(octet)) }
        #expect(scene.app.log.isEmpty && scene.app.characteristic("FFF1").isNotifying)
        scene.lock.removeFault(.notificationsVanish)
        notify(4)
        #expect(scene.app.log == ["didUpdateValue FFF1 04"])
    }

    @Test("A probability: of a thousand notifications about a tenth is lost, the same ones at each run")
    func probability() throws {
        func run() throws -> [String] {
            let scene = LockWorld()
            try scene.connectAndDiscover()
            scene.app.peripheral.setNotifyValue(true, for: scene.app.characteristic("FFF1"))
            scene.waitForLog("didUpdateNotificationState FFF1 true")
            _ = scene.app.take()
            scene.lock.addFault(.notificationsVanish, probability: 0.1)
            for number in 0..<1000 {
                scene.lockApp.manager.updateValue(
                    Data([UInt8(number & 0xFF), UInt8(number >> 8)]), for: scene.value, onSubscribedCentrals: nil)
                scene.world.run(for: .milliseconds(50))
            }
            return scene.app.take()
        }
        let log = try run()
        #expect((870...930).contains(log.count))
        #expect(try run() == log)
    }

    @Test("notifiesTwice: each value twice")
    func twice() throws {
        try subscribe()
        scene.lock.addFault(.notifiesTwice)
        notify(1)
        notify(2)
        #expect(
            scene.app.log == [
                "didUpdateValue FFF1 01", "didUpdateValue FFF1 01", "didUpdateValue FFF1 02", "didUpdateValue FFF1 02",
            ])
    }

    @Test("notifiesBeforeConfirming: the value that overtakes the confirmation is not lost")
    func early() throws {
        try scene.connectAndDiscover()
        // What the phone's system subscribes to for itself comes first.
        scene.world.run(for: .seconds(2))
        scene.lock.addFault(.notifiesBeforeConfirming)
        scene.lockApp.reactions["didSubscribe"] = { [scene] app in
            app.manager.updateValue(Data([0xAA]), for: scene.value, onSubscribedCentrals: nil)
        }
        scene.app.peripheral.setNotifyValue(true, for: scene.app.characteristic("FFF1"))
        scene.waitForLog("didUpdateNotificationState FFF1 true")
        #expect(scene.app.log == ["didUpdateValue FFF1 aa", "didUpdateNotificationState FFF1 true"])
    }

    @Test("writesVanish: accepted by the phone, and never there")
    func writes() throws {
        try scene.connectAndDiscover()
        scene.lock.addFault(.writesVanish)
        let command = scene.app.characteristic("FFF2")
        for octet in UInt8(0)..<5 {
            scene.app.peripheral.writeValue(Data([octet]), for: command, type: .withoutResponse)
        }
        scene.world.run(for: .seconds(1))
        #expect(scene.lockApp.log.isEmpty && scene.app.log.isEmpty && scene.app.peripheral.canSendWriteWithoutResponse)
        scene.lock.removeFault(.writesVanish)
        scene.app.peripheral.writeValue(Data([9]), for: command, type: .withoutResponse)
        #expect(scene.wait { $0.lockApp.log == ["didReceiveWrite FFF2 0 09"] })
    }

    @Test("readinessNeverSignalled: writes without response stop, and nobody says when to go on")
    func readiness() throws {
        try scene.connectAndDiscover()
        scene.phone.addFault(.readinessNeverSignalled)
        let command = scene.app.characteristic("FFF2")
        var sent = 0
        for _ in 0..<100 {
            while scene.app.peripheral.canSendWriteWithoutResponse, sent < 1000 {
                scene.app.peripheral.writeValue(Data([1]), for: command, type: .withoutResponse)
                sent += 1
            }
            scene.world.run(for: .milliseconds(100))
        }
        #expect(sent < 1000)
        _ = scene.app.take()
        scene.world.run(for: .seconds(20))
        #expect(scene.app.log.isEmpty && !scene.app.peripheral.canSendWriteWithoutResponse)
    }

    // MARK: Channels

    private func openChannel() throws {
        scene.lockApp.manager.publishL2CAPChannel(withEncryption: false)
        #expect(scene.wait { !$0.lockApp.psms.isEmpty })
        try scene.connect()
        _ = scene.app.take()
        scene.app.peripheral.openL2CAPChannel(scene.lockApp.psms[0])
        #expect(scene.wait { $0.app.log.contains { $0.hasPrefix("didOpen") } })
    }

    @Test("refusesChannels: didOpen with an error")
    func refused() throws {
        scene.lock.addFault(.refusesChannels)
        try openChannel()
        #expect(scene.app.log[0].hasPrefix("didOpen CB"), "\(scene.app.log)")
    }

    @Test("givesNoCredits: the channel opens, and what is written stays here")
    func credits() throws {
        scene.lock.addFault(.givesNoCredits)
        try openChannel()
        #expect(scene.app.log == ["didOpen channel"])
        let phone = StreamApp(scene.app.channels[0])
        let lock = StreamApp(scene.lockApp.channels[0])
        phone.toWrite = Array(repeating: 1, count: 1000)
        scene.world.run(for: .seconds(2))
        #expect(phone.toWrite.isEmpty, "the stream took it")
        #expect(lock.received.isEmpty)
    }
}
