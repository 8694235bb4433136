public import CoreBluetooth

/// Carries messages between two devices: each whole or not at all, in order. It ends with the link.
public protocol MessageLink: Sendable {
    /// How many octets one message may have.
    var maximumLength: Int { get }

    /// Returns when the message is handed over; throws why the link has ended.
    func send(_ message: Data) async throws

    /// What the other side sends, for one reader; ends, or throws, when the link does.
    var messages: Events<Data> { get }
}

/// The service by which two programs of this toolkit exchange messages.
public enum MessageService {
    public static var service: CBUUID { CBUUID(string: "8D2F0001-9C4B-4E6A-B1D3-5A7E10F0C2A4") }
    /// Messages from the central: written, with or without response.
    public static var toPeripheral: CBUUID { CBUUID(string: "8D2F0002-9C4B-4E6A-B1D3-5A7E10F0C2A4") }
    /// Messages from the peripheral: notified.
    public static var toCentral: CBUUID { CBUUID(string: "8D2F0003-9C4B-4E6A-B1D3-5A7E10F0C2A4") }

    static var definition: LocalService {
        LocalService(
            service,
            characteristics: [
                LocalCharacteristic(toPeripheral, [.write, .writeWithoutResponse]),
                LocalCharacteristic(toCentral, [.notify]),
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
        let inbound = try await peripheral.characteristic(
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
}

/// The peripheral's end of a ``MessageService``: publishes it, and gives out a link for each central that comes.
public final class MessageServer: Sendable {
    private let peripheral: LocalPeripheral

    public init(_ peripheral: LocalPeripheral) { self.peripheral = peripheral }

    /// Publishes the service and serves until cancelled, also over times without a radio. It reads all of
    /// ``LocalPeripheral/events``.
    ///
    /// - Parameter serve: called with each central's link, in a task of its own, which is cancelled when the central
    ///   leaves.
    public func run(_ serve: @escaping @Sendable (PeripheralMessageLink) async throws -> Void) async throws {
        try await peripheral.waitUntilOn(within: nil)
        var outbound = try await publish()
        try await withThrowingTaskGroup(of: Void.self) { group in
            var open: [RemoteCentral: PeripheralMessageLink] = [:]
            for try await event in peripheral.events {
                switch event {
                case .subscribed(let central, let characteristic) where characteristic == outbound:
                    let link = PeripheralMessageLink(to: central, of: peripheral, outbound)
                    open[central]?.end(.peerEnded)
                    open[central] = link
                    group.addTask {
                        // A central that breaks the rules, or leaves, takes nobody else along.
                        do { try await serve(link) } catch is CancellationError {} catch {}
                    }
                case .unsubscribed(let central, let characteristic) where characteristic == outbound:
                    open.removeValue(forKey: central)?.end(.peerEnded)
                case .radioGone(let state):
                    for link in open.values { link.end(.radioUnavailable(state)) }
                    open.removeAll()
                    try await peripheral.waitUntilOn(within: nil)
                    if state.clearsServices { outbound = try await publish() }
                case .write(let request):
                    // The confirmation of a write with response is the acknowledgement: first take, then confirm.
                    for part in request.parts { open[request.central]?.take(part.value) }
                    request.accept()
                case .read(let request): request.refuse(.readNotPermitted)
                case .subscribed, .unsubscribed: break
                }
            }
            group.cancelAll()
        }
    }

    /// - Returns: the characteristic by which messages go to centrals.
    private func publish() async throws -> PublishedCharacteristic {
        let service = try await peripheral.publish(MessageService.definition)
        guard let outbound = service.characteristic(MessageService.toCentral) else {
            throw ToolkitError.notFound("characteristic \(MessageService.toCentral.uuidString)")
        }
        return outbound
    }
}

/// A central's link, seen from the peripheral.
public struct PeripheralMessageLink: MessageLink {
    public let central: RemoteCentral
    public let messages: Events<Data>
    private let source: EventSource<Data>
    private let peripheral: LocalPeripheral
    private let outbound: PublishedCharacteristic

    init(to central: RemoteCentral, of peripheral: LocalPeripheral, _ outbound: PublishedCharacteristic) {
        self.central = central
        self.peripheral = peripheral
        self.outbound = outbound
        (messages, source) = EventSource<Data>.make(.oldest(1024))
    }

    public var maximumLength: Int {
        MessageService.efficientLength(upTo: min(512, central.maximumUpdateLength))
    }

    public func send(_ message: Data) async throws {
        guard outbound.subscribers.contains(central) else { throw ToolkitError.linkEnded(.peerEnded) }
        try await peripheral.notify(message, of: outbound, to: [central])
    }

    func take(_ message: Data) { source.send(message) }
    func end(_ cause: LinkEnd) { source.finish(ToolkitError.linkEnded(cause)) }
}
