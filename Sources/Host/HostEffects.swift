import ByteCodec
package import EventLoop
import GAP
import GATT
import HCI
import HostInterface
import L2CAP

// MARK: - From the controller

extension Host {
    /// Takes one H4 packet from the controller.
    package func receive(_ packet: [UInt8], at now: Instant) { receive(packet[...], at: now) }

    /// Takes one H4 packet that lies in a buffer with others.
    package func receive(_ packet: ArraySlice<UInt8>, at now: Instant) {
        let parsed: HCIPacket
        do throws(PacketError) {
            parsed = try HCIPacket(packet)
            switch parsed {
            case .acl(let header, let payload): receiveACL(header, payload, at: now)
            case .event(let code, let parameters):
                receive(try ControllerEvent(code: code, parameters: parameters), at: now)
            case .leEvent(let code, let parameters):
                receive(try ControllerEvent(subevent: code, parameters: parameters), at: now)
            case .command, .otherData: malformedPackets += 1
            }
        } catch {
            // One bad packet is the controller's error; what it was about runs into its own timeout.
            malformedPackets += 1
        }
    }

    private func receive(_ event: ControllerEvent, at now: Instant) {
        switch event {
        case .commandComplete(let event): performCommands(commands.handle(.complete(event), at: now), at: now)
        case .commandStatus(let event): performCommands(commands.handle(.status(event), at: now), at: now)
        case .numberOfCompletedPackets(let event):
            for entry in event.entries {
                acl.complete(Int(entry.count), on: entry.handle)
                packetsAcknowledged(Int(entry.count), onLink: entry.handle, at: now)
            }
            flush()
        case .advertisingReports(let reports):
            guard isOn else { return }
            performScanner(scanner.handle(.reports(reports), at: now), at: now)
        case .extendedAdvertisingReports(let reports):
            guard isOn else { return }
            if synchronizer.isLooking { noteTrains(in: reports, at: now) }
            performScanner(scanner.handle(.extendedReports(reports), at: now), at: now)
        case .connectionComplete(let event): connectionComplete(event, at: now)
        case .disconnectionComplete(let event):
            linkEnded(event, at: now)
            saidGoodbye(onLink: event.handle, at: now)
        case .remoteConnectionParameterRequest(let event): answerParameterRequest(event, at: now)
        case .longTermKeyRequest(let event): longTermKeyRequested(event, at: now)
        case .encryptionChange(let event):
            encryptionChanged(event.handle, status: event.status, isOn: event.enabled != 0, at: now)
        case .encryptionKeyRefreshComplete(let event): encryptionChanged(event.handle, status: event.status, at: now)
        case .hardwareError(let event):
            controllerFailed(.hardwareError(code: event.hardwareCode), at: now)
        case .connectionUpdateComplete(let event): timingChanged(event)
        case .subrateChange(let event): subrateChanged(event, at: now)
        case .readRemoteFeaturesComplete(let event): tune(.remoteFeatures(event), onLink: event.handle, at: now)
        case .dataLengthChange(let event):
            acl.setDataLength(Int(event.txOctets), on: event.handle)
            tune(.dataLengthChanged(event), onLink: event.handle, at: now)
        case .phyUpdateComplete(let event): tune(.phyUpdated(event), onLink: event.handle, at: now)
        case .advertisingSetTerminated(let event): setTerminated(event, at: now)
        case .periodicSyncEstablished(let event):
            guard isOn else { return }
            performSynchronizer(synchronizer.handle(.established(event), at: now), at: now)
        case .periodicReport(let event): performSynchronizer(synchronizer.handle(.report(event), at: now), at: now)
        case .periodicSyncLost(let event): performSynchronizer(synchronizer.handle(.lost(event), at: now), at: now)
        case .authenticatedPayloadTimeoutExpired, .readRemoteVersionComplete, .dataBufferOverflow,
            .channelSelectionAlgorithm, .scanTimeout, .scanRequestReceived, .unknown, .unknownLE:
            break
        }
    }

