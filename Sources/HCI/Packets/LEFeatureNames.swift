extension LEFeatures {
    /// The features in words, in the order of their bits; one without a name here shows its number.
    package var names: [String] {
        (0..<64).compactMap { bit in
            guard rawValue >> UInt64(bit) & 1 == 1 else { return nil }
            return bit < Self.words.count ? Self.words[bit] : Self.laterWords[bit] ?? "feature \(bit)"
        }
    }

    /// Core 6.0, Vol 6, Part B, 4.6.
    private static let words = [
        "encryption", "connection parameters request", "extended reject", "peripheral-initiated features exchange",
        "ping", "data packet length extension", "privacy", "extended scanner filter policies", "2M PHY",
        "stable modulation index, transmitter", "stable modulation index, receiver", "coded PHY",
        "extended advertising", "periodic advertising", "channel selection algorithm #2", "power class 1",
        "minimum number of used channels", "connection CTE request", "connection CTE response",
        "connectionless CTE transmitter", "connectionless CTE receiver", "antenna switching, transmitter",
        "antenna switching, receiver", "receiving constant tone extensions",
        "periodic advertising sync transfer, sender", "periodic advertising sync transfer, recipient",
        "sleep clock accuracy updates", "remote public key validation", "connected isochronous stream, central",
        "connected isochronous stream, peripheral", "isochronous broadcaster", "synchronized receiver",
        "connected isochronous stream, host support", "power control request", "power control request, second bit",
        "path loss monitoring", "periodic advertising ADI", "connection subrating",
        "connection subrating, host support",
        "channel classification", "advertising coding selection", "advertising coding selection, host support",
        "decision-based advertising filtering", "periodic advertising with responses, advertiser",
        "periodic advertising with responses, scanner", "unsegmented framed mode", "channel sounding",
        "channel sounding, host support", "channel sounding tone quality indication",
    ]

    private static let laterWords = [63: "extended feature set"]
}
