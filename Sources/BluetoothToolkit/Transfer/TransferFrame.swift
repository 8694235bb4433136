package import Foundation

/// What is offered: a file, or any other run of octets. The same offer after a break goes on where the receiver is.
public struct TransferOffer: Hashable, Sendable {
    /// Tells this content from others; the same content has the same identifier.
    public var identifier: UInt64
    /// In octets.
    public var length: UInt32
    /// CRC-32 of all of it.
    public var checksum: UInt32
    /// For people, and for the receiver's file: at most ``longestName`` octets of UTF-8.
    public var name: String
    /// Whether each piece is acknowledged before the next one goes.
    public var isOneByOne: Bool

    public static let longestName = 96

    public init(identifier: UInt64, length: UInt32, checksum: UInt32, name: String, isOneByOne: Bool = false) {
        self.identifier = identifier
        self.length = length
        self.checksum = checksum
        self.name = name
        self.isOneByOne = isOneByOne
    }
}

/// Why a receiver does not take a transfer, or one of the two gives it up.
public enum TransferRefusal: UInt8, Error, Sendable {
    /// It speaks another version.
    case version = 1
    case noRoom = 2
    /// The program does not want it.
    case unwanted = 3
    /// All of it is there, and it is not what was offered. It is thrown away.
    case damaged = 4
    /// It could not be stored.
    case storage = 5
    case other = 255
}

/// One message of a transfer. Documentation/TransferFormat.md has the layout.
package enum TransferFrame: Equatable, Sendable {
    case offer(TransferOffer)
    /// The receiver has what is before `offset`, and takes `window` octets more at a time.
    case accept(identifier: UInt64, offset: UInt32, window: UInt32)
    case refuse(identifier: UInt64, TransferRefusal)
    case data(offset: UInt32, Data)
    /// All before `next` is there, and what lies in `ranges`.
    case acknowledge(next: UInt32, ranges: [Range<UInt32>])
    /// All is there and intact.
    case done(identifier: UInt64)

    static let version: UInt8 = 1
    /// Type, length and checksum.
    static let overhead = 7
    /// Of a piece of data: the frame's and the offset.
    static let dataOverhead = overhead + 4

    private enum Kind: UInt8 {
        case offer = 1
        case accept, refuse, data, acknowledge, done
    }

    /// As the carrier takes it: whole, or in parts where its messages are too short.
    package func messages(ofAtMost length: Int) -> [Data] {
        let whole = encoded
        let room = length - FramePart.overhead
        guard whole.count > length, room > 0 else { return [whole] }
        let parts = stride(from: 0, to: whole.count, by: room).map { whole[$0..<min($0 + room, whole.count)] }
        return parts.enumerated().map { index, part in
            FramePart(index: UInt8(index), count: UInt8(parts.count), content: Data(part)).encoded
        }
    }

    var encoded: Data {
        var writer = FrameWriter()
        switch self {
        case .offer(let offer):
            writer.begin(Kind.offer.rawValue)
            writer.add(Self.version)
            writer.add(offer.identifier)
            writer.add(offer.length)
            writer.add(offer.checksum)
            writer.add(UInt8(offer.isOneByOne ? 1 : 0))
            writer.add(Data(offer.name.utf8.prefix(TransferOffer.longestName)))
        case .accept(let identifier, let offset, let window):
            writer.begin(Kind.accept.rawValue)
            writer.add(identifier)
            writer.add(offset)
            writer.add(window)
        case .refuse(let identifier, let refusal):
            writer.begin(Kind.refuse.rawValue)
            writer.add(identifier)
            writer.add(refusal.rawValue)
        case .data(let offset, let data):
            writer.begin(Kind.data.rawValue)
            writer.add(offset)
            writer.add(data)
        case .acknowledge(let next, let ranges):
            writer.begin(Kind.acknowledge.rawValue)
            writer.add(next)
            for range in ranges {
                writer.add(range.lowerBound)
                writer.add(range.upperBound)
            }
        case .done(let identifier):
            writer.begin(Kind.done.rawValue)
            writer.add(identifier)
        }
        return writer.end()
    }

    /// `nil` for what is no frame, of a later version, or damaged: it is as good as lost.
    init?(_ message: Data) {
        guard let (kind, body) = FrameWriter.body(of: message), let kind = Kind(rawValue: kind) else { return nil }
        var reader = ValueReader(body)
        switch kind {
        case .offer:
            guard reader.octet() == Self.version, let identifier = reader.number(8), let length = reader.uint32(),
                let checksum = reader.uint32(), let flags = reader.octet()
            else { return nil }
            let name = reader.data()
            guard name.count <= TransferOffer.longestName else { return nil }
            self = .offer(
                TransferOffer(
                    identifier: identifier, length: length, checksum: checksum,
                    name: String(decoding: name, as: UTF8.self), isOneByOne: flags & 1 != 0))
        case .accept:
            guard let identifier = reader.number(8), let offset = reader.uint32(), let window = reader.uint32()
            else { return nil }
            self = .accept(identifier: identifier, offset: offset, window: window)
        case .refuse:
            guard let identifier = reader.number(8), let code = reader.octet() else { return nil }
            self = .refuse(identifier: identifier, TransferRefusal(rawValue: code) ?? .other)
        case .data:
            guard let offset = reader.uint32() else { return nil }
            self = .data(offset: offset, reader.data())
        case .acknowledge:
            guard let next = reader.uint32() else { return nil }
            var ranges: [Range<UInt32>] = []
            while let start = reader.uint32(), let end = reader.uint32() {
                guard start < end else { return nil }
                ranges.append(start..<end)
            }
            self = .acknowledge(next: next, ranges: ranges)
        case .done:
            guard let identifier = reader.number(8) else { return nil }
            self = .done(identifier: identifier)
        }
    }

    /// How many ranges fit into an acknowledgement of so many octets.
    static func rangeCount(in length: Int) -> Int { max(0, (length - overhead - 4) / 8) }
}

