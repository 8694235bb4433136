import BluetoothTypes
import GAP
package import HostInterface

/// Turns one session's traffic into timeline entries: what goes over the air, each thing once.
///
/// What a program's user is told anyway (scans, confirmations, signal strengths) is left out.
package final class Narrator: @unchecked Sendable {
    // `@unchecked`: a demo's programs name no queue, so all their calls and callbacks, and with them a session's
    // requests and events, are on the thread that runs the demo: the world's, or the main thread with a real radio.
    private let actor: String
    private let timeline: Timeline
    private let now: () -> Duration
    private let name: (PeerID) -> String?
    /// Whether the other side's session is narrated too, and tells what it sends by itself.
    private let isNarrated: (PeerID) -> Bool

    /// Why the radio cannot be used, once that is known.
    package private(set) var whyUnusable: String?
    /// Whether the radio was ever on.
    package private(set) var wasPoweredOn = false

    private var open: [RequestNumber: HostRequest] = [:]
    private var seen: Set<PeerID> = []
    /// What peers call themselves in their advertisements.
    private var advertisedNames: [PeerID: String] = [:]
    private var remote: [PeerID: [AttributeHandle: BluetoothUUID]] = [:]
    private var local: [AttributeHandle: BluetoothUUID] = [:]
    private var reads: [ServerRequestID: ServerReadRequest] = [:]
    private var channelPeers: [ChannelNumber: PeerID] = [:]

    package init(
        actor: String, timeline: Timeline, now: @escaping () -> Duration, name: @escaping (PeerID) -> String?,
        isNarrated: @escaping (PeerID) -> Bool = { _ in false }
    ) {
        self.actor = actor
        self.timeline = timeline
        self.now = now
        self.name = name
        self.isNarrated = isNarrated
    }

    /// The session, overheard.
    package func overhear(_ session: any HostSession) -> any HostSession {
        SessionTap(session, onRequest: requested, onEvent: happened)
    }

    /// A line that the library wrote for the program's author.
    package func logged(_ line: String) {
        // Where an object lies in memory differs from run to run, and tells a reader nothing.
        let text = line.replacing(/: 0x[0-9a-f]+/, with: "")
        timeline.add(TimelineEntry(time: now(), kind: .log, actor: actor, what: text))
    }

    private func sent(_ peer: PeerID?, _ what: String, _ bytes: [UInt8]? = nil, _ meaning: String? = nil) {
        add(.sent, peer, what, bytes, meaning)
    }

    private func received(_ peer: PeerID?, _ what: String, _ bytes: [UInt8]? = nil, _ meaning: String? = nil) {
        add(.received, peer, what, bytes, meaning)
    }

    private func add(
        _ kind: TimelineEntry.Kind, _ peer: PeerID?, _ what: String, _ bytes: [UInt8]?, _ meaning: String?
    ) {
        timeline.add(
            TimelineEntry(
                time: now(), kind: kind, actor: actor,
                peer: peer.map { name($0) ?? advertisedNames[$0] ?? $0.address.description },
                what: what, bytes: bytes, meaning: meaning))
    }

    private func uuid(_ handle: AttributeHandle, of peer: PeerID) -> String {
        remote[peer]?[handle]?.description ?? "handle \(handle.rawValue)"
    }

    private func localUUID(_ handle: AttributeHandle) -> String {
        local[handle]?.description ?? "handle \(handle.rawValue)"
    }
}

// MARK: - Requests

extension Narrator {
    package func requested(_ request: HostRequest, number: RequestNumber) {
        open[number] = request
        switch request {
        case .connect(let peer): sent(peer, "connect")
        case .disconnect(let peer): sent(peer, "disconnect")
        case .write(let peer, let handle, let value, let withResponse):
            let what = "write \(uuid(handle, of: peer))" + (withResponse ? "" : " without response")
            sent(peer, what, value, readable(value))
        case .subscribe(let peer, let characteristic, let kind):
            sent(peer, (kind == .none ? "unsubscribe " : "subscribe ") + characteristic.uuid.description)
        case .respond(let id, let errorCode, let value):
            guard let read = reads.removeValue(forKey: id), !isNarrated(read.central) else { return }
            let what = "answer to the read of \(localUUID(read.characteristic))"
            sent(read.central, what, value, errorCode == 0 ? readable(value) : "error \(errorCode)")
        case .security(.secure(let peer, _)): sent(peer, "encrypt the link")
        case .send(let number, let octets): sent(channelPeers[number], "data", octets, readable(octets))
        case .startScan, .stopScan, .readRSSI, .readLink, .updateConnectionParameters, .subrate, .discoverServices,
            .discoverIncludedServices, .discoverCharacteristics, .discoverDescriptors, .read, .addService,
            .removeService, .removeAllServices, .notify, .startAdvertising, .stopAdvertising, .startExtendedAdvertising,
            .stopExtendedAdvertising, .updatePeriodicAdvertising, .synchronize, .endSynchronization, .publishChannel,
            .unpublishChannel, .openChannel, .enlargeChannel, .received,
            .closeChannel, .writeReliably, .security, .listOpenWork:
            break  // Told by its answer, or by the other side.
        }
    }
}

