package import BluetoothTypes
import ByteCodec
package import EventLoop
package import HCI

/// Keeps one advertisement on the air for as long as it is wanted, told to the controller in legacy or extended
/// commands.
///
///            want              parameters, data, scan response, enable: one command after the other
///     off ─────────▶ starting ───────────────────────────────────────────────────────────────▶ on the air
///      ▲                │ refused: `failed`                                                  │    │
///      │                ▼                      want something else, or nothing               │    │
///      ├──────────────(off)           stopping ◀─────────────────────────────────────────────┘    │
///      │                                 │                                              connected │
///      └─────────────────────────────────┘                                                        ▼
///                     enable again ◀────────────── off the air: a link ended ◀── refused ── enable again
///
/// With a set's advertisement its periodic advertising begins and ends. What that says may change while it is on the
/// air; all else is taken off before it changes. A set that was periodic is removed, for it could be nothing else any
/// more (7.8.53).
///
/// A controller takes an advertisement off the air when somebody connects to it (Core 6.0, Vol 4, Part E, 7.8.9).
/// It is put back at once, or, where the controller cannot advertise beside the link, when a link ends.
///
/// Every wish is reported on once, with `started` or `failed`, unless another wish took its place before. One
/// command is in flight at a time, so an outcome needs no name.
package struct Advertiser: ProtocolMachine {
    package struct Configuration: Equatable, Sendable {
        package var advertisingData: [UInt8] = []
        package var scanResponseData: [UInt8] = []
        package var isConnectable = true
        package var ownAddressType = OwnAddressType.publicDevice
        /// In units of 0.625 ms, 0x0020...0x4000. The default is 100 ms.
        package var interval: UInt16 = 0x00A0
        /// Where the controller is told in extended commands.
        package var extended: Extended?

        package struct Extended: Equatable, Sendable {
            package enum PDUs: Equatable, Sendable {
                /// Every device hears them. 31 octets, and as many of a scan response.
                case legacy
                /// Up to 1650 octets, 238 if it is connectable, and no scan response.
                case extended(primary: PHY, secondary: PHY)
            }

            /// The advertising set, 0...0xEF; one kind of PDUs each.
            package var set: UInt8 = 0
            package var pdus = PDUs.legacy
            /// Whether a structure behind the data says at which power the controller sends, which it tells in its
            /// answer to the parameters (Core Supplement, Part A, 1.5).
            package var tellsTransmitPower = false
            /// The address to show, where it is a random one.
            package var randomAddress: DeviceAddress?
            /// What the set says at fixed times besides, if it is of extended packets and nobody can connect.
            package var periodic: Periodic?

            package init() {}
        }

        package struct Periodic: Equatable, Sendable {
            /// In units of 1.25 ms, 6 and more.
            package var interval: UInt16
            /// Up to 1650 octets.
            package var data: [UInt8]

            package init(interval: UInt16, data: [UInt8]) {
                self.interval = interval
                self.data = data
            }
        }

        package init() {}
    }

    package enum Input: Equatable, Sendable {
        /// What is to be on the air from now on; `nil` for nothing.
        case want(Configuration?)
        /// About the one command that was last handed out.
        case commandFinished(CommandOutcome)
        /// A link came up in which this device is the peripheral.
        case connected
        /// Any link ended.
        case disconnected
    }

    package enum Effect: Equatable, Sendable {
        case command([UInt8])
        /// The wish is on the air.
        case started
        /// Nothing is wanted, and nothing is on the air any more.
        case stopped
        /// The wish was not fulfilled, and is forgotten.
        case failed(CommandFailure)
    }

    fileprivate enum Step: Equatable {
        /// The command with this number of those that end it.
        case disable(Int)
        /// Other periodic data.
        case update
        /// The command with this number of those that come before enabling.
        case prepare(Int)
        case enable

        var isDisable: Bool { if case .disable = self { true } else { false } }
    }

    private enum State: Equatable {
        case off
        /// A command is in flight.
        case busy(Step)
        case onTheAir
        /// Set up, but taken off the air by a connection, and not let back on it yet.
        case offTheAir
    }

    private var state = State.off
    private var wanted: Configuration?
    /// What the controller was last given.
    private var given: Configuration?
    /// In dBm, as the controller has chosen it for the parameters that it was last given.
    private var transmitPower: Int8 = 0
    private var owesReport = false
    /// What was refused, while what had been set up before is taken away again.
    private var failure: CommandFailure?
    /// A connection ended the advertising while a command was in flight.
    private var wasTakenOff = false

    package init() {}

    /// Whether the advertisement is on the air now.
    package var isOnTheAir: Bool { state == .onTheAir }

    /// Whether the controller has, or is being given, a set that advertises periodically.
    package var isPeriodic: Bool { !isOff && given?.extended?.periodic != nil }

    /// Whether the controller has no advertisement of ours, and is about to get none.
    package var isOff: Bool { state == .off || state == .offTheAir }

    package var deadline: Instant? { nil }
    package mutating func wake(at now: Instant) -> [Effect] { [] }

    package mutating func handle(_ input: Input, at now: Instant) -> [Effect] {
        switch input {
        case .want(let configuration):
            wanted = configuration
            owesReport = true
            failure = nil
            return proceed()
        case .connected:
            if case .busy = state { wasTakenOff = true }
            guard state == .onTheAir, given?.isConnectable == true else { return [] }
            state = .offTheAir
            return proceed(mayRetry: true)
        case .disconnected:
            return proceed(mayRetry: true)
        case .commandFinished(let outcome):
            guard case .busy(let step) = state else { return [] }
            return finish(step, outcome)
        }
    }

    /// Takes the next step toward what is wanted, if none is being taken.
    ///
    /// - Parameter mayRetry: whether it is worth trying to get back on the air.
    private mutating func proceed(mayRetry: Bool = false) -> [Effect] {
        switch state {
        case .busy: return []
        case .off:
            guard let wanted else { return report(.stopped) }
            given = wanted
            return take(.prepare(0))
        case .onTheAir, .offTheAir:
            if wanted != given {
                guard state == .onTheAir, let wanted, given?.canBecome(wanted) == true else { return take(.disable(0)) }
                given = wanted
                return take(.update)
            }
            let report = report(.started)
            return state == .offTheAir && mayRetry ? report + take(.enable) : report
        }
    }

    private mutating func finish(_ step: Step, _ outcome: CommandOutcome) -> [Effect] {
        let configuration = given ?? Configuration()
        let failure = CommandFailure(outcome, opcode: configuration.command(step, transmitPower).opcode)
        if step == .prepare(0), configuration.extended != nil, case .completed(let octets) = outcome,
            let answer = try? LESetExtendedAdvertisingParameters.ReturnParameters(octets: octets)
        {
            transmitPower = answer.txPower
        }
        let wasTakenOff = wasTakenOff
        self.wasTakenOff = false
        // A repeated enable is no wish of its own: where it is refused, the next link's end gives another chance.
        let isReturn = step == .enable && !owesReport
        if let failure, !step.isDisable, !isReturn { return fail(step, failure) }
        switch step {
        case .disable(let number):
            if number + 1 < configuration.ending.count { return take(.disable(number + 1)) }
            state = .off
            guard let failure = self.failure else { return proceed() }
            self.failure = nil
            return report(.failed(failure))
        case .update:
            state = .onTheAir
            return proceed()
        case .prepare(let number):
            guard let given, wanted == given else {
                state = .off
                return proceed()
            }
            return take(number + 1 < given.preparation(transmitPower).count ? .prepare(number + 1) : .enable)
        case .enable:
            let isOff = failure != nil || (wasTakenOff && given?.isConnectable == true)
            state = isOff ? .offTheAir : .onTheAir
            return proceed(mayRetry: failure == nil)
        }
    }

    /// A periodic set that is there by now is taken away again first.
    private mutating func fail(_ step: Step, _ failure: CommandFailure) -> [Effect] {
        let isOver = wanted == given
        if isOver { wanted = nil }
        guard given?.extended?.periodic == nil else {
            if isOver { self.failure = failure }
            return take(.disable(step == .update ? 0 : 1))
        }
        state = .off
        return isOver ? report(.failed(failure)) : proceed()
    }

    private mutating func report(_ effect: Effect) -> [Effect] {
        defer { owesReport = false }
        return owesReport ? [effect] : []
    }

    private mutating func take(_ step: Step) -> [Effect] {
        state = .busy(step)
        return [.command((given ?? Configuration()).command(step, transmitPower).packet)]
    }
}

