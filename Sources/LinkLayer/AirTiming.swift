/// What a receiver is set to.
///
/// Source: Core 6.0, Vol 6, Part A, 3.
package enum RadioPHY: UInt8, CaseIterable, Sendable {
    // Raw values: as in HCI, Core 6.0, Vol 4, Part E, 7.8.47.
    case le1M = 0x01
    case le2M = 0x02
    case coded = 0x03

    /// Its bit in LL_PHY_REQ and LL_PHY_UPDATE_IND: Vol 6, Part B, 2.4.2.22.
    package var bit: UInt8 { 1 << (rawValue - 1) }

    /// From the start of a packet to the end of its access address: only then has a receiver noticed it.
    package var synchronization: Duration {
        switch self {
        case .le1M: .microseconds(8 * (1 + 4))
        case .le2M: .microseconds(4 * (2 + 4))
        case .coded: .microseconds(80 + 256)
        }
    }

    /// From the end of AUX_CONNECT_REQ to the transmit window: `transmitWindowDelay`. Vol 6, Part B, 4.5.3.
    package var transmitWindowDelay: Duration { self == .coded ? .microseconds(3750) : .microseconds(2500) }

    /// How long to wait behind a packet until it is certain that no answer comes.
    package var answerWindow: Duration {
        AirTiming.interFrameSpace + AirTiming.activeClockJitter + synchronization
    }
}

/// How a packet is sent: the PHY, and on the coded one the coding, which may change from packet to packet.
///
/// Source: Core 6.0, Vol 6, Part B, 2.1 and 2.2.
package enum RadioMode: UInt8, CaseIterable, Sendable {
    case le1M, le2M
    /// Two symbols a bit: 500 kbit/s.
    case codedS2
    /// Eight symbols a bit: 125 kbit/s.
    case codedS8

    package var phy: RadioPHY {
        switch self {
        case .le1M: .le1M
        case .le2M: .le2M
        case .codedS2, .codedS8: .coded
        }
    }

    /// How long one octet of payload takes, in µs.
    package var microsecondsPerOctet: Int {
        switch self {
        case .le1M: 8
        case .le2M: 4
        case .codedS2: 16
        case .codedS8: 64
        }
    }

    /// How long a packet takes without its payload, in µs.
    ///
    /// Uncoded: preamble 1 octet or 2, access address 4, header 2, CRC 3. Coded: preamble 80 µs, access address 256,
    /// coding indicator 16, TERM1 24; then header, CRC and the 3 bits of TERM2 in the coding of the payload.
    private var overhead: Int {
        switch self {
        case .le1M: 8 * (1 + 4 + 2 + 3)
        case .le2M: 4 * (2 + 4 + 2 + 3)
        case .codedS2: 80 + 256 + 16 + 24 + 2 * (8 * (2 + 3) + 3)
        case .codedS8: 80 + 256 + 16 + 24 + 8 * (8 * (2 + 3) + 3)
        }
    }

    /// - Parameter payloadCount: 0...255.
    package func duration(payloadCount: Int) -> Duration { Self.durations[Int(rawValue)][payloadCount] }

    // Looked up with each packet, and a `Duration` takes 128 bits of arithmetic.
    private static let durations: [[Duration]] = allCases.map { mode in
        (0...255).map { .microseconds(mode.overhead + mode.microsecondsPerOctet * $0) }
    }

    /// How many octets of payload fit, an integrity check of four octets not counted.
    ///
    /// - Parameter time: in µs.
    package func octets(in time: UInt16) -> Int { max(0, (Int(time) - overhead) / microsecondsPerOctet - 4) }
}

/// How long things take whatever the PHY.
package enum AirTiming {
    /// From the end of a packet to the start of the one that answers it: `T_IFS`. Core 6.0, Vol 6, Part B, 4.1.1.
    package static let interFrameSpace = Duration.microseconds(150)
    /// How early or late an answer may start. Vol 6, Part B, 4.2.1.
    package static let activeClockJitter = Duration.microseconds(2)
    /// How early or late a packet on a slot of the sleep clock may start. Vol 6, Part B, 4.2.2.
    package static let sleepClockJitter = Duration.microseconds(16)
    /// The ppm of a class of sleep clock accuracy. Vol 6, Part B, 2.3.3.1.
    package static func clockAccuracy(_ sleepClockClass: UInt8) -> Int {
        [500, 250, 150, 100, 75, 50, 30, 20][Int(sleepClockClass & 7)]
    }
    /// The unit of connection intervals and transmit windows.
    package static let slot = Duration.microseconds(1250)
    /// The unit of advertising and scanning intervals.
    package static let halfSlot = Duration.microseconds(625)
}
