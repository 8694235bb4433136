package import Host
package import HostInterface

/// A line to a host in this process.
package final class LocalSession: HostSession, @unchecked Sendable {
    // `@unchecked`: `client` is touched on the owner's loop alone; the rest does not change.
    private let owner: any HostOwner
    package let defaultExecutor: (any CallbackExecutor)?
    private var client: ClientID?
    private var isClosed = false

    /// - Parameter defaultExecutor: where callbacks run if the client names no queue: a simulated world's own loop.
    package init(owner: any HostOwner, defaultExecutor: (any CallbackExecutor)? = nil) {
        self.owner = owner
        self.defaultExecutor = defaultExecutor
    }

    package func open(on executor: any CallbackExecutor, _ deliver: @escaping @Sendable (HostEvent) -> Void) {
        owner.loop.beforeTimeMoves { [weak executor] in executor?.settle() }
        owner.loop.enqueue { [self] now in
            guard !isClosed else { return }
            owner.withHost { host in
                client = host.attach(at: now) { event in executor.run { deliver(event) } }
            }
        }
    }

    package func submit(_ request: HostRequest, number: RequestNumber) {
        owner.loop.enqueue { [self] now in
            guard let client else { return }
            owner.withHost { $0.submit(request, number: number, client: client, at: now) }
        }
    }

    package func close() {
        owner.loop.enqueue { [self] now in
            isClosed = true
            guard let client else { return }
            self.client = nil
            owner.withHost { $0.detach(client, at: now) }
        }
    }
}
