import L2CAP

/// Scenarios that the file tells in words. Each is played as its words say.
extension ChannelScripts.Scenario {
    var reasonToSkip: String? {
        guard id == "nimble/frag/timeout" else { return nil }
        return "the specification sets no time for a PDU to be complete (Vol 3, Part A, 7.2.2); "
            + "an incomplete one keeps no more than its channel's MTU"
    }

    func play() throws(Mismatch) {
        switch id {
        case "nimble/frag/bad_header", "nimble/frag/bad_handle", "nimble/frag/single/1": try playFragments()
        case "nimble/sig/update_init_reject", "nimble/sig/update_init_fail_central": try playUpdate()
        case "nimble/coc/conn_invalid_psm": try playRefusal(0x0002)
        case "nimble/coc/conn_insufficient_authentication": try playRefusal(0x0005)
        case "nimble/coc/incoming_invalid_psm": try playIncoming(offers: [], result: 0x02)
        case "nimble/coc/incoming_rejected_by_app":
            try playIncoming(offers: [ChannelOffer(spsm: 0x80, mostChannels: 0)], result: 0x04)
        case "nimble/coc/incoming_success": try playIncoming(offers: [ChannelOffer(spsm: 0x80)], result: 0x00)
        case "nimble/coc/incoming_disconnect_bad_cids":
            try playWrongClose([0x12, 0x34, 0x56, 0x78], answer: [0x01, 2, 6, 0, 2, 0, 0x12, 0x34, 0x56, 0x78])
        case "nimble/coc/incoming_disconnect_bad_dcid":
            try playWrongClose([0x55, 0, 0x41, 0], answer: [0x01, 2, 6, 0, 2, 0, 0x55, 0, 0x41, 0])
        case "nimble/coc/send_too_big": try playLongest()
        case "nimble/coc/recv": try playReception()
        default: throw Mismatch(place: "scenario", expected: "a known one", actual: id)
        }
    }

    private func playFragments() throws(Mismatch) {
        var reassembler = Reassembler()
        // The handle of an unknown link is the host's to see; what an unknown channel carries is nobody's.
        let fragments: [String: ([UInt8], isStart: Bool)] = [
            "nimble/frag/bad_header": ([10, 0, 0xD2, 0x04] + [UInt8](repeating: 0, count: 14), true),
            "nimble/frag/bad_handle": ([3, 0, 0xD2, 0x04, 0, 0, 0], true),
            "nimble/frag/single/1": ([3, 0, 4, 0, 0x0A, 3, 0], false),
        ]
        guard let (octets, isStart) = fragments[id] else { return }
        let pdu = reassembler.receive(octets[...], isStart: isStart)
        var end = ChannelEndpoint()
        let said = pdu.map { end.take($0) } ?? []
        try Mismatch.check("PDUs sent", [], said)
        try Mismatch.check("PDU of the attribute channel", false, pdu?.channel == .attribute)
    }

    private func playUpdate() throws(Mismatch) {
        let request = ParameterUpdateRequest(intervalMin: 6, intervalMax: 12, latency: 0, timeout: 200)
        let isCentral = id.hasSuffix("central")
        var end = ChannelEndpoint(role: isCentral ? .central : .peripheral)
        let said = end.ask(.requestUpdate(request))
        try Mismatch.check("requests sent", isCentral ? 0 : 1, said.count)
        if !isCentral { _ = end.hear([0x13, 1, 2, 0, 1, 0]) }
        try Mismatch.check("end", [.updateFinished(isCentral ? .notPermitted : .rejected)], end.told)
    }

    private func playRefusal(_ result: UInt16) throws(Mismatch) {
        var end = ChannelEndpoint()
        _ = end.ask(.open(id: 1, spsm: 0x80, mode: .leCreditBased, count: 1))
        _ = end.hear([0x15, 1, 10, 0, 0, 0, 0, 0, 0, 0, 0, 0, UInt8(result), 0])
        try Mismatch.check("end", [.openFailed(id: 1, .refused(ChannelResult(rawValue: result)))], end.told)
    }

    private func playIncoming(offers: [ChannelOffer], result: UInt8) throws(Mismatch) {
        var end = ChannelEndpoint()
        end.machine.offers = offers
        let said = end.hear([0x14, 1, 10, 0, 0x80, 0, 0x41, 0, 23, 0, 23, 0, 1, 0])
        try Mismatch.check("result", [result, 0], said.first.map { Array($0.suffix(2)) } ?? [])
        try Mismatch.check("channels", result == 0 ? 1 : 0, end.told.count)
    }

    /// An end with one channel: 0x0040 here, 0x0041 there, an MTU of 23, ten credits.
    private func withChannel() -> ChannelEndpoint {
        var end = ChannelEndpoint()
        end.machine.offers = [ChannelOffer(spsm: 0x80)]
        _ = end.hear([0x14, 1, 10, 0, 0x80, 0, 0x41, 0, 23, 0, 23, 0, 10, 0])
        return end
    }

    private func playWrongClose(_ channels: [UInt8], answer: [UInt8]) throws(Mismatch) {
        var end = withChannel()
        try Mismatch.check("answer", [answer], end.hear([0x06, 2, 4, 0] + channels))
        try Mismatch.check("open channels", 1, end.machine.openChannels.count)
    }

    /// Nothing longer than the peer's MTU can be sent: the host asks for it, and cuts.
    private func playLongest() throws(Mismatch) {
        var end = withChannel()
        let channel = ChannelID(rawValue: 0x40)
        guard let information = end.machine.information(channel) else {
            throw Mismatch(place: "channel", expected: "open", actual: "none")
        }
        try Mismatch.check("peer's MTU", 23, information.peerMTU)
        try Mismatch.check("length for a stream, at most", true, information.bestLength <= 23)
        let frames = end.ask(.send(channel, Array(repeating: 1, count: information.peerMTU), token: nil))
        try Mismatch.check("frames' lengths", [27, 6], frames.map(\.count))
    }

    private func playReception() throws(Mismatch) {
        var end = withChannel()
        _ = end.ask(.receiveFrame(ChannelID(rawValue: 0x40), [3, 0, 1, 2, 3]))
        try Mismatch.check("SDU", [1, 2, 3], end.received)
    }
}
