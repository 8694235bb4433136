package import BluetoothTypes
package import EventLoop
package import HCI

/// Follows the periodic advertising of every device that is wanted, under the name by which its owner knows it.
///
///              heard        Command Status       Sync Established
///     waiting ───────▶ creating ───────▶ creating ───────────────▶ followed ──┐ reports: `report`
///        ▲                                  │   │                   ▲ │ └─────┘
///        │   not established, or not in time │   │ not wanted any more │ │ Sync Lost: `lost`
///        └──────────────────────────────────┘   └──▶ cancelling       │ └──────────▶ (gone)
///                                                                     └─ not wanted: terminated
///
/// A controller establishes one at a time, so whoever is heard first comes first, and after a while the others get
/// their turn. It finds the train by the advertisement that announces it, so the owner scans while ``isLooking``.
///
/// Each wish ends once: with `established` and then `lost`, with `failed`, or silently by `end`. One command is in
/// flight at a time, so an outcome needs no name.
///
/// Source: Core 6.0, Vol 4, Part E, 7.8.67 to 7.8.69 and 7.7.65.14 to 7.7.65.16.
package struct Synchronizer: ProtocolMachine {
    package struct Parameters: Equatable, Sendable {
        /// How many packets in a row may be left out, 0...499.
        package var skip: UInt16
        /// After so long without a packet it is lost, in units of 10 ms, 10...16384; `nil` for six packets, a second at
        /// least.
        package var timeout: UInt16?

        package init(skip: UInt16 = 0, timeout: UInt16? = nil) {
            self.skip = skip
            self.timeout = timeout
        }
    }

    package enum Input: Equatable, Sendable {
        case follow(DeviceAddress, Parameters)
        case end(DeviceAddress)
        /// Nothing may be established for a moment. Whoever is wanted is heard again later.
        case pause
        /// An advertisement told of a train of somebody who is wanted.
        ///
        /// - Parameters:
        ///   - advertiser: the address that was on the air, and the set.
        ///   - interval: in units of 1.25 ms.
        case heard(DeviceAddress, advertiser: PeriodicAdvertiser, interval: UInt16)
        /// About the one command that was last handed out.
        case commandFinished(CommandOutcome)
        case established(LEPeriodicAdvertisingSyncEstablished)
        case report(LEPeriodicAdvertisingReport)
        case lost(LEPeriodicAdvertisingSyncLost)
    }

    package enum Effect: Equatable, Sendable {
        case command([UInt8])
        case established(DeviceAddress, LEPeriodicAdvertisingSyncEstablished)
        case failed(DeviceAddress, CommandFailure)
        /// The whole data of one packet or chain; the strengths are those of its last report.
        case report(DeviceAddress, data: [UInt8], rssi: Int8, txPower: Int8)
        case lost(DeviceAddress)
    }

    private enum Command {
        case create, cancel
        case terminate
    }

    /// What the controller is establishing.
    private enum Attempt: Equatable {
        case none
        /// - Parameter until: when the others get their turn; `nil` while the command is in flight.
        case open(DeviceAddress, turn: Duration, until: Instant?)
        /// Cancel is in flight (`nil`), or was answered, and Sync Established must come soon.
        case cancelling(until: Instant?)
    }

    private struct Entry {
        let device: DeviceAddress
        let parameters: Parameters
        var train: LEPeriodicAdvertisingSyncEstablished?
        var data: [UInt8] = []
        /// Whether the data that is coming is too long, so that its rest is dropped too.
        var isSpoilt = false
    }

    /// The most octets of periodic advertising data (7.8.62).
    static let longest = 1650
    /// For controllers that forget to say that an attempt was cancelled.
    static let cancelTimeout = Duration.seconds(2)

    private var entries: [Entry] = []
    private var attempt = Attempt.none
    private var flight: Command?
    /// Trains that nobody wants any more.
    private var unwanted: [UInt16] = []

    package init() {}

    /// Whether somebody is wanted who is not followed yet.
    package var isLooking: Bool { entries.contains { $0.train == nil } }

    /// Whether the controller is establishing one, or about to.
    package var isEstablishing: Bool { attempt != .none || flight != nil }

    package var count: Int { entries.count }

    /// The train of a device; `nil` if it is not followed yet, or not wanted.
    package func train(of device: DeviceAddress) -> LEPeriodicAdvertisingSyncEstablished? {
        index(of: device).flatMap { entries[$0].train }
    }

    package var deadline: Instant? {
        switch attempt {
        case .none: nil
        case .open(_, _, let until): flight == nil ? until : nil
        case .cancelling(let until): until
        }
    }

    package mutating func wake(at now: Instant) -> [Effect] {
        guard let deadline, deadline <= now else { return [] }
        switch attempt {
        case .none: break
        case .open(let device, let turn, _):
            // Nobody else is waiting: it goes on.
            guard entries.contains(where: { $0.train == nil && $0.device != device }) else {
                attempt = .open(device, turn: turn, until: now.advanced(by: turn))
                return []
            }
            return cancel()
        case .cancelling: attempt = .none
        }
        return proceed()
    }

    package mutating func handle(_ input: Input, at now: Instant) -> [Effect] {
        switch input {
        case .follow(let device, let parameters):
            if index(of: device) == nil { entries.append(Entry(device: device, parameters: parameters)) }
            return []
        case .end(let device):
            guard let index = index(of: device) else { return [] }
            if let train = entries.remove(at: index).train { unwanted.append(train.sync) }
            return proceed()
        case .pause:
            guard flight == nil, case .open = attempt else { return [] }
            return cancel()
        case .heard(let device, let advertiser, let interval): return create(device, advertiser, interval)
        case .commandFinished(let outcome): return finish(outcome, at: now)
        case .established(let event): return established(event)
        case .report(let event): return take(event)
        case .lost(let event):
            unwanted.removeAll { $0 == event.sync }
            guard let index = index(of: event.sync) else { return [] }
            return [.lost(entries.remove(at: index).device)]
        }
    }

    private func index(of device: DeviceAddress) -> Int? { entries.firstIndex { $0.device == device } }

    private func index(of sync: UInt16) -> Int? { entries.firstIndex { $0.train?.sync == sync } }
}