/// A part of a frame that is longer than the carrier's messages.
struct FramePart: Equatable {
    static let kind: UInt8 = 7
    static let overhead = TransferFrame.overhead + 2

    var index: UInt8
    var count: UInt8
    var content: Data

    init(index: UInt8, count: UInt8, content: Data) {
        self.index = index
        self.count = count
        self.content = content
    }

    init?(_ message: Data) {
        guard let (kind, body) = FrameWriter.body(of: message), kind == Self.kind, body.count > 2 else { return nil }
        index = body[0]
        count = body[1]
        content = Data(body[2...])
    }

    var encoded: Data {
        var writer = FrameWriter()
        writer.begin(Self.kind)
        writer.add(index)
        writer.add(count)
        writer.add(content)
        return writer.end()
    }
}

/// Makes frames of what the carrier brings. Parts come in order; where one is missing, the frame is lost.
package struct FrameAssembler {
    private var parts: [FramePart] = []

    package init() {}

    package mutating func take(_ message: Data) -> TransferFrame? {
        guard let part = FramePart(message) else { return TransferFrame(message) }
        if part.index == 0 { parts.removeAll() }
        guard Int(part.index) == parts.count, parts.last?.count ?? part.count == part.count else {
            parts.removeAll()
            return nil
        }
        parts.append(part)
        guard parts.count == Int(part.count) else { return nil }
        defer { parts.removeAll() }
        return TransferFrame(parts.reduce(into: Data()) { $0.append($1.content) })
    }
}

/// Type, length of the body, body, and the CRC-32 of all that; numbers with the least significant octet first.
struct FrameWriter {
    private var octets = Data()

    mutating func begin(_ kind: UInt8) { octets = Data([kind, 0, 0]) }

    mutating func add(_ number: some FixedWidthInteger) {
        for shift in stride(from: 0, to: number.bitWidth, by: 8) {
            octets.append(UInt8(truncatingIfNeeded: number >> shift))
        }
    }

    mutating func add(_ data: Data) { octets.append(data) }

    mutating func end() -> Data {
        let length = octets.count - 3
        octets[1] = UInt8(truncatingIfNeeded: length)
        octets[2] = UInt8(truncatingIfNeeded: length >> 8)
        add(Checksum(of: octets).value)
        return octets
    }

    /// `nil` if the length or the checksum is wrong.
    static func body(of message: Data) -> (kind: UInt8, body: Data)? {
        guard message.count >= TransferFrame.overhead else { return nil }
        let octets = message.startIndex == 0 ? message : Data(message)
        let length = Int(octets[1]) | Int(octets[2]) << 8
        guard length == octets.count - TransferFrame.overhead else { return nil }
        var reader = ValueReader(Data(octets.suffix(4)))
        guard reader.uint32() == Checksum(of: octets.dropLast(4)).value else { return nil }
        return (octets[0], Data(octets[3..<3 + length]))
    }
}
