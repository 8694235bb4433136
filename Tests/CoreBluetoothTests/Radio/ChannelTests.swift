import BluetoothSimulation
import CoreBluetooth
import Testing

@Suite("Over the air: L2CAP channels")
struct ChannelTests {
    let scene = LockWorld()

    private func publish() throws -> CBL2CAPPSM {
        scene.lockApp.manager.publishL2CAPChannel(withEncryption: false)
        try #require(scene.wait { !$0.lockApp.psms.isEmpty })
        #expect(scene.lockApp.take() == ["didPublish"])
        return scene.lockApp.psms[0]
    }

    /// A channel, with both apps' ends of it open.
    private func channel() throws -> (phone: StreamApp, lock: StreamApp) {
        let psm = try publish()
        try scene.connect()
        scene.app.peripheral.openL2CAPChannel(psm)
        try #require(scene.wait { !$0.app.channels.isEmpty && !$0.lockApp.channels.isEmpty })
        let ends = (StreamApp(scene.app.channels[0]), StreamApp(scene.lockApp.channels[0]))
        scene.world.run(for: .milliseconds(100))
        _ = scene.app.take()
        _ = scene.lockApp.take()
        return ends
    }

    @Test("B-J1: published, opened, and both sides are told")
    func opens() throws {
        let psm = try publish()
        #expect((0x80...0xFF).contains(psm))
        try scene.connect()
        scene.app.peripheral.openL2CAPChannel(psm)
        scene.waitForLog("didOpen channel")
        #expect(scene.lockApp.take() == ["didOpen channel"])
        let channel = scene.app.channels[0]
        let other = scene.lockApp.channels[0]
        #expect(channel.psm == psm && other.psm == psm)
        #expect(channel.peer === scene.app.peripheral)
        #expect(other.peer is CBCentral && other.peer.identifier != channel.peer.identifier)
        #expect(channel.inputStream.streamStatus == .notOpen && channel.outputStream.streamStatus == .notOpen)
    }

    @Test("B-J1: a number that is not offered is an error with a reason")
    func unknownPSM() throws {
        try scene.connect()
        scene.app.peripheral.openL2CAPChannel(0xC1)
        scene.waitForLog("didOpen CBError 1")
        let error = try #require(scene.app.errors.last) as NSError
        #expect(error.localizedFailureReason?.contains("0x0002") == true)
        #expect(scene.app.channels.isEmpty)
    }

    @Test("B-J5, B-K1: a channel that needs encryption is opened once the two have paired")
    func encryption() throws {
        scene.lockApp.manager.publishL2CAPChannel(withEncryption: true)
        try #require(scene.wait { !$0.lockApp.psms.isEmpty })
        try scene.connect()
        scene.app.peripheral.openL2CAPChannel(scene.lockApp.psms[0])
        scene.waitForLog("didOpen channel")
        #expect(scene.lockApp.channels.count == 1)
    }

    @Test("B-J3: octets flow through the streams, and each event comes once a time")
    func flows() throws {
        let (phone, lock) = try channel()
        #expect(phone.take() == ["in open", "out open", "out space"])
        #expect(phone.input.streamStatus == .open && phone.output.hasSpaceAvailable && !phone.input.hasBytesAvailable)
        _ = lock.take()
        #expect(phone.put(Array("unlock".utf8)) == 6)
        scene.world.run(for: .milliseconds(200))
        #expect(lock.received == Array("unlock".utf8))
        #expect(phone.take() == ["out space"] && lock.take() == ["in bytes"])
        lock.toWrite = Array("open".utf8)
        lock.write()
        scene.world.run(for: .milliseconds(200))
        #expect(phone.received == Array("open".utf8))
        #expect(phone.take() == ["in bytes"] && lock.take() == ["out space"])
        scene.world.run(for: .seconds(5))
        #expect(phone.take().isEmpty && lock.take().isEmpty)
    }

    @Test("B-J3: what was not read is told again only after the app has read")
    func armed() throws {
        let (phone, lock) = try channel()
        lock.reads = false
        _ = lock.take()
        phone.toWrite = Array(0..<100)
        phone.write()
        scene.world.run(for: .milliseconds(200))
        phone.toWrite = [100]
        phone.write()
        scene.world.run(for: .milliseconds(200))
        #expect(lock.take() == ["in bytes"])
        #expect(lock.read(10) == 10)
        scene.world.run(for: .milliseconds(1))
        #expect(lock.take() == ["in bytes"])
        #expect(lock.read() == 91 && lock.received == Array(0...100))
        scene.world.run(for: .milliseconds(1))
        #expect(lock.take().isEmpty && !lock.input.hasBytesAvailable)
        #expect(lock.read() == -1, "it does not wait, and it is not the end")
        #expect((lock.input.streamError as NSError?)?.code == Int(EAGAIN))
        #expect(lock.input.streamStatus == .open)
    }

