import ATT
import BluetoothTypes
import ByteCodec
import HCI
import L2CAP
import SMP

/// What a capture tells of one link.
struct LinkWatch {
    var findings = TimedFindings()
    private let peer: DeviceAddress
    private let begin: Int64
    private let isCentral: Bool
    private var fromUs = Reassembler(maximumLength: 4096)
    private var fromPeer = Reassembler(maximumLength: 4096)
    private var ours = Asker()
    private var theirs = Asker()
    private var characteristics: [UInt16: CharacteristicProperties] = [:]
    /// Handles of Client Characteristic Configuration descriptors.
    private var configurations: Set<UInt16> = []
    private var wasConfigured = false
    private var subscribedAt: Int64?
    private var hasNotified = false
    private var mtu = ATTLimits.defaultMTU
    private var fullValues = 0
    private var needsPairing: (evidence: String, time: Int64)?

    /// One side's requests: one at a time (Core 6.0, Vol 3, Part F, 3.3.2).
    private struct Asker {
        var opcode: ATTOpcode?
        var handle: UInt16 = 0
        var value: [UInt8] = []
        var type: BluetoothUUID?
        var since: Int64 = 0
    }

    private struct CharacteristicProperties {
        var bits: UInt8
        var isServiceChanged: Bool
        // Core 6.0, Vol 3, Part G, 3.3.1.1.
        var writesWithoutResponse: Bool { bits & 0x04 != 0 }
        var notifies: Bool { bits & 0x30 != 0 }
    }

    /// Core 6.0, Vol 3, Part F, 3.3.3.
    private static let transactionTimeout: Int64 = 30_000_000
    /// A request that is open for so long when its link ends was not answered.
    private static let slowness: Int64 = 5_000_000
    private static let silence: Int64 = 5_000_000

    init(_ event: LEConnectionComplete, at now: Int64) {
        peer = event.peer
        begin = now
        isCentral = event.role == .central
    }

    // MARK: The link

    mutating func encrypted(_ status: HCIErrorCode, at now: Int64) {
        switch status {
        case .success: needsPairing = nil
        case .pinOrKeyMissing, .authenticationFailure:
            findings.add(.bondLost, "the link to \(peer) could not be encrypted, because \(status)", at: now)
        default: break
        }
    }

    mutating func updated(_ status: HCIErrorCode, at now: Int64) {
        guard status != .success else { return }
        findings.add(.parametersRefused, "the parameters of the link to \(peer) stay, because \(status)", at: now)
    }

    mutating func ended(_ reason: HCIErrorCode, at now: Int64, wantsNotifications: Bool) {
        let sentence = "the link to \(peer) ended after \(seconds(now - begin)) s, because \(reason)"
        switch reason {
        case .connectionTimeout, .linkLayerResponseTimeout, .instantPassed:
            findings.add(.linkLost, sentence, at: now)
        case .connectionFailedToBeEstablished: findings.add(.doesNotAnswer, sentence, at: now)
        case .pinOrKeyMissing, .authenticationFailure, .messageIntegrityFailure:
            findings.add(.bondLost, sentence, at: now)
        case .unacceptableConnectionParameters: findings.add(.parametersRefused, sentence, at: now)
        case .remoteUserTerminated, .remoteLowResources, .remotePowerOff:
            if isCentral, now - begin < 4_000_000 { findings.add(.dropsAtOnce, sentence, at: now) }
        default: break
        }
        for (asker, isOurs) in [(ours, true), (theirs, false)] where asker.opcode != nil {
            if now - asker.since >= Self.slowness { unanswered(asker, isOurs) }
        }
        finish(at: now, wantsNotifications: wantsNotifications)
    }

