import ByteCodec
import EventLoop

// The PHY update procedure: Core 6.0, Vol 6, Part B, 5.1.10.

/// What a host would like of the PHYs of a link.
package struct PHYPreferences: Equatable, Sendable {
    package var wishes: PHYWishes
    /// Whether its own packets on the coded PHY are to be of two symbols a bit, and not of eight.
    package var prefersS2 = false

    package init(wishes: PHYWishes, prefersS2: Bool = false) {
        self.wishes = wishes
        self.prefersS2 = prefersS2
    }

    /// No preference: every PHY will do.
    package static let all = PHYPreferences(wishes: PHYWishes(transmit: 0b111, receive: 0b111))
}

/// What becomes of a link's PHYs at an instant; `nil` for no change.
struct PHYChange: Sendable {
    var transmit: RadioPHY?
    var receive: RadioPHY?
    var event: Int
}

extension Connection {
    package var transmitPHY: RadioPHY { transmitMode.phy }
    package var receivePHY: RadioPHY { receiveMode.phy }

    /// What this side answers to a peer that starts the procedure.
    package mutating func setDefaultPHYs(_ preferences: PHYPreferences) { control.phyPreferences = preferences }

    mutating func beginPHYUpdate(_ preferences: PHYPreferences, at now: Instant) {
        control.phyPreferences = preferences
        // The coding is this side's own affair, and needs no procedure.
        if transmitMode.phy == .coded { transmitMode = codedMode }
        sendControl(controlPayload(.phyRequest, supported(preferences.wishes)), at: now)
    }

    private var codedMode: RadioMode { control.phyPreferences.prefersS2 ? .codedS2 : .codedS8 }

    private func supported(_ wishes: PHYWishes) -> PHYWishes {
        var bits = RadioPHY.le1M.bit
        if capabilities.supports(.phy2M) { bits |= RadioPHY.le2M.bit }
        if capabilities.supports(.codedPHY) { bits |= RadioPHY.coded.bit }
        return PHYWishes(transmit: wishes.transmit & bits, receive: wishes.receive & bits)
    }

    // MARK: Receiving

    mutating func takePHY(
        _ opcode: ControlOpcode, _ fields: ArraySlice<UInt8>, at now: Instant, reports: inout [ConnectionReport]
    ) throws(PacketError) {
        let isRunning = if case .phy = control.running?.procedure { true } else { false }
        switch opcode {
        case .phyRequest where role == .peripheral:
            _ = try PHYWishes(octets: fields)
            sendControl(controlPayload(.phyResponse, supported(control.phyPreferences.wishes)), at: now)
        case .phyRequest:
            let wishes = try PHYWishes(octets: fields)
            // The central's own procedure goes first. 5.3.
            if isRunning { return sendReject(.phyRequest, .procedureCollision, at: now) }
            if control.awaitsInstant || isUpdating || encryption.isBusy {
                return sendReject(.phyRequest, .differentTransactionCollision, at: now)
            }
            decide(wishes, at: now, reports: &reports)
        case .phyResponse where role == .central && isRunning:
            let wishes = try PHYWishes(octets: fields)
            restartProcedure(at: now)
            decide(wishes, at: now, reports: &reports)
        case .phyUpdate where role == .peripheral:
            try takePHYUpdate(try PHYUpdateIndication(octets: fields), at: now, reports: &reports)
        default:
            throw PacketError(.valueNotAllowed(Int(opcode.rawValue)), field: "Opcode")
        }
    }

    /// The central chooses, for each direction, the fastest of the PHYs that both sides like.
    private mutating func decide(_ peer: PHYWishes, at now: Instant, reports: inout [ConnectionReport]) {
        let own = supported(control.phyPreferences.wishes)
        let transmit = Self.fastest(own.transmit & peer.receive)
        let receive = Self.fastest(own.receive & peer.transmit)
        var change = PHYChange(transmit: transmit, receive: receive, event: nextInstant)
        if change.transmit == transmitMode.phy { change.transmit = nil }
        if change.receive == receiveMode.phy { change.receive = nil }
        var indication = PHYUpdateIndication()
        indication.centralToPeripheral = change.transmit?.bit ?? 0
        indication.peripheralToCentral = change.receive?.bit ?? 0
        if change.transmit != nil || change.receive != nil {
            indication.instant = UInt16(truncatingIfNeeded: change.event)
        }
        sendControl(controlPayload(.phyUpdate, indication), at: now)
        expect(change, at: now, reports: &reports)
    }

    private static func fastest(_ bits: UInt8) -> RadioPHY? {
        [RadioPHY.le2M, .le1M, .coded].first { bits & $0.bit != 0 }
    }

    private mutating func takePHYUpdate(
        _ indication: PHYUpdateIndication, at now: Instant, reports: inout [ConnectionReport]
    ) throws(PacketError) {
        func phy(_ bits: UInt8) throws(PacketError) -> RadioPHY? {
            guard bits != 0 else { return nil }
            guard let phy = RadioPHY.allCases.first(where: { $0.bit == bits }) else {
                throw PacketError(.valueNotAllowed(Int(bits)), field: "PHY")
            }
            return phy
        }
        let transmit = try phy(indication.peripheralToCentral)
        let receive = try phy(indication.centralToPeripheral)
        guard transmit != nil || receive != nil else {
            return expect(PHYChange(event: event), at: now, reports: &reports)
        }
        guard let event = event(at: indication.instant) else { return close(.instantPassed, reports: &reports) }
        expect(PHYChange(transmit: transmit, receive: receive, event: event), at: now, reports: &reports)
    }

    private mutating func expect(_ change: PHYChange, at now: Instant, reports: inout [ConnectionReport]) {
        guard change.transmit == nil, change.receive == nil else {
            control.pendingPHYs = change
            return
        }
        // The host hears of a procedure without a change only if it has asked for it. Vol 4, Part E, 7.7.65.12.
        guard case .phy = control.running?.procedure else { return }
        reports.append(.phyUpdated(.success))
        finish(at: now, reports: &reports)
    }

    /// Puts the PHYs into force that were agreed for the event that is about to begin.
    mutating func applyPHYs(reports: inout [ConnectionReport]) {
        guard let change = control.pendingPHYs, event >= change.event else { return }
        control.pendingPHYs = nil
        if let phy = change.transmit {
            switch phy {
            case .le1M: transmitMode = .le1M
            case .le2M: transmitMode = .le2M
            case .coded: transmitMode = codedMode
            }
        }
        if let phy = change.receive {
            switch phy {
            case .le1M: receiveMode = .le1M
            case .le2M: receiveMode = .le2M
            case .coded: receiveMode = .codedS8
            }
        }
        reports.append(.phyUpdated(.success))
        updateLengths(reports: &reports)
        if case .phy = control.running?.procedure {
            finish(at: anchor, reports: &reports)
        } else {
            startNext(at: anchor, reports: &reports)
        }
    }
}
