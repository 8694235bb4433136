/// Where a transfer over several links stands.
public enum SendingEvent: Sendable, Equatable {
    case connecting(attempt: Int)
    case progress(TransferProgress)
    /// The link ended; the transfer goes on after the pause.
    case interrupted(LinkEnd, pause: Duration)
}

extension TransferSender {
    /// Sends to a peripheral that runs a ``MessageServer``, over as many links as it takes: each goes on where the one
    /// before has stopped. At its end, or when it is cancelled, the link is ended too.
    ///
    /// - Parameters:
    ///   - peripheral: the receiver, connected or not.
    ///   - persistence: what carries the pieces, and how often and with which pauses to connect again.
    ///   - wrap: puts something between the transfer and its link, such as a fault.
    ///   - tell: called with each step, often.
    /// - Throws: ``TransferRefusal``; or ``LinkEnd`` that is final, or the last one of too many.
    @discardableResult
    public func send(
        to peripheral: RemotePeripheral, persistence: TransferPersistence = TransferPersistence(),
        wrap: @escaping @Sendable (any MessageLink) -> any MessageLink = { $0 },
        tell: @escaping @Sendable (SendingEvent) -> Void = { _ in }
    ) async throws -> TransferProgress {
        try await peripheral.persist(persistence) { news in
            switch news {
            case .connecting(let attempt): tell(.connecting(attempt: attempt))
            case .interrupted(let cause, let pause): tell(.interrupted(cause, pause: pause))
            }
        } _: { link, mark in
            try await send(over: wrap(link), by: peripheral.time) { progress in
                if progress.done > progress.resumedFrom { mark.note() }
                tell(.progress(progress))
            }
        }
    }

    /// Sends to the first central that comes to this device's ``MessageServer`` and takes it, over as many of its links
    /// as it takes: pieces go as notifications, or on the channel that the central opens.
    ///
    /// - Parameters:
    ///   - peripheral: this device, whose radio is on.
    ///   - name: on the air.
    ///   - wrap: puts something between the transfer and its link, such as a fault.
    ///   - tell: called with each step, often.
    @discardableResult
    public func send(
        from peripheral: LocalPeripheral, as name: String,
        wrap: @escaping @Sendable (any MessageLink) -> any MessageLink = { $0 },
        tell: @escaping @Sendable (SendingEvent) -> Void = { _ in }
    ) async throws -> TransferProgress {
        let (ends, source) = EventSource<TransferProgress>.make(.oldest(1))
        return try await withThrowingTaskGroup(of: TransferProgress?.self) { group in
            defer { group.cancelAll() }
            group.addTask { [self] in
                try await MessageServer(peripheral, isOutbox: true).run {
                    try await peripheral.advertise(name: name, services: [MessageService.outbox])
                } _: { link in
                    do {
                        let result = try await send(over: wrap(link), by: peripheral.time) { tell(.progress($0)) }
                        source.send(result)
                    } catch let error as ToolkitError where error.cause != nil {
                        // Whoever it was comes again, or somebody else does.
                        tell(.interrupted(error.cause ?? .peerEnded, pause: .zero))
                    } catch let refusal as TransferRefusal {
                        source.finish(refusal)
                    }
                }
                return nil
            }
            group.addTask {
                for try await result in ends { return result }
                return nil
            }
            guard let result = try await group.next() ?? nil else { throw CancellationError() }
            return result
        }
    }
}

extension TransferReceiver {
    /// Receives from a peripheral that has something to send, transfer after transfer, over as many links as it takes.
    /// It ends when it is cancelled, or for a cause that is final.
    ///
    /// - Parameters:
    ///   - peripheral: who has something to send, connected or not.
    ///   - persistence: what carries the pieces, and how often and with which pauses to connect again.
    ///   - wrap: puts something between the transfer and its link, such as a fault.
    ///   - tell: called with each step.
    public func receive(
        from peripheral: RemotePeripheral, persistence: TransferPersistence = TransferPersistence(),
        wrap: @escaping @Sendable (any MessageLink) -> any MessageLink = { $0 },
        tell: @escaping @Sendable (ReceptionEvent) -> Void = { _ in }
    ) async throws {
        try await peripheral.persist(persistence) { news in
            if case .interrupted(let cause, let pause) = news { tell(.interrupted(cause, pause: pause)) }
        } _: { link, mark in
            try await receive(over: wrap(link), by: peripheral.time) { event in
                switch event {
                case .progress, .completed: mark.note()
                case .began, .damaged, .interrupted: break
                }
                tell(event)
            }
        }
    }
}
