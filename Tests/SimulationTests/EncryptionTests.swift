import EventLoop
import HCI
import Simulation
import Testing
import VirtualController

/// Two controllers and their hosts' commands; section numbers are those of Core 6.0, Vol 6, Part B.
@Suite("Encryption over the air")
struct EncryptionTests {
    static let key: UInt128 = 0x4C68_3841_39F5_74D8_36BC_F34E_9DFB_01BF

    /// A pair of which the peripheral answers with `answer` when it is asked for the key, and the central uses `key`.
    private func pair(
        seed: UInt64 = 1, answer: UInt128? = key, latency: UInt16 = 0, timeout: UInt16 = 400
    ) throws -> Pair {
        let pair = try Pair(seed: seed, latency: latency, timeout: timeout)
        pair.peripheral.host.longTermKey = answer
        return pair
    }

    private func enable(_ pair: Pair, _ key: UInt128 = key) -> HCIErrorCode {
        pair.central.command(
            LEEnableEncryption(
                handle: pair.centralHandle, randomNumber: 0xABCD_EF12_3456_7890, encryptedDiversifier: 0x2474,
                longTermKey: key))
    }

    @Test("5.1.3.1: with the same key on both sides the link is encrypted, and both hosts are told")
    func start() throws {
        let pair = try pair()
        #expect(enable(pair) == .success)
        pair.world.run(for: .milliseconds(200))
        let request = try #require(pair.peripheral.keyRequests.first)
        #expect(request.randomNumber == 0xABCD_EF12_3456_7890)
        #expect(request.encryptedDiversifier == 0x2474)
        for station in [pair.central, pair.peripheral] {
            #expect(station.encryptionChanges.map(\.status) == [.success])
            #expect(station.encryptionChanges.map(\.enabled) == [1])
        }
    }

    @Test("5.1.3.1: data arrives whole over an encrypted link, and is on the air as something else")
    func data() throws {
        let pair = try pair()
        var lengths: Set<Int> = []
        var isInTheClear = false
        pair.world.airTap = { packet in
            guard packet.octets.count > 2, packet.octets[0] & 0b11 != 0b11 else { return }
            lengths.insert(packet.octets.count - 2)
            // Preamble, access address, header, payload, integrity check, CRC: Vol 6, Part B, 2.1 and 2.4.
            #expect(packet.duration == .microseconds(8 * (1 + 4 + 2 + (packet.octets.count - 2) + 3)))
            if packet.octets[2...].allSatisfy({ $0 == 0x2A }) { isInTheClear = true }
        }
        #expect(enable(pair) == .success)
        pair.world.run(for: .milliseconds(200))
        exchangeData(pair)
        #expect(lengths == [31])
        #expect(!isInTheClear)
    }

    /// Sends 50 packets each way and checks that they arrive.
    private func exchangeData(_ pair: Pair) {
        for (sender, handle) in [(pair.central, pair.centralHandle), (pair.peripheral, pair.peripheralHandle)] {
            var left = 50
            sender.host.supply(handle, buffers: 20) {
                left -= 1
                return left >= 0 ? [UInt8](repeating: 0x2A, count: 27) : nil
            }
        }
        pair.world.run(for: .seconds(5))
        for host in [pair.central.host, pair.peripheral.host] {
            #expect(host.data.map(\.payload) == Array(repeating: [UInt8](repeating: 0x2A, count: 27), count: 50))
        }
    }

