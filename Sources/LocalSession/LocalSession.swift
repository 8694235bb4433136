import EventLoop
package import Host
package import HostInterface

/// A line to a host in this process.
package final class LocalSession: HostSession, @unchecked Sendable {
    // `@unchecked`: `client` is touched on the owner's loop alone; the rest does not change.
    private let owner: any HostOwner
    package let defaultExecutor: (any CallbackExecutor)?
    private var client: (id: ClientID, host: Host)?
    private var isClosed = false

    /// - Parameter defaultExecutor: where callbacks run if the client names no queue: a simulated world's own loop.
    package init(owner: any HostOwner, defaultExecutor: (any CallbackExecutor)? = nil) {
        self.owner = owner
        self.defaultExecutor = defaultExecutor
    }

    package func open(on executor: any CallbackExecutor, _ deliver: @escaping @Sendable (HostEvent) -> Void) {
        // The loop need not be asked to wait for itself.
        if executor !== defaultExecutor {
            owner.loop.beforeTimeMoves { [weak executor] in
                guard let executor else { return false }
                executor.settle()
                return true
            }
        }
        owner.loop.enqueue { [self] now in
            guard !isClosed else { return }
            owner.withHost { host in
                // A test's own loop keeps all that happens in the order in which it happens.
                let line = executor === defaultExecutor ? nil : EventLine(executor, of: owner.loop, deliver)
                let id = host.attach(
                    { event in
                        if let line { line.pass(event) } else { executor.run { deliver(event) } }
                    }, at: now)
                client = (id, host)
            }
        }
    }

    package func submit(_ request: HostRequest, number: RequestNumber) {
        owner.loop.enqueue { [self] now in
            withClient { host, id in host.submit(request, number: number, client: id, at: now) }
        }
    }

    package func close() {
        owner.loop.enqueue { [self] now in
            isClosed = true
            withClient { host, id in host.detach(id, at: now) }
            client = nil
        }
    }

    /// A host that has lost its power is another one when it comes back: nobody lives to hear of this session.
    private func withClient(_ body: (Host, ClientID) -> Void) {
        guard let client else { return }
        owner.withHost { host in
            if host === client.host { body(host, client.id) }
        }
    }
}
