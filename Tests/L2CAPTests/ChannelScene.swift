import EventLoop
import L2CAP
import ProtocolTestKit
import Testing

/// Scripts of channels: this side takes 64 octets an SDU, 64 a frame and 256 unread, so that it gives 4 credits.
extension Scene<Signalling> {
    static let capacity = ChannelCapacity(mtu: 64, mps: 64, window: 256)

    static func playChannels(
        offers: [ChannelOffer] = [ChannelOffer(spsm: 0x80)], protection: LinkProtection = LinkProtection(),
        sourceLocation: SourceLocation = #_sourceLocation, _ scene: (inout Self) -> Void
    ) {
        var machine = Signalling(role: .central, capacity: capacity)
        machine.offers = offers
        machine.protection = protection
        play(machine, sourceLocation: sourceLocation, scene)
    }

    mutating func hear(_ command: String, at location: SourceLocation = #_sourceLocation) {
        input(.receive(hex(command)[...]), location)
    }

    /// A frame's payload on a channel of this side.
    mutating func hear(_ frame: String, on channel: UInt16, at location: SourceLocation = #_sourceLocation) {
        input(.receiveFrame(ChannelID(rawValue: channel), hex(frame)[...]), location)
    }

    mutating func hear(
        frame: [UInt8], on channel: UInt16 = 0x40, at location: SourceLocation = #_sourceLocation
    ) {
        input(.receiveFrame(ChannelID(rawValue: channel), frame[...]), location)
    }

    mutating func ask(_ request: Signalling.Input, at location: SourceLocation = #_sourceLocation) {
        input(request, location)
    }

    mutating func say(_ command: String, at location: SourceLocation = #_sourceLocation) {
        expect(.send(hex(command)), sourceLocation: location)
    }

    /// A whole PDU, header included.
    mutating func sayFrame(_ pdu: String, token: UInt64? = nil, at location: SourceLocation = #_sourceLocation) {
        expect(.sendFrame(hex(pdu), token: token), sourceLocation: location)
    }

    mutating func expectReceived(
        _ octets: String, on channel: UInt16 = 0x40, at location: SourceLocation = #_sourceLocation
    ) {
        expect(.received(ChannelID(rawValue: channel), hex(octets)[...]), sourceLocation: location)
    }

    mutating func expectReceived(
        octets: [UInt8], on channel: UInt16 = 0x40, at location: SourceLocation = #_sourceLocation
    ) {
        expect(.received(ChannelID(rawValue: channel), octets[...]), sourceLocation: location)
    }

    mutating func expectClosed(
        _ channel: UInt16 = 0x40, _ end: ChannelEnd, unsent: [UInt64] = [],
        at location: SourceLocation = #_sourceLocation
    ) {
        expect(.closed(ChannelID(rawValue: channel), end, unsent: unsent), sourceLocation: location)
    }

    /// This side has channel 0x40 open, the peer 0x41, with an MTU and MPS of `mtu` and `mps` and `credits`.
    mutating func openLECreditBased(
        mtu: UInt8 = 64, mps: UInt8 = 23, credits: UInt8 = 2, at location: SourceLocation = #_sourceLocation
    ) {
        ask(.open(id: 7, spsm: 0x80, mode: .leCreditBased, count: 1), at: location)
        say("14 01 0A 00 80 00 40 00 40 00 40 00 04 00", at: location)
        input(.receive([0x15, 1, 10, 0, 0x41, 0, mtu, 0, mps, 0, credits, 0, 0, 0]), location)
        expect(.opened(id: 7, [ChannelID(rawValue: 0x40)]), sourceLocation: location)
    }

    /// The same with an enhanced channel, or several: 0x40 and on here, 0x50 and on there.
    mutating func openEnhanced(
        _ count: UInt8 = 1, mtu: UInt8 = 64, mps: UInt8 = 64, credits: UInt8 = 2,
        at location: SourceLocation = #_sourceLocation
    ) {
        let own: [UInt8] = (0..<count).flatMap { [0x40 + $0, 0] as [UInt8] }
        let theirs: [UInt8] = (0..<count).flatMap { [0x50 + $0, 0] as [UInt8] }
        ask(.open(id: 7, spsm: 0x80, mode: .enhanced, count: Int(count)), at: location)
        let length = 8 + 2 * count
        expect(.send([0x17, 1, length, 0, 0x80, 0, 64, 0, 64, 0, 4, 0] + own), sourceLocation: location)
        input(.receive(([0x18, 1, length, 0, mtu, 0, mps, 0, credits, 0, 0, 0] + theirs)[...]), location)
        expect(
            .opened(id: 7, (0..<UInt16(count)).map { ChannelID(rawValue: 0x40 + $0) }), sourceLocation: location)
    }
}