// MARK: - Commands

extension Advertiser.Configuration {
    fileprivate typealias Command = (opcode: HCIOpcode, packet: [UInt8])

    fileprivate func command(_ step: Advertiser.Step, _ transmitPower: Int8) -> Command {
        switch step {
        case .prepare(let number): preparation(transmitPower)[number]
        case .disable(let number): ending[number]
        case .update: make(LESetPeriodicAdvertisingData(set: extended?.set ?? 0, data: extended?.periodic?.data ?? []))
        case .enable: enable(true)
        }
    }

    /// What takes it off the air.
    fileprivate var ending: [Command] {
        guard let extended, extended.periodic != nil else { return [enable(false)] }
        return [
            enable(false), make(LESetPeriodicAdvertisingEnable(false, set: extended.set)),
            make(LERemoveAdvertisingSet(set: extended.set)),
        ]
    }

    /// Whether the controller can go over to `other` while this is on the air: one command has all of its periodic
    /// data, and nothing else changes (7.8.62).
    fileprivate func canBecome(_ other: Advertiser.Configuration) -> Bool {
        guard let data = other.extended?.periodic?.data, extended?.periodic != nil, data.count <= Self.mostPeriodicData
        else { return false }
        var changed = self
        changed.extended?.periodic?.data = data
        return changed == other
    }

