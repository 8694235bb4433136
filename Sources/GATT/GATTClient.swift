import ATT
import ByteCodec
import EventLoop

/// The client side of a link: procedures in the order in which they were submitted, one at a time on each bearer, each
/// finished exactly once.
///
/// Of what one party asks for, writes overtake nothing and are not overtaken: a program sees its peer as if there were
/// one bearer. What changes nothing goes side by side, unless it is the same question again.
///
/// Source: Core 6.0, Vol 3, Part G, 4.
struct GATTClient: Sendable {
    struct Submission: Sendable {
        let id: UInt64
        let procedure: GATTProcedure
        let party: UInt32
        /// Whether the bearer is lost on which it was under way.
        var isSecondTry = false

        init(_ id: UInt64, _ procedure: GATTProcedure, party: UInt32) {
            self.id = id
            self.procedure = procedure
            self.party = party
        }
    }

    private struct Run: Sendable {
        let submission: Submission
        let bearer: GATTBearerID
        var procedure: any ClientProcedure
    }

    /// Behind so many that wait, none is looked at.
    private static let depth = 64

    private var line: [Submission] = []
    /// On each bearer one at most.
    private var running: [Run] = []
    /// What ends all that is submitted: the link is dead.
    private var end: GATTFailure?
    /// Where configuration descriptors stand, by the handle of the characteristic's value.
    private var configurationDescriptors: [UInt16: UInt16] = [:]
    private var serviceChangedHandle: UInt16?
    private var tellsChanges = false
    /// Whether parts of a queued write that died may lie in the peer's queue (Core 6.0, Vol 3, Part F, 3.4.6).
    private var hasLeftovers = false
    /// What is known of the peer's attributes.
    private(set) var known = RemoteDatabase()
    /// What was kept of them from an earlier link, until the peer's hash tells whether it still is so.
    private var kept: RemoteDatabase?
    /// Whether what was kept still is so: then the peer is not asked what is known.
    private var trustsKnown = false

    mutating func submit(_ submission: Submission, _ bearers: inout [GATTBearer], at now: Instant) -> [GATTEffect] {
        if let end { return [.finish(id: submission.id, .failure(end))] }
        line.append(submission)
        return goOn(&bearers, at: now)
    }

    /// What was known of the peer's attributes on an earlier link. Without a hash it counts at once: a bonded peer
    /// tells what has changed before all else. With one, the hash is to be read. The attribute that tells stands
    /// where it stood in any case (Core 6.0, Vol 3, Part G, 7.1).
    mutating func restore(_ database: RemoteDatabase) {
        serviceChangedHandle = database.serviceChanged?.value
        guard database.hash == nil else { return kept = database }
        use(database)
    }

    mutating func receiveResponse(
        _ pdu: ArraySlice<UInt8>, onBearer place: Int, _ bearers: inout [GATTBearer], at now: Instant
    ) -> [GATTEffect] {
        var effects: [GATTEffect] = []
        let reactions = bearers[place].requests.handle(.receive(pdu), at: now)
        perform(reactions, onBearer: place, &bearers, at: now, &effects)
        return effects + goOn(&bearers, at: now)
    }

    /// The peer has not answered in time.
    mutating func expired(on bearer: GATTBearerID, _ bearers: inout [GATTBearer]) -> [GATTEffect] {
        guard let run = endRun(on: bearer) else { return [] }
        noteLeftovers(of: run)
        return [.finish(id: run.submission.id, .failure(.timedOut))]
    }

    /// A bearer is gone. What changes nothing is asked once more, on the fixed one.
    mutating func lost(_ bearer: GATTBearerID, _ bearers: inout [GATTBearer], at now: Instant) -> [GATTEffect] {
        var effects: [GATTEffect] = []
        if let run = endRun(on: bearer) {
            noteLeftovers(of: run)
            var submission = run.submission
            if submission.procedure.influence == .none, !submission.isSecondTry {
                submission.isSecondTry = true
                line.insert(submission, at: 0)
            } else {
                effects.append(.finish(id: submission.id, .failure(.bearerLost)))
            }
        }
        return effects + goOn(&bearers, at: now)
    }

