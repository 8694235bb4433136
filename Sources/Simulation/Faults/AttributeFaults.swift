import ATT
import EventLoop
import HCI
import L2CAP

// What goes wrong in a peer's host: with its attributes, its pairings and its channels.

extension FaultyLine {
    /// What the peer's host gets to see of a PDU from the other side.
    func alter(incoming pdu: [UInt8], _ channel: ChannelID, on link: FaultyLink) -> [[UInt8]] {
        guard let first = pdu.first else { return [pdu] }
        switch channel {
        case .attribute: return alter(request: pdu, ATTOpcode(rawValue: first), on: link)
        case .securityManager where first == SMPCode.pairingRequest:
            if strikes(.ignoresPairing) { return [] }
            guard strikes(.refusesPairing) else { return [pdu] }
            send([SMPCode.pairingFailed, SMPCode.pairingNotSupported], channel, on: link)
            return []
        case .signalling where first == SignallingCode.parameterUpdateResponse && has(.demandsParameters):
            // Core 6.0, Vol 3, Part A, 4.21: a result other than 0 is a refusal.
            if pdu.count >= 6, pdu[4] != 0 {
                hangUp(link, .unacceptableConnectionParameters, after: .milliseconds(50))
            }
            return []
        case .signalling where first == SignallingCode.parameterUpdateRequest && pdu.count >= 2:
            guard strikes(.refusesConnectionParameters) else { return [pdu] }
            send([SignallingCode.parameterUpdateResponse, pdu[1], 2, 0, 0x01, 0x00], channel, on: link)
            return []
        default: return [pdu]
        }
    }

    /// What goes out of a PDU that the peer's host sends.
    func alter(outgoing pdu: [UInt8], _ channel: ChannelID, on link: FaultyLink) -> [[UInt8]] {
        guard let first = pdu.first else { return [pdu] }
        switch channel {
        case .attribute: return alter(answer: pdu, ATTOpcode(rawValue: first), on: link)
        case .signalling:
            switch first {
            case SignallingCode.creditBasedResponse where pdu.count >= 14 && strikes(.refusesChannels):
                // The result "SPSM not supported": Core 6.0, Vol 3, Part A, 4.23.
                return [pdu[..<4] + [0, 0, 0, 0, 0, 0, 0, 0, 0x02, 0x00]]
            case SignallingCode.creditBasedResponse where pdu.count >= 14 && strikes(.givesNoCredits):
                return [pdu[..<10] + [0, 0] + pdu[12...]]
            case SignallingCode.flowControlCredit where strikes(.givesNoCredits): return []
            default: return [pdu]
            }
        default: return [pdu]
        }
    }

    /// Asks for an interval from 1 to 0 slots, which no central grants (Core 6.0, Vol 3, Part A, 4.20).
    func demandParameters(on link: FaultyLink) {
        let request: [UInt8] = [
            SignallingCode.parameterUpdateRequest, 0x7F, 8, 0, 0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0x0A, 0x00,
        ]
        send(request, .signalling, on: link, after: .milliseconds(200))
    }
}

/// Core 6.0, Vol 3, Part H, 3.3 and 3.5.5.
private enum SMPCode {
    static let pairingRequest: UInt8 = 0x01
    static let pairingFailed: UInt8 = 0x05
    static let pairingNotSupported: UInt8 = 0x05
}

/// Core 6.0, Vol 3, Part A, 4.
private enum SignallingCode {
    static let parameterUpdateRequest: UInt8 = 0x12
    static let parameterUpdateResponse: UInt8 = 0x13
    static let creditBasedResponse: UInt8 = 0x15
    static let flowControlCredit: UInt8 = 0x16
}

// MARK: - Requests

extension FaultyLine {
    private func alter(request pdu: [UInt8], _ opcode: ATTOpcode, on link: FaultyLink) -> [[UInt8]] {
        if opcode.kind == .request { link.request = (opcode.rawValue, Self.requestedType(pdu, opcode)) }
        switch opcode {
        case .exchangeMTURequest:
            if strikes(.ignoresMTUExchange) { return [] }
            // Request Not Supported: Core 6.0, Vol 3, Part F, 3.4.1.1.
            if strikes(.refusesMTUExchange) { return refuse(opcode, handle: 0, code: 0x06, on: link) }
        case .readByGroupTypeRequest where strikes(.emptyTable):
            return refuse(opcode, handle: Self.word(pdu, at: 1), code: 0x0A, on: link)
        case .readRequest, .writeRequest, .prepareWriteRequest, .readMultipleRequest:
            if strikes(.neverAnswers) { return [] }
            if opcode == .writeRequest, pdu.count > 23, strikes(.smallPackets) { return [] }
        case .writeCommand:
            if strikes(.writesVanish) || (pdu.count > 23 && strikes(.smallPackets)) { return [] }
        case .readBlobRequest where strikes(.truncatesLongReads):
            // Attribute Not Long.
            return refuse(opcode, handle: Self.word(pdu, at: 1), code: 0x0B, on: link)
        case .readByTypeRequest where link.request.type == 0x2902 && strikes(.missingConfigurationDescriptor):
            return refuse(opcode, handle: Self.word(pdu, at: 1), code: 0x0A, on: link)
        default: break
        }
        return [has(.tableMovedSilently) ? MovedTable.request(pdu, opcode) : pdu]
    }

