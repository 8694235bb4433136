import ATT
import BluetoothCrypto
import BluetoothTypes
import EventLoop
import GATT
import HCITransport
import L2CAP
import SMP

extension Attacks.Row {
    /// A pairing that has waited thirty seconds has failed, and its link takes no other PDU of the protocol (Core 6.0,
    /// Vol 3, Part H, 3.4).
    func playSilentPairing() throws(Mismatch) {
        var machine = SecurityManager(
            role: .peripheral, local: DeviceAddress(2), remote: DeviceAddress(1),
            configuration: SecurityConfiguration(
                identity: Identity(address: DeviceAddress(2), resolvingKey: SecretKey(2))),
            random: SeededGenerator(seed: 1))
        var now = Instant()
        let first = machine.handle(.receive([0x01, 0x03, 0x00, 0x01, 0x10, 0x01, 0x01]), at: now)
        let hasAnswered = first.contains { if case .send(let pdu) = $0 { pdu.first == 0x02 } else { false } }
        try Mismatch.check("Pairing Response", true, hasAnswered)
        now = now.advanced(by: .seconds(30))
        let late = machine.wake(at: now)
        try Mismatch.check("after 30 s", true, late.contains(.failed(.timedOut)))
        for pdu in [[0x03] + Array(repeating: 7, count: 16), [0x01, 0x03, 0x00, 0x01, 0x10, 0x01, 0x01]] as [[UInt8]] {
            try Mismatch.check("answers to a late PDU", [], machine.handle(.receive(pdu[...]), at: now)) { "\($0)" }
        }
    }

    /// A channel for attributes is opened, used wrongly and closed at once: it is gone, and the next one opens.
    func playShortLivedChannel() throws(Mismatch) {
        var end = ChannelEndpoint()
        end.machine.offers = [ChannelOffer(spsm: 0x0027, mostChannels: 1)]
        for identifier in UInt8(1)...3 {
            let opened = end.hear([0x17, identifier, 10, 0, 0x27, 0, 0x40, 0, 0x40, 0, 1, 0, 0x41, 0])
            try Mismatch.check("result", [0, 0], opened.first.map { Array($0[10..<12]) } ?? [])
            let channel = end.machine.openChannels.first ?? ChannelID(rawValue: 0)
            _ = end.ask(.receiveFrame(channel, [1, 0, 0x08]))
            let number = UInt8(truncatingIfNeeded: channel.rawValue)
            let closed = end.hear([0x06, identifier + 8, 4, 0, number, 0, 0x41, 0])
            try Mismatch.check("answer", [[0x07, identifier + 8, 4, 0, number, 0, 0x41, 0]], closed)
            try Mismatch.check("open channels", 0, end.machine.openChannels.count)
        }
    }

    /// Values of Generic Access that are none: they are values all the same to who reads them by their types.
    func playValuesOfGAP() throws(Mismatch) {
        let values: [(UInt16, [UInt8])] = [
            (0x2A00, [UInt8](repeating: 0xC0, count: 248)), (0x2A01, [0x40]), (0x2A04, [0x06, 0x00, 0x06]),
        ]
        var database = AttributeDatabase()
        for (type, value) in values {
            var bearer = GATTConnection()
            let question = bearer.handle(
                .submit(id: 1, .readByUUID(.uuid16(type), 0x0001...0xFFFF)), database: &database, at: Instant())
            try Mismatch.check("requests", 1, question.count)
            let shown = Array(value.prefix(19))
            let response = [0x09, UInt8(shown.count + 2), 0x03, 0x00] + shown
            var effects = bearer.handle(.receive(response[...]), database: &database, at: Instant())
            effects += bearer.handle(.receive([0x01, 0x08, 0x04, 0x00, 0x0A]), database: &database, at: Instant())
            let expected = GATTEffect.finish(id: 1, .success(.values([GATTValue(handle: 3, value: shown)])))
            try Mismatch.check("the end", expected, effects.last ?? .drop)
            try Mismatch.check("a name of it", true, String(decoding: shown, as: UTF8.self).utf8.count > 0)
        }
    }

    /// Times are written down as they are, whatever the clock does.
    func playTimeStamps() throws(Mismatch) {
        for time in [Int64(1_000_000), 999_999, -1, 0] {
            let record = BTSnoop.record([0x01, 0x03, 0x0C, 0x00], .toController, time: time)
            let stamp = record[16..<24].reduce(Int64(0)) { $0 << 8 | Int64($1) }
            // Microseconds from the format's year 0 to 1970.
            try Mismatch.check("time", time, stamp - 0x00DC_DDB3_0F2F_8000)
        }
    }
}