    /// Ends what is open, and all that is submitted later: the link is dead.
    mutating func abandon(_ failure: GATTFailure) -> [GATTEffect] {
        end = end ?? failure
        let submissions = running.map(\.submission) + line
        (running, line) = ([], [])
        return submissions.map { .finish(id: $0.id, .failure(failure)) }
    }

    private mutating func endRun(on bearer: GATTBearerID) -> Run? {
        running.firstIndex { $0.bearer == bearer }.map { running.remove(at: $0) }
    }

    /// It has ended without the answer that it waited for, and so without having seen to the peer's queue.
    private mutating func noteLeftovers(of run: Run) {
        if run.procedure is QueuedWrite { hasLeftovers = true }
    }

    // MARK: Values that come unasked

    mutating func receiveNotification(_ pdu: ArraySlice<UInt8>) -> [GATTEffect] {
        do throws(PacketError) {
            let notification = try HandleValueNotification(octets: pdu.dropFirst())
            return [.notified(handle: notification.handle, value: notification.value)]
        } catch {
            return [.reportViolation(Array(pdu))]
        }
    }

    mutating func receiveMultipleNotification(_ pdu: ArraySlice<UInt8>) -> [GATTEffect] {
        do throws(PacketError) {
            let notifications = try MultipleHandleValueNotification(octets: pdu.dropFirst()).notifications
            return notifications.map { .notified(handle: $0.handle, value: $0.value) }
        } catch {
            return [.reportViolation(Array(pdu))]
        }
    }

    /// An indication is confirmed at once, whoever may want its value (Core 6.0, Vol 3, Part F, 3.4.7.3).
    mutating func receiveIndication(_ pdu: ArraySlice<UInt8>, on bearer: GATTBearerID) -> [GATTEffect] {
        do throws(PacketError) {
            let indication = try HandleValueIndication(octets: pdu.dropFirst())
            let confirmation = GATTEffect.send(HandleValueConfirmation().pdu, on: bearer)
            guard indication.handle == serviceChangedHandle else {
                return [confirmation, .notified(handle: indication.handle, value: indication.value)]
            }
            guard let range = Self.range(indication.value) else { return [confirmation, .reportViolation(Array(pdu))] }
            forget(range)
            return [confirmation, .servicesChanged(range)]
        } catch {
            return [.reportViolation(Array(pdu))]
        }
    }

    /// The value of Service Changed (Core 6.0, Vol 3, Part G, 7.1).
    private static func range(_ value: [UInt8]) -> ClosedRange<UInt16>? {
        guard value.count == 4 else { return nil }
        let start = UInt16(value[0]) | UInt16(value[1]) << 8
        let end = UInt16(value[2]) | UInt16(value[3]) << 8
        return start <= end ? start...end : nil
    }

    // MARK: What is known of the peer's attributes

    private mutating func use(_ database: RemoteDatabase) {
        known = database
        trustsKnown = true
        serviceChangedHandle = database.serviceChanged?.value
    }

    private func knownDescriptor(of characteristic: GATTCharacteristic) -> UInt16? {
        guard trustsKnown, case .descriptors(let descriptors)? = known.answer(to: .discoverDescriptors(characteristic))
        else { return nil }
        return descriptors.first { $0.uuid == GATTAttributeType.clientCharacteristicConfiguration }?.handle
    }

    private mutating func forget(_ range: ClosedRange<UInt16>) {
        configurationDescriptors = configurationDescriptors.filter { !range.contains($0.key) }
        known.invalidate(range)
        kept = nil
    }

    private mutating func compare(hash: [UInt8]) {
        let hash = hash.isEmpty ? nil : hash
        if let kept, kept.hash == hash { use(kept) } else { known.hash = hash }
        kept = nil
    }

    // MARK: Procedures

    /// Starts what a bearer is free for.
    mutating func goOn(_ bearers: inout [GATTBearer], at now: Instant) -> [GATTEffect] {
        var effects: [GATTEffect] = []
        var index = 0
        while running.count < bearers.count, index < min(line.count, Self.depth) {
            guard !mustWait(index, fixedMTU: bearers[0].state.mtu),
                let place = bearers.indices.first(where: { canTake(line[index], $0, bearers) })
            else {
                index += 1
                continue
            }
            start(line.remove(at: index), onBearer: place, &bearers, at: now, &effects)
            index = 0
        }
        return effects
    }