    @Test("5.1.3.1: no data goes out in the clear once encryption has been asked for")
    func gap() throws {
        let pair = try pair()
        pair.central.host.supply(pair.centralHandle, buffers: 20) { [UInt8](repeating: 0x2A, count: 27) }
        pair.peripheral.host.supply(pair.peripheralHandle, buffers: 20) { [UInt8](repeating: 0x2B, count: 27) }
        pair.world.run(for: .seconds(1))
        // From LL_ENC_RSP on: until then the peripheral may finish what it has begun.
        var hasAnswered = false
        var dataInTheClear = 0
        var dataInSecret = 0
        pair.world.airTap = { packet in
            if packet.octets.count == 2 + 13, packet.octets[2] == 0x04 { hasAnswered = true }
            guard hasAnswered, packet.octets.count > 2 else { return }
            if packet.octets[2...].allSatisfy({ $0 == 0x2A || $0 == 0x2B }) { dataInTheClear += 1 }
            if packet.octets.count == 2 + 31 { dataInSecret += 1 }
        }
        #expect(enable(pair) == .success)
        pair.world.run(for: .seconds(1))
        #expect(hasAnswered)
        #expect(dataInTheClear == 0)
        #expect(dataInSecret > 1000)
        #expect(pair.central.disconnections.isEmpty)
        #expect(pair.central.host.data.allSatisfy { $0.payload == [UInt8](repeating: 0x2B, count: 27) })
        #expect(pair.peripheral.host.data.allSatisfy { $0.payload == [UInt8](repeating: 0x2A, count: 27) })
    }

    @Test("LL/SEC/PER/BI-04: with the wrong key the peripheral ends the link with 0x3D; the central hears no more")
    func wrongKey() throws {
        let pair = try pair(answer: Self.key ^ 1, timeout: 100)
        #expect(enable(pair) == .success)
        pair.world.run(for: .seconds(3))
        #expect(pair.peripheral.disconnections.map(\.event.reason) == [.messageIntegrityFailure])
        #expect(pair.central.disconnections.map(\.event.reason) == [.connectionTimeout])
        #expect(pair.central.encryptionChanges.isEmpty && pair.peripheral.encryptionChanges.isEmpty)
    }

    @Test("LL/SEC/CEN/BI-01: a missing key is told to the central's host with 0x06, and the link goes on in the clear")
    func missingKey() throws {
        let pair = try pair(answer: RawHost.noKey)
        #expect(enable(pair) == .success)
        pair.world.run(for: .milliseconds(200))
        #expect(pair.central.encryptionChanges.map(\.status) == [.pinOrKeyMissing])
        #expect(pair.central.encryptionChanges.map(\.enabled) == [0])
        #expect(pair.peripheral.encryptionChanges.isEmpty)
        exchangeData(pair)
    }

    @Test("7.7.65.5: a host that masks the request has no key")
    func masked() throws {
        let pair = try pair()
        pair.peripheral.command(LESetEventMask(mask: 0x0F))
        #expect(enable(pair) == .success)
        pair.world.run(for: .milliseconds(200))
        #expect(pair.peripheral.keyRequests.isEmpty)
        #expect(pair.central.encryptionChanges.map(\.status) == [.pinOrKeyMissing])
    }

    @Test("5.1.3.2: a new key is put in place while data flows")
    func refresh() throws {
        let pair = try pair()
        #expect(enable(pair) == .success)
        pair.world.run(for: .milliseconds(200))
        pair.central.host.supply(pair.centralHandle, buffers: 20) { [UInt8](repeating: 0x2A, count: 27) }
        pair.peripheral.host.supply(pair.peripheralHandle, buffers: 20) { [UInt8](repeating: 0x2B, count: 27) }
        pair.world.run(for: .milliseconds(200))
        pair.peripheral.host.longTermKey = 0x2A
        #expect(enable(pair, 0x2A) == .success)
        pair.world.run(for: .milliseconds(200))
        for station in [pair.central, pair.peripheral] {
            #expect(station.encryptionChanges.count == 1)
            #expect(station.keyRefreshes.map(\.status) == [.success])
            #expect(station.disconnections.isEmpty)
        }
        let before = pair.central.host.data.count
        pair.world.run(for: .seconds(1))
        #expect(pair.central.host.data.count > before + 500)
        #expect(pair.central.host.data.allSatisfy { $0.payload == [UInt8](repeating: 0x2B, count: 27) })
        #expect(pair.peripheral.host.data.allSatisfy { $0.payload == [UInt8](repeating: 0x2A, count: 27) })
    }