// MARK: - Events

extension Narrator {
    package func happened(_ event: HostEvent) {
        switch event {
        case .answer(let number, .success(let answer)):
            guard let request = open.removeValue(forKey: number) else { return }
            answered(request, answer)
        case .answer(let number, .failure(let failure)):
            guard let request = open.removeValue(forKey: number) else { return }
            failed(request, failure)
        case .discovered(let discovery):
            guard seen.insert(discovery.peer).inserted else { return }
            let content = AdvertisingData(
                advertisement: discovery.advertisingData, scanResponse: discovery.scanResponseData)
            advertisedNames[discovery.peer] = content.localName
            let data = discovery.advertisingData + discovery.scanResponseData
            received(discovery.peer, "advertisement", data, "\(discovery.rssi) dBm")
        case .disconnected(let peer, let failure): received(peer, "link ended", nil, failure.words)
        case .mtuChanged(let peer, let mtu): received(peer, "MTU \(mtu)", nil, "\(mtu - 3) octets in one packet")
        case .notified(let peer, let handle, let value):
            received(peer, "notified \(uuid(handle, of: peer))", value, readable(value))
        case .servicesChanged(let peer, _): received(peer, "services changed")
        case .readRequested(let request):
            reads[request.id] = request
            guard !isNarrated(request.central) else { return }
            received(request.central, "read \(localUUID(request.characteristic))")
        case .writeRequested(let request):
            guard !isNarrated(request.central) else { return }
            for part in request.parts {
                received(request.central, "write \(localUUID(part.characteristic))", part.value, readable(part.value))
            }
        case .subscribed(let peer, let handle, _):
            guard !isNarrated(peer) else { return }
            received(peer, "subscribe \(localUUID(handle))")
        case .unsubscribed(let peer, let handle):
            received(peer, "no longer subscribed to \(localUUID(handle))")
        case .channelOpened(let channel):
            channelPeers[channel.number] = channel.peer
            received(channel.peer, "channel opened", nil, "PSM \(channel.psm)")
        case .channelReceived(let number, let octets):
            received(channelPeers[number], "data", octets, readable(octets))
        case .channelClosed(let number, let failure):
            received(channelPeers.removeValue(forKey: number), "channel closed", nil, failure.words)
        case .state(.poweredOn): wasPoweredOn = true
        case .state(.unsupported(let reason)), .state(.unauthorized(let reason)):
            whyUnusable = reason
        case .security(.secured(let peer, let security)):
            let kind = security.isAuthenticated ? "authenticated" : "not authenticated"
            received(peer, "link encrypted", nil, "\(kind), key of \(security.keySize) octets")
        case .security(.failed(let peer, let problem)): received(peer, "link not encrypted", nil, "\(problem)")
        case .periodicReport(let peer, let report):
            received(peer, "periodic advertisement", report.data, "\(report.rssi) dBm")
        case .synchronizationLost(let peer): received(peer, "periodic advertising lost")
        case .state, .peerKnown, .nameChanged, .centralMTUChanged, .security:
            break
        }
    }

    private func answered(_ request: HostRequest, _ answer: HostAnswer) {
        switch (request, answer) {
        case (.connect(let peer), .connected(let mtu)): received(peer, "connected", nil, "MTU \(mtu)")
        case (.discoverServices(let peer, _), .services(let services)):
            received(peer, "services", nil, list(services.map(\.uuid)))
        case (.discoverCharacteristics(let peer, let service), .characteristics(let found)):
            for characteristic in found { remote[peer, default: [:]][characteristic.value] = characteristic.uuid }
            received(peer, "characteristics of \(service.uuid)", nil, list(found.map(\.uuid)))
        case (.discoverDescriptors(let peer, _), .descriptors(let found)):
            for descriptor in found { remote[peer, default: [:]][descriptor.handle] = descriptor.uuid }
        case (.read(let peer, let handle), .value(let value)):
            received(peer, "value of \(uuid(handle, of: peer))", value, readable(value))
        case (.addService(let definition), .published(let service)):
            for (characteristic, handle) in zip(definition.characteristics, service.characteristics) {
                local[handle] = characteristic.uuid
            }
            sent(nil, "published \(definition.uuid)", nil, list(definition.characteristics.map(\.uuid)))
        case (.startAdvertising, .advertising(let placement)): advertising(placement)
        case (.publishChannel, .channelPublished(let psm)): sent(nil, "published a channel", nil, "PSM \(psm)")
        case (.openChannel(let peer, _, _), .channel(let channel)):
            channelPeers[channel.number] = peer
            received(peer, "channel opened", nil, "PSM \(channel.psm)")
        default: break  // The rest is `.done`.
        }
    }

