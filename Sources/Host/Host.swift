import BluetoothCrypto
import BluetoothTypes
package import EventLoop
import GAP
import GATT
import HCI
package import HostInterface
import SMP

/// One adapter: the owner of the machines of its controller and of all its links, and the only place where their
/// effects become packets and events.
///
/// It runs on one loop: whoever owns it calls ``receive(_:at:)`` with what the controller sends, ``wake(at:)`` at
/// ``deadline``, and hands it the clients' requests. Each runs to its end. It is not thread-safe.
package final class Host {
    let configuration: HostConfiguration
    let send: ([UInt8]) -> Void

    // What clients see.
    package internal(set) var state = AdapterState.unknown
    /// What the system decides about the programs: see HostPolicy.swift.
    package internal(set) var policy = ProgramPolicy()
    /// Takes a sentence for the programs' developer, about what the policy keeps from happening.
    package var onAdvice: ((String) -> Void)?
    /// Takes what is wrong with the controller, for an owner that can do something about it. Without one, clients are
    /// shown `.unsupported`. It must not call back into the host.
    package var onTrouble: ((AdapterTrouble) -> Void)?
    /// The switch in the settings.
    var isSwitchedOn = false
    /// When a program in the background is suspended, and whether that moment has come.
    var suspendsAt: Instant?
    var isPastGrace = false
    var clients: [HostClient] = []
    private var lastClient: UInt32 = 0
    /// What is still waiting, on what, since when.
    package internal(set) var requests = RequestRegistry()
    var known: [PeerKnowledge] = []

    // The controller.
    var phase = AdapterPhase.off
    var commands = HCICommandQueue()
    var commandOwners: [UInt32: CommandOwner] = [:]
    var lastCommand: UInt32 = 0
    /// Whether the controller, which names the extended commands, did not know one of them.
    var knowsNoExtendedCommands = false
    var scanner = Scanner()
    var advertiser = Advertiser()
    var initiator = Initiator()
    var synchronizer = Synchronizer()
    /// Requests that end when the scanner or the advertiser has done what is wanted now.
    var scanRequests: [RequestKey] = []
    var advertisingRequests: [RequestKey] = []
    /// Packets from the controller that were none.
    package internal(set) var malformedPackets = 0

    // The links.
    var acl = ACLScheduler(bufferCount: 0, bufferLength: 27)
    var links: [Link] = []
    var lastBearerID: UInt64 = 0
    var channels = ChannelTable()

    // Security.
    let bondStorage: any BondStorage
    var bonds: [BondRecord] = []
    /// Who this adapter is behind its addresses.
    var identity = Identity(address: DeviceAddress(0), resolvingKey: SecretKey(0))
    let randomness: Randomness
    /// Whose the private addresses are that were met; the identity of nobody known is `nil`.
    var resolvedAddresses: [DeviceAddress: DeviceAddress?] = [:]
    /// At which address the initiator calls a peer.
    var dialled: [PeerID: DeviceAddress] = [:]
    /// Peers behind private addresses that are to be connected to, in the order in which they were asked for.
    var searched: [PeerID] = []
    /// Peers that are called when a link ends: there are as many as there can be.
    var waitingForRoom: [PeerID] = []
    /// Who was heard on the coded PHY, and not on LE 1M after that.
    var codedPeers: Set<DeviceAddress> = []
    /// Until when such a peer is called at the address at which it was heard.
    var privateDials: [(peer: PeerID, until: Instant)] = []
    /// Identities that have shown a private address.
    var privatePeers: Set<DeviceAddress> = []
    /// What this device shows now: its identity address, or a private one.
    var ownAddress = DeviceAddress(0)
    var addressChange: AddressChange?
    var changeAddressBy: Instant?
    /// Whom the controller finds by itself, and when that is to be brought up to date.
    var resolvingList = ResolvingListKeeper()
    var updateListBy: Instant?
    /// Until when the pause for a change may last.
    var pauseUntil: Instant?
    /// Whom the initiator goes on calling after the change.
    var pausedDials: [DeviceAddress] = []
    var pairingAttempts: [(address: DeviceAddress, limiter: AttemptLimiter)] = []
    var outOfBandData: OutOfBandData.Given?
    var outOfBandShares: [(peer: PeerID, share: OutOfBandShare)] = []
    var lastPairingQuestion: UInt64 = 0

    // The local attributes.
    var database: AttributeDatabase
    /// Which client published the characteristic with this value handle.
    var publishers: [UInt16: ClientID] = [:]
    /// Questions of peers that a client has yet to answer.
    var questions: [ServerRequestID: Question] = [:]
    var lastQuestion: UInt64 = 0
    /// To how many subscribers a notification has yet to go.
    var openShares: [RequestKey: Int] = [:]

    /// - Parameters:
    ///   - bonds: where bonds are kept, of this adapter and perhaps of others.
    ///   - randomness: where keys come from.
    ///   - send: takes an H4 packet for the controller. It must not call back into the host.
    package init(
        configuration: HostConfiguration = HostConfiguration(), bonds: any BondStorage = MemoryBondStorage(),
        randomness: Randomness = .system, send: @escaping ([UInt8]) -> Void
    ) {
        self.configuration = configuration
        bondStorage = bonds
        self.randomness = randomness
        self.send = send
        database = .standard(
            deviceName: configuration.deviceName, features: configuration.usesEnhancedBearers ? .enhancedBearers : [])
    }

    /// When ``wake(at:)`` must be called unless something else comes first.
    package var deadline: Instant? {
        var earliest: Instant?
        func consider(_ candidate: Instant?) {
            guard let candidate else { return }
            earliest = min(earliest ?? candidate, candidate)
        }
        if case .leaving(_, let until) = phase { consider(until) }
        consider(suspendsAt)
        consider(commands.deadline)
        consider(initiator.deadline)
        consider(synchronizer.deadline)
        if addressChange == nil {
            consider(changeAddressBy)
            consider(updateListBy)
        }
        consider(pauseUntil)
        for dial in privateDials { consider(dial.until) }
        // By their places, for a link is no small thing to copy.
        for index in links.indices { consider(links[index].deadline) }
        return earliest
    }

    package func wake(at now: Instant) {
        wakeAdapter(at: now)
        wakePolicy(at: now)
        performCommands(commands.wake(at: now), at: now)
        performInitiator(initiator.wake(at: now), at: now)
        performSynchronizer(synchronizer.wake(at: now), at: now)
        wakePrivacy(at: now)
        wakeDialling(at: now)
        for handle in links.map(\.handle) { wakeLink(handle, at: now) }
    }
}

