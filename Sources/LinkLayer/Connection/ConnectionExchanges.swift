import ByteCodec
import EventLoop

// The procedures in which both sides tell each other something: features, version, ping, lengths. Core 6.0, Vol 6, Part
// B, 5.1.4, 5.1.5, 5.1.8, 5.1.9.

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
            reports.append(.remoteFeatures(.success, control.remoteFeatures!))
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
        lengths.maxRxTime = Self.time(ofOctets: capabilities.maxOctets)
        lengths.maxTxOctets = control.ownMaxTxOctets
        lengths.maxTxTime = Self.time(ofOctets: control.ownMaxTxOctets)
        return lengths
    }

    /// In µs on the 1M PHY, with room for the four octets of the integrity check that encryption adds.
    package static func time(ofOctets count: UInt16) -> UInt16 { (count + 14) * 8 }

    private mutating func takeLengths(_ lengths: LengthParameters, reports: inout [ConnectionReport]) {
        control.peerMaxRxOctets = max(lengths.maxRxOctets, 27)
        control.peerMaxTxOctets = max(lengths.maxTxOctets, 27)
        let transmit = Int(min(control.ownMaxTxOctets, control.peerMaxRxOctets))
        let receive = Int(min(capabilities.maxOctets, control.peerMaxTxOctets))
        guard transmit != queue.maxOctets || receive != control.receiveOctets else { return }
        queue.maxOctets = transmit
        control.receiveOctets = receive
        reports.append(.lengthChanged(transmit: transmit, receive: receive))
    }
}