    @Test("5.1.3.1: a link that was encrypted does not go on without the new key; it ends with 0x06")
    func refreshWithoutKey() throws {
        let pair = try pair()
        #expect(enable(pair) == .success)
        pair.world.run(for: .milliseconds(200))
        pair.peripheral.host.longTermKey = RawHost.noKey
        #expect(enable(pair, 0x2A) == .success)
        pair.world.run(for: .seconds(1))
        #expect(pair.central.disconnections.map(\.event.reason) == [.pinOrKeyMissing])
        #expect(pair.peripheral.disconnections.map(\.event.reason) == [.localHostTerminated])
    }

    @Test(
        "Encryption starts and is renewed although 30 % of the packets are lost, and no data with them",
        arguments: 1...10)
    func loss(seed: UInt64) throws {
        let pair = try pair(seed: seed, timeout: 3200)
        pair.world.environment.packetLoss = 0.3
        #expect(enable(pair) == .success)
        pair.world.run(for: .seconds(3))
        #expect(enable(pair) == .success)
        pair.world.run(for: .seconds(3))
        for station in [pair.central, pair.peripheral] {
            #expect(station.encryptionChanges.map(\.status) == [.success])
            #expect(station.keyRefreshes.map(\.status) == [.success])
        }
        exchangeData(pair)
    }

    @Test("5.2: a peer whose host never answers ends the link after 40 s, with 0x22")
    func timeout() throws {
        let pair = try pair(answer: nil)
        #expect(enable(pair) == .success)
        let asked = pair.world.now
        pair.world.run(for: .seconds(50))
        let end = try #require(pair.central.disconnections.first)
        #expect(end.event.reason == .linkLayerResponseTimeout)
        #expect((Duration.seconds(40)...Duration.milliseconds(40_100)).contains(asked.duration(to: end.at)))
    }

    @Test("7.8.24 to 7.8.26: commands out of place are disallowed")
    func disallowed() throws {
        let pair = try pair(answer: nil)
        let byPeripheral = LEEnableEncryption(handle: pair.peripheralHandle, longTermKey: 1)
        #expect(pair.peripheral.command(byPeripheral) == .commandDisallowed)
        let reply = LELongTermKeyRequestReply(handle: pair.peripheralHandle, longTermKey: 1)
        let refusal = LELongTermKeyRequestNegativeReply(handle: pair.peripheralHandle)
        #expect(pair.peripheral.command(reply) == .commandDisallowed)
        #expect(pair.peripheral.command(refusal) == .commandDisallowed)
        #expect(pair.central.command(LEEnableEncryption(handle: 0x0EFF, longTermKey: 1)) == .unknownConnection)
        #expect(enable(pair) == .success)
        #expect(enable(pair) == .commandDisallowed)
        pair.world.run(for: .milliseconds(200))
        #expect(pair.peripheral.command(refusal) == .success)
        #expect(pair.peripheral.command(reply) == .commandDisallowed)
    }

    @Test("5.3: an update that the peripheral asks for meanwhile waits for its turn")
    func collision() throws {
        let pair = try pair()
        var update = LEConnectionUpdate()
        update.handle = pair.peripheralHandle
        update.parameters = ConnectionParameterRange(
            intervalMin: 24, intervalMax: 24, latency: 0, supervisionTimeout: 400)
        #expect(pair.peripheral.command(update) == .success)
        pair.peripheral.command(LESetDataLength(handle: pair.peripheralHandle, txOctets: 251, txTime: 2120))
        pair.central.command(LESetDataLength(handle: pair.centralHandle, txOctets: 251, txTime: 2120))
        #expect(enable(pair) == .success)
        pair.world.run(for: .milliseconds(15))
        // The central's host answers in the middle of the start.
        var reply = LERemoteConnectionParameterRequestReply()
        reply.handle = pair.centralHandle
        reply.parameters = update.parameters
        #expect(pair.central.command(reply) == .success)
        pair.world.run(for: .seconds(2))
        #expect(pair.central.encryptionChanges.map(\.status) == [.success])
        #expect(pair.central.disconnections.isEmpty && pair.peripheral.disconnections.isEmpty)
        let updates = pair.peripheral.host.events.filter {
            if case .connectionUpdateComplete(let event) = $0.event { event.interval == 24 } else { false }
        }
        #expect(updates.count == 1)
    }

