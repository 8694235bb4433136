import ATT
package import EventLoop
import GATT
import HCI
package import HostInterface
import L2CAP
import SMP

/// What is still waiting, on whom, since when: clients' requests first, then what they and the host itself wait for
/// further down.
extension Host {
    /// The oldest first.
    package func openWork(at now: Instant) -> [OpenWork] {
        var work: [(since: Instant, work: OpenWork)] = []
        func add(_ what: String, _ party: OpenWork.Party, _ since: Instant) {
            work.append((since, OpenWork(what, waitsFor: party, age: since.duration(to: now))))
        }
        for entry in requests.open where entry.request != .listOpenWork {
            if case .connect(let peer) = entry.request, waitingForRoom.contains(peer) {
                add(OpenWork.roomForLink, .controller, entry.since)
            } else {
                add(entry.request.summary, entry.request.party, entry.since)
            }
        }
        for command in commands.open { add("the command \(command.opcode)", .controller, command.since) }
        for (_, question) in questions.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
            add("the reply to a peer's request", .program, question.since)
        }
        for link in links { listOpenWork(of: link, add) }
        // Swift's sort keeps no order of equals, so the place in the list counts too.
        return work.enumerated().sorted { ($0.element.since, $0.offset) < ($1.element.since, $1.offset) }
            .map(\.element.work)
    }

    private func listOpenWork(of link: Link, _ add: (String, OpenWork.Party, Instant) -> Void) {
        let peer = OpenWork.Party.peer(link.peer)
        for transaction in link.attributes.openTransactions {
            let isIndication = transaction.opcode == .handleValueIndication
            let what = isIndication ? "the confirmation of an indication" : "the answer to an attribute request"
            add(what, peer, transaction.since)
        }
        for command in link.signalling.open { add(command.what, peer, command.since) }
        if let question = link.security.question, let since = link.security.askedAt, question.kind.needsReply {
            add("the reply to a pairing's question", .person, since)
        } else if let since = link.security.manager.waitingSince {
            add("the next step of a pairing", peer, since)
        }
        if let encryptBy = link.security.encryptBy {
            add("the encryption of a link", .controller, encryptBy.advanced(by: .zero - Self.patienceForEncryption))
        }
        if let since = link.endingSince { add("the end of a link", .controller, since) }
    }
}

extension PairingQuestion.Kind {
    fileprivate var needsReply: Bool { if case .display = self { false } else { true } }
}

extension HostRequest {
    /// Who must do something for it to end.
    fileprivate var party: OpenWork.Party {
        switch self {
        case .connect(let peer), .disconnect(let peer), .updateConnectionParameters(let peer, _),
            .subrate(let peer, _), .discoverServices(let peer, _), .discoverIncludedServices(let peer, _),
            .discoverCharacteristics(let peer, _), .discoverDescriptors(let peer, _), .read(let peer, _),
            .write(let peer, _, _, withResponse: true), .writeReliably(let peer, _), .subscribe(let peer, _, _),
            .openChannel(let peer, _, _), .synchronize(let peer, _),
            .security(.secure(let peer, _)):
            .peer(peer)
        case .startScan, .stopScan, .readRSSI, .readLink, .write, .addService, .removeService, .removeAllServices,
            .respond, .startExtendedAdvertising, .stopExtendedAdvertising, .updatePeriodicAdvertising,
            .endSynchronization,
            .notify, .publishChannel, .unpublishChannel, .enlargeChannel, .send, .received, .closeChannel,
            .startAdvertising,
            .stopAdvertising, .listOpenWork, .security:
            .controller
        }
    }

    /// What it is, for a person.
    fileprivate var summary: String {
        switch self {
        case .startScan: "scanning"
        case .stopScan: "the end of scanning"
        case .connect: "connecting"
        case .disconnect: "disconnecting"
        case .readRSSI: "reading the signal strength"
        case .readLink: "reading the state of a link"
        case .updateConnectionParameters: "changing the connection parameters"
        case .subrate: "changing which events of a link are used"
        case .discoverServices: "discovering services"
        case .discoverIncludedServices: "discovering included services"
        case .discoverCharacteristics: "discovering characteristics"
        case .discoverDescriptors: "discovering descriptors"
        case .read(_, let handle): "reading the value at handle \(handle.rawValue)"
        case .write(_, let handle, _, withResponse: true): "writing the value at handle \(handle.rawValue)"
        case .write(_, let handle, _, withResponse: false):
            "handing over a write without response to handle \(handle.rawValue)"
        case .writeReliably(_, let writes): "writing \(writes.count) values, all or none"
        case .subscribe(_, let characteristic, _): "subscribing to handle \(characteristic.value.rawValue)"
        case .addService: "publishing a service"
        case .removeService, .removeAllServices: "withdrawing services"
        case .respond: "replying"
        case .notify(let handle, _, _): "notifying the value at handle \(handle.rawValue)"
        case .publishChannel, .unpublishChannel: "offering a channel"
        case .openChannel(_, let psm, _): "opening a channel of PSM \(psm)"
        case .enlargeChannel(let number, _): "enlarging channel \(number.rawValue)"
        case .send(let number, let octets): "sending \(octets.count) octets on channel \(number.rawValue)"
        case .received: "taking octets of a channel"
        case .closeChannel(let number): "closing channel \(number.rawValue)"
        case .startAdvertising: "advertising"
        case .startExtendedAdvertising: "advertising with extended packets"
        case .stopExtendedAdvertising: "the end of advertising with extended packets"
        case .updatePeriodicAdvertising: "changing what is advertised periodically"
        case .synchronize: "following a device's periodic advertising"
        case .endSynchronization: "the end of following a device's periodic advertising"
        case .stopAdvertising: "the end of advertising"
        case .listOpenWork: "this list"
        case .security(.secure): "securing a link"
        case .security: "a matter of security"
        }
    }
}
