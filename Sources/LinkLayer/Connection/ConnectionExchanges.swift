import ByteCodec
import EventLoop

// The procedures in which both sides tell each other something: features, version, ping, lengths. Core 6.0, Vol 6, Part
// B, 5.1.4, 5.1.5, 5.1.8, 5.1.9, 5.1.10.

extension Connection {
    mutating func takeExchange(
        _ opcode: ControlOpcode, _ fields: ArraySlice<UInt8>, at now: Instant, reports: inout [ConnectionReport]
    ) throws(PacketError) {
        switch opcode {
        case .featureRequest where role == .peripheral, .peripheralFeatureRequest where role == .central:
            control.remoteFeatures = try FeatureSet(octets: fields).bits
            let common = capabilities.features & control.remoteFeatures!
            sendControl(controlPayload(.featureResponse, FeatureSet(common)), at: now)
        case .featureResponse:
            control.remoteFeatures = try FeatureSet(octets: fields).bits
            guard case .featureExchange = control.running?.procedure else { return }
            if !control.takeQuiet() { reports.append(.remoteFeatures(.success, control.remoteFeatures!)) }
            finish(at: now, reports: &reports)
        case .version:
            control.remoteVersion = try VersionIndication(octets: fields)
            sendVersion(at: now)
            guard case .versionExchange = control.running?.procedure else { return }
            reports.append(.remoteVersion(.success, control.remoteVersion!))
            finish(at: now, reports: &reports)
        case .pingRequest:
            _ = try NoFields(octets: fields)
            sendControl(controlPayload(.pingResponse, NoFields()), at: now)
        case .pingResponse:
            _ = try NoFields(octets: fields)
            if case .ping = control.running?.procedure { finish(at: now, reports: &reports) }
        case .phyRequest, .phyResponse, .phyUpdate:
            try takePHY(opcode, fields, at: now, reports: &reports)
        case .lengthRequest:
            takeLengths(try LengthParameters(octets: fields), reports: &reports)
            sendControl(controlPayload(.lengthResponse, ownLengths), at: now)
        case .lengthResponse:
            takeLengths(try LengthParameters(octets: fields), reports: &reports)
            if case .length = control.running?.procedure { finish(at: now, reports: &reports) }
        default:
            // What is not known, and what comes from the wrong side. 5.1, 2.4.2.
            throw PacketError(.valueNotAllowed(Int(opcode.rawValue)), field: "Opcode")
        }
    }

    // MARK: Data length, 4.5.10 and 5.1.9

    var ownLengths: LengthParameters {
        var lengths = LengthParameters()
        lengths.maxRxOctets = capabilities.maxOctets
        lengths.maxRxTime = capabilities.maxTime
        lengths.maxTxOctets = control.ownMaxTxOctets
        lengths.maxTxTime = control.ownMaxTxTime
        return lengths
    }

    private mutating func takeLengths(_ lengths: LengthParameters, reports: inout [ConnectionReport]) {
        control.peerLengths = lengths
        updateLengths(reports: &reports)
    }

    /// Works out what a PDU may hold from what both sides have said and the PHYs in use.
    mutating func updateLengths(reports: inout [ConnectionReport]) {
        let own = ownLengths
        let peer = control.peerLengths
        let transmit = EffectiveLength(
            octets: Int(max(27, min(own.maxTxOctets, peer.maxRxOctets))),
            time: Self.effectiveTime(min(own.maxTxTime, peer.maxRxTime), on: transmitMode.phy))
        let receive = EffectiveLength(
            octets: Int(max(27, min(own.maxRxOctets, peer.maxTxOctets))),
            time: Self.effectiveTime(min(own.maxRxTime, peer.maxTxTime), on: receiveMode.phy))
        queue.maxOctets = max(27, min(transmit.octets, transmitMode.octets(in: transmit.time)))
        guard transmit != control.transmitLength || receive != control.receiveLength else { return }
        control.transmitLength = transmit
        control.receiveLength = receive
        reports.append(.lengthChanged(transmit: transmit, receive: receive))
    }

    /// The shortest of the times that count, in which 27 octets and an integrity check fit.
    private static func effectiveTime(_ time: UInt16, on phy: RadioPHY) -> UInt16 {
        max(time, phy == .coded ? 2704 : 328)
    }
}
