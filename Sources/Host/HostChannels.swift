import ATT
import EventLoop
import GATT
import HCI
import HostInterface
import L2CAP

/// L2CAP channels for clients: published, opened, used and closed.
extension Host {
    func submitChannel(_ request: HostRequest, _ key: RequestKey, at now: Instant) {
        switch request {
        case .publishChannel(let requiresEncryption): publishChannel(requiresEncryption, for: key)
        case .unpublishChannel(let psm): unpublishChannel(psm, for: key, at: now)
        case .openChannel(let peer, let psm, let isEnhanced):
            openChannel(peer, psm, isEnhanced ? .enhanced : .leCreditBased, for: key, at: now)
        case .enlargeChannel(let number, let mtu): enlarge(number, mtu: mtu, for: key, at: now)
        case .send(let number, let octets): send(octets, on: number, for: key, at: now)
        case .received(let number, let count): received(count, on: number, for: key, at: now)
        case .closeChannel(let number): closeChannel(number, for: key, at: now)
        default: preconditionFailure("\(request) does not belong here.")
        }
    }

    // MARK: Publishing

    private func publishChannel(_ requiresEncryption: Bool, for key: RequestKey) {
        guard let psm = channels.publish(for: key.client, requiresEncryption: requiresEncryption) else {
            return fail(key, .channelRefused(result: ChannelResult.noResources.rawValue))
        }
        offerChannels()
        finish(key, .success(.channelPublished(psm: psm)))
    }

    private func unpublishChannel(_ psm: UInt16, for key: RequestKey, at now: Instant) {
        guard channels.unpublish(psm, of: key.client) else {
            return fail(key, .invalidParameters("This client has published no channel under \(psm)."))
        }
        offerChannels()
        // B-J1: those that are open end with the offer.
        for entry in channels.entries where entry.psm == psm && entry.isIncoming && !entry.isClosing {
            deliver(.channelClosed(entry.number, .cancelled), to: entry.client)
            close(entry, for: nil, at: now)
        }
        finish(key, .success(.done))
    }

    /// Tells all links what peers may open.
    private func offerChannels() {
        for index in links.indices { links[index].signalling.offers = offers }
    }

    // MARK: Opening and closing

    private func openChannel(
        _ peer: PeerID, _ psm: UInt16, _ mode: ChannelMode, for key: RequestKey, at now: Instant
    ) {
        guard let index = heldLink(peer, by: key.client) else { return fail(key, .notConnected) }
        let id = open(.request(key), onLink: index)
        signal(.open(id: id, spsm: psm, mode: mode, count: 1), onLink: index, at: now)
    }

    private func enlarge(_ number: ChannelNumber, mtu: UInt16, for key: RequestKey, at now: Instant) {
        guard let entry = channels.entry(number, of: key.client), let index = linkIndex(handle: entry.handle),
            let information = links[index].signalling.information(entry.channel)
        else { return fail(key, .channelClosed) }
        let id = open(.request(key), onLink: index)
        let mps = UInt16(information.ownMPS)
        signal(.reconfigure(id: id, [entry.channel], mtu: mtu, mps: mps), onLink: index, at: now)
    }

    private func closeChannel(_ number: ChannelNumber, for key: RequestKey, at now: Instant) {
        guard let entry = channels.entry(number, of: key.client) else { return finish(key, .success(.done)) }
        close(entry, for: key, at: now)
    }

    private func close(_ entry: ChannelTable.Entry, for key: RequestKey?, at now: Instant) {
        channels.setClosing(entry.number, for: key)
        guard let index = linkIndex(handle: entry.handle) else { return }
        signal(.close(entry.channel), onLink: index, at: now)
    }

    /// A client has left: what it offered and opened goes.
    func endChannels(of client: ClientID, at now: Instant) {
        for offer in channels.published where offer.client == client {
            _ = channels.unpublish(offer.psm, of: client)
        }
        offerChannels()
        for entry in channels.entries where entry.client == client && !entry.isClosing {
            close(entry, for: nil, at: now)
        }
    }

