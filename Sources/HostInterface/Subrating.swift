/// How a link rests while there is nothing to say: one of its events in so many is used (Core 6.0, Vol 6, Part B,
/// 4.5.1).
package struct SubratePreference: Equatable, Sendable {
    /// One event in so many, 1...500. The central chooses.
    package var factors: ClosedRange<UInt16>
    /// How many of those in a row the peripheral may skip. A peripheral that sleeps skips 499 events at most.
    package var maximumLatency: UInt16
    /// For how many events after one with data both sides stay; less than the largest factor.
    package var continuation: UInt16
    /// In units of 10 ms, 10...3200; `nil` for the link's own, or as much more as the rest needs.
    package var supervisionTimeout: UInt16?

    package init(
        factors: ClosedRange<UInt16>, maximumLatency: UInt16 = 0, continuation: UInt16 = 0,
        supervisionTimeout: UInt16? = nil
    ) {
        self.factors = factors
        self.maximumLatency = maximumLatency
        self.continuation = continuation
        self.supervisionTimeout = supervisionTimeout
    }
}
