public import CoreBluetooth

/// The peripheral's end of a ``MessageService``: publishes it, and gives out a link for each central that comes, over
/// GATT or over an L2CAP channel.
public final class MessageServer: Sendable {
    private let peripheral: LocalPeripheral
    private let isOutbox: Bool

    /// - Parameters:
    ///   - peripheral: on which it serves.
    ///   - isOutbox: whether it has something to send: it publishes ``MessageService/outbox`` too.
    public init(_ peripheral: LocalPeripheral, isOutbox: Bool = false) {
        self.peripheral = peripheral
        self.isOutbox = isOutbox
    }

    /// Publishes the service and serves until cancelled, also over times without a radio. It reads all of
    /// ``LocalPeripheral/events``. When it ends, what it has published is taken back, and this device advertises no
    /// more.
    ///
    /// - Parameters:
    ///   - ready: called when the service is there, and again when it is there again and this device does not
    ///     advertise: the place to do so.
    ///   - serve: called with each central's link, in a task of its own, which is cancelled when the central leaves.
    public func run(
        ready: @escaping @Sendable () async throws -> Void = {},
        _ serve: @escaping @Sendable (any MessageLink) async throws -> Void
    ) async throws {
        try await peripheral.waitUntilOn(within: nil)
        var published = try await publish()
        defer {
            peripheral.stopAdvertising()
            withdraw(published)
        }
        try await ready()
        try await withThrowingTaskGroup(of: Void.self) { group in
            // A central that breaks the rules, or leaves, takes nobody else along.
            @Sendable func tolerate(_ link: any MessageLink) async { try? await serve(link) }
            var open: [RemoteCentral: PeripheralMessageLink] = [:]
            for try await event in peripheral.events {
                switch event {
                case .subscribed(let central, let characteristic) where characteristic == published.outbound:
                    let link = PeripheralMessageLink(to: central, of: peripheral, published.outbound)
                    open[central]?.end(.peerEnded)
                    open[central] = link
                    group.addTask { await tolerate(link) }
                case .unsubscribed(let central, let characteristic) where characteristic == published.outbound:
                    open.removeValue(forKey: central)?.end(.peerEnded)
                case .opened(let channel):
                    let link = ChannelMessageLink(over: channel)
                    group.addTask {
                        await tolerate(link)
                        link.end()
                    }
                case .radioGone(let state):
                    for link in open.values { link.end(.radioUnavailable(state)) }
                    open.removeAll()
                    try await peripheral.waitUntilOn(within: nil)
                    if state.clearsServices { published = try await publish() }
                    // It pauses while the radio is off; after worse it has stopped.
                    if !peripheral.isAdvertising { try await ready() }
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

    /// What centrals see of it.
    private struct Published {
        var psm: CBL2CAPPSM
        var service: PublishedService
        var outbox: PublishedService?
        /// By which messages go to centrals.
        var outbound: PublishedCharacteristic
    }

    private func publish() async throws -> Published {
        let psm = try await peripheral.offerChannel()
        var services: [PublishedService] = []
        do {
            let service = try await peripheral.publish(MessageService.definition(channel: psm))
            services.append(service)
            guard let outbound = service.characteristic(MessageService.toCentral) else {
                throw ToolkitError.notFound("characteristic \(MessageService.toCentral.uuidString)")
            }
            let empty = LocalService(MessageService.outbox, characteristics: [])
            let outbox = isOutbox ? try await peripheral.publish(empty) : nil
            return Published(psm: psm, service: service, outbox: outbox, outbound: outbound)
        } catch {
            for service in services { peripheral.withdraw(service) }
            peripheral.withdrawChannel(psm)
            throw error
        }
    }

    private func withdraw(_ published: Published) {
        peripheral.withdraw(published.service)
        if let outbox = published.outbox { peripheral.withdraw(outbox) }
        peripheral.withdrawChannel(published.psm)
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