    @Test("Back-pressure: a reader that stops, stops the writer's room, and nothing is lost")
    func backPressure() throws {
        let (phone, lock) = try channel()
        lock.reads = false
        let all = (0..<200_000).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 3) }
        phone.toWrite = all
        phone.write()
        scene.world.run(for: .seconds(10))
        #expect(phone.toWrite.count > 100_000 && !phone.output.hasSpaceAvailable)
        #expect(phone.put([1]) == 0)
        lock.reads = true
        lock.read()
        #expect(scene.wait(for: .seconds(60)) { _ in lock.received.count == all.count })
        #expect(lock.received == all && phone.toWrite.isEmpty)
    }

    @Test("What comes before the app opens its stream waits for it")
    func opensLate() throws {
        let psm = try publish()
        try scene.connect()
        scene.app.peripheral.openL2CAPChannel(psm)
        try #require(scene.wait { !$0.app.channels.isEmpty && !$0.lockApp.channels.isEmpty })
        let phone = StreamApp(scene.app.channels[0])
        let lock = StreamApp(scene.lockApp.channels[0], opens: false)
        phone.toWrite = [1, 2, 3]
        scene.world.run(for: .seconds(1))
        #expect(lock.take().isEmpty && lock.read() == -1 && lock.input.streamStatus == .notOpen)
        lock.input.open()
        scene.world.run(for: .milliseconds(1))
        #expect(lock.take() == ["in open", "in bytes"] && lock.received == [1, 2, 3])
        #expect(lock.put([1]) == -1, "it is not open")
    }

    // MARK: The end

    @Test("B-J1: closing both streams closes the channel, after all that was written: the peer reads it, then the end")
    func closes() throws {
        let (phone, lock) = try channel()
        lock.reads = false
        phone.toWrite = Array(repeating: 7, count: 10_000)
        phone.write()
        #expect(phone.toWrite.isEmpty)
        phone.close()
        scene.app.channels = []
        scene.world.run(for: .seconds(2))
        #expect(phone.input.streamStatus == .closed && phone.output.streamStatus == .closed)
        _ = lock.take()
        while lock.read() > 0 {}
        scene.world.run(for: .seconds(1))
        #expect(lock.received == Array(repeating: 7, count: 10_000))
        #expect(lock.take().contains("in end") && lock.input.streamStatus == .atEnd)
        #expect(lock.read() == 0 && lock.put([1]) == -1)
        #expect(!scene.world.reports.contains { $0.text.contains("nobody holds it") })
    }

    @Test("B-J1: a writer that closes goes on taking what comes, so that a peer that echoes can take the rest")
    func closesBeforeAnEcho() throws {
        let (phone, lock) = try channel()
        phone.reads = false
        lock.reads = false
        // Both ways are full, and nobody reads.
        phone.toWrite = Array(repeating: 5, count: 200_000)
        lock.toWrite = Array(repeating: 6, count: 200_000)
        phone.write()
        lock.write()
        scene.world.run(for: .seconds(20))
        let taken = 200_000 - phone.toWrite.count
        phone.close()
        // The peer reads only when it has written.
        #expect(scene.wait(for: .seconds(60)) { _ in lock.toWrite.isEmpty })
        while lock.received.count < taken, scene.wait(for: .seconds(20), { _ in lock.read() > 0 }) {}
        #expect(lock.received.count == taken)
        #expect(scene.wait { _ in lock.log.contains("in end") })
    }

    @Test("The app lets go of its manager: both streams tell it, in a test too")
    func managerGoes() throws {
        let (phone, lock) = try channel()
        _ = phone.take()
        _ = lock.take()
        scene.app.dropManager()
        scene.world.run(for: .seconds(1))
        #expect(phone.take().sorted() == ["in error CBError 5", "out error CBError 5"])
        #expect(lock.log.contains { $0.hasPrefix("in e") })
    }

    @Test("One closed stream of two does not end the channel")
    func closesOne() throws {
        let (phone, lock) = try channel()
        phone.input.close()
        lock.toWrite = Array(repeating: 1, count: 100_000)
        lock.write()
        scene.world.run(for: .seconds(5))
        #expect(lock.toWrite.isEmpty, "what nobody will read is taken, and thrown away")
        phone.toWrite = [1, 2]
        phone.write()
        scene.world.run(for: .seconds(1))
        #expect(lock.received == [1, 2] && lock.output.streamStatus == .open)
    }

    @Test("B-J2: releasing the channel closes it at once, and the log says so")
    func released() throws {
        let (phone, lock) = try channel()
        _ = phone.take()
        scene.app.channels = []
        scene.world.run(for: .seconds(1))
        #expect(scene.world.reports.contains { $0.device == "Phone" && $0.text.contains("nobody holds it") })
        #expect(Set(phone.take()) == ["in error CBError 5", "out error CBError 5"])
        #expect(phone.put([1]) == -1)
        #expect(lock.take().suffix(2).sorted() == ["in end", "out end"])
    }

    @Test("B-J2: an app that does not keep the channel loses it before it can use it")
    func notKept() throws {
        let psm = try publish()
        try scene.connect()
        scene.app.keepsChannels = false
        scene.app.peripheral.openL2CAPChannel(psm)
        try #require(scene.wait { !$0.lockApp.channels.isEmpty })
        let lock = StreamApp(scene.lockApp.channels[0])
        #expect(scene.wait { _ in lock.log.contains("in end") })
    }

    @Test("B-J1: withdrawing closes what was opened by it")
    func unpublished() throws {
        let (phone, lock) = try channel()
        _ = phone.take()
        _ = lock.take()
        scene.lockApp.manager.unpublishL2CAPChannel(scene.lockApp.psms[0])
        #expect(scene.wait { $0.lockApp.log.contains("didUnpublish") })
        scene.world.run(for: .seconds(1))
        #expect(phone.take().sorted() == ["in end", "out end"])
        #expect(lock.take().sorted() == ["in error CBError 5", "out error CBError 5"])
        scene.app.peripheral.openL2CAPChannel(scene.lockApp.psms[0])
        scene.waitForLog("didOpen CBError 1")
        scene.lockApp.manager.unpublishL2CAPChannel(scene.lockApp.psms[0])
        #expect(scene.wait { $0.lockApp.log.contains("didUnpublish CBError 1") })
    }

    @Test("The link is lost: what came is read, then both streams tell the error")
    func linkLost() throws {
        let (phone, lock) = try channel()
        lock.toWrite = Array(0..<50)
        phone.reads = false
        lock.write()
        scene.world.run(for: .milliseconds(200))
        _ = phone.take()
        scene.lock.removeBattery()
        scene.waitForLog("didDisconnect disconnected CBError 6")
        #expect(phone.take() == ["out error CBError 6"])
        #expect(phone.read() == 50)
        scene.world.run(for: .milliseconds(1))
        #expect(phone.take() == ["in error CBError 6"] && phone.input.streamStatus == .error)
        #expect(phone.read() == -1)
    }

    @Test("Radio off ends the streams; so does the app's own disconnecting", arguments: [true, false])
    func ownEnd(isRadio: Bool) throws {
        let (phone, lock) = try channel()
        _ = phone.take()
        _ = lock.take()
        if isRadio {
            scene.phone.setBluetooth(on: false)
        } else {
            scene.app.manager.cancelPeripheralConnection(scene.app.peripheral)
        }
        scene.world.run(for: .seconds(2))
        let code = isRadio ? 3 : 5
        #expect(phone.take().sorted() == ["in error CBError \(code)", "out error CBError \(code)"])
        #expect(lock.take().sorted() == ["in error CBError 7", "out error CBError 7"])
    }

    @Test("The peer closes while something is unsent: the output tells it, the input ends in order")
    func cutShort() throws {
        let (phone, lock) = try channel()
        lock.reads = false
        phone.toWrite = Array(repeating: 1, count: 100_000)
        phone.write()
        scene.world.run(for: .seconds(5))
        _ = phone.take()
        lock.close()
        scene.world.run(for: .seconds(1))
        // A side that closes goes on taking what comes, so that there may be room once more before the end.
        #expect(phone.take().filter { $0 != "out space" }.sorted() == ["in end", "out error CBError 7"])
    }

    @Test("B-J4: the PSM by its characteristic")
    func psmCharacteristic() throws {
        let psm = try publish()
        let value = Data([UInt8(truncatingIfNeeded: psm), UInt8(truncatingIfNeeded: psm >> 8)])
        let service = CBMutableService(type: CBUUID(string: "FFA0"), primary: true)
        let characteristic = CBMutableCharacteristic(
            type: CBUUID(string: CBUUIDL2CAPPSMCharacteristicString), properties: .read, value: value,
            permissions: .readable)
        service.characteristics = [characteristic]
        scene.lockApp.manager.add(service)
        try #require(scene.wait { $0.lockApp.log.contains("didAdd FFA0") })
        try scene.connect()
        scene.app.peripheral.discoverServices([service.uuid])
        scene.waitForLog("didDiscoverServices [FFA0]")
        scene.app.peripheral.discoverCharacteristics(nil, for: try #require(scene.app.peripheral.services?.first))
        try #require(scene.wait { $0.app.peripheral.services?.first?.characteristics != nil })
        let found = try #require(scene.app.peripheral.services?.first?.characteristics?.first)
        scene.app.peripheral.readValue(for: found)
        try #require(scene.wait { _ in found.value != nil })
        let octets = try #require(found.value)
        scene.app.peripheral.openL2CAPChannel(CBL2CAPPSM(octets[0]) | CBL2CAPPSM(octets[1]) << 8)
        scene.waitForLog("didOpen channel")
    }

    @Test("A channel made by hand is a channel to nobody")
    func byHand() {
        let channel = CBL2CAPChannel()
        #expect(channel.peer == nil && channel.inputStream == nil && channel.outputStream == nil && channel.psm == 0)
    }
}
