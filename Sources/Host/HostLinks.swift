import ATT
import BluetoothTypes
import EventLoop
import GAP
import GATT
import HCI
import HostInterface
import L2CAP
import SMP

// MARK: - Connecting

extension Host {
    func connect(_ peer: PeerID, for key: RequestKey, at now: Instant) {
        let mayDial = links.count < configuration.maximumLinks && diallingCount < Self.mostDials
        guard mayDial || linkIndex(of: peer) != nil else { return fail(key, .connectionLimitReached) }
        updateClient(key.client) { $0.holds.insert(peer) }
        guard let index = linkIndex(of: peer) else {
            return dial(peer, at: now)
        }
        // One that is ending is connected anew when it has ended.
        guard !links[index].isEnding, links[index].reportBy == nil else { return }
        finish(key, .success(.connected(mtu: links[index].attributes.mtu)))
    }

    /// Each pending connect takes memory; nobody waits for that many peers.
    private static let mostDials = 512

    func performInitiator(_ effects: [Initiator.Effect], at now: Instant) {
        for effect in effects {
            switch effect {
            case .command(let packet): submit(packet, for: .initiator, at: now)
            case .connected(let event): linkEstablished(event, at: now)
            case .unwanted(let event): endUnwanted(event, at: now)
            case .failed(let address, let failure):
                let peer = dialled.first { $0.value == address }?.key ?? PeerID(address)
                stopDialling(peer, at: now)
                // The controller has as many links as it can.
                if failure.error == .connectionLimitExceeded, !links.isEmpty {
                    waitingForRoom.append(peer)
                    continue
                }
                for client in clients { dropHold(of: client.id, on: peer, HostFailure(failure)) }
            // Whoever took it back was told at once.
            case .cancelled: break
            }
        }
    }

    func linkEstablished(_ event: LEConnectionComplete, at now: Instant) {
        guard linkIndex(handle: event.handle) == nil else { return }
        let bond = bondIndex(behind: event.peer)
        let peer = bond.map { bonds[$0].peer } ?? PeerID(event.peer)
        if let old = linkIndex(of: peer) {
            guard isDead(links[old], in: event) else {
                return submit(
                    Disconnect(handle: event.handle, reason: .remoteUserTerminated).packet, for: .nobody, at: now)
            }
            replaceLink(old, at: now)
        }
        addLink(event, to: peer, bond: bond)
        know(peer) { $0.isConnected = true }
        // A peer that connects to this host may be one that a client waits for.
        stopDialling(peer, at: now)
        if links.count >= configuration.maximumLinks { holdDialsBack(at: now) }
        guard let index = linkIndex(handle: event.handle) else { return }
        secureNewLink(index, at: now)
        tune(.start, onLink: event.handle, at: now)
        guard isHeld(peer), let index = linkIndex(handle: event.handle) else { return }
        links[index].reportBy = now.advanced(by: configuration.patienceForMTU)
        start(.exchangeMTU, purpose: .exchangeMTU, onLink: index, at: now)
    }

    private func addLink(_ event: LEConnectionComplete, to peer: PeerID, bond: Int?) {
        acl.addLink(event.handle)
        links.append(
            Link(
                handle: event.handle, peer: peer, role: event.role,
                signalling: Signalling(role: event.role == .central ? .central : .peripheral),
                attributes: GATTConnection(ownRxMTU: Int(configuration.preferredMTU)),
                security: makeGuard(for: event, bond: bond), tuner: makeTuner(for: event),
                timing: LinkTiming(
                    interval: event.interval, latency: event.latency, supervisionTimeout: event.supervisionTimeout)))
        links[links.count - 1].signalling.offers = offers
    }

    /// Ends a link that came about while its attempt was being called off. It is among the links while it ends, so
    /// that whoever asks for the peer meanwhile waits for that: the controller takes no second link to a peer.
    private func endUnwanted(_ event: LEConnectionComplete, at now: Instant) {
        guard linkIndex(handle: event.handle) == nil else { return }
        let bond = bondIndex(behind: event.peer)
        let peer = bond.map { bonds[$0].peer } ?? PeerID(event.peer)
        let hasOther = linkIndex(of: peer) != nil
        addLink(event, to: peer, bond: bond)
        endLink(links.count - 1, at: now)
        // What is told of the peer is about the link that it has as a central.
        links[links.count - 1].isReplaced = hasOther
    }

    /// Whether a link to a peer that has connected anew is over. Two devices may also have connected to each other at
    /// once, each as central; then both keep the link whose central has the lower address.
    private func isDead(_ old: Link, in new: LEConnectionComplete) -> Bool {
        guard old.role != new.role, !old.isEnding, case .poweredOn(let own) = state else { return true }
        return (new.role == .central) == (own < old.peer.address)
    }