    /// The link has ended, or the capture has.
    mutating func finish(at now: Int64, wantsNotifications: Bool) {
        for (asker, isOurs) in [(ours, true), (theirs, false)] where asker.opcode != nil {
            if now - asker.since >= Self.transactionTimeout { unanswered(asker, isOurs) }
        }
        if let needsPairing { findings.add(.needsPairing, needsPairing.evidence, at: needsPairing.time) }
        if let subscribedAt, !hasNotified, now - subscribedAt >= Self.silence {
            let text = "nothing came in \(seconds(now - subscribedAt)) s behind the subscription at \(peer)"
            findings.add(.silentNotifications, text, at: subscribedAt)
        }
        let notifying = characteristics.filter { $0.value.notifies }.keys.sorted()
        if wantsNotifications, isCentral, !wasConfigured, !hasNotified, !notifying.isEmpty {
            let handles = notifying.map { "@" + String($0, radix: 16, uppercase: true) }.joined(separator: ", ")
            findings.add(.neverSubscribed, "\(peer) has values that notify, at \(handles)", at: now)
        }
        if mtu <= ATTLimits.defaultMTU, fullValues >= 3 {
            findings.add(.smallMTU, "\(fullValues) values filled an ATT_MTU of \(mtu)", at: now)
        }
        (ours, theirs, subscribedAt, needsPairing, fullValues) = (Asker(), Asker(), nil, nil, 0)
    }

    private mutating func unanswered(_ asker: Asker, _ isOurs: Bool) {
        let name = "0x" + hexOctet(asker.opcode?.rawValue ?? 0)
        if isOurs {
            findings.add(.noAnswer, "\(peer) did not answer the request \(name)", at: asker.since)
        } else {
            let text = "this side did not answer the request \(name) of \(peer)"
            findings.add(.logForgottenResponse, text, at: asker.since)
        }
    }

    private func seconds(_ microseconds: Int64) -> String {
        JSONLine.fixed(Double(microseconds) / 1_000_000, digits: 1)
    }

    // MARK: Its data

    mutating func take(_ fragment: ArraySlice<UInt8>, isStart: Bool, isOurs: Bool, at now: Int64) {
        let pdu =
            isOurs
            ? fromUs.receive(fragment, isStart: isStart) : fromPeer.receive(fragment, isStart: isStart)
        guard let pdu, let first = pdu.payload.first else { return }
        let rest = pdu.payload.dropFirst()
        switch pdu.channel {
        case .attribute: attribute(ATTOpcode(rawValue: first), rest, isOurs, at: now)
        case .signalling where first == SignallingCode.parameterUpdateResponse.rawValue && rest.dropFirst(3).first == 1:
            let who = isOurs ? "this side refuses" : "\(peer) refuses"
            findings.add(.parametersRefused, "\(who) the parameters that were asked for", at: now)
        case .securityManager where first == SMPCommand.Code.pairingFailed.rawValue:
            let reason = PairingFailedReason(rawValue: rest.first ?? 0)
            findings.add(.pairingFailed, "\(isOurs ? "this side" : "\(peer)") ended the pairing: \(reason)", at: now)
        default: break
        }
    }

    private mutating func attribute(
        _ opcode: ATTOpcode, _ parameters: ArraySlice<UInt8>, _ isOurs: Bool, at now: Int64
    ) {
        switch opcode.kind {
        case .request: asked(opcode, parameters, isOurs, at: now)
        case .response: answered(opcode, parameters, isOurs, at: now)
        case .command: commanded(opcode, parameters, isOurs, at: now)
        case .notification, .indication:
            hasNotified = true
            if parameters.count >= mtu - 1 { fullValues += 1 }
        case .confirmation, nil: break
        }
    }

    private mutating func asked(
        _ opcode: ATTOpcode, _ parameters: ArraySlice<UInt8>, _ isOurs: Bool, at now: Int64
    ) {
        var asker = Asker(opcode: opcode, since: now)
        if parameters.count >= 2 {
            let start = parameters.startIndex
            asker.handle = UInt16(parameters[start]) | UInt16(parameters[start + 1]) << 8
            asker.value = Array(parameters.dropFirst(2))
        }
        if opcode == .readByTypeRequest { asker.type = (try? ReadByTypeRequest(octets: parameters))?.type }
        if opcode == .prepareWriteRequest { fullValues += 1 }
        if isOurs { ours = asker } else { theirs = asker }
    }