    /// A client has let go of a link that stays: what it opened on it goes.
    func endChannels(of client: ClientID, to peer: PeerID, at now: Instant) {
        guard let index = linkIndex(of: peer) else { return }
        let handle = links[index].handle
        for entry in channels.entries
        where entry.client == client && entry.handle == handle && !entry.isIncoming && !entry.isClosing {
            deliver(.channelClosed(entry.number, .cancelled), to: client)
            close(entry, for: nil, at: now)
        }
    }

    /// A link has ended, and with it its channels.
    func endChannels(onLink handle: UInt16, because failure: HostFailure) {
        for entry in channels.removeAll(on: handle) {
            for key in entry.closers { finish(key, .success(.done)) }
            if !entry.isClosing { deliver(.channelClosed(entry.number, failure), to: entry.client) }
        }
    }

    // MARK: Data

    private func send(_ octets: [UInt8], on number: ChannelNumber, for key: RequestKey, at now: Instant) {
        guard let entry = channels.entry(number, of: key.client), let index = linkIndex(handle: entry.handle),
            let length = links[index].signalling.information(entry.channel)?.bestLength
        else { return fail(key, .channelClosed) }
        guard !octets.isEmpty else { return finish(key, .success(.done)) }
        let token = open(.request(key), onLink: index)
        guard octets.count > length else {
            return signal(.send(entry.channel, octets, token: token), onLink: index, at: now)
        }
        for start in stride(from: 0, to: octets.count, by: length) {
            let end = min(start + length, octets.count)
            let last = end == octets.count ? token : nil
            signal(.send(entry.channel, Array(octets[start..<end]), token: last), onLink: index, at: now)
        }
    }

    private func received(_ count: Int, on number: ChannelNumber, for key: RequestKey, at now: Instant) {
        if let entry = channels.entry(number, of: key.client), let index = linkIndex(handle: entry.handle) {
            signal(.read(entry.channel, count), onLink: index, at: now)
        }
        finish(key, .success(.done))
    }

    func signal(_ input: Signalling.Input, onLink index: Int, at now: Instant) {
        let handle = links[index].handle
        performSignalling(links[index].signalling.handle(input, at: now), onLink: handle, at: now)
    }
}

// MARK: - From the links

extension Host {
    func receiveFrame(_ payload: ArraySlice<UInt8>, on channel: ChannelID, onLink index: Int, at now: Instant) {
        signal(.receiveFrame(channel, payload), onLink: index, at: now)
    }

    func channelsOpened(_ opened: [ChannelID], by id: UInt64, onLink handle: UInt16, at now: Instant) {
        guard let index = linkIndex(handle: handle) else { return }
        let purpose = links[index].purposes.removeValue(forKey: id)
        if case .openBearers = purpose { return bearersOpened(opened, onLink: index, at: now) }
        guard case .request(let key) = purpose, requests.isOpen(key) else {
            // Nobody waits for them any more.
            for channel in opened { signal(.close(channel), onLink: index, at: now) }
            return
        }
        for channel in opened {
            guard let open = register(channel, for: key.client, isIncoming: false, onLink: index) else { continue }
            finish(key, .success(.channel(open)))
        }
    }

    func channelFailed(_ failure: ChannelFailure, by id: UInt64, onLink handle: UInt16, at now: Instant) {
        guard let index = linkIndex(handle: handle) else { return }
        let purpose = links[index].purposes.removeValue(forKey: id)
        if case .openBearers = purpose { return bearersRefused(failure, onLink: index, at: now) }
        guard case .request(let key) = purpose else { return }
        if case .refused(let result) = failure, let code = ATTErrorCode(lackingFor: result),
            waitsForSecurity(key, id, code, onLink: index, at: now)
        {
            return
        }
        fail(key, HostFailure(failure))
    }