    /// Ends what was open on a link to a peer that has a newer one.
    private func replaceLink(_ index: Int, at now: Instant) {
        endLink(index, at: now)
        let failure = links[index].endReason ?? .disconnected(reason: HCIErrorCode.connectionTimeout.rawValue)
        let link = links[index]
        links[index].isReplaced = true
        links[index].purposes = [:]
        links[index].security.demands = []
        links[index].security.refused = []
        links[index].security.question = nil
        links[index].disconnects = []
        links[index].subrating = LinkSubrating()
        links[index].reportBy = nil
        acl.dropWaiting(on: link.handle)
        endWork(on: link, because: failure, at: now)
        for key in link.disconnects { finish(key, .success(.done)) }
        // Whoever waits for a link to the peer gets the new one.
        for client in clients where !requests.open.contains(where: { $0.isConnect(of: client.id, to: link.peer) }) {
            dropHold(of: client.id, on: link.peer, failure)
        }
    }

    /// Tells those who asked that the link is there; its MTU is agreed, or was waited for long enough.
    func reportLink(_ handle: UInt16, at now: Instant) {
        guard let index = linkIndex(handle: handle), links[index].reportBy != nil else { return }
        links[index].hasAgreedMTU = true
        guard !links[index].security.delaysReport else { return }
        links[index].reportBy = nil
        let peer = links[index].peer
        let mtu = links[index].attributes.mtu
        for entry in requests.open where entry.request == .connect(peer) {
            finish(entry.key, .success(.connected(mtu: mtu)))
        }
        for event in links[index].early {
            for client in clients where client.holds.contains(peer) { client.deliver(event) }
        }
        links[index].early = []
        startHousekeeping(onLink: index, at: now)
    }

    func isHeld(_ peer: PeerID) -> Bool { clients.contains { $0.holds.contains(peer) } }
}

// MARK: - Disconnecting

extension Host {
    func disconnect(_ peer: PeerID, for key: RequestKey, at now: Instant) {
        for entry in requests.open where entry.key.client == key.client && entry.request == .connect(peer) {
            fail(entry.key, .cancelled)
        }
        updateClient(key.client) { $0.holds.remove(peer) }
        endChannels(of: key.client, to: peer, at: now)
        if !isHeld(peer), let index = linkIndex(of: peer), links[index].role == .central {
            links[index].disconnects.append(key)
            endLink(index, at: now)
        } else {
            stopConnectingIfUnwanted(peer, at: now)
            finish(key, .success(.done))
        }
    }

    /// A client is gone that held the link: if nobody else does, the link ends.
    func release(_ peer: PeerID, at now: Instant) {
        guard !isHeld(peer) else { return }
        if let index = linkIndex(of: peer), links[index].role == .central { endLink(index, at: now) }
        stopConnectingIfUnwanted(peer, at: now)
    }

    private func stopConnectingIfUnwanted(_ peer: PeerID, at now: Instant) {
        guard !isHeld(peer), isDialling(peer) else { return }
        stopDialling(peer, at: now)
    }

    /// - Parameter failure: what clients are told in place of the controller's reason.
    func endLink(_ index: Int, because failure: HostFailure? = nil, at now: Instant) {
        guard !links[index].isEnding else { return }
        links[index].endingSince = now
        // Whoever asks for the peer from now on gets its next link.
        links[index].reportBy = nil
        links[index].endReason = failure
        submit(Disconnect(handle: links[index].handle, reason: .remoteUserTerminated).packet, for: .nobody, at: now)
    }

    func linkEnded(_ event: DisconnectionComplete, at now: Instant) {
        guard event.status == .success, let index = linkIndex(handle: event.handle) else { return }
        let link = links.remove(at: index)
        guard !link.isReplaced else {
            acl.removeLink(link.handle)
            return flush()
        }
        let failure = link.endReason ?? reason(of: link, event.reason)
        end(link, because: failure, at: now)
        for key in link.disconnects { finish(key, .success(.done)) }
        know(link.peer) {
            $0.isConnected = links.contains { $0.peer == link.peer }
            $0.services = []
        }
        tellHolders(of: link, failure, at: now)
        dialWaiting(at: now)
        performAdvertiser(advertiser.handle(.disconnected, at: now), at: now)
        for client in clients where client.extendedAdvertising != nil {
            advance(.disconnected, advertiserOf: client.id, at: now)
        }
        flush()
    }

    /// A link that was never established, or that was ending when it was asked for again, is tried anew.
    private func tellHolders(of link: Link, _ failure: HostFailure, at now: Instant) {
        let neverCame = failure == .disconnected(reason: HCIErrorCode.connectionFailedToBeEstablished.rawValue)
        let waiting = requests.open.contains { $0.request == .connect(link.peer) }
        if waiting, neverCame || link.isEnding {
            dial(link.peer, at: now)
            return
        }
        for client in clients { dropHold(of: client.id, on: link.peer, failure) }
    }

    /// Tells a client that held a link, or waited for it, of its end.
    func dropHold(of id: ClientID, on peer: PeerID, _ failure: HostFailure) {
        guard client(id)?.holds.contains(peer) == true else { return }
        updateClient(id) { $0.holds.remove(peer) }
        let waiting = requests.open.filter { $0.isConnect(of: id, to: peer) }
        for entry in waiting { fail(entry.key, failure) }
        if waiting.isEmpty { deliver(.disconnected(peer, failure), to: id) }
    }

