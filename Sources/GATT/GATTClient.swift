import ATT
import ByteCodec
import EventLoop

/// The client side of one bearer: procedures in the order in which they were submitted, one at a time, each finished
/// exactly once.
///
/// Source: Core 6.0, Vol 3, Part G, 4.
struct GATTClient: Sendable {
    private typealias Submission = (id: UInt64, procedure: GATTProcedure)

    private var transactions = ATTTransactions()
    private var line: [Submission] = []
    private var running: (submission: Submission, procedure: any ClientProcedure)?
    /// Where configuration descriptors stand, by the handle of the characteristic's value.
    private var configurationDescriptors: [UInt16: UInt16] = [:]
    private var serviceChangedHandle: UInt16?
    private var tellsChanges = false
    /// What is known of the peer's attributes.
    private(set) var known = RemoteDatabase()
    /// What was kept of them from an earlier link, until the peer's hash tells whether it still is so.
    private var kept: RemoteDatabase?
    /// Whether what was kept still is so: then the peer is not asked what is known.
    private var trustsKnown = false

    var deadline: Instant? { transactions.deadline }
    var openTransaction: (opcode: ATTOpcode, since: Instant)? { transactions.open }

    mutating func submit(
        _ id: UInt64, _ procedure: GATTProcedure, _ bearer: inout BearerState, at now: Instant
    ) -> [GATTEffect] {
        line.append((id, procedure))
        return goOn(with: [], &bearer, at: now)
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
        _ pdu: ArraySlice<UInt8>, _ bearer: inout BearerState, at now: Instant
    ) -> [GATTEffect] {
        goOn(with: transactions.handle(.receive(pdu), at: now), &bearer, at: now)
    }

    mutating func wake(_ bearer: inout BearerState, at now: Instant) -> [GATTEffect] {
        goOn(with: transactions.wake(at: now), &bearer, at: now)
    }

    /// Ends what is open, and all that is submitted later: the link is gone, or its bearer is dead.
    mutating func abandon(_ bearer: inout BearerState, at now: Instant) -> [GATTEffect] {
        goOn(with: transactions.handle(.abandon, at: now), &bearer, at: now)
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
    mutating func receiveIndication(_ pdu: ArraySlice<UInt8>) -> [GATTEffect] {
        do throws(PacketError) {
            let indication = try HandleValueIndication(octets: pdu.dropFirst())
            let confirmation = GATTEffect.send(HandleValueConfirmation().pdu)
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

    private mutating func goOn(
        with reactions: [ATTTransactions.Effect], _ bearer: inout BearerState, at now: Instant
    ) -> [GATTEffect] {
        var effects: [GATTEffect] = []
        perform(reactions, &bearer, at: now, &effects)
        while running == nil, !line.isEmpty { start(line.removeFirst(), &bearer, at: now, &effects) }
        return effects
    }

    private mutating func perform(
        _ reactions: [ATTTransactions.Effect], _ bearer: inout BearerState, at now: Instant,
        _ effects: inout [GATTEffect]
    ) {
        for reaction in reactions {
            switch reaction {
            case .send(let pdu): effects.append(.send(pdu))
            case .finish(_, let outcome): proceed(outcome, &bearer, at: now, &effects)
            case .reportViolation(let pdu): effects.append(.reportViolation(pdu))
            case .drop: effects.append(.drop)
            }
        }
    }

    private mutating func proceed(
        _ outcome: ATTTransactions.Outcome, _ bearer: inout BearerState, at now: Instant,
        _ effects: inout [GATTEffect]
    ) {
        guard case (let submission, var procedure)? = running else { return }
        do throws(GATTFailure) {
            let step =
                switch outcome {
                case .answered(let parameters): try procedure.proceed(parameters, mtu: bearer.mtu)
                case .refused(let error): try procedure.proceed(refused: error.code)
                case .illegal(let text): throw .illegalAnswer(text)
                case .expired: throw .timedOut
                case .abandoned: throw .linkLost
                }
            running = (submission, procedure)
            take(step, &bearer, at: now, &effects)
        } catch {
            if error == .refused(.databaseOutOfSync) { outOfSync(&effects) }
            finish(.failure(error), &effects)
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
        _ submission: Submission, _ bearer: inout BearerState, at now: Instant, _ effects: inout [GATTEffect]
    ) {
        if submission.procedure == .exchangeMTU, bearer.hasExchanged {
            effects.append(.finish(id: submission.id, .success(.mtu(bearer.mtu))))
            return
        }
        if trustsKnown, let answer = known.answer(to: submission.procedure) {
            effects.append(.finish(id: submission.id, .success(answer)))
            return
        }
        do throws(GATTFailure) {
            var procedure = try machine(for: submission.procedure, bearer)
            let step = try procedure.start(mtu: bearer.mtu)
            running = (submission, procedure)
            take(step, &bearer, at: now, &effects)
        } catch {
            effects.append(.finish(id: submission.id, .failure(error)))
        }
    }

    private mutating func take(
        _ step: ProcedureStep, _ bearer: inout BearerState, at now: Instant, _ effects: inout [GATTEffect]
    ) {
        switch step {
        case .request(let pdu):
            // Its answer can only be for the procedure that runs, so the number says nothing.
            let request = ATTTransactions.Request(id: 0, pdu: pdu)
            perform(transactions.handle(.submit(request), at: now), &bearer, at: now, &effects)
        case .finish(.mtu(let peerRxMTU)):
            bearer.hasExchanged = true
            effects += bearer.agree(peerRxMTU: UInt16(truncatingIfNeeded: peerRxMTU))
            finish(.success(.mtu(bearer.mtu)), &effects)
        case .finish(let answer):
            remember(answer)
            finish(.success(answer), &effects)
        }
    }

    private mutating func finish(_ result: Result<GATTAnswer, GATTFailure>, _ effects: inout [GATTEffect]) {
        guard let id = running?.submission.id else { return }
        running = nil
        effects.append(.finish(id: id, result))
    }

    /// Keeps what later procedures and indications need of what was found.
    private mutating func remember(_ answer: GATTAnswer) {
        guard let procedure = running?.submission.procedure else { return }
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
            let descriptor = (running?.procedure as? Subscribe)?.descriptor
            configurationDescriptors[characteristic.value] = descriptor
        default: break
        }
    }

    private func machine(
        for procedure: GATTProcedure, _ bearer: BearerState
    ) throws(GATTFailure) -> any ClientProcedure {
        switch procedure {
        case .exchangeMTU: return ExchangeMTU(ownRxMTU: bearer.ownRxMTU)
        case .discoverPrimaryServices(let only?) where only.count == 1:
            return Search(PrimaryServicesByUUID(uuid: only[0]), in: 0x0001...0xFFFF)
        case .discoverPrimaryServices(let only):
            return Search(AllPrimaryServices(only: only), in: 0x0001...0xFFFF)
        case .findIncludedServices(let range): return IncludedServices(in: range)
        case .discoverCharacteristics(let range): return Search(Characteristics(), in: range)
        case .discoverDescriptors(let characteristic):
            return Search(Descriptors(), SearchProgress(behind: characteristic.value, through: characteristic.end))
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
        return QueuedWrite(parts)
    }
}
