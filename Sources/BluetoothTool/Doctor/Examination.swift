package import BluetoothToolkit
import CoreBluetooth
package import Foundation

/// Looks for what is wrong with a radio, a device, a service and a characteristic, from the one to the other, as far as
/// each is named and found.
package struct Examination: Sendable {
    package var device: DeviceChoice?
    package var service: Named?
    package var characteristic: Named?
    /// Whether it shall notify.
    package var wantsNotifications = false
    /// What to try to write.
    package var write: Data?
    package var writesWithResponse = true
    /// How long to listen to the air, and then to a subscription.
    package var listening = Duration.seconds(6)
    /// Why the radio cannot be used, once that is known.
    package var whyUnusable: @Sendable () -> String? = { nil }

    private let waiting = WaitingWatch()

    /// A UUID that travels between threads as text.
    package struct Named: Sendable {
        package var text: String
        package init(_ text: String) { self.text = text }
        var uuid: CBUUID { CBUUID(string: text) }
    }

    package init() {}

    /// - Returns: what was found, in the order from the radio to the value. Nothing means that all is well.
    package func run(with central: Central) async throws -> [Finding] {
        do {
            return try await look(central)
        } catch ToolkitError.radioUnavailable(let state) {
            return [gone(state)]
        }
    }

    private func look(_ central: Central) async throws -> [Finding] {
        if let finding = try await radio(central) { return [finding] }
        let air = try await listen(central)
        if air.isEmpty { return [Finding(cause: .nothingOnAir, evidence: "no packet in \(listening / .seconds(1)) s")] }
        let choice = choose(air)
        guard let target = choice.target else { return choice.findings }
        return try await choice.findings + examine(target)
    }

    // MARK: The radio

    private func radio(_ central: Central) async throws -> Finding? {
        do {
            try await central.waitUntilOn(within: .seconds(25))
            return nil
        } catch ToolkitError.radioUnavailable(let state) {
            let why = whyUnusable() ?? ""
            let cause = Cause.ofRadio(state, why: why)
            return Finding(cause: cause, evidence: why.isEmpty ? "the state is \(state)" : why)
        }
    }

    /// It was on, and is gone in the middle of the examination.
    private func gone(_ state: CBManagerState) -> Finding {
        let why = whyUnusable() ?? ""
        let cause = Cause.ofRadio(state, why: why)
        return Finding(
            cause: cause == .radioSilent ? .radioFailed : cause,
            evidence: why.isEmpty ? "the state has become \(state)" : why)
    }

    // MARK: The air

    /// What was heard of one device.
    private struct Heard {
        var peripheral: RemotePeripheral
        var name: String?
        var services: [CBUUID] = []
        var isConnectable = false
        var strengths: [Int] = []

        var label: String { name.map { "\"\(Terminal.printable($0))\"" } ?? peripheral.identifier.uuidString }
    }

    private func listen(_ central: Central) async throws -> [Heard] {
        let air = try central.scan(duplicates: true, buffer: .newest(1024))
        let notes = HeardList()
        let (time, limit) = (central.time, listening)
        try await withThrowingTaskGroup(of: Void.self) { group in
            defer { group.cancelAll() }
            group.addTask { for try await seen in air { notes.note(seen) } }
            group.addTask { try await time.sleep(for: limit) }
            try await group.next()
        }
        return notes.all
    }

    /// Collects what is heard.
    // `@unchecked`: `lock` guards the list.
    private final class HeardList: @unchecked Sendable {
        private let lock = NSLock()
        private var heard: [Heard] = []

        var all: [Heard] { lock.withLock { heard } }

        func note(_ seen: Advertisement) {
            lock.withLock {
                let index = heard.firstIndex { $0.peripheral === seen.peripheral } ?? heard.endIndex
                if index == heard.endIndex { heard.append(Heard(peripheral: seen.peripheral)) }
                heard[index].name = seen.localName ?? heard[index].name ?? seen.peripheral.name
                for service in seen.services where !heard[index].services.contains(service) {
                    heard[index].services.append(service)
                }
                heard[index].isConnectable = heard[index].isConnectable || seen.isConnectable
                if let rssi = seen.rssi { heard[index].strengths.append(rssi) }
            }
        }
    }

    private func choose(_ air: [Heard]) -> (target: Heard?, findings: [Finding]) {
        let names = air.map(\.label).joined(separator: ", ")
        var matches = air
        var findings: [Finding] = []
        if let device {
            matches = air.filter { isMeant(device, $0) }
            if matches.isEmpty { return (nil, [missing(device, air, names)]) }
            if matches.count > 1 {
                findings.append(Finding(cause: .severalOfOneName, evidence: "\(matches.count) devices \(device)"))
            }
        }
        if let service {
            let advertising = matches.filter { $0.services.contains(service.uuid) }
            if advertising.isEmpty, device == nil {
                return (nil, [Finding(cause: .serviceNotAdvertised, evidence: "heard were \(names)")])
            }
            if !advertising.isEmpty { matches = advertising }
        }
        // Without a device to examine the air alone was asked about.
        return (device == nil && service == nil ? nil : matches.first, findings)
    }

    private func isMeant(_ device: DeviceChoice, _ heard: Heard) -> Bool {
        switch device {
        case .any: true
        case .identifier(let identifier): heard.peripheral.identifier == identifier
        case .address(let address): heard.peripheral.hostAddress == address.description
        case .name(let name): heard.name == name || heard.peripheral.name == name
        }
    }

    private func missing(_ device: DeviceChoice, _ air: [Heard], _ names: String) -> Finding {
        if case .name(let name) = device {
            let near = air.first { heard in
                guard let other = heard.name else { return false }
                return other.lowercased() == name.lowercased()
                    || Spelling.nearest(to: name, among: [other]) != nil
            }
            if let near { return Finding(cause: .misspelledName, evidence: "on the air is \(near.label)") }
        }
        return Finding(cause: .notHeard, evidence: "heard were \(names)")
    }

    // MARK: The link

    private func examine(_ target: Heard) async throws -> [Finding] {
        let peripheral = target.peripheral
        guard target.isConnectable else {
            return [Finding(cause: .notConnectable, evidence: "\(target.label) broadcasts only")]
        }
        var findings: [Finding] = []
        let mean = target.strengths.isEmpty ? 0 : target.strengths.reduce(0, +) / target.strengths.count
        if mean < -85 { findings.append(Finding(cause: .weakSignal, evidence: "\(mean) dBm on average")) }
        if let finding = try await connect(peripheral) { return findings + [finding] }
        do {
            findings += try await examineLink(peripheral)
            try? await peripheral.disconnect(within: .seconds(3))
            return findings
        } catch {
            try? await peripheral.disconnect(within: .seconds(3))
            if case ToolkitError.linkEnded(let cause) = error { return findings + [ended(cause)] }
            throw error
        }
    }

    private func connect(_ peripheral: RemotePeripheral) async throws -> Finding? {
        do {
            try await waiting.during(.seconds(10), time: peripheral.time) {
                try await peripheral.connect(within: .seconds(10))
            }
            return nil
        } catch ToolkitError.timedOut {
            let evidence = "10 s of attempts, while it was heard" + waiting.evidence
            return Finding(cause: waiting.sawNoRoom ? .linkLimit : .doesNotAnswer, evidence: evidence)
        } catch ToolkitError.linkEnded(let cause) {
            return ended(cause)
        }
    }

    private func ended(_ end: LinkEnd) -> Finding {
        if case .radioUnavailable(let state) = end { return gone(state) }
        let cause: Cause =
            switch end {
            case .noMoreLinks: .linkLimit
            case .bondRemoved, .encryptionFailed: .bondLost
            case .lost: .linkLost
            case .notEstablished: .doesNotAnswer
            case .peerEnded, .requested, .radioUnavailable, .tooFar, .other: .dropsAtOnce
            }
        return Finding(cause: cause, evidence: "\(end)")
    }

    private func examineLink(_ peripheral: RemotePeripheral) async throws -> [Finding] {
        var findings: [Finding] = []
        // A device that throws us out does it soon.
        if let end = try await Self.end(of: peripheral, within: .seconds(3)) { throw ToolkitError.linkEnded(end) }
        let room = peripheral.maximumWriteLength(for: .withoutResponse)
        if room <= 20 { findings.append(Finding(cause: .smallMTU, evidence: "\(room) octets in one write")) }
        let services: [RemoteService]
        do {
            services = try await peripheral.discover(within: .seconds(20))
        } catch let error where !isEnd(error) {
            return findings + [Finding(cause: .discoveryFails, evidence: "\(error)")]
        }
        guard let characteristic = find(services, &findings) else { return findings }
        let values = ValueExamination(
            peripheral: peripheral, characteristic: characteristic, waiting: waiting, write: write,
            writesWithResponse: writesWithResponse, wantsNotifications: wantsNotifications, listening: listening)
        return try await findings + values.run()
    }

    private static func end(of peripheral: RemotePeripheral, within limit: Duration) async throws -> LinkEnd? {
        try await withThrowingTaskGroup(of: LinkEnd?.self) { group in
            defer { group.cancelAll() }
            group.addTask { try await peripheral.waitForEnd() }
            group.addTask {
                try await peripheral.time.sleep(for: limit)
                return nil
            }
            return try await group.next() ?? nil
        }
    }

    private func find(_ services: [RemoteService], _ findings: inout [Finding]) -> RemoteCharacteristic? {
        let all = services.flatMap(\.characteristics)
        func list(_ uuids: [CBUUID]) -> String { uuids.map(\.uuidString).joined(separator: ", ") }
        if let service, !services.contains(where: { $0.uuid == service.uuid }) {
            findings.append(Finding(cause: .wrongService, evidence: "it has \(list(services.map(\.uuid)))"))
            return nil
        }
        guard let characteristic else { return nil }
        let candidates = all.filter { service == nil || $0.service == service?.uuid }
        if let found = candidates.first(where: { $0.uuid == characteristic.uuid }) { return found }
        let elsewhere = all.first { $0.uuid == characteristic.uuid }
        findings.append(
            Finding(
                cause: .wrongCharacteristic,
                evidence: elsewhere.map { "it is in the service \($0.service.uuidString)" }
                    ?? "there are \(list(candidates.map(\.uuid)))"))
        return nil
    }
}

/// Whether a link's end is behind an error, which says more than the step at which it came.
func isEnd(_ error: any Error) -> Bool {
    switch error {
    case ToolkitError.linkEnded, ToolkitError.notConnected, ToolkitError.radioUnavailable, is CancellationError: true
    default: false
    }
}