    private mutating func answered(
        _ opcode: ATTOpcode, _ parameters: ArraySlice<UInt8>, _ isOurs: Bool, at now: Int64
    ) {
        // The answer to what the other side has asked.
        let asker = isOurs ? theirs : ours
        if isOurs { theirs = Asker() } else { ours = Asker() }
        guard !isOurs, let request = asker.opcode else { return }
        switch opcode {
        case .errorResponse:
            if let error = try? ErrorResponse(octets: parameters) { refused(error, asker, at: now) }
        case .exchangeMTUResponse:
            guard let answer = try? ExchangeMTUResponse(octets: parameters) else { return }
            // The request holds what this side takes where others hold a handle.
            mtu = max(ATTLimits.defaultMTU, min(Int(asker.handle), Int(answer.serverRxMTU)))
            if mtu == ATTLimits.defaultMTU, asker.handle > mtu {
                findings.add(.smallMTU, "\(peer) agrees to no ATT_MTU but \(mtu)", at: now)
            }
        case .readByTypeResponse where asker.type == .uuid16(0x2803):
            guard let answer = try? ReadByTypeResponse(octets: parameters) else { return }
            for attribute in answer.attributes where attribute.value.count >= 5 {
                let handle = UInt16(attribute.value[1]) | UInt16(attribute.value[2]) << 8
                characteristics[handle] = CharacteristicProperties(
                    bits: attribute.value[0], isServiceChanged: attribute.value.dropFirst(3) == [0x05, 0x2A])
            }
        case .findInformationResponse:
            guard let answer = try? FindInformationResponse(octets: parameters) else { return }
            for attribute in answer.attributes where attribute.type == .uuid16(0x2902) {
                configurations.insert(attribute.handle)
            }
        case .writeResponse where request == .writeRequest && isConfiguration(asker) && isOfProgram(asker):
            wasConfigured = true
            if asker.value.first != 0 { subscribedAt = subscribedAt ?? now }
        default: break
        }
    }

    private func isConfiguration(_ asker: Asker) -> Bool {
        // Who has discovered it on an earlier link writes it here without looking.
        configurations.contains(asker.handle)
            || asker.value.count == 2 && asker.value[1] == 0 && asker.value[0] <= 2
                && characteristics[asker.handle] == nil
    }

    /// Whether a subscription is more than the host's own to Service Changed, which mostly stays silent.
    private func isOfProgram(_ asker: Asker) -> Bool {
        if asker.value.first == 1 { return true }
        guard let nearest = characteristics.keys.filter({ $0 < asker.handle }).max() else { return false }
        return characteristics[nearest]?.isServiceChanged == false
    }

    private mutating func refused(_ error: ErrorResponse, _ asker: Asker, at now: Int64) {
        let place = "@" + String(error.handle, radix: 16, uppercase: true)
        let evidence = "\(peer) refuses at \(place): \(error.code)"
        switch error.code {
        case .insufficientAuthentication, .insufficientEncryption, .insufficientAuthorization,
            .encryptionKeySizeTooShort:
            // A pairing may follow, and another try.
            needsPairing = needsPairing ?? (evidence, now)
            return
        case .databaseOutOfSync: return findings.add(.staleCache, evidence, at: now)
        default: break
        }
        switch asker.opcode {
        case .readRequest?, .readBlobRequest?, .readMultipleRequest?, .readMultipleVariableRequest?:
            findings.add(error.code == .invalidHandle ? .staleCache : .readRefused, evidence, at: now)
        case .writeRequest? where error.code == .invalidHandle: findings.add(.staleCache, evidence, at: now)
        case .writeRequest? where isConfiguration(asker): findings.add(.subscriptionRefused, evidence, at: now)
        case .writeRequest?, .prepareWriteRequest?, .executeWriteRequest?:
            findings.add(.writeRefused, evidence, at: now)
        default: break  // So discovery finds its end.
        }
    }

    private mutating func commanded(
        _ opcode: ATTOpcode, _ parameters: ArraySlice<UInt8>, _ isOurs: Bool, at now: Int64
    ) {
        guard isOurs, opcode == .writeCommand, parameters.count >= 2 else { return }
        if parameters.count >= mtu - 1 { fullValues += 1 }
        let start = parameters.startIndex
        let handle = UInt16(parameters[start]) | UInt16(parameters[start + 1]) << 8
        guard let properties = characteristics[handle], !properties.writesWithoutResponse else { return }
        let place = "@" + String(handle, radix: 16, uppercase: true)
        findings.add(.writeVanishes, "\(place) of \(peer) takes no write without response, and got one", at: now)
    }
}