    /// Answers in the place of the peer's host, which does not see the request.
    private func refuse(_ opcode: ATTOpcode, handle: UInt16, code: UInt8, on link: FaultyLink) -> [[UInt8]] {
        let error = [ATTOpcode.errorResponse.rawValue, opcode.rawValue, UInt8(handle & 0xFF), UInt8(handle >> 8), code]
        send(error, .attribute, on: link)
        return []
    }

    private static func requestedType(_ pdu: [UInt8], _ opcode: ATTOpcode) -> UInt16 {
        switch opcode {
        case .readByTypeRequest, .readByGroupTypeRequest: pdu.count == 7 ? word(pdu, at: 5) : 0
        default: 0
        }
    }

    static func word(_ pdu: [UInt8], at offset: Int) -> UInt16 {
        guard offset + 1 < pdu.count else { return 0 }
        return UInt16(pdu[offset]) | UInt16(pdu[offset + 1]) << 8
    }
}

// MARK: - Answers and values

extension FaultyLine {
    private func alter(answer original: [UInt8], _ opcode: ATTOpcode, on link: FaultyLink) -> [[UInt8]] {
        var pdu = has(.tableMovedSilently) ? MovedTable.answer(original, opcode, to: link.request.type) : original
        switch opcode {
        case .handleValueNotification, .handleValueIndication: return alter(value: pdu, opcode, on: link)
        case .readByTypeResponse, .readByGroupTypeResponse:
            // The second entry has the handle of the first: handles must grow (Core 6.0, Vol 3, Part F, 3.4.4.2).
            let length = pdu.count > 1 ? Int(pdu[1]) : 0
            if length >= 2, pdu.count >= 2 + 2 * length, strikes(.duplicateHandles) {
                pdu[2 + length] = pdu[2]
                pdu[3 + length] = pdu[3]
            }
        case .findInformationResponse where pdu.count > 1 && pdu[1] == 1 && has(.missingConfigurationDescriptor):
            // In its place stands the server's descriptor, which nobody can subscribe by.
            for place in stride(from: 4, to: pdu.count - 1, by: 4) where Self.word(pdu, at: place) == 0x2902 {
                if strikes(.missingConfigurationDescriptor) { pdu[place] = 0x03 }
            }
        case .errorResponse where pdu.count == 5 && strikes(.errorsWithoutMeaning):
            pdu = [opcode.rawValue, pdu[1], 0, 0, 0]
        case .readResponse where strikes(.illegalAnswers):
            pdu = [ATTOpcode.writeResponse.rawValue]
        case .prepareWriteResponse where pdu.count > 5 && strikes(.echoesWrongly):
            pdu[pdu.count - 1] ^= 0xFF
        case .writeResponse where has(.notifiesBeforeConfirming):
            return hold(confirmation: pdu, on: link)
        default: break
        }
        if Self.isOfValues(link.request.opcode), opcode.kind == .response, strikes(.answersAtSecond29) {
            send(pdu, .attribute, on: link, after: .seconds(29))
            return []
        }
        return [pdu]
    }

    private static func isOfValues(_ opcode: UInt8) -> Bool {
        switch ATTOpcode(rawValue: opcode) {
        case .readRequest, .readBlobRequest, .writeRequest, .prepareWriteRequest, .executeWriteRequest: true
        default: false
        }
    }

    private func alter(value: [UInt8], _ opcode: ATTOpcode, on link: FaultyLink) -> [[UInt8]] {
        var pdu = value
        if opcode == .handleValueNotification, strikes(.notificationsVanish) { return [] }
        if pdu.count > 23, strikes(.smallPackets) { pdu = Array(pdu.prefix(23)) }
        if let confirmation = link.heldConfirmation {
            link.heldConfirmation = nil
            return [pdu, confirmation]
        }
        return opcode == .handleValueNotification && strikes(.notifiesTwice) ? [pdu, pdu] : [pdu]
    }

    /// Keeps the confirmation of a write until a value has overtaken it, five seconds at most.
    private func hold(confirmation: [UInt8], on link: FaultyLink) -> [[UInt8]] {
        guard link.heldConfirmation == nil, strikes(.notifiesBeforeConfirming) else { return [confirmation] }
        link.heldConfirmation = confirmation
        world.schedule(after: .seconds(5)) { [weak self, weak link] in
            guard let self, let link, !link.hasEnded, let held = link.heldConfirmation else { return }
            link.heldConfirmation = nil
            send(held, .attribute, on: link)
        }
        return []
    }
}
