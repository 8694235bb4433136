import BluetoothCrypto
import BluetoothTypes
import EventLoop
import GATT
import HostInterface
import SMP

/// The bonds of the adapter, and what is known by them of peers.
extension Host {
    /// Each takes memory and is looked at for each private address; nobody pairs with that many devices.
    static let mostBonds = 256

    /// The adapter has told its address: its bonds are opened.
    func openBonds(of adapter: DeviceAddress) {
        let random = randomness.generator()
        func makeKey() -> SecretKey {
            var random = random
            return SecretKey(random.nextBlock())
        }
        identity = Identity(address: adapter, resolvingKey: makeKey())
        bonds = []
        do throws(BondStorageError) {
            identity.resolvingKey = try bondStorage.resolvingKey(of: adapter, makeKey: makeKey)
            bonds = try bondStorage.bonds(of: adapter)
        } catch {
            tellEveryone(.storeFailed("The bonds cannot be read. \(error)"))
        }
        resolvedAddresses = [:]
    }

    func bondIndex(_ identity: DeviceAddress?) -> Int? {
        guard let identity else { return nil }
        return bonds.firstIndex { $0.identity == identity }
    }

    func bondIndex(of peer: PeerID) -> Int? { bonds.firstIndex { $0.peer == peer } }

    /// Changes a bond and keeps the change.
    func updateBond(at index: Int, _ change: (inout BondRecord) -> Void) {
        let before = bonds[index]
        change(&bonds[index])
        if bonds[index] != before { save(bonds[index]) }
    }

    private func save(_ record: BondRecord) {
        do throws(BondStorageError) {
            try bondStorage.save(record, of: identity.address)
        } catch {
            tellEveryone(.storeFailed("A bond cannot be kept. \(error)"))
        }
    }

    // MARK: Coming and going

    /// A pairing has ended with keys to keep.
    func keep(_ bond: Bond, onLink index: Int, at now: Instant) {
        if let old = bondIndex(bond.address) {
            // Anybody can give away another's identity address. Who was not known by the old keys may not lower how
            // well they protect, and finds nothing that was kept for their owner.
            let isOwner = links[index].security.identity == bond.address
            guard isOwner || bond.security.isAtLeast(bonds[old].bond.security) else {
                links[index].security.manager.bond = nil
                return tellEveryone(.failed(links[index].peer, .tooWeak))
            }
            updateBond(at: old) {
                $0.bond = bond
                $0.localSignCounter = 0
                $0.peerSignCounter = 0
                guard !isOwner else { return }
                $0.subscriptions = []
                $0.remoteDatabase = nil
            }
            if !isOwner { links[index].hasRestoredClient = true }
        } else {
            guard bonds.count < Self.mostBonds else {
                links[index].security.manager.bond = nil
                return tellEveryone(.failed(links[index].peer, .tooManyBonds))
            }
            // Clients go on with the name by which they know the peer. Who was met as itself before is that peer.
            let itself = PeerID(bond.address)
            let isKnown = known.contains { $0.peer == itself }
            let name = known.first { $0.peer == links[index].peer }?.name
            bonds.append(BondRecord(bond: bond, peer: isKnown ? itself : links[index].peer, name: name))
            save(bonds[bonds.count - 1])
            links[index].hasRestoredClient = true
        }
        links[index].security.identity = bond.address
        rememberClient(onLink: index)
        rememberSubscriptions(to: links[index].attributes.subscribedHandles, onLink: index)
        resolvedAddresses = [:]
        startCaching(onLink: index, at: now)
        bondsChanged(at: now)
        tellEveryone(.bonded(links[index].peer))
    }

    func removeBond(of peer: PeerID, at now: Instant) {
        guard let index = bondIndex(of: peer) else { return }
        let record = bonds.remove(at: index)
        resolvedAddresses = [:]
        do throws(BondStorageError) {
            try bondStorage.remove(record.identity, of: identity.address)
        } catch {
            tellEveryone(.storeFailed("A bond cannot be removed for good. \(error)"))
        }
        for link in links.indices where links[link].security.identity == record.identity {
            links[link].security.manager.bond = nil
            links[link].security.identity = nil
            if links[link].security.level != nil { endLink(link, at: now) }
        }
        bondsChanged(at: now)
        tellEveryone(.bondRemoved(peer))
    }

