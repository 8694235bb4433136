import Foundation

/// How far a transfer is.
public struct TransferProgress: Sendable, Equatable {
    /// In octets.
    public var length: UInt32
    /// What the receiver has.
    public var done: UInt32
    /// Where this link's part of the transfer began.
    public var resumedFrom: UInt32
    /// How many pieces were sent again.
    public var repeated: Int
    /// Since the receiver has accepted, on this link.
    public var elapsed: Duration

    /// Of this link's part, in octets a second.
    public var rate: Double {
        let seconds = elapsed / .seconds(1)
        return seconds > 0 ? Double(done - min(done, resumedFrom)) / seconds : 0
    }
}

/// The sending end of a transfer.
public struct TransferSender: Sendable {
    public let offer: TransferOffer
    private let source: any TransferSource

    /// - Parameters:
    ///   - source: what to send.
    ///   - name: for people, and for the receiver's file.
    ///   - isOneByOne: whether each piece waits for its acknowledgement: slow, and for receivers without room.
    /// - Throws: what reading the source throws.
    public init(_ source: any TransferSource, name: String, isOneByOne: Bool = false) throws {
        self.source = source
        let checksum = try source.checksum()
        var mark = Checksum()
        mark.add(Data(name.utf8))
        // The same content under the same name is the same transfer, also for a sender that was started anew.
        offer = TransferOffer(
            identifier: UInt64(mark.value) << 32 | UInt64(checksum), length: source.length, checksum: checksum,
            name: String(name.prefix(TransferOffer.longestName / 4)), isOneByOne: isOneByOne)
    }

    /// Sends over one link, from where the receiver is.
    ///
    /// - Parameters:
    ///   - link: one that is there.
    ///   - time: by which its patience goes.
    ///   - progress: called often.
    /// - Returns: when the receiver has said that all is there and intact.
    /// - Throws: ``TransferRefusal``, or why the link ended; then call it again on the next one.
    @discardableResult
    public func send(
        over link: some MessageLink, by time: Timekeeper,
        progress: @escaping @Sendable (TransferProgress) -> Void = { _ in }
    ) async throws -> TransferProgress {
        let session = SenderSession(offer, source, link, time, progress)
        return try await withThrowingTaskGroup(of: Void.self) { group in
            defer { group.cancelAll() }
            group.addTask { try await session.listen() }
            group.addTask { try await session.speak() }
            try await group.next()
            return try session.result()
        }
    }
}

/// One link's part of a transfer: one task listens, one speaks, and what they share is the machine.
// `@unchecked`: `lock` guards the variables.
private final class SenderSession<Link: MessageLink>: @unchecked Sendable {
    private let lock = NSLock()
    private var machine: SenderMachine
    private var turn = Call<Void>()
    private var acceptedAt: Duration?
    private let source: any TransferSource
    private let link: Link
    private let time: Timekeeper
    private let progress: @Sendable (TransferProgress) -> Void

    init(
        _ offer: TransferOffer, _ source: any TransferSource, _ link: Link, _ time: Timekeeper,
        _ progress: @escaping @Sendable (TransferProgress) -> Void
    ) {
        machine = SenderMachine(offer, messageLength: link.maximumLength, at: time.now)
        self.source = source
        self.link = link
        self.time = time
        self.progress = progress
    }

    func listen() async throws {
        var assembler = FrameAssembler()
        for try await message in link.messages {
            guard let frame = assembler.take(message) else { continue }
            let (turn, isOver, state) = lock.withLock {
                machine.receive(frame, at: time.now)
                if acceptedAt == nil, machine.phase == .sending { acceptedAt = time.now }
                return (self.turn, machine.isOver, current)
            }
            progress(state)
            turn.succeed()
            if isOver { return }
        }
        throw ToolkitError.linkEnded(.peerEnded)
    }

    func speak() async throws {
        while true {
            let turn = Call<Void>()
            let (frame, deadline, isOver) = try lock.withLock {
                self.turn = turn
                machine.wake(at: time.now)
                let frame = try machine.next(at: time.now, read: source.read)
                return (frame, machine.deadline, machine.isOver)
            }
            if isOver { return }
            if let frame {
                for message in frame.messages(ofAtMost: link.maximumLength) { try await link.send(message) }
            } else {
                let limit = deadline.map { max(.milliseconds(1), $0 - time.now) }
                do { try await turn.value(within: limit, by: time) } catch ToolkitError.timedOut {}
            }
        }
    }

    private var current: TransferProgress {
        TransferProgress(
            length: machine.offer.length, done: machine.acknowledged, resumedFrom: machine.resumedFrom ?? 0,
            repeated: machine.repeated, elapsed: acceptedAt.map { time.now - $0 } ?? .zero)
    }

    func result() throws -> TransferProgress {
        try lock.withLock {
            switch machine.phase {
            case .done: return current
            case .refused(let refusal): throw refusal
            case .silent: throw ToolkitError.timedOut(after: SenderMachine.longestSilence)
            case .offering, .sending: throw ToolkitError.linkEnded(.peerEnded)
            }
        }
    }
}