// MARK: - Clients

extension Host {
    /// Adds a client, and tells it what the adapter knows and its state.
    ///
    /// - Parameter deliver: takes the client's events, in order. It must not call back into the host.
    package func attach(_ deliver: @escaping (HostEvent) -> Void, at now: Instant) -> ClientID {
        lastClient += 1
        let id = ClientID(lastClient)
        let gate = EventGate(deliver)
        clients.append(HostClient(id: id, gate: gate))
        for knowledge in known { gate.pass(.peerKnown(knowledge)) }
        // Until something is known of the state there is nothing to tell: it is unknown anyhow.
        if state != .unknown { gate.pass(.state(state)) }
        updateGates()
        return id
    }

    /// Ends a client: its scan, its links, its services and its advertising go; its requests are not answered.
    package func detach(_ id: ClientID, at now: Instant) {
        guard let index = clientIndex(id) else { return }
        requests.removeAll(of: id)
        let agent = agentID
        let client = clients.remove(at: index)
        updateScanner(at: now)
        updateAdvertiser(at: now)
        silence(client.extendedAdvertising, at: now)
        letGo(ofTrains: client.trains, at: now)
        endChannels(of: id, at: now)
        for peer in client.holds.sorted() { release(peer, at: now) }
        for service in client.services.reversed() { unpublish(service, at: now) }
        agentMayHaveChanged(from: agent, at: now)
    }

    func client(_ id: ClientID) -> HostClient? { clientIndex(id).map { clients[$0] } }

    func clientIndex(_ id: ClientID) -> Int? { clients.indices.first { clients[$0].id == id } }

    func updateClient(_ id: ClientID, _ body: (inout HostClient) -> Void) {
        guard let index = clientIndex(id) else { return }
        body(&clients[index])
    }

    func deliver(_ event: HostEvent, to id: ClientID) {
        guard let index = clientIndex(id) else { return }
        clients[index].gate.pass(event)
    }

    /// Ends a request, unless it has ended already.
    func finish(_ key: RequestKey, _ result: Result<HostAnswer, HostFailure>) {
        guard requests.end(key) else { return }
        deliver(.answer(key.number, result), to: key.client)
    }

    func fail(_ key: RequestKey, _ failure: HostFailure) { finish(key, .failure(failure)) }
}

// MARK: - What is known of peers

extension Host {
    /// Peers may come with a new address each time; not more than this many are remembered.
    private static let mostKnownPeers = 1024

    /// The oldest one without a link goes.
    private func forgetOldestPeer() {
        guard known.count > Self.mostKnownPeers, let oldest = known.firstIndex(where: { !$0.isConnected }) else {
            return
        }
        known.remove(at: oldest)
    }

    /// Changes what is known of a peer, and tells all clients if it is news.
    func know(_ peer: PeerID, _ change: (inout PeerKnowledge) -> Void) {
        if !known.contains(where: { $0.peer == peer }) {
            known.append(PeerKnowledge(peer: peer))
            forgetOldestPeer()
        }
        guard let index = known.firstIndex(where: { $0.peer == peer }) else { return }
        let before = known[index]
        change(&known[index])
        guard known[index] != before else { return }
        for client in clients { client.deliver(.peerKnown(known[index])) }
    }
}
