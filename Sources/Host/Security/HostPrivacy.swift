import BluetoothCrypto
import BluetoothTypes
import EventLoop
import GAP
import HCI
import HostInterface
import SMP

// MARK: - Peers behind private addresses

/// A bonded peer that shows private addresses is called by its identity address where the controller finds it by that.
/// Otherwise it is listened for, and dialled at the address that is on the air (B168, B169).
extension Host {
    /// Has the initiator look for a peer, or the scanner if its address is not known.
    func dial(_ peer: PeerID, at now: Instant) {
        guard !isDialling(peer) else { return }
        guard links.count < configuration.maximumLinks else { return waitingForRoom.append(peer) }
        guard let index = bondIndex(of: peer) else { return dial(peer, at: peer.address, now: now) }
        let identity = bonds[index].identity
        if resolvingList.lists(identity) { return dial(peer, at: identity, now: now) }
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

// MARK: - This device's own private address, and the controller's resolving list

/// This device shows an address that only who has its IRK can tell from a stranger's, and another one every fifteen
/// minutes (Core 6.0, Vol 3, Part C, 10.7 and appendix A, TGAP(private_addr_int)). Its controller knows whom it finds
/// behind such addresses of others.
///
/// A controller takes either only while it neither advertises, scans, initiates nor establishes a synchronization (Vol
/// 4, Part E, 7.8.4 and 7.8.38): all of these pause for that moment.
enum AddressChange: Equatable {
    case pausing(forAddress: Bool)
    case listing(forAddress: Bool)
    case setting(DeviceAddress)
}

extension Host {
    private static let addressLifetime = Duration.seconds(900)
    private static let patienceForQuiet = Duration.seconds(1)
    /// A controller that does not fall silent in this time goes on as before, and is asked again after that one.
    private static let longestPause = Duration.seconds(3)
    private static let restAfterPause = Duration.seconds(60)

    /// The kind of address that goes into commands.
    var ownAddressType: OwnAddressType {
        ownAddress == identity.address ? capabilities?.ownAddressType ?? .publicDevice : .randomDevice
    }

    /// The adapter is ready; nothing runs yet.
    func startPrivacy(at now: Instant) {
        ownAddress = identity.address
        addressChange = nil
        changeAddressBy = nil
        wantResolvingList(at: now)
        if configuration.usesPrivateAddress || resolvingList.hasWork {
            pause(forAddress: configuration.usesPrivateAddress, at: now)
        }
    }

    func wakePrivacy(at now: Instant) {
        if let pauseUntil, pauseUntil <= now { giveUpPause(at: now) }
        let changesAddress = changeAddressBy.map { $0 <= now } ?? false
        let changesList = updateListBy.map { $0 <= now } ?? false
        guard changesAddress || changesList, addressChange == nil else { return }
        // What somebody has just asked for comes first.
        let isBusy =
            !scanRequests.isEmpty || !advertisingRequests.isEmpty
            || clients.contains { $0.extendedAdvertising?.requests.isEmpty == false }
        guard isBusy else { return pause(forAddress: changesAddress, at: now) }
        if changesAddress { changeAddressBy = now.advanced(by: Self.patienceForQuiet) }
        if changesList { updateListBy = now.advanced(by: Self.patienceForQuiet) }
    }

    private func pause(forAddress: Bool, at now: Instant) {
        if forAddress { changeAddressBy = nil }
        updateListBy = nil
        addressChange = .pausing(forAddress: forAddress)
        pauseUntil = now.advanced(by: Self.longestPause)
        pausedDials = initiator.pending
        performScanner(scanner.handle(.want(nil), at: now), at: now)
        performAdvertiser(advertiser.handle(.want(nil), at: now), at: now)
        for client in clients where client.extendedAdvertising != nil {
            advance(.want(nil), advertiserOf: client.id, at: now)
        }
        for address in pausedDials { performInitiator(initiator.handle(.cancel(address), at: now), at: now) }
        performSynchronizer(synchronizer.handle(.pause, at: now), at: now)
        goOnWithAddressChange(at: now)
    }

    private func giveUpPause(at now: Instant) {
        pauseUntil = nil
        guard case .pausing(let forAddress) = addressChange else { return }
        if forAddress { changeAddressBy = now.advanced(by: Self.restAfterPause) }
        if resolvingList.hasWork { updateListBy = now.advanced(by: Self.restAfterPause) }
        endPause(at: now)
    }

    /// A command has ended; perhaps it was the last before silence.
    func goOnWithAddressChange(at now: Instant) {
        guard case .pausing(let forAddress) = addressChange, scanner.isOff, advertiser.isOff,
            areExtendedAdvertisersOff, !initiator.isActive
        else { return }
        guard !synchronizer.isEstablishing else {
            return performSynchronizer(synchronizer.handle(.pause, at: now), at: now)
        }
        addressChange = .listing(forAddress: forAddress)
        performResolvingList(resolvingList.handle(.quiet, at: now), at: now)
    }

    func performResolvingList(_ effects: [ResolvingListKeeper.Effect], at now: Instant) {
        for effect in effects {
            switch effect {
            case .command(let packet): submit(packet, for: .resolvingList, at: now)
            case .settled:
                guard case .listing(let forAddress) = addressChange else { continue }
                if forAddress { setNextAddress(at: now) } else { endPause(at: now) }
            }
        }
    }

    private func setNextAddress(at now: Instant) {
        var random = randomness.generator()
        let new = ResolvableAddress(
            key: identity.resolvingKey, random: UInt32(truncatingIfNeeded: random.next())
        ).address
        addressChange = .setting(new)
        submit(LESetRandomAddress(address: new).packet, for: .privateAddress, at: now)
    }

    func addressSet(_ outcome: CommandOutcome, at now: Instant) {
        guard case .setting(let new) = addressChange else { return }
        if case .completed = outcome { ownAddress = new }
        changeAddressBy = now.advanced(by: Self.addressLifetime)
        endPause(at: now)
    }

    /// What was on the air goes on.
    private func endPause(at now: Instant) {
        addressChange = nil
        pauseUntil = nil
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
        // Whom the controller finds by itself from now on, nobody needs to look for.
        for peer in searched {
            guard let index = bondIndex(of: peer), resolvingList.lists(bonds[index].identity) else { continue }
            stopDialling(peer, at: now)
            dial(peer, at: now)
        }
    }
}

// MARK: - Whom the controller finds

extension Host {
    private var canList: Bool {
        guard configuration.usesResolvingList, let capabilities else { return false }
        let needed: [HCIOpcode] = [
            .leAddDeviceToResolvingList, .leRemoveDeviceFromResolvingList, .leSetAddressResolutionEnable,
            .leSetPrivacyMode,
        ]
        return capabilities.features.contains(.privacy) && needed.allSatisfy(capabilities.commands.contains)
    }

    /// All who have given their keys; the youngest bonds first, for there may not be room for all.
    private func wantResolvingList(at now: Instant) {
        guard canList else { return }
        let entries = bonds.reversed().compactMap { record in
            record.bond.resolvingKey.map {
                ResolvingListKeeper.Entry(
                    identity: record.identity, peerKey: $0.value, localKey: identity.resolvingKey.value)
            }
        }
        _ = resolvingList.handle(.want(entries.filter { $0.peerKey != 0 }), at: now)
    }

    /// Bonds came or went.
    func bondsChanged(at now: Instant) {
        wantResolvingList(at: now)
        if resolvingList.hasWork, updateListBy == nil { updateListBy = now }
    }

    /// The event with the address at which the initiator calls the peer, whoever has found who it is.
    func asCalled(_ event: LEConnectionComplete) -> LEConnectionComplete {
        guard event.status == .success, !initiator.pending.contains(event.peer),
            let index = bondIndex(behind: event.peer), let called = dialled[bonds[index].peer],
            initiator.pending.contains(called)
        else { return event }
        var named = event
        if event.peerPrivateAddress == nil, ResolvableAddress(event.peer) != nil {
            named.peerPrivateAddress = event.peer
        }
        named.peer = called
        return named
    }
}
