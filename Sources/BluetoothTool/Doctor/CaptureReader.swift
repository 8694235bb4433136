import HCI
package import HCITransport

/// Finds causes in a record of HCI traffic: what a link went through, as the host and its controller told each other.
///
/// A value: packets in, findings out.
package struct CaptureReader {
    private var commands = CommandWatch()
    private var air = AirWatch()
    private var links: [UInt16: LinkWatch] = [:]
    private var findings: [Finding] = []
    private var begin: Int64?
    private var now: Int64 = 0
    private let wantsNotifications: Bool

    /// - Parameter wantsNotifications: whether a characteristic that nobody subscribed to is worth telling.
    package init(wantsNotifications: Bool = false) { self.wantsNotifications = wantsNotifications }

    /// - Throws: a sentence about a file that is no such record.
    package static func findings(
        in file: [UInt8], wantsNotifications: Bool = false
    ) throws(BTSnoop.Malformed) -> [Finding] {
        var reader = CaptureReader(wantsNotifications: wantsNotifications)
        for record in try BTSnoop.records(in: file) { reader.take(record) }
        return reader.finish()
    }

    package mutating func take(_ record: BTSnoop.Record) {
        begin = begin ?? record.time
        now = max(now, record.time)
        // What is no packet was told to the controller or the host, too; they have their own ways with it.
        guard let packet = try? HCIPacket(record.packet) else { return }
        switch packet {
        case .command(let opcode, let parameters):
            commands.sent(opcode, at: now)
            air.sent(opcode, parameters, at: now)
        case .acl(let header, let payload):
            guard links[header.handle] != nil else { return }
            links[header.handle]?.take(
                payload, isStart: header.boundary.isStart, isOurs: record.direction == .toController, at: now)
        case .event(let code, let parameters):
            if let event = try? ControllerEvent(code: code, parameters: parameters) { take(event) }
        case .leEvent(let code, let parameters):
            if let event = try? ControllerEvent(subevent: code, parameters: parameters) { take(event) }
        case .otherData: break
        }
        collect()
    }

    /// Each cause once, with what showed it first.
    package mutating func finish() -> [Finding] {
        for handle in links.keys.sorted() { links[handle]?.finish(at: now, wantsNotifications: wantsNotifications) }
        commands.finish(at: now)
        air.finish(at: now)
        collect()
        return findings
    }

    private mutating func take(_ event: ControllerEvent) {
        switch event {
        case .commandComplete(let event): commands.answered(event.opcode)
        case .commandStatus(let event):
            commands.answered(event.opcode)
            air.status(event.status, of: event.opcode, at: now)
        case .connectionComplete(let event):
            air.connected(event.status, event.peer, at: now)
            guard event.status == .success else { return }
            links[event.handle]?.finish(at: now, wantsNotifications: wantsNotifications)
            collect()
            links[event.handle] = LinkWatch(event, at: now)
        case .disconnectionComplete(let event):
            links[event.handle]?.ended(event.reason, at: now, wantsNotifications: wantsNotifications)
            collect()
            links[event.handle] = nil
        case .encryptionChange(let event): links[event.handle]?.encrypted(event.status, at: now)
        case .connectionUpdateComplete(let event): links[event.handle]?.updated(event.status, at: now)
        case .hardwareError(let event):
            findings.add(.radioFailed, "the controller reports the hardware error \(event.hardwareCode)")
        case .advertisingReports(let reports):
            for report in reports {
                air.heard(report.address, isConnectable: report.eventType.isConnectable, report.rssi)
            }
        case .extendedAdvertisingReports(let reports):
            for report in reports {
                guard let address = report.address else { continue }
                air.heard(address, isConnectable: report.eventType.contains(.connectable), report.rssi)
            }
        default: break  // They tell of nothing that goes wrong.
        }
    }

    /// Takes over what the watches have found, with the time.
    private mutating func collect() {
        var new = commands.findings.take() + air.findings.take()
        for handle in links.keys.sorted() { new += links[handle]?.findings.take() ?? [] }
        for finding in new {
            let seconds = Double(finding.time - (begin ?? 0)) / 1_000_000
            findings.add(finding.cause, "at \(JSONLine.fixed(seconds, digits: 3)) s: \(finding.evidence)")
        }
    }
}

extension [Finding] {
    fileprivate mutating func add(_ cause: Cause, _ evidence: String) {
        if !contains(where: { $0.cause == cause }) { append(Finding(cause: cause, evidence: evidence)) }
    }
}

/// Findings with the time at which they showed, in microseconds.
struct TimedFindings {
    struct Entry {
        var cause: Cause
        var evidence: String
        var time: Int64
    }

    private var entries: [Entry] = []

    mutating func add(_ cause: Cause, _ evidence: String, at time: Int64) {
        guard !entries.contains(where: { $0.cause == cause }) else { return }
        entries.append(Entry(cause: cause, evidence: evidence, time: time))
    }

    mutating func take() -> [Entry] {
        defer { entries = [] }
        return entries
    }
}

/// A controller that does not answer.
private struct CommandWatch {
    var findings = TimedFindings()
    private var open: [HCIOpcode: Int64] = [:]
    private static let patience: Int64 = 2_000_000

    mutating func sent(_ opcode: HCIOpcode, at now: Int64) {
        // It has no answer.
        if opcode != .hostNumberOfCompletedPackets { open[opcode] = now }
    }

    mutating func answered(_ opcode: HCIOpcode) { open[opcode] = nil }

    mutating func finish(at now: Int64) {
        let oldest = open.filter { now - $0.value >= Self.patience }
            .min { ($0.value, $0.key.rawValue) < ($1.value, $1.key.rawValue) }
        guard let oldest else { return }
        let number = String(oldest.key.rawValue, radix: 16, uppercase: true)
        findings.add(.radioSilent, "the command 0x\(number) was not answered", at: oldest.value)
    }
}