    private func canTake(_ submission: Submission, _ place: Int, _ bearers: [GATTBearer]) -> Bool {
        guard !running.contains(where: { $0.bearer == bearers[place].id }) else { return false }
        guard place > 0 else { return true }
        let fits = submission.procedure.fits(mtu: bearers[place].state.mtu, fixed: bearers[0].state.mtu)
        return fits && !submission.isSecondTry
    }

    /// Whether it would overtake something that it must not.
    private func mustWait(_ index: Int, fixedMTU: Int) -> Bool {
        let next = line[index]
        let influence = next.procedure.influence
        let usesQueue = next.procedure.usesQueue(mtu: fixedMTU)
        func mustFollow(_ earlier: Submission) -> Bool {
            let other = earlier.procedure.influence
            if influence == .all || other == .all { return true }
            let isOrdered = influence == .writes || other == .writes || next.procedure == earlier.procedure
            if next.party == earlier.party, isOrdered { return true }
            return usesQueue && earlier.procedure.usesQueue(mtu: fixedMTU)
        }
        return running.contains { mustFollow($0.submission) } || line[..<index].contains(where: mustFollow)
    }

    private mutating func perform(
        _ reactions: [ATTTransactions.Effect], onBearer place: Int, _ bearers: inout [GATTBearer], at now: Instant,
        _ effects: inout [GATTEffect]
    ) {
        for reaction in reactions {
            switch reaction {
            case .send(let pdu): effects.append(.send(pdu, on: bearers[place].id))
            case .finish(_, let outcome): proceed(outcome, onBearer: place, &bearers, at: now, &effects)
            case .reportViolation(let pdu): effects.append(.reportViolation(pdu))
            case .drop: break
            }
        }
    }

    private mutating func proceed(
        _ outcome: ATTTransactions.Outcome, onBearer place: Int, _ bearers: inout [GATTBearer], at now: Instant,
        _ effects: inout [GATTEffect]
    ) {
        guard var run = endRun(on: bearers[place].id) else { return }
        let mtu = bearers[place].state.mtu
        if case .illegal = outcome { noteLeftovers(of: run) }
        do throws(GATTFailure) {
            let step =
                switch outcome {
                case .answered(let parameters): try run.procedure.proceed(parameters, mtu: mtu)
                case .refused(let error): try run.procedure.proceed(refused: error.code)
                case .illegal(let text): throw .illegalAnswer(text)
                case .expired: throw .timedOut
                case .abandoned: throw .linkLost
                }
            take(step, of: run, onBearer: place, &bearers, at: now, &effects)
        } catch {
            if error == .refused(.databaseOutOfSync) { outOfSync(&effects) }
            effects.append(.finish(id: run.submission.id, .failure(error)))
        }
    }

    /// The peer's attributes are others than this client thinks (Core 6.0, Vol 3, Part G, 2.5.2.1). Service Changed
    /// says which, where the peer has it.
    private mutating func outOfSync(_ effects: inout [GATTEffect]) {
        guard !tellsChanges else { return }
        forget(0x0001...0xFFFF)
        effects.append(.servicesChanged(0x0001...0xFFFF))
    }

    private mutating func start(
        _ submission: Submission, onBearer place: Int, _ bearers: inout [GATTBearer], at now: Instant,
        _ effects: inout [GATTEffect]
    ) {
        let state = bearers[place].state
        if submission.procedure == .exchangeMTU, state.hasExchanged {
            effects.append(.finish(id: submission.id, .success(.mtu(state.mtu))))
            return
        }
        if trustsKnown, let answer = known.answer(to: submission.procedure) {
            effects.append(.finish(id: submission.id, .success(answer)))
            return
        }
        do throws(GATTFailure) {
            var procedure = try machine(for: submission.procedure, state)
            let step = try procedure.start(mtu: state.mtu)
            if procedure is QueuedWrite { hasLeftovers = false }
            let run = Run(submission: submission, bearer: bearers[place].id, procedure: procedure)
            take(step, of: run, onBearer: place, &bearers, at: now, &effects)
        } catch {
            effects.append(.finish(id: submission.id, .failure(error)))
        }
    }

