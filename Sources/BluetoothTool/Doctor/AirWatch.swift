import BluetoothTypes
import ByteCodec
import HCI

/// What a capture tells of scanning and connecting.
struct AirWatch {
    var findings = TimedFindings()
    private var scanningSince: Int64?
    private var scanned: Int64 = 0
    private var reports = 0
    private var heard: [DeviceAddress: Heard] = [:]
    private var attempt: (peer: DeviceAddress, since: Int64)?

    private struct Heard {
        var isConnectable = false
        var strengths = 0
        var sum = 0
    }

    /// How long a scan must be before silence means something.
    private static let patience: Int64 = 5_000_000
    /// Nobody is near as many devices at a time; a hostile air could make more.
    private static let memory = 4096

    mutating func heard(_ address: DeviceAddress, isConnectable: Bool, _ rssi: Int8) {
        reports += 1
        guard heard[address] != nil || heard.count < Self.memory else { return }
        var entry = heard[address] ?? Heard()
        entry.isConnectable = entry.isConnectable || isConnectable
        if rssi <= 20 {
            entry.strengths += 1
            entry.sum += Int(rssi)
        }
        heard[address] = entry
    }

    mutating func sent(_ opcode: HCIOpcode, _ parameters: ArraySlice<UInt8>, at now: Int64) {
        switch opcode {
        case .leSetScanEnable, .leSetExtendedScanEnable:
            if parameters.first == 1 { scanningSince = scanningSince ?? now } else { stopScan(at: now) }
        case .leCreateConnection:
            if let command = try? LECreateConnection(octets: parameters) { begin(command.peer, at: now) }
        case .leExtendedCreateConnection:
            if let command = try? LEExtendedCreateConnection(octets: parameters) { begin(command.peer, at: now) }
        default: break
        }
    }

    private mutating func begin(_ peer: DeviceAddress, at now: Int64) {
        attempt = (peer, now)
        guard let entry = heard[peer] else { return }
        let mean = entry.strengths > 0 ? entry.sum / entry.strengths : 0
        if mean < -85 { findings.add(.weakSignal, "\(peer) was heard with \(mean) dBm on average", at: now) }
    }

    mutating func status(_ status: HCIErrorCode, of opcode: HCIOpcode, at now: Int64) {
        guard opcode == .leCreateConnection || opcode == .leExtendedCreateConnection else { return }
        refused(status, at: now)
    }

    mutating func connected(_ status: HCIErrorCode, _ peer: DeviceAddress, at now: Int64) {
        defer { attempt = nil }
        guard status != .success else { return }
        refused(status, at: now)
        guard let attempt else { return }
        let seconds = Double(now - attempt.since) / 1_000_000
        switch status {
        // Cancelled: somebody had waited long enough.
        case .unknownConnection where now - attempt.since >= 3_000_000:
            if let entry = heard[attempt.peer], !entry.isConnectable {
                findings.add(.notConnectable, "\(attempt.peer) broadcasts only", at: attempt.since)
            } else {
                findings.add(
                    .doesNotAnswer, "\(JSONLine.fixed(seconds, digits: 1)) s of attempts to \(attempt.peer)", at: now)
            }
        case .connectionFailedToBeEstablished:
            findings.add(.doesNotAnswer, "\(attempt.peer): \(status)", at: now)
        default: break
        }
    }

    private mutating func refused(_ status: HCIErrorCode, at now: Int64) {
        switch status {
        case .connectionLimitExceeded, .limitedResources, .memoryCapacityExceeded:
            findings.add(.linkLimit, "the controller makes no link, because \(status)", at: now)
        default: break
        }
    }

    private mutating func stopScan(at now: Int64) {
        if let scanningSince { scanned += now - scanningSince }
        scanningSince = nil
    }

    mutating func finish(at now: Int64) {
        stopScan(at: now)
        guard scanned >= Self.patience, reports == 0 else { return }
        findings.add(
            .nothingOnAir, "no report in \(JSONLine.fixed(Double(scanned) / 1_000_000, digits: 1)) s of scanning",
            at: now)
    }
}
