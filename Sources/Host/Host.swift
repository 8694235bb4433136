import ATT
package import BluetoothTypes
package import EventLoop
import GAP
import GATT
import HCI
package import HostInterface
import L2CAP

/// One adapter: the owner of the machines of its controller and of all its links, and the only place where their
/// effects become packets and events.
///
/// It runs on one loop: whoever owns it calls ``receive(_:at:)`` with what the controller sends, ``wake(at:)`` at
/// ``deadline``, and hands it the clients' requests. Each runs to its end. It is not thread-safe.
package final class Host {
    let configuration: HostConfiguration
    private let transmit: ([UInt8]) -> Void

    /// What the clients are told.
    package internal(set) var state = AdapterState.unknown
    var clients: [HostClient] = []
    private var lastClient: UInt32 = 0
    package internal(set) var requests = RequestRegistry()

    var adapter = AdapterLife()
    var commands = HCICommandQueue()
    var commandOwners: [UInt32: CommandOwner] = [:]
    var lastCommand: UInt32 = 0
    var scanner = Scanner()
    var advertiser = Advertiser()
    var initiator = Initiator()
    var acl = ACLScheduler(bufferCount: 0, bufferLength: 27)
    var links: [Link] = []
    var database = AttributeDatabase()
    /// Which client published the characteristic with this value handle.
    var publishers: [UInt16: ClientID] = [:]
    /// Questions of peers that a client has yet to answer.
    var questions: [ServerRequestID: Question] = [:]
    var lastQuestion: UInt64 = 0
    /// PDUs whose handing over somebody waits for.
    var handovers: [UInt64: Handover] = [:]
    var lastToken: UInt64 = 0

    /// - Parameter send: takes an H4 packet for the controller.
    package init(configuration: HostConfiguration = HostConfiguration(), send: @escaping ([UInt8]) -> Void) {
        self.configuration = configuration
        transmit = send
    }

    func send(_ packet: [UInt8]) { transmit(packet) }
}

// MARK: - Clients

extension Host {
    /// Adds a client, and tells it the adapter's state.
    ///
    /// - Parameter deliver: takes the client's events, in order. It must not call back into the host.
    package func attach(at now: Instant, _ deliver: @escaping (HostEvent) -> Void) -> ClientID {
        lastClient += 1
        let id = ClientID(lastClient)
        clients.append(HostClient(id: id, deliver: deliver))
        deliver(.state(state))
        return id
    }

    /// Ends a client: its scan, its links, its services and its advertising go; its requests are not answered.
    package func detach(_ id: ClientID, at now: Instant) {
        guard let index = clients.firstIndex(where: { $0.id == id }) else { return }
        requests.removeAll(of: id)
        let client = clients.remove(at: index)
        updateScanner(at: now)
        updateAdvertiser(at: now)
        for peer in client.holds.sorted() { release(peer, at: now) }
        for service in client.services { unpublish(service, at: now) }
        abandonPendingConnects(of: id, at: now)
    }

    func client(_ id: ClientID) -> HostClient? { clients.first { $0.id == id } }

    func updateClient(_ id: ClientID, _ body: (inout HostClient) -> Void) {
        guard let index = clients.firstIndex(where: { $0.id == id }) else { return }
        body(&clients[index])
    }

    func deliver(_ event: HostEvent, to id: ClientID) { client(id)?.deliver(event) }

    /// Ends a request, unless it has ended already.
    func finish(_ key: RequestKey, _ result: Result<HostAnswer, HostFailure>) {
        guard requests.end(key) else { return }
        deliver(.answer(key.number, result), to: key.client)
    }

    func fail(_ key: RequestKey, _ failure: HostFailure) { finish(key, .failure(failure)) }
}
