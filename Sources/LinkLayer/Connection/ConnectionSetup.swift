package import BluetoothTypes
package import EventLoop

package enum ConnectionRole: UInt8, Sendable {
    // Raw values: as in HCI's LE Connection Complete, Core 6.0, Vol 4, Part E, 7.7.65.1.
    case central = 0x00
    case peripheral = 0x01
}

/// What this link layer is and can do: its answers in the version, feature and length procedures.
package struct LinkCapabilities: Sendable {
    /// The bits of Core 6.0, Vol 6, Part B, 4.6.
    package var features: UInt64
    /// What the host likes of PHYs, where it has not said anything about this link.
    package var phyPreferences = PHYPreferences.all
    /// What the host takes of a peripheral that asks for other events to be used.
    package var acceptableSubrates = SubrateRequest()
    package var version: VersionIndication
    /// The most octets that one data PDU may hold, either way: 27...251.
    package var maxOctets: UInt16
    /// Of the sleep clock, in parts per million: what this side promises.
    package var clockAccuracy: Int
    /// How much slower than true time the sleep clock really is, in parts per million; negative if it is faster.
    package var clockError = 0
    /// Whether the host answers a peer that asks for other connection parameters.
    package var hostAnswersParameterRequests: Bool
    /// After how many completed packets the host is told at once, and not at the end of the event.
    package var completionBatch: Int
    /// How many packets it sends in one event at most; `nil` for as many as fit.
    package var packetsPerEvent: Int?

    func supports(_ feature: LinkFeatures) -> Bool { features & feature.rawValue != 0 }

    /// The longest time in µs that it receives: Vol 6, Part B, 4.5.10.
    package var maxTime: UInt16 {
        let mode = supports(.codedPHY) ? RadioMode.codedS8 : .le1M
        return UInt16(mode.duration(payloadCount: Int(maxOctets) + 4) / .microseconds(1))
    }

    package init(
        features: UInt64, version: VersionIndication, maxOctets: UInt16, clockAccuracy: Int,
        hostAnswersParameterRequests: Bool, completionBatch: Int
    ) {
        self.features = features
        self.version = version
        self.maxOctets = maxOctets
        self.clockAccuracy = clockAccuracy
        self.hostAnswersParameterRequests = hostAnswersParameterRequests
        self.completionBatch = completionBatch
    }
}

/// How a connection begins, the same on both sides.
package struct ConnectionSetup: Sendable {
    package var role: ConnectionRole
    package var peer: DeviceAddress
    package var offer: ConnectIndication
    package var usesAlgorithm2: Bool
    /// When CONNECT_IND or AUX_CONNECT_REQ ended on the air.
    package var end: Instant
    /// How the link begins: as AUX_CONNECT_REQ was sent.
    package var mode = RadioMode.le1M
    /// Whether it began with AUX_CONNECT_REQ.
    package var isExtended = false

    package init(
        role: ConnectionRole, peer: DeviceAddress, offer: ConnectIndication, usesAlgorithm2: Bool, end: Instant
    ) {
        self.role = role
        self.peer = peer
        self.offer = offer
        self.usesAlgorithm2 = usesAlgorithm2
        self.end = end
    }

    /// The start of the transmit window. Core 6.0, Vol 6, Part B, 4.5.3.
    var windowStart: Instant {
        let delay = isExtended ? mode.phy.transmitWindowDelay : AirTiming.slot
        return end.advanced(by: delay + AirTiming.slot * Int(offer.windowOffset))
    }

    /// The ppm of a class of sleep clock accuracy. Core 6.0, Vol 6, Part B, 2.3.3.1.
    var peerClockAccuracy: Int { AirTiming.clockAccuracy(offer.sleepClockAccuracy) }
}

/// What a connection tells its owner.
package enum ConnectionReport: Sendable {
    /// A data PDU arrived, for the first time and in order.
    case data(ArraySlice<UInt8>, isStart: Bool)
    /// So many packets of the host have been acknowledged by the peer.
    case completed(Int)
    /// The connection is over. Nothing may be asked of it any more.
    case closed(LinkError)
    /// From this event on the connection has new parameters.
    case updated(ConnectionTiming)
    /// The update that the host asked for will not come.
    case updateFailed(LinkError)
    /// The peer asks for other parameters; ``Connection/answerParameterRequest(_:at:)`` is due.
    case parametersRequested(LinkParameterRange)
    /// The central wants an encrypted link; ``Connection/contribute(_:at:)`` is due at once, and then the host's key.
    case encryptionRequested(randomNumber: UInt64, diversifier: UInt16)
    /// The link is encrypted from now on, or not, for this reason.
    case encryptionChanged(LinkError, isRefresh: Bool)
    /// For too long nothing came that proves the peer's key.
    case authenticatedPayloadTimeout
    case remoteFeatures(LinkError, UInt64)
    case remoteVersion(LinkError, VersionIndication)
    /// The most octets of a data PDU from now on, and the longest time that one takes, in µs.
    case lengthChanged(transmit: EffectiveLength, receive: EffectiveLength)
    /// The events that are used have changed, or what the host has asked for of them has ended without a change.
    case subrated(LinkError)
    /// The link's PHYs have changed, or the procedure that the host asked for has ended without a change.
    case phyUpdated(LinkError)
}

/// The limits of data PDUs in one direction: `connEffectiveMaxTxOctets` and `connEffectiveMaxTxTime`, or `Rx`.
///
/// Source: Core 6.0, Vol 6, Part B, 4.5.10.
package struct EffectiveLength: Equatable, Sendable {
    package var octets: Int
    /// In µs.
    package var time: UInt16
}
