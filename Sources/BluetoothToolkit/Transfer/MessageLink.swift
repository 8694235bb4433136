public import CoreBluetooth

/// Carries messages between two devices: each whole or not at all, in order. It ends with the link.
public protocol MessageLink: Sendable {
    /// How many octets one message may have.
    var maximumLength: Int { get }

    /// Returns when the message is handed over; throws why the link has ended.
    func send(_ message: Data) async throws

    /// What the other side sends, for one reader; ends, or throws, when the link does.
    var messages: Events<Data> { get }

    /// Asks the other side whether its end is still there, where silence could also mean that it is not; throws if it
    /// is not. A link of which its end is always told has nothing to ask.
    func check() async throws
}

extension MessageLink {
    public func check() async throws {}
}

/// The service by which two programs of this toolkit exchange messages.
public enum MessageService {
    public static var service: CBUUID { CBUUID(string: "8D2F0001-9C4B-4E6A-B1D3-5A7E10F0C2A4") }
    /// Messages from the central: written, with or without response.
    public static var toPeripheral: CBUUID { CBUUID(string: "8D2F0002-9C4B-4E6A-B1D3-5A7E10F0C2A4") }
    /// Messages from the peripheral: notified.
    public static var toCentral: CBUUID { CBUUID(string: "8D2F0003-9C4B-4E6A-B1D3-5A7E10F0C2A4") }

    /// The number of the L2CAP channel that the peripheral offers besides, two octets; it is not there if it offers
    /// none.
    public static var channel: CBUUID { CBUUID(string: "8D2F0004-9C4B-4E6A-B1D3-5A7E10F0C2A4") }
    /// An empty service: who advertises it, in place of ``service``, has something to send to whoever comes.
    public static var outbox: CBUUID { CBUUID(string: "8D2F0005-9C4B-4E6A-B1D3-5A7E10F0C2A4") }

    static func definition(channel psm: CBL2CAPPSM) -> LocalService {
        LocalService(
            service,
            characteristics: [
                LocalCharacteristic(toPeripheral, [.write, .writeWithoutResponse]),
                LocalCharacteristic(toCentral, [.notify]),
                LocalCharacteristic(
                    channel, [.read],
                    value: Data([UInt8(truncatingIfNeeded: psm), UInt8(truncatingIfNeeded: psm >> 8)])),
            ])
    }

    /// The longest value that fills its packets. With data length extension a packet of the link layer carries 251
    /// octets (Core 6.0, Vol 6, Part B, 4.5.10), of which L2CAP takes 4 once and ATT 3: a value a little longer would
    /// send a nearly empty packet behind the full ones.
    static func efficientLength(upTo limit: Int) -> Int {
        let overhead = 7
        let packets = (limit + overhead) / 251
        return packets > 0 ? packets * 251 - overhead : limit
    }
}

/// The central's end of a ``MessageService``.
public struct CentralMessageLink: MessageLink {
    public enum Mode: Sendable {
        /// As many writes without response as the link takes.
        case withoutResponse
        /// Each write is confirmed by the peer before the next one goes.
        case withResponse
    }

    public let maximumLength: Int
    public let messages: Events<Data>
    private let peripheral: RemotePeripheral
    private let outbound: RemoteCharacteristic
    private let inbound: RemoteCharacteristic
    private let mode: Mode

    /// Opens it on a link that is there.
    ///
    /// - Throws: ``ToolkitError/notFound(_:)`` if the peer has no such service.
    public init(
        to peripheral: RemotePeripheral, mode: Mode = .withoutResponse,
        within limit: Duration? = Central.defaultLimit
    ) async throws {
        let deadline = Deadline(limit, by: peripheral.time)
        self.peripheral = peripheral
        self.mode = mode
        outbound = try await peripheral.characteristic(
            MessageService.toPeripheral, in: MessageService.service, within: deadline.left)
        inbound = try await peripheral.characteristic(
            MessageService.toCentral, in: MessageService.service, within: deadline.left)
        messages = try await peripheral.values(of: inbound, buffer: .oldest(1024), within: deadline.left)
        maximumLength = MessageService.efficientLength(
            upTo: min(512, peripheral.maximumWriteLength(for: .withoutResponse)))
    }

    public func send(_ message: Data) async throws {
        switch mode {
        case .withoutResponse: try await peripheral.writeWithoutResponse(message, to: outbound)
        case .withResponse: try await peripheral.write(message, to: outbound)
        }
    }

    /// Reads this central's subscription from the peer. A program that is started again has its service anew, without
    /// subscriptions; a peer that has no Service Changed, or that was not yet asked for it, does not tell.
    ///
    /// - Throws: ``ToolkitError/outdated`` if the subscription is not there any more.
    public func check() async throws {
        do {
            let type = CBUUID(string: CBUUIDClientCharacteristicConfigurationString)
            let descriptors = try await peripheral.discoverDescriptors(of: inbound)
            guard let subscription = descriptors.first(where: { $0.uuid == type }),
                case .number(let bits) = try await peripheral.read(subscription), bits != 0
            else { throw ToolkitError.outdated }
        } catch is CBATTError {
            throw ToolkitError.outdated
        }
    }
}
