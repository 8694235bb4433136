package import HostInterface

/// Passes a session on, and shows what goes in and comes out.
package final class SessionTap: HostSession {
    private let session: any HostSession
    private let onRequest: @Sendable (HostRequest, RequestNumber) -> Void
    private let onEvent: @Sendable (HostEvent) -> Void

    package init(
        _ session: any HostSession, onRequest: @escaping @Sendable (HostRequest, RequestNumber) -> Void,
        onEvent: @escaping @Sendable (HostEvent) -> Void
    ) {
        self.session = session
        self.onRequest = onRequest
        self.onEvent = onEvent
    }

    package var defaultExecutor: (any CallbackExecutor)? { session.defaultExecutor }

    package func open(on executor: any CallbackExecutor, _ deliver: @escaping @Sendable (HostEvent) -> Void) {
        session.open(on: executor) { [onEvent] event in
            onEvent(event)
            deliver(event)
        }
    }

    package func submit(_ request: HostRequest, number: RequestNumber) {
        onRequest(request, number)
        session.submit(request, number: number)
    }

    package func close() { session.close() }
}