    /// Ends all that was open on a link.
    func end(_ link: Link, because failure: HostFailure, at now: Instant) {
        acl.removeLink(link.handle)
        if !link.isReplaced { endWork(on: link, because: failure, at: now) }
    }

    private func endWork(on link: Link, because failure: HostFailure, at now: Instant) {
        var attributes = link.attributes
        _ = attributes.handle(.linkLost, database: &database, at: now)
        endSecurity(of: link, because: failure, at: now)
        for (_, purpose) in link.purposes.sorted(by: { $0.key < $1.key }) {
            switch purpose {
            case .request(let key): fail(key, failure)
            case .share(let key): shareEnded(key)
            case .exchangeMTU, .readName, .readHash, .readServerFeatures, .openBearers, .discoverServiceChanged,
                .unattended:
                break
            }
        }
        for key in link.subrating.requests { fail(key, failure) }
        endChannels(onLink: link.handle, because: failure)
        questions = questions.filter { $0.value.link != link.handle }
        for handle in publishers.keys.sorted() where !link.attributes.subscription(to: handle).isEmpty {
            tellPublisher(of: handle, .unsubscribed(link.peer, AttributeHandle(rawValue: handle)))
        }
    }
}

// MARK: - Data

extension Host {
    func receiveACL(_ header: ACLHeader, _ payload: ArraySlice<UInt8>, at now: Instant) {
        guard header.isPossibleOnLE, let index = linkIndex(handle: header.handle),
            !links[index].isReplaced
        else { return }
        let isStart = header.boundary.isStart
        guard let pdu = links[index].reassembler.receive(payload, isStart: isStart) else { return }
        // A peer may have one request open (Core 6.0, Vol 3, Part F, 3.3.2). Who asks on and takes no answer only
        // fills the memory.
        guard acl.waitingAnswers(on: header.handle) < Self.mostWaitingAnswers else {
            return endLink(index, because: .illegalAnswer("The peer asks on without taking the answers."), at: now)
        }
        switch pdu.channel {
        case .attribute:
            if links[index].security.awaitsProof { links[index].security.awaitsProof = false }
            if pdu.payload.first == ATTOpcode.signedWriteCommand.rawValue {
                receiveSigned(pdu.payload, onLink: index, at: now)
            } else {
                handle(.receive(pdu.payload), onLink: index, at: now)
            }
        case .securityManager: handleSecurity(.receive(pdu.payload), onLink: index, at: now)
        case .signalling:
            let effects = links[index].signalling.handle(.receive(pdu.payload), at: now)
            performSignalling(effects, onLink: header.handle, at: now)
        case _ where ChannelID.dynamic.contains(pdu.channel.rawValue):
            receiveFrame(pdu.payload, on: pdu.channel, onLink: index, at: now)
        // A peer may send on a channel that this host does not have: it is ignored (Core 6.0, Vol 3, Part A, 3.1).
        default: break
        }
    }

    private static let mostWaitingAnswers = 64

    func sendPDU(_ payload: [UInt8], channel: ChannelID, onLink handle: UInt16, token: UInt64? = nil) {
        acl.enqueue(l2capPDU(payload, channel: channel), on: handle, token: token)
        flush()
    }

    /// Sends a frame of a credit-based channel. The peer's credits and the client's patience bound how many wait.
    func sendFrame(_ pdu: [UInt8], onLink handle: UInt16, token: UInt64?) {
        let isAnswer = token == Self.attributeToken
        acl.enqueue(pdu, on: handle, token: isAnswer ? nil : token, isAnswer: isAnswer)
        flush()
    }

    /// Hands the controller as much as it has room for.
    func flush() {
        while let packet = acl.next() {
            send(packet.octets)
            if let token = packet.token { handedOver(token, onLink: packet.handle) }
        }
    }

    /// The controller has all of a PDU that nobody answers.
    private func handedOver(_ id: UInt64, onLink handle: UInt16) {
        guard let index = linkIndex(handle: handle) else { return }
        switch links[index].purposes.removeValue(forKey: id) {
        case .request(let key): finish(key, .success(.done))
        case .share(let key): shareEnded(key)
        case .exchangeMTU, .readName, .readHash, .readServerFeatures, .openBearers, .discoverServiceChanged,
            .unattended, nil:
            break
        }
    }

    func wakeLink(_ handle: UInt16, at now: Instant) {
        guard let index = linkIndex(handle: handle), !links[index].isReplaced else { return }
        perform(links[index].attributes.wake(at: now), onLink: handle, at: now)
        guard let index = linkIndex(handle: handle) else { return }
        performSignalling(links[index].signalling.wake(at: now), onLink: handle, at: now)
        wakeBearers(onLink: handle, at: now)
        wakeSecurity(onLink: handle, at: now)
        wakeTuner(onLink: handle, at: now)
        wakeSubrate(onLink: handle, at: now)
        guard let index = linkIndex(handle: handle), let reportBy = links[index].reportBy else { return }
        if reportBy <= now { reportLink(handle, at: now) }
    }
}