    /// - Returns: what was wrong with the bonds; then none was taken.
    func importBonds(_ records: [BondRecord], at now: Instant) -> HostFailure? {
        let new = records.filter { bondIndex($0.identity) == nil }
        guard bonds.count + new.count <= Self.mostBonds else { return .security(.tooManyBonds) }
        for record in records {
            if let index = bondIndex(record.identity) {
                updateBond(at: index) { $0 = record }
            } else {
                bonds.append(record)
                save(record)
            }
            tellEveryone(.bonded(record.peer))
        }
        resolvedAddresses = [:]
        bondsChanged(at: now)
        return nil
    }

    func tellEveryone(_ event: SecurityEvent) {
        for client in clients { client.deliver(.security(event)) }
    }

    // MARK: Who is behind an address

    private static let mostResolvedAddresses = 512

    /// The bond of whoever uses an address: its identity address, or a private one made with its key.
    func bondIndex(behind address: DeviceAddress) -> Int? {
        if bonds.isEmpty { return nil }
        if let index = bondIndex(address) { return index }
        guard let private_ = ResolvableAddress(address) else { return nil }
        if let known = resolvedAddresses[address] { return bondIndex(known) }
        let index = bonds.firstIndex { $0.bond.resolvingKey.map(private_.isOf) ?? false }
        if resolvedAddresses.count >= Self.mostResolvedAddresses { resolvedAddresses = [:] }
        resolvedAddresses[address] = .some(index.map { bonds[$0].identity })
        return index
    }

    /// By which name clients know whoever uses an address.
    func peer(behind address: DeviceAddress) -> PeerID {
        bondIndex(behind: address).map { bonds[$0].peer } ?? PeerID(address)
    }

    // MARK: Bonded peers as clients

    /// The link is encrypted with the bond's key, so the peer is who it says, and what was kept of it holds again. It
    /// learns before anything else that attributes came or went while it was absent (Core 6.0, Vol 3, Part G, 2.5.2).
    func restoreClient(onLink link: Int, at now: Instant) {
        guard let index = bondIndex(links[link].security.identity), !links[link].hasRestoredClient else { return }
        links[link].hasRestoredClient = true
        let record = bonds[index]
        let isAware = record.knownDatabase == database.hash
        let features = GATTClientFeatures(rawValue: record.clientFeatures)
        handle(.restoreClient(GATTClientStatus(features: features, isAware: isAware)), onLink: link, at: now)
        restoreSubscriptions(onLink: link, at: now)
        rememberSubscriptions(to: links[link].attributes.subscribedHandles, onLink: link)
        restoreDatabase(of: record, onLink: link, at: now)
        if !isAware { tellServicesChanged(0x0001...0xFFFF, onLink: link, at: now) }
        startCaching(onLink: link, at: now)
    }

    /// Keeps what a bonded client can do, and which attributes it knows (Core 6.0, Vol 3, Part G, 2.5.2.1 and 7.2).
    func rememberClient(onLink link: Int) {
        guard links[link].hasRestoredClient, let index = bondIndex(links[link].security.identity) else { return }
        let status = links[link].attributes.clientStatus
        updateBond(at: index) { record in
            record.clientFeatures = status.features.rawValue
            if status.isAware { record.knownDatabase = database.hash }
        }
    }

    /// Keeps what a bonded client is subscribed to (Core 6.0, Vol 3, Part G, 3.3.3.3): at these characteristics.
    func rememberSubscriptions(to handles: [UInt16], onLink link: Int) {
        guard links[link].hasRestoredClient, let index = bondIndex(links[link].security.identity) else { return }
        updateBond(at: index) { record in
            for handle in handles {
                guard let uuid = database.type(at: handle) else { continue }
                let kind = links[link].attributes.subscription(to: handle).rawValue
                record.subscriptions.removeAll { $0.handle == handle }
                guard kind != 0 else { continue }
                record.subscriptions.append(BondRecord.Subscription(handle: handle, uuid: uuid, kind: kind))
            }
            record.subscriptions.sort { $0.handle < $1.handle }
        }
    }

    func restoreSubscriptions(onLink link: Int, at now: Instant) {
        guard let index = bondIndex(links[link].security.identity) else { return }
        for subscription in bonds[index].subscriptions
        where database.type(at: subscription.handle) == subscription.uuid
            && links[link].attributes.subscription(to: subscription.handle).isEmpty
        {
            let kind = GATTSubscription(rawValue: subscription.kind)
            handle(.restoreSubscription(handle: subscription.handle, kind), onLink: link, at: now)
        }
    }
}
