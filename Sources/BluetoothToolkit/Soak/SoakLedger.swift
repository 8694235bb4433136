import Foundation

/// Counts a stability test: what was sent, what came back, when and in which order. A value, without the radio.
struct SoakLedger {
    private struct Open {
        var number: UInt32
        var sentAt: Duration
    }

    private let patience: Duration
    private let begin: Duration
    private(set) var report: SoakReport
    /// Sent and not back, in the order of their numbers.
    private var open: [Open] = []
    private var firstOpen = 0
    /// What came back, to know it again: a bit for each number.
    private var isBack: [Bool] = []
    private var highest: UInt32?
    private var latencies: [Double] = []
    private var latestLatency: Double?

    init(_ plan: SoakPlan, at now: Duration) {
        patience = plan.patience
        begin = now
        report = SoakReport(plan)
    }

    /// Which stretch of the test an instant belongs to.
    private func slice(_ now: Duration) -> Int {
        min(SoakReport.sliceCount - 1, max(0, Int((now - begin) / report.sliceDuration)))
    }

    // MARK: Packets

    /// - Returns: the packet to send.
    mutating func send(at now: Duration) -> SoakPacket {
        let number = UInt32(isBack.count)
        isBack.append(false)
        open.append(Open(number: number, sentAt: now))
        report.sent += 1
        report.slices[slice(now)].sent += 1
        return SoakPacket(number: number, sentAt: UInt32(truncatingIfNeeded: Int((now - begin) / .microseconds(1))))
    }

    /// A packet's time has come, and there is no link.
    mutating func skip() { report.notSent += 1 }

    mutating func receive(_ packet: SoakPacket, at now: Duration) {
        let index = Int(packet.number)
        guard index < isBack.count else {
            report.foreign += 1
            return
        }
        guard !isBack[index] else {
            report.duplicates += 1
            return
        }
        guard let place = place(of: packet.number) else {
            // It was given up already.
            report.late += 1
            return
        }
        isBack[index] = true
        let sentAt = open[place].sentAt
        if let highest, packet.number < highest { report.reordered += 1 }
        highest = max(highest ?? 0, packet.number)
        if place == firstOpen { firstOpen += 1 } else { open.remove(at: place) }
        compact()
        report.received += 1
        note(latency: (now - sentAt) / .milliseconds(1), at: slice(sentAt))
    }

    private func place(of number: UInt32) -> Int? {
        // Mostly it is the first one.
        open[firstOpen...].firstIndex { $0.number == number }
    }

    private mutating func compact() {
        if firstOpen > 256 {
            open.removeFirst(firstOpen)
            firstOpen = 0
        }
    }

    private mutating func note(latency: Double, at slice: Int) {
        latencies.append(latency)
        report.slices[slice].latencies += 1
        report.slices[slice].latencySum += latency
        report.slices[slice].worstLatency = max(report.slices[slice].worstLatency, latency)
        if let latestLatency {
            // RFC 3550, 6.4.1: a sixteenth of each difference.
            report.jitter += (abs(latency - latestLatency) - report.jitter) / 16
        }
        latestLatency = latency
    }

    /// Gives up what has been under way for too long.
    mutating func expire(at now: Duration) {
        while firstOpen < open.count, now - open[firstOpen].sentAt > patience { loseFirst() }
        compact()
    }

    private mutating func loseFirst() {
        report.lost += 1
        report.slices[slice(open[firstOpen].sentAt)].lost += 1
        firstOpen += 1
    }

    // MARK: The link

    mutating func measured(rssi: Int, at now: Duration) {
        report.rssi.add(Double(rssi))
        let index = slice(now)
        report.slices[index].rssiSum += Double(rssi)
        report.slices[index].rssiCount += 1
    }

    /// The link has ended; what was under way on it does not come any more.
    mutating func disconnected(_ cause: LinkEnd, at now: Duration) {
        while firstOpen < open.count { loseFirst() }
        compact()
        latestLatency = nil
        report.disconnects.append(
            SoakReport.Disconnect(
                time: (now - begin) / .seconds(1), cause: cause.description, secondsToReconnect: nil))
    }

    mutating func reconnected(at now: Duration) {
        guard let last = report.disconnects.indices.last, report.disconnects[last].secondsToReconnect == nil
        else { return }
        report.disconnects[last].secondsToReconnect = (now - begin) / .seconds(1) - report.disconnects[last].time
    }

    // MARK: The end

    /// The report so far, with the latencies of the last packets only.
    func soFar(at now: Duration) -> SoakReport {
        var report = report
        report.seconds = (now - begin) / .seconds(1)
        report.latency = SoakReport.Distribution(of: latencies.suffix(100))
        return report
    }

    /// The test is over: nothing more is waited for.
    mutating func close(at now: Duration, ended: String? = nil) -> SoakReport {
        while firstOpen < open.count { loseFirst() }
        report.seconds = (now - begin) / .seconds(1)
        report.endedEarly = ended
        report.latency = SoakReport.Distribution(of: latencies)
        return report
    }

    var hasOpen: Bool { firstOpen < open.count }
}
