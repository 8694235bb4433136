public import Foundation

/// What a receiver tells.
public enum ReceptionEvent: Sendable, Equatable {
    /// A transfer begins, or goes on.
    case began(TransferOffer, from: UInt32)
    /// So much of it is durable.
    case progress(TransferOffer, UInt32)
    /// All is there and intact, at a place in the file system if the store has one.
    case completed(TransferOffer, URL?)
    /// All came, and it is not what was offered.
    case damaged(TransferOffer)
    /// The link that this side has made ended; it makes another one after the pause.
    case interrupted(LinkEnd, pause: Duration)
}

/// The receiving end of transfers.
public struct TransferReceiver: Sendable {
    private let store: any TransferStore
    private let window: UInt32
    private let commitEvery: UInt32
    private let isWanted: @Sendable (TransferOffer) -> Bool

    /// - Parameters:
    ///   - store: keeps what comes.
    ///   - window: how many octets may be under way, and so be kept in memory.
    ///   - commitEvery: after so many octets what came is made durable.
    ///   - isWanted: asked about each offer.
    public init(
        into store: any TransferStore, window: UInt32 = 64 << 10, commitEvery: UInt32 = 64 << 10,
        isWanted: @escaping @Sendable (TransferOffer) -> Bool = { _ in true }
    ) {
        self.store = store
        self.window = max(1024, window)
        self.commitEvery = commitEvery
        self.isWanted = isWanted
    }

    /// Receives over one link, transfer after transfer, until the link ends, which it throws.
    public func receive(
        over link: some MessageLink, by time: Timekeeper,
        tell: @escaping @Sendable (ReceptionEvent) -> Void = { _ in }
    ) async throws {
        let session = ReceiverSession(
            ReceiverMachine(window: window, messageLength: link.maximumLength), link, time, store, commitEvery,
            isWanted, tell)
        try await withThrowingTaskGroup(of: Void.self) { group in
            defer { group.cancelAll() }
            group.addTask { try await session.listen() }
            group.addTask { try await session.acknowledge() }
            do {
                try await group.next()
            } catch {
                // What came so far need not come again.
                try? store.commit()
                throw error
            }
        }
    }
}

/// One link's part: one task listens and answers, one acknowledges after a pause.
// `@unchecked`: `lock` guards the variables.
private final class ReceiverSession<Link: MessageLink>: @unchecked Sendable {
    private let lock = NSLock()
    private var machine: ReceiverMachine
    private var alarm = Call<Void>()
    private let link: Link
    private let time: Timekeeper
    private let store: any TransferStore
    private let commitEvery: UInt32
    private let isWanted: @Sendable (TransferOffer) -> Bool
    private let tell: @Sendable (ReceptionEvent) -> Void
    private var uncommitted: UInt32 = 0
    /// What the store has been given of the transfer.
    private var given: UInt32 = 0

    init(
        _ machine: ReceiverMachine, _ link: Link, _ time: Timekeeper, _ store: any TransferStore,
        _ commitEvery: UInt32, _ isWanted: @escaping @Sendable (TransferOffer) -> Bool,
        _ tell: @escaping @Sendable (ReceptionEvent) -> Void
    ) {
        self.machine = machine
        self.link = link
        self.time = time
        self.store = store
        self.commitEvery = commitEvery
        self.isWanted = isWanted
        self.tell = tell
    }

    func listen() async throws {
        var assembler = FrameAssembler()
        for try await message in link.messages {
            guard let frame = assembler.take(message) else { continue }
            let (effects, alarm) = lock.withLock { (machine.receive(frame, at: time.now), self.alarm) }
            try await carryOut(effects)
            if lock.withLock({ machine.deadline }) != nil { alarm.succeed() }
        }
        throw ToolkitError.linkEnded(.peerEnded)
    }

    func acknowledge() async throws {
        while true {
            let alarm = Call<Void>()
            let deadline = lock.withLock {
                self.alarm = alarm
                return machine.deadline
            }
            guard let deadline else {
                try await alarm.value(within: nil, by: time)
                continue
            }
            if deadline > time.now { try await time.sleep(for: deadline - time.now) }
            try await carryOut(lock.withLock { machine.wake(at: time.now) })
        }
    }

    private func carryOut(_ effects: [ReceiverMachine.Effect]) async throws {
        for effect in effects {
            switch effect {
            case .send(let frame):
                for message in frame.messages(ofAtMost: link.maximumLength) { try await link.send(message) }
            case .offered(let offer): try await carryOut(answer(offer))
            case .store(let data): if let refusal = stored(data) { try await carryOut(refusal) }
            case .complete(let offer, let isIntact):
                if let refusal = completed(offer, isIntact) { return try await carryOut(refusal) }
            }
        }
    }

    private func answer(_ offer: TransferOffer) -> [ReceiverMachine.Effect] {
        guard isWanted(offer) else { return lock.withLock { machine.refuse(.unwanted) } }
        do {
            let (offset, checksum) = try store.begin(offer)
            uncommitted = 0
            given = offset
            tell(.began(offer, from: offset))
            return lock.withLock { machine.accept(from: offset, checksum: checksum) }
        } catch {
            return lock.withLock { machine.refuse(error as? TransferRefusal ?? .storage) }
        }
    }

    private func stored(_ data: Data) -> [ReceiverMachine.Effect]? {
        do {
            try store.append(data)
            uncommitted += UInt32(data.count)
            given += UInt32(data.count)
            if uncommitted >= commitEvery {
                try store.commit()
                uncommitted = 0
                if let offer = lock.withLock({ machine.offer }) { tell(.progress(offer, given)) }
            }
            return nil
        } catch {
            return lock.withLock { machine.refuse(.storage) }
        }
    }

    private func completed(_ offer: TransferOffer, _ isIntact: Bool) -> [ReceiverMachine.Effect]? {
        do {
            let place = try store.finish(isIntact: isIntact)
            tell(isIntact ? .completed(offer, place) : .damaged(offer))
            return nil
        } catch {
            return lock.withLock { machine.refuse(.storage) }
        }
    }
}
