public import CoreBluetooth

/// Messages of the transfer format over an L2CAP channel, where one follows the other: each has its length in its
/// head. Both ends use it.
public final class ChannelMessageLink: MessageLink {
    /// An SDU of four frames that fill four packets of 251 octets each, as this module's host cuts them: 4 · 1000
    /// octets but for the SDU's own length.
    public static let longestMessage = 3998

    public let messages: Events<Data>
    private let channel: Channel
    private let source: EventSource<Data>

    public var maximumLength: Int { Self.longestMessage }

    /// - Parameter channel: from here on this link's alone.
    public init(over channel: Channel) {
        self.channel = channel
        (messages, source) = EventSource<Data>.make(.oldest(1024))
        let (cutter, source) = (MessageCutter(limit: Self.longestMessage), source)
        channel.consume { [weak channel] data in
            guard cutter.take(data, each: source.send) else {
                source.finish(ToolkitError.protocolViolation("a message is too long"))
                channel?.close()
                return
            }
        } end: {
            source.finish($0)
        }
    }

    /// Opens it on a link that is there, by the number that the peer's ``MessageService`` tells.
    ///
    /// - Throws: ``ToolkitError/notFound(_:)`` if the peer offers no channel.
    public convenience init(
        to peripheral: RemotePeripheral, within limit: Duration? = Central.defaultLimit
    ) async throws {
        let deadline = Deadline(limit, by: peripheral.time)
        let number = try await peripheral.characteristic(
            MessageService.channel, in: MessageService.service, within: deadline.left)
        var reader = ValueReader(try await peripheral.read(number, within: deadline.left))
        guard let psm = reader.number(2) else {
            throw ToolkitError.protocolViolation("the number of the channel has not two octets")
        }
        self.init(over: try await peripheral.openChannel(CBL2CAPPSM(psm), within: deadline.left))
    }

    public func send(_ message: Data) async throws { try await channel.write(message) }

    /// Closes the channel: what was sent goes out before.
    func end() { channel.close() }
}

/// Cuts a stream of octets into the messages of the transfer format.
// `@unchecked`: a stream's octets come one piece after the other.
final class MessageCutter: @unchecked Sendable {
    private let limit: Int
    private var octets = Data()

    init(limit: Int) { self.limit = limit }

    /// - Returns: `false` if a message is longer than one may be; nothing can be made of what follows.
    func take(_ data: Data, each: (Data) -> Void) -> Bool {
        octets.append(data)
        var start = octets.startIndex
        defer { octets = Data(octets[start...]) }
        while octets.endIndex - start >= 3 {
            let length = (Int(octets[start + 1]) | Int(octets[start + 2]) << 8) + TransferFrame.overhead
            guard length <= limit else { return false }
            guard octets.endIndex - start >= length else { break }
            each(Data(octets[start..<start + length]))
            start += length
        }
        return true
    }
}
