package import BluetoothTypes
package import HostInterface

/// What a manager remembers of the peers that its host has told it of: their identifiers, and what the host knows.
///
/// Peers may come with a new address each time, so it is bounded. Whom it has forgotten it knows again by the same
/// identifier, for that follows from the addresses, and the program's ``PeerDirectory`` reaches beyond its run.
package struct PeerMemory {
    /// As many as the directory holds.
    package static let capacity = 4096

    package private(set) var knowledge: [PeerID: PeerKnowledge] = [:]
    private var identifiers: [PeerID: UUID] = [:]
    private var peers: [UUID: PeerID] = [:]
    /// The adapter by whose address the identifiers were made.
    private var adapter: DeviceAddress?
    /// Everybody, in the order in which they were met.
    private var order: [PeerID] = []
    private var met: Set<PeerID> = []

    package init() {}

    package var count: Int { order.count }

    /// The peers with an identifier, by their addresses, for a dictionary has no order.
    var identified: [PeerID] { Set(peers.values).sorted() }

    package func peer(_ identifier: UUID) -> PeerID? { peers[identifier] }

    package func identifier(of peer: PeerID, seenBy adapter: DeviceAddress) -> UUID? {
        adapter == self.adapter ? identifiers[peer] : nil
    }

    /// - Parameters:
    ///   - adapter: `nil` if the identifier comes from an earlier run.
    ///   - isInUse: whether the app has something to do with a peer, who is kept then.
    package mutating func remember(
        _ identifier: UUID, of peer: PeerID, seenBy adapter: DeviceAddress?, isInUse: (PeerID) -> Bool
    ) {
        meet(peer, isInUse)
        peers[identifier] = peer
        guard let adapter else { return }
        if adapter != self.adapter { identifiers = [:] }
        self.adapter = adapter
        identifiers[peer] = identifier
    }

    /// - Returns: what was known before.
    @discardableResult
    package mutating func remember(_ new: PeerKnowledge, isInUse: (PeerID) -> Bool) -> PeerKnowledge? {
        meet(new.peer, isInUse)
        return knowledge.updateValue(new, forKey: new.peer)
    }

    private mutating func meet(_ peer: PeerID, _ isInUse: (PeerID) -> Bool) {
        guard met.insert(peer).inserted else { return }
        if order.count >= Self.capacity { makeRoom(isInUse) }
        order.append(peer)
    }

    /// Forgets those met longest ago: a sixteenth, so that it is not to be done at each new peer.
    private mutating func makeRoom(_ isInUse: (PeerID) -> Bool) {
        var forgotten: Set<PeerID> = []
        order.removeAll { peer in
            guard forgotten.count < Self.capacity / 16, knowledge[peer]?.isConnected != true, !isInUse(peer) else {
                return false
            }
            return forgotten.insert(peer).inserted
        }
        for peer in forgotten {
            knowledge[peer] = nil
            identifiers[peer] = nil
        }
        met.subtract(forgotten)
        peers = peers.filter { !forgotten.contains($0.value) }
    }
}