    private static let mostPeriodicData = 252

    /// What the controller is told before the advertisement may go on the air.
    fileprivate func preparation(_ transmitPower: Int8) -> [Command] {
        guard let extended else {
            return [
                make(parameters), make(LESetAdvertisingData(data: advertisingData)),
                make(LESetScanResponseData(data: scanResponseData)),
            ]
        }
        var commands = [make(extendedParameters(extended))]
        if let address = extended.randomAddress {
            commands.append(make(LESetAdvertisingSetRandomAddress(set: extended.set, address: address)))
        }
        commands += data(of: extended, transmitPower)
        if extended.pdus == .legacy {
            commands.append(make(LESetExtendedScanResponseData(set: extended.set, data: scanResponseData)))
        }
        if let periodic = extended.periodic { commands += preparation(of: periodic, set: extended.set) }
        return commands
    }

    private func make(_ command: some HCICommand) -> Command { (type(of: command).opcode, command.packet) }

    private func enable(_ isEnabled: Bool) -> Command {
        guard let extended else { return make(LESetAdvertisingEnable(isEnabled)) }
        return make(LESetExtendedAdvertisingEnable(isEnabled, [.init(set: extended.set)]))
    }

    private var parameters: LESetAdvertisingParameters {
        var command = LESetAdvertisingParameters()
        command.intervalMin = interval
        command.intervalMax = interval
        command.type = isConnectable ? .connectable : scanResponseData.isEmpty ? .nonconnectable : .scannable
        command.ownAddressType = ownAddressType
        return command
    }

    private func extendedParameters(_ extended: Extended) -> LESetExtendedAdvertisingParameters {
        var command = LESetExtendedAdvertisingParameters()
        command.set = extended.set
        command.intervalMin = UInt32(interval)
        command.intervalMax = UInt32(interval)
        command.ownAddressType = ownAddressType
        switch extended.pdus {
        case .legacy:
            command.properties = [.legacy]
            if isConnectable { command.properties.insert(.connectable) }
            if isConnectable || !scanResponseData.isEmpty { command.properties.insert(.scannable) }
        case .extended(let primary, let secondary):
            command.properties = isConnectable ? [.connectable] : []
            command.primaryPHY = primary
            command.secondaryPHY = secondary
            command.identifier = extended.set & 0x0F
        }
        return command
    }

    /// It begins with the advertisement (7.8.63).
    private func preparation(of periodic: Periodic, set: UInt8) -> [Command] {
        var parameters = LESetPeriodicAdvertisingParameters()
        parameters.set = set
        parameters.intervalMin = periodic.interval
        parameters.intervalMax = periodic.interval
        let data = parts(of: periodic.data, most: Self.mostPeriodicData).map { operation, part in
            make(LESetPeriodicAdvertisingData(set: set, operation: operation, data: part))
        }
        return [make(parameters)] + data + [make(LESetPeriodicAdvertisingEnable(true, set: set))]
    }

    /// What is longer than one command holds goes in several.
    private func parts(of data: [UInt8], most: Int) -> [(DataOperation, [UInt8])] {
        guard data.count > most else { return [(.complete, data)] }
        return stride(from: 0, to: data.count, by: most).map { start in
            let end = min(start + most, data.count)
            let operation: DataOperation = start == 0 ? .first : end == data.count ? .last : .intermediate
            return (operation, Array(data[start..<end]))
        }
    }

    /// A command holds 251 octets (7.8.54).
    private func data(of extended: Extended, _ transmitPower: Int8) -> [Command] {
        var advertisingData = advertisingData
        if extended.tellsTransmitPower {
            let power = UInt8(bitPattern: transmitPower)
            advertisingData += [2, AdvertisingDataType.txPowerLevel.rawValue, power]
        }
        return parts(of: advertisingData, most: 251).map { operation, part in
            make(LESetExtendedAdvertisingData(set: extended.set, operation: operation, data: part))
        }
    }
}
