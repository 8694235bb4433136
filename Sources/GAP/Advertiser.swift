package import EventLoop
package import HCI

/// Keeps one legacy advertisement on the air for as long as it is wanted.
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

    private enum Step {
        case disable, parameters, data, scanResponse, enable

        var opcode: HCIOpcode {
            switch self {
            case .disable, .enable: .leSetAdvertisingEnable
            case .parameters: .leSetAdvertisingParameters
            case .data: .leSetAdvertisingData
            case .scanResponse: .leSetScanResponseData
            }
        }
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
    private var owesReport = false
    /// A connection ended the advertising while a command was in flight.
    private var wasTakenOff = false

    package init() {}

    /// Whether the advertisement is on the air now.
    package var isOnTheAir: Bool { state == .onTheAir }

    /// Whether the controller has no advertisement of ours, and is about to get none.
    package var isOff: Bool { state == .off || state == .offTheAir }

    package var deadline: Instant? { nil }
    package mutating func wake(at now: Instant) -> [Effect] { [] }

    package mutating func handle(_ input: Input, at now: Instant) -> [Effect] {
        switch input {
        case .want(let configuration):
            wanted = configuration
            owesReport = true
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
            return take(.parameters)
        case .onTheAir, .offTheAir:
            if wanted != given { return take(.disable) }
            let report = report(.started)
            return state == .offTheAir && mayRetry ? report + take(.enable) : report
        }
    }

    private mutating func finish(_ step: Step, _ outcome: CommandOutcome) -> [Effect] {
        let failure = CommandFailure(outcome, opcode: step.opcode)
        let wasTakenOff = wasTakenOff
        self.wasTakenOff = false
        // A repeated enable is no wish of its own: where it is refused, the next link's end gives another chance.
        let isReturn = step == .enable && !owesReport
        if let failure, step != .disable, !isReturn {
            state = .off
            guard wanted == given else { return proceed() }
            wanted = nil
            return report(.failed(failure))
        }
        switch step {
        case .disable:
            state = .off
            return proceed()
        case .parameters, .data, .scanResponse:
            guard wanted == given else {
                state = .off
                return proceed()
            }
            return take(step == .parameters ? .data : step == .data ? .scanResponse : .enable)
        case .enable:
            let isOff = failure != nil || (wasTakenOff && given?.isConnectable == true)
            state = isOff ? .offTheAir : .onTheAir
            return proceed(mayRetry: failure == nil)
        }
    }

    private mutating func report(_ effect: Effect) -> [Effect] {
        defer { owesReport = false }
        return owesReport ? [effect] : []
    }

    private mutating func take(_ step: Step) -> [Effect] {
        state = .busy(step)
        let given = given ?? Configuration()
        switch step {
        case .disable: return [.command(LESetAdvertisingEnable(false).packet)]
        case .parameters: return [.command(given.parameters.packet)]
        case .data: return [.command(LESetAdvertisingData(data: given.advertisingData).packet)]
        case .scanResponse: return [.command(LESetScanResponseData(data: given.scanResponseData).packet)]
        case .enable: return [.command(LESetAdvertisingEnable(true).packet)]
        }
    }
}

extension Advertiser.Configuration {
    fileprivate var parameters: LESetAdvertisingParameters {
        var command = LESetAdvertisingParameters()
        command.intervalMin = interval
        command.intervalMax = interval
        command.type = isConnectable ? .connectable : scanResponseData.isEmpty ? .nonconnectable : .scannable
        command.ownAddressType = ownAddressType
        return command
    }
}
