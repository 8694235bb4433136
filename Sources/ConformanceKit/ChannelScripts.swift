import L2CAP

/// Signalling and credit-based channels as the testers of two other stacks play them: cases by their role and what is
/// exchanged, scenarios by their names.
package struct ChannelScripts: Decodable, Sendable {
    var bluez_cases: [Case]
    var nimble_scenarios: [Scenario]

    struct Case: Decodable, Sendable {
        struct Command: Decodable, Sendable {
            var code: UInt8?
            var data: Hexadecimal?
            var raw_signalling: Hexadecimal?
        }

        var id: String
        var iut_role: String
        var mode: String
        var spsm: UInt16?
        var iut_mtu: UInt16?
        var iut_mps: UInt16?
        var iut_cred: Int?
        var peer_sends_octets: Int?
        var iut_sends_octets: Int?
        var tester_sends: Command?
        var iut_must_answer: Command?
    }

    struct Scenario: Decodable, Sendable {
        var id: String
    }

    package func play() -> ConformanceReport {
        var report = ConformanceReport()
        for script in bluez_cases {
            do throws(Mismatch) {
                try script.play()
                report.add(script.id, nil)
            } catch {
                report.add(script.id, error)
            }
        }
        for scenario in nimble_scenarios {
            guard let reason = scenario.reasonToSkip else {
                do throws(Mismatch) {
                    try scenario.play()
                    report.add(scenario.id, nil)
                } catch {
                    report.add(scenario.id, error)
                }
                continue
            }
            report.skips.append(.init(name: scenario.id, reason: reason))
        }
        return report
    }
}

// MARK: - Cases by what is exchanged

extension ChannelScripts.Case {
    private var capacity: ChannelCapacity {
        guard let iut_mtu, let iut_mps, let iut_cred else { return ChannelCapacity() }
        return ChannelCapacity(mtu: iut_mtu, mps: iut_mps, window: iut_cred * Int(iut_mps))
    }

    private var channelMode: ChannelMode? {
        switch mode {
        case "le-credit": .leCreditBased
        case "enhanced-credit": .enhanced
        default: nil
        }
    }

    fileprivate func play() throws(Mismatch) {
        var attributes = AttributeChannel()
        switch (channelMode, iut_role) {
        case (nil, "initiator"): try attributes.initiate()
        case (nil, _): try attributes.accept()
        case (.some, "acceptor"): try accept()
        case (let mode?, _): try initiate(mode)
        }
    }

    /// What is compared of an answer: the result, and which channels there are. The rest is each stack's own choice.
    private func accept() throws(Mismatch) {
        guard let code = tester_sends?.code, let data = tester_sends?.data?.octets, let answer = iut_must_answer,
            let answerCode = answer.code, let expected = answer.data?.octets
        else { throw Mismatch(place: "case", expected: "a request and its answer", actual: "none") }
        var end = ChannelEndpoint(capacity: capacity)
        end.machine.offers = [ChannelOffer(spsm: spsm ?? 0x80)]
        let said = end.hear([code, 1, UInt8(data.count), 0] + data)
        try Mismatch.check(
            "answer", [answerCode, 1, UInt8(expected.count), 0], said.first.map { Array($0.prefix(4)) } ?? [])
        let actual = said.first.map { Array($0.dropFirst(4)) } ?? []
        // The fields of the two answers stand in another order (4.23 and 4.26).
        let isEnhanced = answerCode == SignallingCode.creditBasedConnectionResponse.rawValue
        let (result, place) = isEnhanced ? (6..<8, 8..<expected.count) : (8..<10, 0..<2)
        try Mismatch.check("length", expected.count, actual.count)
        try Mismatch.check("result", Array(expected[result]), Array(actual[result]))
        try Mismatch.check("channels", Self.isOpen(expected[place]), Self.isOpen(actual[place]))
        try Mismatch.check(
            "open channels", Self.isOpen(expected[place]).count { $0 }, end.machine.openChannels.count)
    }

    /// For each channel number whether there is one.
    private static func isOpen(_ octets: ArraySlice<UInt8>) -> [Bool] {
        stride(from: octets.startIndex, to: octets.endIndex, by: 2).map { index in
            ChannelID.dynamic.contains(UInt16(octets[index]) | UInt16(octets[index + 1]) << 8)
        }
    }

    private func initiate(_ mode: ChannelMode) throws(Mismatch) {
        var pair = ChannelPair(capacity: capacity, spsm: spsm ?? 0x80)
        if let raw = tester_sends?.raw_signalling?.octets {
            _ = pair.iut.ask(.open(id: 1, spsm: spsm ?? 0x80, mode: mode, count: 1))
            _ = pair.iut.hear(raw)
            return try Mismatch.check("end of the request", [.openFailed(id: 1, .rejected)], pair.iut.told)
        }
        let wantsTwo = id.contains("two sockets")
        for number in 1...(wantsTwo ? 2 : 1) {
            pair.ask(.open(id: UInt64(number), spsm: spsm ?? 0x80, mode: mode, count: 1))
        }
        try pair.settle()
        let channels = pair.iut.machine.openChannels
        try Mismatch.check("open channels", wantsTwo ? 2 : 1, channels.count)
        guard let channel = channels.first else { return }
        if let count = iut_sends_octets { try pair.transfer(count, on: channel, toIUT: false) }
        if let count = peer_sends_octets { try pair.transfer(count, on: channel, toIUT: true) }
        guard id.contains("lose") else { return }
        pair.ask(.close(channel))
        try pair.settle()
        try Mismatch.check("channels left", Array(channels.dropFirst()), pair.iut.machine.openChannels)
        try Mismatch.check("channels left there", channels.count - 1, pair.tester.machine.openChannels.count)
    }
}
