/// How often two connected devices meet on the air.
///
/// The air counts the interval in slots and this library's callers count in ``Swift/Duration``. The type keeps the
/// slots, so that no one else multiplies by 1.25.
///
/// - Unit: slots of 1.25 ms.
/// - Range: 6...3200 slots, which is 7.5 ms...4 s.
/// - Source: Core 6.0, Vol 6, Part B, 4.5.1 (`connInterval`); as an HCI parameter, Vol 4, Part E, 7.8.12.
package struct ConnectionInterval: Hashable, Sendable {
    /// The interval in slots of 1.25 ms.
    package let slots: UInt16

    /// The shortest and the longest interval that the specification admits, in slots of 1.25 ms.
    package static let validSlots: ClosedRange<UInt16> = 6...3200

    /// An interval out of the range that the specification admits.
    package struct OutOfRange: Error, Equatable {
        /// The rejected interval in slots of 1.25 ms, cut to a whole number.
        package let slots: Int64
    }

    /// The longest interval in whole slots that is no longer than `duration`.
    ///
    ///     try ConnectionInterval(.milliseconds(30)).slots   // 24
    ///     try ConnectionInterval(.milliseconds(31)).slots   // 24: no slot boundary at 31 ms
    ///     try ConnectionInterval(.milliseconds(5))          // throws OutOfRange(slots: 4)
    ///
    /// - Parameter duration: 7.5 ms...4 s. It is rounded down, for a peer that asked for at most this much
    ///   latency must not get more.
    /// - Throws: ``OutOfRange`` outside 6...3200 slots. Nothing is clamped: a silently changed interval is a
    ///   battery drained or a deadline missed.
    package init(_ duration: Duration) throws(OutOfRange) {
        let slots = Int64(duration / .microseconds(1250))
        guard let narrow = UInt16(exactly: slots), Self.validSlots.contains(narrow) else {
            throw OutOfRange(slots: slots)
        }
        self.slots = narrow
    }

    /// The interval in seconds and fractions: `slots` × 1.25 ms.
    package var duration: Duration { .microseconds(1250) * Int(slots) }

    /// The supervision timeout must be longer than this: (1 + `latency`) × interval × 2.
    ///
    /// - Parameter latency: how many meetings in a row the peripheral may skip, 0...499.
    /// - Source: Core 6.0, Vol 6, Part B, 4.5.2.
    package func supervisionTimeoutFloor(latency: UInt16) -> Duration {
        duration * (2 * (1 + Int(latency)))
    }
}
