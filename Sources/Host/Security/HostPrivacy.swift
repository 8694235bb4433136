import BluetoothCrypto
import BluetoothTypes
import EventLoop
import GAP
import HCI
import HostInterface
import SMP

// MARK: - Peers behind private addresses

/// A bonded peer that shows private addresses is listened for, and dialled at the address that is on the air: most
/// controllers cannot call it by its identity address (B168, B169).
extension Host {
    /// Has the initiator look for a peer, or the scanner if its address is not known.
    func dial(_ peer: PeerID, at now: Instant) {
        guard !isDialling(peer) else { return }
        guard links.count < configuration.maximumLinks else { return waitingForRoom.append(peer) }
        guard let index = bondIndex(of: peer) else { return dial(peer, at: peer.address, now: now) }
        let identity = bonds[index].identity
        guard ResolvableAddress(peer.address) != nil || privatePeers.contains(identity) else {
            return dial(peer, at: identity, now: now)
        }
        searched.append(peer)
        updateScanner(at: now)
    }

    private func dial(_ peer: PeerID, at address: DeviceAddress, now: Instant) {
        dialled[peer] = address
        guard addressChange == nil else { return pausedDials.append(address) }
        performInitiator(
            initiator.handle(.connect(address, onCoded: codedPeers.contains(address)), at: now), at: now)
    }

    func isDialling(_ peer: PeerID) -> Bool {
        dialled[peer] != nil || searched.contains(peer) || waitingForRoom.contains(peer)
    }

    var diallingCount: Int {
        initiator.pending.count + searched.filter { dialled[$0] == nil }.count + waitingForRoom.count
    }

    /// There are as many links as there may be: whoever is called waits for the end of one.
    func holdDialsBack(at now: Instant) {
        let called = initiator.pending.compactMap { address in dialled.first { $0.value == address }?.key }
        for peer in called + searched.filter({ dialled[$0] == nil }) {
            stopDialling(peer, at: now)
            waitingForRoom.append(peer)
        }
    }

    /// A link has ended: whoever waits for room is called again.
    func dialWaiting(at now: Instant) {
        let waiting = waitingForRoom
        waitingForRoom = []
        for peer in waiting where isHeld(peer) && linkIndex(of: peer) == nil { dial(peer, at: now) }
    }

    func stopDialling(_ peer: PeerID, at now: Instant) {
        waitingForRoom.removeAll { $0 == peer }
        if searched.contains(peer) {
            searched.removeAll { $0 == peer }
            privateDials.removeAll { $0.peer == peer }
            updateScanner(at: now)
        }
        guard let address = dialled.removeValue(forKey: peer) else { return }
        pausedDials.removeAll { $0 == address }
        performInitiator(initiator.handle(.cancel(address), at: now), at: now)
    }

    /// A packet was heard. If it is of somebody who is searched, this is where to call them, until their next address.
    func heard(_ report: ScanReport, of peer: PeerID, at now: Instant) {
        let address = report.address
        noteCoded(address, isOnCoded: report.primaryPHY == .leCoded)
        if address != peer.address, ResolvableAddress(address) != nil, let index = bondIndex(of: peer) {
            privatePeers.insert(bonds[index].identity)
        }
        guard report.isConnectable, searched.contains(peer), dialled[peer] != address else { return }
        if let old = dialled[peer] { performInitiator(initiator.handle(.cancel(old), at: now), at: now) }
        privateDials.removeAll { $0.peer == peer }
        privateDials.append((peer, now.advanced(by: Self.patienceForAnswer)))
        dial(peer, at: address, now: now)
        updateScanner(at: now)
    }

    /// Who announces itself on the coded PHY is called there too. Not many do; a crowd is not remembered.
    private func noteCoded(_ address: DeviceAddress, isOnCoded: Bool) {
        if isOnCoded {
            if codedPeers.count >= 256 { codedPeers = [] }
            codedPeers.insert(address)
        } else if !codedPeers.isEmpty {
            codedPeers.remove(address)
        }
    }

