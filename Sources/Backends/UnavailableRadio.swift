import Glibc
package import HostInterface
import Synchronization

/// A host that is not there: its sessions report the adapter state that says why, and refuse everything.
package final class UnavailableRadio: SessionFactory {
    private let state: AdapterState

    package init(state: AdapterState) { self.state = state }

    package func makeSession() -> any HostSession { UnavailableSession(state: state) }

    package var permission: RadioPermission {
        if case .unauthorized = state { .denied } else { .allowed }
    }
}

private final class UnavailableSession: HostSession {
    private struct Line {
        var executor: any CallbackExecutor
        var deliver: @Sendable (HostEvent) -> Void
    }

    private let state: AdapterState
    private let line = Mutex<Line?>(nil)

    init(state: AdapterState) { self.state = state }

    var defaultExecutor: (any CallbackExecutor)? { nil }

    func open(on executor: any CallbackExecutor, _ deliver: @escaping @Sendable (HostEvent) -> Void) {
        line.withLock { $0 = Line(executor: executor, deliver: deliver) }
        tell(.state(state))
    }

    func submit(_ request: HostRequest, number: RequestNumber) { tell(.answer(number, .failure(.notPowered))) }

    func close() { line.withLock { $0 = nil } }

    private func tell(_ event: HostEvent) {
        line.withLock { line in
            guard let line else { return }
            line.executor.run { [deliver = line.deliver] in deliver(event) }
        }
    }
}

/// One whole line to standard error, in one write, so that the lines of several threads do not mix.
func writeToStandardError(_ line: String) {
    let octets = Array((line + "\n").utf8)
    _ = unsafe octets.withUnsafeBytes { unsafe write(STDERR_FILENO, $0.baseAddress, $0.count) }
}