    func channelReconfigured(_ failure: ChannelFailure?, by id: UInt64, onLink handle: UInt16) {
        guard let index = linkIndex(handle: handle),
            case .request(let key) = links[index].purposes.removeValue(forKey: id)
        else { return }
        if let failure { fail(key, HostFailure(failure)) } else { finish(key, .success(.done)) }
    }

    func channelAccepted(_ channel: ChannelID, onLink handle: UInt16, at now: Instant) {
        guard let index = linkIndex(handle: handle),
            let psm = links[index].signalling.information(channel)?.spsm
        else { return }
        if psm == Self.attributeSPSM { return addBearer(channel, onLink: index, at: now) }
        guard let offer = channels.published.first(where: { $0.psm == psm }),
            let open = register(channel, for: offer.client, isIncoming: true, onLink: index)
        else { return }
        deliver(.channelOpened(open), to: offer.client)
    }

    private func register(
        _ channel: ChannelID, for client: ClientID, isIncoming: Bool, onLink index: Int
    ) -> OpenChannel? {
        guard let information = links[index].signalling.information(channel) else { return nil }
        let number = channels.add(
            channel, on: links[index].handle, psm: information.spsm, client: client, isIncoming: isIncoming)
        return OpenChannel(
            number: number, peer: links[index].peer, psm: information.spsm, mtu: links[index].attributes.mtu,
            bestLength: information.bestLength)
    }

    func channelReceived(_ sdu: ArraySlice<UInt8>, on channel: ChannelID, onLink handle: UInt16, at now: Instant) {
        if let index = linkIndex(handle: handle), links[index].attributes.hasBearer(GATTBearerID(channel)) {
            return receiveAttributePDU(sdu, on: channel, onLink: index, at: now)
        }
        guard !sdu.isEmpty, let entry = channels.entry(channel, on: handle), !entry.isClosing else { return }
        deliver(.channelReceived(entry.number, Array(sdu)), to: entry.client)
    }

    func channelEnded(
        _ channel: ChannelID, _ end: ChannelEnd, unsent: [UInt64], onLink handle: UInt16, at now: Instant
    ) {
        if let index = linkIndex(handle: handle) {
            if links[index].attributes.hasBearer(GATTBearerID(channel)) {
                return self.handle(.bearerClosed(GATTBearerID(channel)), onLink: index, at: now)
            }
            for token in unsent {
                guard case .request(let key) = links[index].purposes.removeValue(forKey: token) else { continue }
                fail(key, .channelClosed)
            }
        }
        guard let entry = channels.remove(channel, on: handle) else { return }
        for key in entry.closers { finish(key, .success(.done)) }
        if !entry.isClosing { deliver(.channelClosed(entry.number, HostFailure(end)), to: entry.client) }
    }
}

extension ATTErrorCode {
    /// What a link lacks for a channel has the same name as what it lacks for an attribute.
    fileprivate init?(lackingFor result: ChannelResult) {
        switch result {
        case .insufficientAuthentication: self = .insufficientAuthentication
        case .insufficientEncryption: self = .insufficientEncryption
        case .encryptionKeyTooShort: self = .encryptionKeySizeTooShort
        default: return nil
        }
    }
}

extension HostFailure {
    fileprivate init(_ failure: ChannelFailure) {
        switch failure {
        case .refused(let result): self = .channelRefused(result: result.rawValue)
        case .rejected: self = .channelRefused(result: nil)
        case .timedOut: self = .timedOut
        case .illegalAnswer: self = .illegalAnswer("The peer's answer about a channel contradicts itself.")
        case .notReconfigured(let result):
            self = .invalidParameters("The peer does not agree to the sizes of the channel: \(result.rawValue).")
        case .notPossible:
            self = .invalidParameters(
                "The link has no channel left, the PSM is not in 0x0001...0x00FF, or the channel cannot be so.")
        }
    }

    fileprivate init(_ end: ChannelEnd) {
        switch end {
        case .closedByPeer: self = .channelClosed
        case .closedHere: self = .cancelled
        case .violated(let violation): self = .illegalAnswer("The peer broke the rules of a channel: \(violation).")
        }
    }
}