    /// Somebody is searched whose address is not known yet. Whoever is called is not searched meanwhile: a controller
    /// that listens for both hears each half the time.
    var isSearching: Bool { searched.contains { dialled[$0] == nil } }

    /// For so long a private address is called that was just heard. Then it may be an old one.
    private static let patienceForAnswer = Duration.seconds(4)

    func wakeDialling(at now: Instant) {
        for dial in privateDials where dial.until <= now {
            privateDials.removeAll { $0.peer == dial.peer }
            guard searched.contains(dial.peer), let address = dialled.removeValue(forKey: dial.peer) else { continue }
            pausedDials.removeAll { $0 == address }
            performInitiator(initiator.handle(.cancel(address), at: now), at: now)
            updateScanner(at: now)
        }
    }
}

// MARK: - This device's own private address

/// This device shows an address that only who has its IRK can tell from a stranger's, and another one every fifteen
/// minutes (Core 6.0, Vol 3, Part C, 10.7 and appendix A, TGAP(private_addr_int)).
///
/// A controller takes a new address only while it neither advertises, scans nor initiates (Vol 4, Part E, 7.8.4): all
/// three pause for that moment.
enum AddressChange: Equatable {
    case pausing
    case setting(DeviceAddress)
}

extension Host {
    private static let addressLifetime = Duration.seconds(900)
    private static let patienceForQuiet = Duration.seconds(1)

    /// The kind of address that goes into commands.
    var ownAddressType: OwnAddressType {
        ownAddress == identity.address ? capabilities?.ownAddressType ?? .publicDevice : .randomDevice
    }

    /// The adapter is ready; nothing runs yet.
    func startPrivacy(at now: Instant) {
        ownAddress = identity.address
        addressChange = nil
        changeAddressBy = nil
        if configuration.usesPrivateAddress { changeAddress(at: now) }
    }

    func wakePrivacy(at now: Instant) {
        guard let due = changeAddressBy, due <= now, addressChange == nil else { return }
        // What somebody has just asked for comes first.
        guard scanRequests.isEmpty, advertisingRequests.isEmpty else {
            changeAddressBy = now.advanced(by: Self.patienceForQuiet)
            return
        }
        changeAddress(at: now)
    }

    private func changeAddress(at now: Instant) {
        changeAddressBy = nil
        addressChange = .pausing
        pausedDials = initiator.pending
        performScanner(scanner.handle(.want(nil), at: now), at: now)
        performAdvertiser(advertiser.handle(.want(nil), at: now), at: now)
        for client in clients where client.extendedAdvertising != nil {
            advance(.want(nil), advertiserOf: client.id, at: now)
        }
        for address in pausedDials { performInitiator(initiator.handle(.cancel(address), at: now), at: now) }
        goOnWithAddressChange(at: now)
    }

    /// A command has ended; perhaps it was the last before silence.
    func goOnWithAddressChange(at now: Instant) {
        guard addressChange == .pausing, scanner.isOff, advertiser.isOff, areExtendedAdvertisersOff,
            !initiator.isActive
        else { return }
        var random = randomness.generator()
        let new = ResolvableAddress(
            key: identity.resolvingKey, random: UInt32(truncatingIfNeeded: random.next())
        ).address
        addressChange = .setting(new)
        submit(LESetRandomAddress(address: new).packet, for: .privateAddress, at: now)
    }

    func addressSet(_ outcome: CommandOutcome, at now: Instant) {
        guard case .setting(let new) = addressChange else { return }
        addressChange = nil
        if case .completed = outcome { ownAddress = new }
        changeAddressBy = now.advanced(by: Self.addressLifetime)
        initiator.configuration.ownAddressType = ownAddressType
        updateScanner(at: now)
        updateAdvertiser(at: now)
        updateExtendedAdvertisers(at: now)
        let dials = pausedDials
        pausedDials = []
        for address in dials where dialled.values.contains(address) {
            performInitiator(
                initiator.handle(.connect(address, onCoded: codedPeers.contains(address)), at: now), at: now)
        }
    }
}
