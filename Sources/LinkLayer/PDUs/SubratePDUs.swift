package import ByteCodec

/// LL_SUBRATE_REQ: what a peripheral would like. Core 6.0, Vol 6, Part B, 2.4.2.
package struct SubrateRequest: Packet, Hashable {
    /// 1...500.
    package var factorMin: UInt16 = 1
    package var factorMax: UInt16 = 1
    /// In subrated events, 0...499.
    package var maxLatency: UInt16 = 0
    /// 0...499.
    package var continuation: UInt16 = 0
    /// In units of 10 ms, 10...3200.
    package var timeout: UInt16 = 3200

    package init() {}

    package init(factors: ClosedRange<UInt16>, maxLatency: UInt16, continuation: UInt16, timeout: UInt16) {
        factorMin = factors.lowerBound
        factorMax = factors.upperBound
        self.maxLatency = maxLatency
        self.continuation = continuation
        self.timeout = timeout
    }

    package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {
        try coder.integer("SubrateFactorMin", &factorMin)
        try coder.integer("SubrateFactorMax", &factorMax)
        try coder.integer("Max_Latency", &maxLatency)
        try coder.integer("ContinuationNumber", &continuation)
        try coder.integer("Timeout", &timeout)
    }

    /// Whether all of it is within its range, and together no more than the specification admits: 4.5.1.
    package var isValid: Bool {
        (1...500).contains(factorMin) && factorMin <= factorMax && factorMax <= 500 && maxLatency <= 499
            && Int(factorMax) * (Int(maxLatency) + 1) <= 500 && continuation < factorMax
            && (10...3200).contains(timeout)
    }

    /// Whether a link with these intervals would hold: less than half of the timeout passes between two events.
    ///
    /// - Parameter interval: of the link, in slots.
    package func holds(_ factor: UInt16, interval: UInt16) -> Bool {
        Int(interval) * 1250 * Int(factor) * (Int(maxLatency) + 1) * 2 < Int(timeout) * 10_000
    }
}

/// LL_SUBRATE_IND: what the central has chosen. Core 6.0, Vol 6, Part B, 2.4.2.
package struct SubrateIndication: Packet, Hashable {
    package var factor: UInt16 = 1
    /// The event counter of an event that is used.
    package var baseEvent: UInt16 = 0
    package var latency: UInt16 = 0
    package var continuation: UInt16 = 0
    package var timeout: UInt16 = 3200

    package init() {}

    package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {
        try coder.integer("SubrateFactor", &factor)
        try coder.integer("SubrateBaseEvent", &baseEvent)
        try coder.integer("Latency", &latency)
        try coder.integer("ContinuationNumber", &continuation)
        try coder.integer("Timeout", &timeout)
    }
}
