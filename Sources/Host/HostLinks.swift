import BluetoothTypes
import EventLoop
import GATT
import HCI
import HostInterface
import L2CAP

// MARK: - Connecting and disconnecting

extension Host {
    func connect(_ peer: PeerID, for key: RequestKey, at now: Instant) {
        updateClient(key.client) { $0.holds.insert(peer) }
        if let index = linkIndex(of: peer), !links[index].isEnding {
            if links[index].reportBy == nil { finish(key, .success(.connected(mtu: links[index].bearer.mtu))) }
            return
        }
        performInitiator(initiator.handle(.connect(peer.address), at: now), at: now)
    }

    func disconnect(_ peer: PeerID, for key: RequestKey, at now: Instant) {
        for entry in requests.open where entry.key.client == key.client && entry.request == .connect(peer) {
            fail(entry.key, .cancelled)
        }
        guard client(key.client)?.holds.contains(peer) == true else { return finish(key, .success(.done)) }
        updateClient(key.client) { $0.holds.remove(peer) }
        guard let index = linkIndex(of: peer), !isHeld(peer) else {
            stopConnectingIfUnwanted(peer, at: now)
            return finish(key, .success(.done))
        }
        links[index].disconnects.append(key)
        endLink(index, at: now)
    }

    /// A client is gone that held the link: nobody else does, the link ends.
    func release(_ peer: PeerID, at now: Instant) {
        guard !isHeld(peer) else { return }
        if let index = linkIndex(of: peer), links[index].role == .central { endLink(index, at: now) }
        stopConnectingIfUnwanted(peer, at: now)
    }

    func isHeld(_ peer: PeerID) -> Bool { clients.contains { $0.holds.contains(peer) } }

    private func stopConnectingIfUnwanted(_ peer: PeerID, at now: Instant) {
        guard !isHeld(peer), linkIndex(of: peer) == nil else { return }
        performInitiator(initiator.handle(.cancel(peer.address), at: now), at: now)
    }

    func endLink(_ index: Int, because failure: HostFailure? = nil, at now: Instant) {
        guard !links[index].isEnding else { return }
        links[index].isEnding = true
        links[index].endReason = failure
        submit(
            Disconnect(handle: links[index].handle, reason: .remoteUserTerminated).packet, for: .nobody, at: now)
    }

    func linkEstablished(_ event: LEConnectionComplete, at now: Instant) {
        guard linkIndex(handle: event.handle) == nil else { return }
        let peer = PeerID(event.peer)
        acl.addLink(event.handle)
        links.append(
            Link(
                handle: event.handle, peer: peer, role: event.role,
                signalling: Signalling(role: event.role == .central ? .central : .peripheral),
                bearer: GATTBearer(ownRxMTU: Int(configuration.preferredMTU))))
        let index = links.count - 1
        tellKnowledge(of: peer)
        guard event.role == .central else { return }
        guard isHeld(peer) else { return endLink(index, at: now) }
        links[index].reportBy = now.advanced(by: configuration.patienceForMTU)
        start(.exchangeMTU, purpose: .exchangeMTU, onLink: index, at: now)
    }

    /// Tells those who asked that the link is there; its MTU is agreed, or was waited for long enough.
    func reportLink(_ handle: UInt16, at now: Instant) {
        guard let index = linkIndex(handle: handle), links[index].reportBy != nil else { return }
        links[index].reportBy = nil
        let peer = links[index].peer
        let mtu = links[index].bearer.mtu
        for entry in requests.open where entry.request == .connect(peer) {
            finish(entry.key, .success(.connected(mtu: mtu)))
        }
        if let index = linkIndex(handle: handle) { startHousekeeping(onLink: index, at: now) }
    }

    func linkEnded(_ event: DisconnectionComplete, at now: Instant) {
        guard event.status == .success, let index = linkIndex(handle: event.handle) else { return }
        let link = links.remove(at: index)
        let failure = link.endReason ?? .disconnected(reason: event.reason.rawValue)
        forget(link, because: failure)
        for key in link.disconnects { finish(key, .success(.done)) }
        for client in clients where client.holds.contains(link.peer) {
            updateClient(client.id) { $0.holds.remove(link.peer) }
            if !failPendingConnects(to: link.peer, of: client.id, failure) {
                client.deliver(.disconnected(link.peer, failure))
            }
        }
        tellKnowledge(of: link.peer)
        performAdvertiser(advertiser.handle(.linkEnded, at: now), at: now)
        flush()
    }

    private func failPendingConnects(to peer: PeerID, of client: ClientID, _ failure: HostFailure) -> Bool {
        let open = requests.open.filter { $0.key.client == client && $0.request == .connect(peer) }
        for entry in open { fail(entry.key, failure) }
        return !open.isEmpty
    }

    /// Ends all that was open on a link.
    func forget(_ link: Link, because failure: HostFailure) {
        var link = link
        for case .finish(let id, _) in link.bearer.linkLost() {
            if case .request(let key) = link.purposes[id] { fail(key, failure) }
        }
        for token in acl.removeLink(link.handle) { handedOver(token, failure: failure) }
        for (id, question) in questions where question.link == link.handle { questions[id] = nil }
        for handle in link.bearer.subscriptions {
            guard let client = publishers[handle] else { continue }
            deliver(.unsubscribed(link.peer, AttributeHandle(rawValue: handle)), to: client)
        }
    }
}

// MARK: - Data

extension Host {
    func receiveACL(_ header: ACLHeader, _ payload: ArraySlice<UInt8>, at now: Instant) {
        guard let index = linkIndex(handle: header.handle) else { return }
        guard let pdu = links[index].reassembler.receive(payload, isStart: header.boundary.isStart) else { return }
        switch pdu.channel {
        case .attributes: perform(links[index].bearer.receive(pdu.payload, &database, at: now), onLink: header.handle, at: now)
        case .signalling:
            performSignalling(links[index].signalling.handle(.receive(pdu.payload), at: now), header.handle, at: now)
        default: break
        }
    }

    func sendPDU(_ payload: [UInt8], channel: ChannelID, onLink handle: UInt16, token: UInt64? = nil) {
        acl.enqueue(l2capPDU(payload, channel: channel), on: handle, token: token)
        flush()
    }

    /// Hands the controller as much as it has room for.
    func flush() {
        while let (packet, token) = acl.next() {
            send(packet)
            if let token { handedOver(token, failure: nil) }
        }
    }

    func handedOver(_ token: UInt64, failure: HostFailure?) {
        switch handovers.removeValue(forKey: token) {
        case .write(let key): finish(key, failure.map { .failure($0) } ?? .success(.done))
        case .notification(let key):
            guard let shares = notificationShares[key] else { return }
            notificationShares[key] = shares > 1 ? shares - 1 : nil
            if shares == 1 { finish(key, .success(.done)) }
        case nil: break
        }
    }
}
