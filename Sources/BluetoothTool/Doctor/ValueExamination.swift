import BluetoothToolkit
import CoreBluetooth

/// Looks at one characteristic: reads it, subscribes to it, and writes it if that is asked for.
struct ValueExamination: Sendable {
    var peripheral: RemotePeripheral
    var characteristic: RemoteCharacteristic
    var waiting: WaitingWatch
    var write: Data?
    var writesWithResponse: Bool
    var wantsNotifications: Bool
    var listening: Duration

    private static let patience = Duration.seconds(6)

    func run() async throws -> [Finding] {
        var findings: [Finding] = []
        if characteristic.properties.contains(.read) {
            do {
                try await waiting.during(Self.patience, time: peripheral.time) {
                    _ = try await peripheral.read(characteristic, within: Self.patience)
                }
            } catch let error where !isEnd(error) {
                findings.append(finding(error, .readRefused))
                // Nothing else can be asked until it answers.
                if case ToolkitError.timedOut = error { return findings }
            }
        }
        if let write, let finding = try await tryWrite(write) { findings.append(finding) }
        if write == nil, let finding = try await trySubscription() { findings.append(finding) }
        return findings
    }

    private var names: String { "its properties are \(characteristic.propertyNames.joined(separator: ", "))" }

    private func trySubscription() async throws -> Finding? {
        guard !characteristic.properties.isDisjoint(with: [.notify, .indicate]) else {
            return wantsNotifications ? Finding(cause: .cannotNotify, evidence: names) : nil
        }
        let values: Events<Data>
        do {
            values = try await peripheral.values(of: characteristic, within: Self.patience)
        } catch let error as CBError where error.code == .invalidParameters {
            return Finding(cause: .noConfigurationDescriptor, evidence: error.localizedDescription)
        } catch let error where !isEnd(error) {
            return finding(error, .subscriptionRefused)
        }
        let (time, limit) = (peripheral.time, listening)
        let hasCome = try await withThrowingTaskGroup(of: Bool.self) { group in
            defer { group.cancelAll() }
            group.addTask {
                for try await _ in values { return true }
                return false
            }
            group.addTask {
                try await time.sleep(for: limit)
                return false
            }
            return try await group.next() ?? false
        }
        return hasCome
            ? nil : Finding(cause: .silentNotifications, evidence: "nothing in \(limit / .seconds(1)) s")
    }

    private func tryWrite(_ value: Data) async throws -> Finding? {
        let properties = characteristic.properties
        guard writesWithResponse else {
            guard properties.contains(.writeWithoutResponse) else {
                return Finding(cause: .writeVanishes, evidence: names)
            }
            try await peripheral.writeWithoutResponse(value, to: characteristic)
            return nil
        }
        do {
            try await waiting.during(Self.patience, time: peripheral.time) {
                try await peripheral.write(value, to: characteristic, within: Self.patience)
            }
            return nil
        } catch let error where !isEnd(error) {
            return finding(error, .writeRefused)
        }
    }

    private func finding(_ error: any Error, _ refused: Cause) -> Finding {
        if case ToolkitError.timedOut = error {
            let evidence = "no answer in \(Self.patience / .seconds(1)) s" + waiting.evidence
            return Finding(cause: .noAnswer, evidence: evidence)
        }
        guard let attribute = error as? CBATTError else { return Finding(cause: refused, evidence: "\(error)") }
        let code = hexOctet(UInt8(truncatingIfNeeded: attribute.code.rawValue))
        let evidence = "\(attribute.localizedDescription) (0x\(code))"
        return switch attribute.code {
        case .insufficientAuthentication, .insufficientEncryption, .insufficientEncryptionKeySize,
            .insufficientAuthorization:
            Finding(cause: .needsPairing, evidence: evidence)
        default: Finding(cause: refused, evidence: evidence)
        }
    }
}
