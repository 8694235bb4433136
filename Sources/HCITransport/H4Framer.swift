package import HCI

/// Cuts a stream of octets into HCI packets.
///
/// It has no way to find the next packet behind an octet that begins none, so the first such octet ends the stream:
/// H4 knows no resynchronisation, and guessing would take garbage for packets.
///
/// Source: Core 6.0, Vol 4, Part A, 2 and 4.
package struct H4Framer: Sendable {
    package enum Failure: Error, Equatable, Sendable {
        /// An octet that is no packet indicator, where one must be.
        case notH4(octet: UInt8, offset: UInt64)
        /// A packet announces more octets than any that a controller may send us.
        case tooLong(HCIPacketType, length: Int, offset: UInt64)
    }

    private let maximumPayload: Int
    /// The beginning of a packet whose rest has not come.
    private var rest: [UInt8] = []
    /// Octets of the stream before `rest`.
    private var offset: UInt64 = 0

    /// Why the stream came to its end; `nil` while it goes on.
    package private(set) var failure: Failure?

    /// - Parameter maximumPayload: octets behind a packet's header, at most. Controllers' buffers are smaller by far;
    ///   the default leaves room for those that hand over whole PDUs.
    package init(maximumPayload: Int = 8192) {
        self.maximumPayload = maximumPayload
    }

    /// Whether the stream stands between two packets.
    package var isBetweenPackets: Bool { rest.isEmpty }

    /// Takes what was read.
    ///
    /// - Returns: the packets that are complete now, as slices of one buffer. Those before a failure count.
    package mutating func receive(_ octets: [UInt8]) -> [ArraySlice<UInt8>] {
        guard failure == nil else { return [] }
        let buffer = rest.isEmpty ? octets : rest + octets
        var packets: [ArraySlice<UInt8>] = []
        var position = 0
        while position < buffer.count {
            guard let length = packetLength(buffer[position...]) else { break }
            let end = position + length
            packets.append(buffer[position..<end])
            position = end
        }
        offset += UInt64(position)
        rest = failure == nil ? Array(buffer[position...]) : []
        return packets
    }

    /// How long the packet is that begins here; `nil` if not all of it is there, or it is none.
    private mutating func packetLength(_ octets: ArraySlice<UInt8>) -> Int? {
        let type = HCIPacketType(rawValue: octets[octets.startIndex])
        let here = { [offset] in offset + UInt64(octets.startIndex) }
        guard let headerLength = type.headerLength else {
            failure = .notH4(octet: type.rawValue, offset: here())
            return nil
        }
        guard octets.count > headerLength else { return nil }
        let payload = type.payloadLength(header: octets.dropFirst())
        guard payload <= maximumPayload else {
            failure = .tooLong(type, length: payload, offset: here())
            return nil
        }
        let length = 1 + headerLength + payload
        return octets.count >= length ? length : nil
    }
}

extension H4Framer.Failure: CustomStringConvertible {
    package var description: String {
        switch self {
        case .notH4(let octet, let offset):
            let digits = String(octet, radix: 16, uppercase: true)
            let text = octet < 16 ? "0" + digits : digits
            return "Octet 0x\(text) at offset \(offset) begins no HCI packet, so this is not H4."
        case .tooLong(let type, let length, let offset):
            return "The packet of type \(type.rawValue) at offset \(offset) announces \(length) octets, which is more "
                + "than anybody sends, so this is not H4."
        }
    }
}
