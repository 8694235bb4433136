/// How long things take on the LE 1M PHY, which is the only one here.
package enum AirTiming {
    /// From the end of a packet to the start of the one that answers it: `T_IFS`. Core 6.0, Vol 6, Part B, 4.1.1.
    package static let interFrameSpace = Duration.microseconds(150)
    /// How early or late an answer may start. Vol 6, Part B, 4.2.1.
    package static let activeClockJitter = Duration.microseconds(2)
    /// How early or late a packet on a slot of the sleep clock may start. Vol 6, Part B, 4.2.2.
    package static let sleepClockJitter = Duration.microseconds(16)
    /// The preamble and the access address: only behind them has a receiver noticed the packet.
    package static let synchronization = Duration.microseconds(8 * (1 + 4))
    /// How long to wait behind a packet until it is certain that no answer comes.
    package static let answerWindow = interFrameSpace + activeClockJitter + synchronization
    /// The unit of connection intervals and transmit windows.
    package static let slot = Duration.microseconds(1250)
    /// The unit of advertising and scanning intervals.
    package static let halfSlot = Duration.microseconds(625)
    /// A data channel PDU without payload.
    package static let emptyPacket = duration(payloadCount: 0)

    /// Preamble 1, access address 4, header 2, payload, CRC 3 octets, at 8 µs an octet. Vol 6, Part B, 2.1.
    ///
    /// - Parameter payloadCount: 0...255.
    package static func duration(payloadCount: Int) -> Duration { durations[payloadCount] }

    private static let durations = (0...255).map { Duration.microseconds(8 * (1 + 4 + 2 + $0 + 3)) }
}