    private mutating func take(
        _ step: ProcedureStep, of run: Run, onBearer place: Int, _ bearers: inout [GATTBearer], at now: Instant,
        _ effects: inout [GATTEffect]
    ) {
        switch step {
        case .request(let pdu):
            running.append(run)
            // Its answer can only be for the procedure that runs, so the number says nothing.
            let request = ATTTransactions.Request(id: 0, pdu: pdu)
            let reactions = bearers[place].requests.handle(.submit(request), at: now)
            perform(reactions, onBearer: place, &bearers, at: now, &effects)
        case .finish(.mtu(let peerRxMTU)):
            bearers[place].state.hasExchanged = true
            effects += bearers[place].state.agree(peerRxMTU: UInt16(truncatingIfNeeded: peerRxMTU))
            effects.append(.finish(id: run.submission.id, .success(.mtu(bearers[place].state.mtu))))
        case .finish(let answer):
            remember(answer, of: run)
            effects.append(.finish(id: run.submission.id, .success(answer)))
        }
    }

    /// Keeps what later procedures and indications need of what was found.
    private mutating func remember(_ answer: GATTAnswer, of run: Run) {
        let procedure = run.submission.procedure
        known.note(answer, to: procedure)
        switch (procedure, answer) {
        case (.readDatabaseHash, .value(let hash)): compare(hash: hash)
        case (.discoverDescriptors(let characteristic), .descriptors(let descriptors)):
            let type = GATTAttributeType.clientCharacteristicConfiguration
            configurationDescriptors[characteristic.value] = descriptors.first { $0.uuid == type }?.handle
        case (_, .characteristics(let characteristics)):
            let found = characteristics.first { $0.uuid == GATTAttributeType.serviceChanged }
            serviceChangedHandle = found?.value ?? serviceChangedHandle
        case (.subscribe(let characteristic, let subscription), .done):
            if characteristic.value == serviceChangedHandle { tellsChanges = subscription.contains(.indications) }
            configurationDescriptors[characteristic.value] = (run.procedure as? Subscribe)?.descriptor
        default: break
        }
    }

    private func machine(
        for procedure: GATTProcedure, _ bearer: BearerState
    ) throws(GATTFailure) -> any ClientProcedure {
        switch procedure {
        case .exchangeMTU: return ExchangeMTU(ownRxMTU: bearer.ownRxMTU)
        case .discoverPrimaryServices(let only?) where only.count == 1:
            return PrimaryServicesByUUID(uuid: only[0])
        case .discoverPrimaryServices(let only): return AllPrimaryServices(only: only)
        case .findIncludedServices(let range): return IncludedServices(in: range)
        case .discoverCharacteristics(let range): return Characteristics(in: range)
        case .discoverDescriptors(let characteristic): return Descriptors(of: characteristic)
        case .read(let handle): return Read(handle)
        case .readByUUID(let uuid, let range): return ReadByUUID(uuid, in: range)
        case .readDatabaseHash: return ReadDatabaseHash()
        case .readMultiple(let handles): return ReadMultiple(handles: handles, isVariable: false)
        case .readMultipleVariable(let handles): return ReadMultiple(handles: handles, isVariable: true)
        case .write(let handle, let value)
        where value.count <= min(bearer.mtu - 3, ATTLimits.maximumValueLength):
            return Write(handle: handle, value: value)
        case .write(let handle, let value), .writeLong(let handle, let value):
            return try queuedWrite([GATTWritePart(handle: handle, offset: 0, value: value)])
        case .reliableWrite(let parts): return try queuedWrite(parts)
        case .subscribe(let characteristic, let subscription):
            let descriptor = configurationDescriptors[characteristic.value] ?? knownDescriptor(of: characteristic)
            return Subscribe(characteristic, subscription, descriptor: descriptor)
        }
    }

    /// No attribute holds more than 512 octets (Core 6.0, Vol 3, Part F, 3.2.9), so nothing beyond is even tried.
    private func queuedWrite(_ parts: [GATTWritePart]) throws(GATTFailure) -> QueuedWrite {
        for part in parts {
            guard (0...ATTLimits.maximumValueLength).contains(part.offset) else { throw .refused(.invalidOffset) }
            guard part.offset + part.value.count <= ATTLimits.maximumValueLength else {
                throw .refused(.invalidAttributeValueLength)
            }
        }
        return QueuedWrite(parts, findsLeftovers: hasLeftovers)
    }
}
