package import BluetoothTypes

/// When a link's events come.
package struct LinkTiming: Equatable, Sendable {
    /// In slots of 1.25 ms, 6...3200.
    package var interval: UInt16
    /// How many events in a row the peripheral may skip, 0...499.
    package var latency: UInt16
    /// In units of 10 ms, 10...3200.
    package var supervisionTimeout: UInt16

    package init(interval: UInt16, latency: UInt16, supervisionTimeout: UInt16) {
        self.interval = interval
        self.latency = latency
        self.supervisionTimeout = supervisionTimeout
    }
}

/// How things stand on a link.
package struct LinkStatus: Equatable, Sendable {
    /// `nil` in the clear.
    package var security: LinkSecurity?
    package var isBonded: Bool
    package var timing: LinkTiming
    /// One event in so many is used, 1...500.
    package var subrateFactor = 1
    /// For how many events after one with data both sides stay, 0...499.
    package var continuation = 0
    /// ATT_MTU, 23...517.
    package var mtu = 23
    /// How many requests about attributes can be under way at once (Core 6.0, Vol 3, Part F, 3.2.11).
    package var attributeBearers = 1
    /// Core 6.0, Vol 4, Part E, 7.8.47: 1 is LE 1M, 2 is LE 2M, 3 is LE Coded; `nil` if the controller does not tell.
    package var transmitPHY: UInt8?
    package var receivePHY: UInt8?
    /// The most payload octets of one packet on the air, 27...251 (Core 6.0, Vol 6, Part B, 4.5.10).
    package var transmitOctets = 27
    package var receiveOctets = 27

    package init(security: LinkSecurity?, isBonded: Bool, timing: LinkTiming) {
        self.security = security
        self.isBonded = isBonded
        self.timing = timing
    }
}