// MARK: - Steps

extension Synchronizer {
    /// Takes the next step toward what is wanted, if none is being taken.
    private mutating func proceed() -> [Effect] {
        guard flight == nil else { return [] }
        if case .open(let device, _, _) = attempt, index(of: device) == nil { return cancel() }
        guard let sync = unwanted.first else { return [] }
        unwanted.removeFirst()
        flight = .terminate
        return [.command(LEPeriodicAdvertisingTerminateSync(sync: sync).packet)]
    }

    private mutating func cancel() -> [Effect] {
        attempt = .cancelling(until: nil)
        flight = .cancel
        return [.command(LEPeriodicAdvertisingCreateSyncCancel().packet)]
    }

    private mutating func create(
        _ device: DeviceAddress, _ advertiser: PeriodicAdvertiser, _ interval: UInt16
    ) -> [Effect] {
        guard flight == nil, attempt == .none, let index = index(of: device), entries[index].train == nil else {
            return []
        }
        let parameters = entries[index].parameters
        var command = LEPeriodicAdvertisingCreateSync()
        command.identifier = advertiser.identifier
        command.advertiser = advertiser.address
        command.skip = parameters.skip
        let sixPackets = 6 * (Int(parameters.skip) + 1) * Int(interval) / 8
        command.timeout = parameters.timeout ?? UInt16(min(max(100, sixPackets), 0x4000))
        // Until it has announced itself once more, and the controller has tried six of its packets (7.7.65.14).
        attempt = .open(device, turn: .seconds(10) + .microseconds(1250) * (8 * Int(interval)), until: nil)
        flight = .create
        return [.command(command.packet)]
    }

    private mutating func finish(_ outcome: CommandOutcome, at now: Instant) -> [Effect] {
        guard let flight else { return [] }
        self.flight = nil
        var effects: [Effect] = []
        switch (flight, attempt) {
        case (.create, .open(let device, let turn, _)):
            if let failure = CommandFailure(outcome, opcode: .lePeriodicAdvertisingCreateSync) {
                attempt = .none
                effects = fail(device, failure)
            } else {
                attempt = .open(device, turn: turn, until: now.advanced(by: turn))
            }
        // Refused, it has ended already, and Sync Established is on the way.
        case (.cancel, .cancelling): attempt = .cancelling(until: now.advanced(by: Self.cancelTimeout))
        // Its end was told before the answer.
        case (.create, .none), (.create, .cancelling), (.cancel, .none), (.cancel, .open), (.terminate, _): break
        }
        return effects + proceed()
    }

    private mutating func fail(_ device: DeviceAddress, _ failure: CommandFailure) -> [Effect] {
        guard let index = index(of: device) else { return [] }
        entries.remove(at: index)
        return [.failed(device, failure)]
    }

    private mutating func established(_ event: LEPeriodicAdvertisingSyncEstablished) -> [Effect] {
        let wanted: DeviceAddress? = if case .open(let device, _, _) = attempt { device } else { nil }
        attempt = .none
        guard event.status == .success else {
            // The train was not found, or the attempt was cancelled: whoever is still wanted will be heard again.
            let isTransient = [.connectionFailedToBeEstablished, .operationCancelled].contains(event.status)
            guard let wanted, !isTransient else { return proceed() }
            let failure = CommandFailure(opcode: .lePeriodicAdvertisingCreateSync, error: event.status)
            return fail(wanted, failure) + proceed()
        }
        guard index(of: event.sync) == nil else { return proceed() }
        guard let wanted, let index = index(of: wanted) else {
            if !unwanted.contains(event.sync) { unwanted.append(event.sync) }
            return proceed()
        }
        entries[index].train = event
        return [.established(wanted, event)] + proceed()
    }

    /// Data comes in parts, of which the last one says so. What was not received whole, or is longer than any, is
    /// dropped.
    private mutating func take(_ event: LEPeriodicAdvertisingReport) -> [Effect] {
        guard let index = index(of: event.sync) else { return [] }
        if entries[index].data.count + event.data.count > Self.longest { entries[index].isSpoilt = true }
        if entries[index].isSpoilt { entries[index].data = [] } else { entries[index].data += event.data }
        guard event.dataStatus != .incomplete else { return [] }
        defer {
            entries[index].data = []
            entries[index].isSpoilt = false
        }
        guard event.dataStatus == .complete, !entries[index].isSpoilt else { return [] }
        return [
            .report(entries[index].device, data: entries[index].data, rssi: event.rssi, txPower: event.txPower)
        ]
    }
}