    private func advertising(_ placement: AdvertisementPlacement) {
        var notes: [String] = []
        if placement.isNameShortened { notes.append("name cut") }
        if !placement.omittedServices.isEmpty { notes.append("no room for " + list(placement.omittedServices)) }
        let meaning = notes.isEmpty ? nil : notes.joined(separator: ", ")
        sent(nil, "advertising", placement.advertisingData, meaning)
        if !placement.scanResponseData.isEmpty { sent(nil, "scan response", placement.scanResponseData) }
    }

    private func failed(_ request: HostRequest, _ failure: HostFailure) {
        // What we interrupt ourselves, by ending the link, has not failed (Core 6.0, Vol 1, Part F, 2.22: 0x16).
        if failure == .disconnected(reason: 0x16) { return }
        let subject: (peer: PeerID?, what: String) =
            switch request {
            case .connect(let peer): (peer, "connect")
            case .disconnect(let peer): (peer, "disconnect")
            case .discoverServices(let peer, _), .discoverIncludedServices(let peer, _),
                .discoverCharacteristics(let peer, _), .discoverDescriptors(let peer, _):
                (peer, "discovery")
            case .read(let peer, let handle): (peer, "read \(uuid(handle, of: peer))")
            case .write(let peer, let handle, _, _): (peer, "write \(uuid(handle, of: peer))")
            case .writeReliably(let peer, _): (peer, "write several values")
            case .subscribe(let peer, let characteristic, _): (peer, "subscribe \(characteristic.uuid)")
            case .readRSSI(let peer): (peer, "signal strength")
            case .readLink(let peer): (peer, "state of the link")
            case .updateConnectionParameters(let peer, _): (peer, "connection parameters")
            case .subrate(let peer, _): (peer, "subrating")
            case .startScan, .stopScan: (nil, "scan")
            case .addService(let definition): (nil, "publish \(definition.uuid)")
            case .removeService, .removeAllServices: (nil, "remove services")
            case .respond: (nil, "answer")
            case .notify(let handle, _, _): (nil, "notify \(localUUID(handle))")
            case .startAdvertising, .stopAdvertising, .startExtendedAdvertising, .stopExtendedAdvertising,
                .updatePeriodicAdvertising:
                (nil, "advertise")
            case .synchronize(let peer, _), .endSynchronization(let peer): (peer, "periodic advertising")
            case .security: (nil, "security")
            case .listOpenWork: (nil, "list what waits")
            case .publishChannel, .unpublishChannel: (nil, "publish a channel")
            case .openChannel(let peer, let psm, _): (peer, "open a channel to PSM \(psm)")
            case .send(let number, _), .received(let number, _), .closeChannel(let number),
                .enlargeChannel(let number, _):
                (channelPeers[number], "channel")
            }
        received(subject.peer, subject.what + " failed", nil, failure.words)
    }

    private func list(_ uuids: [BluetoothUUID]) -> String {
        uuids.isEmpty ? "none" : uuids.map(\.description).joined(separator: ", ")
    }
}

/// The octets as text in quotes, if they are printable ASCII.
package func readable(_ bytes: [UInt8]) -> String? {
    guard bytes.count > 1, bytes.allSatisfy({ (0x20..<0x7F).contains($0) }) else { return nil }
    return "\"" + String(decoding: bytes.prefix(40), as: UTF8.self) + "\""
}

extension HostFailure {
    /// For a person.
    package var words: String {
        switch self {
        case .notPowered: "the radio is off"
        case .notConnected: "not connected"
        case .unknownPeer: "nobody knows this device"
        case .cancelled: "taken back"
        case .disconnected(reason: 0x08): "supervision timeout: nothing heard for too long (0x08)"
        case .disconnected(reason: 0x13): "the other side ended it (0x13)"
        case .disconnected(reason: 0x3E): "the connection was never established (0x3E)"
        case .disconnected(let reason): "reason 0x\(hexOctet(reason))"
        case .controller(status: 0x3E): "the connection was never established (0x3E)"
        case .controller(let status): "controller status 0x\(hexOctet(status))"
        case .attribute(let errorCode): "ATT error 0x\(hexOctet(errorCode))"
        case .illegalAnswer(let why): "illegal answer: \(why)"
        case .noConfigurationDescriptor: "it has no configuration descriptor"
        case .alreadyAdvertising: "already advertising"
        case .invalidParameters(let why): "invalid parameters: \(why)"
        case .timedOut: "no answer for 30 s"
        case .connectionLimitReached: "no more connections possible"
        case .security(let problem): "\(problem)"
        case .sessionLost: "the radio is lost"
        case .channelRefused(let result): "channel refused" + (result.map { ", result \($0)" } ?? "")
        case .channelClosed: "the other side closed the channel"
        }
    }
}
