import Backends
import HostInterface

/// A radio that goes through given states and can do nothing else.
final class StateRadio: SessionFactory {
    private let states: [AdapterState]
    private let executor: any CallbackExecutor

    init(_ states: [AdapterState], executor: any CallbackExecutor) {
        self.states = states
        self.executor = executor
    }

    func makeSession() -> any HostSession { StateSession(states, executor: executor) }
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
        for state in states { executor.run { deliver(.state(state)) } }
    }

    func submit(_ request: HostRequest, number: RequestNumber) {
        executor.run { [deliver] in deliver?(.answer(number, .failure(.notPowered))) }
    }

    func close() {}
}