    @Test("7.7.8: Encryption Change [v2] for the host that asks for it")
    func secondVersion() throws {
        let pair = try pair()
        var events: [[UInt8]] = []
        pair.central.command(SetEventMaskPage2(mask: 1 << 25))
        pair.world.hciTap = { _, device, direction, packet in
            if device.number == 0, direction == .controllerToHost, [0x08, 0x59].contains(packet[1]) {
                events.append(packet)
            }
        }
        #expect(enable(pair) == .success)
        pair.world.run(for: .milliseconds(200))
        #expect(events == [[0x04, 0x59, 0x05, 0x00, UInt8(pair.centralHandle), 0x00, 0x01, 0x10]])
        pair.world.hciTap = nil
    }

    /// Core 6.0, Vol 6, Part C, 1.1.
    @Test("7.8.22: LE Encrypt, sample data")
    func block() throws {
        let pair = try pair()
        var command = LEEncrypt()
        command.key = Self.key
        command.plaintext = 0x0213_2435_4657_6879_ACBD_CEDF_E0F1_0213
        #expect(try pair.central.ask(command).encrypted == 0x99AD_1B52_26A3_7E3E_058E_3B8E_27C2_C666)
    }

    @Test("5.1.8, 5.4: an idle link is kept alive by LE Ping; a peer out of reach is told of, again and again")
    func ping() throws {
        let pair = try pair(timeout: 3200)
        pair.central.command(SetEventMaskPage2(mask: 1 << 23))
        let timeout = WriteAuthenticatedPayloadTimeout(handle: pair.centralHandle, timeout: 100)
        #expect(pair.central.command(timeout) == .success)
        #expect(try pair.central.ask(ReadAuthenticatedPayloadTimeout(handle: pair.centralHandle)).timeout == 100)
        #expect(enable(pair) == .success)
        pair.world.run(for: .seconds(20))
        #expect(pair.central.payloadTimeouts.isEmpty)
        pair.peripheral.device.move(to: Position(x: 1e6))
        pair.world.run(for: .seconds(10))
        #expect((9...10).contains(pair.central.payloadTimeouts.count))
        #expect(pair.central.disconnections.isEmpty)
        pair.peripheral.device.move(to: Position(x: 1))
        pair.world.run(for: .seconds(10))
        #expect((9...11).contains(pair.central.payloadTimeouts.count))
    }

    @Test("7.3.94: the timeout gives the peer the chance to speak")
    func pingLimits() throws {
        let pair = try pair(latency: 9, timeout: 400)
        // 7.5 ms times 10 are 75 ms.
        for (timeout, status) in [(0, HCIErrorCode.invalidParameters), (7, .invalidParameters), (8, .success)] {
            let command = WriteAuthenticatedPayloadTimeout(handle: pair.centralHandle, timeout: UInt16(timeout))
            #expect(pair.central.command(command) == status)
        }
    }
}

extension Station {
    var keyRequests: [LELongTermKeyRequest] {
        host.events.compactMap { if case .longTermKeyRequest(let event) = $0.event { event } else { nil } }
    }
    var encryptionChanges: [EncryptionChange] {
        host.events.compactMap { if case .encryptionChange(let event) = $0.event { event } else { nil } }
    }
    var keyRefreshes: [EncryptionKeyRefreshComplete] {
        host.events.compactMap { if case .encryptionKeyRefreshComplete(let event) = $0.event { event } else { nil } }
    }
    var payloadTimeouts: [AuthenticatedPayloadTimeoutExpired] {
        host.events.compactMap {
            if case .authenticatedPayloadTimeoutExpired(let event) = $0.event { event } else { nil }
        }
    }
}
