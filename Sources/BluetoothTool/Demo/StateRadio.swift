import Backends
import HostInterface

/// A radio that goes through given states and can do nothing else; with the state of a missing permission, it denies.
final class StateRadio: SessionFactory {
    private let states: [AdapterState]
    private let executor: any CallbackExecutor
    private let onLog: @Sendable (String) -> Void

    init(
        _ states: [AdapterState], executor: any CallbackExecutor, onLog: @escaping @Sendable (String) -> Void
    ) {
        self.states = states
        self.executor = executor
        self.onLog = onLog
    }

    func makeSession() -> any HostSession {
        StateSession(states, executor: PlaceExecutor(executor, place: self))
    }

    var permission: RadioPermission {
        let isDenied = states.contains {
            if case .unauthorized = $0 { true } else { false }
        }
        return isDenied ? .denied : .allowed
    }

    func report(_ line: String) { onLog(line) }
}

/// Runs callbacks so that what they ask of the class, such as `CBManager.authorization`, is about their own radio.
private final class PlaceExecutor: CallbackExecutor {
    private let executor: any CallbackExecutor
    private let place: any SessionFactory

    init(_ executor: any CallbackExecutor, place: any SessionFactory) {
        self.executor = executor
        self.place = place
    }

    func run(_ work: @escaping @Sendable () -> Void) {
        executor.run { [place] in SessionProvider.with(place, work) }
    }

    func settle() { executor.settle() }
}

private final class StateSession: HostSession, @unchecked Sendable {
    // `@unchecked`: `deliver` is set in `open`, before anybody else can call, and then only read.
    private let states: [AdapterState]
    private let executor: any CallbackExecutor
    private var deliver: (@Sendable (HostEvent) -> Void)?

    init(_ states: [AdapterState], executor: any CallbackExecutor) {
        self.states = states
        self.executor = executor
    }

    var defaultExecutor: (any CallbackExecutor)? { executor }

    func open(on executor: any CallbackExecutor, _ deliver: @escaping @Sendable (HostEvent) -> Void) {
        self.deliver = deliver
        for state in states { self.executor.run { deliver(.state(state)) } }
    }

    func submit(_ request: HostRequest, number: RequestNumber) {
        executor.run { [deliver] in deliver?(.answer(number, .failure(.notPowered))) }
    }

    func close() {}
}