    private func connectionComplete(_ event: LEConnectionComplete, at now: Instant) {
        guard isOn else { return }
        // An error is about the attempt as central: a peripheral's advertising just goes on.
        guard event.role == .peripheral, event.status == .success else {
            return performInitiator(initiator.handle(.connectionComplete(asCalled(event)), at: now), at: now)
        }
        linkEstablished(event, at: now)
        // Of several sets the next event tells which one it was.
        if !hasExtendedAdvertising { performAdvertiser(advertiser.handle(.connected, at: now), at: now) }
    }
}

// MARK: - From the links' bearers

extension Host {
    func perform(_ effects: [GATTEffect], onLink handle: UInt16, at now: Instant) {
        for effect in effects {
            guard let index = linkIndex(handle: handle) else { return }
            let peer = links[index].peer
            switch effect {
            case .send(let pdu, .fixed): sendPDU(pdu, channel: .attribute, onLink: handle)
            case .send(let pdu, let bearer): sendAttributePDU(pdu, on: bearer, onLink: index, at: now)
            case .sendUnanswered(let pdu, let id): sendPDU(pdu, channel: .attribute, onLink: handle, token: id)
            case .finish(let id, let result): ended(id, result, onLink: handle, at: now)
            case .mtuChanged(let mtu): mtuChanged(mtu, onLink: index)
            case .notified(let attribute, let value):
                tellHolders(ofLink: index, .notified(peer, AttributeHandle(rawValue: attribute), value: value))
            case .servicesChanged(let range):
                links[index].services.removeAll { $0.handles.overlaps(range) }
                links[index].knowsAllServices = false
                tellHolders(ofLink: index, .servicesChanged(peer, handles: range))
                readHash(onLink: index, at: now)
            case .readRequested(let request): ask(request, onLink: index, at: now)
            case .writeRequested(let request): ask(request, onLink: index, at: now)
            case .subscribed(let attribute, _):
                rememberSubscriptions(to: [attribute], onLink: index)
                let mtu = links[index].attributes.mtu
                tellPublisher(of: attribute, .subscribed(peer, AttributeHandle(rawValue: attribute), mtu: mtu))
            case .unsubscribed(let attribute):
                rememberSubscriptions(to: [attribute], onLink: index)
                tellPublisher(of: attribute, .unsubscribed(peer, AttributeHandle(rawValue: attribute)))
            case .clientChanged: rememberClient(onLink: index)
            case .reportViolation: links[index].violations += 1
            case .closeBearer(let bearer): signal(.close(ChannelID(bearer)), onLink: index, at: now)
            case .drop: endLink(index, because: .timedOut, at: now)
            }
        }
    }

    func tellPublisher(of attribute: UInt16, _ event: HostEvent) {
        guard let client = publishers[attribute] else { return }
        deliver(event, to: client)
    }

    /// Tells those who use the link. A peer that knows this host may speak before the link was reported: that is told
    /// right after. One that is ending is nobody's any more, for whoever asks for the peer now gets its next link.
    func tellHolders(ofLink index: Int, _ event: HostEvent) {
        guard !links[index].isEnding else { return }
        guard links[index].reportBy == nil else {
            if links[index].early.count < Self.mostEarlyEvents { links[index].early.append(event) }
            return
        }
        let peer = links[index].peer
        for client in clients.indices where clients[client].holds.contains(peer) { clients[client].gate.pass(event) }
    }

    private static let mostEarlyEvents = 64

    private func mtuChanged(_ mtu: Int, onLink index: Int) {
        let peer = links[index].peer
        // Those who wait for the link learn its MTU when they learn of it.
        if links[index].reportBy == nil { tellHolders(ofLink: index, .mtuChanged(peer, mtu: mtu)) }
        for client in clients {
            if !client.services.isEmpty { client.deliver(.centralMTUChanged(peer, mtu: mtu)) }
        }
    }
}
