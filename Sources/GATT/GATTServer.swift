import ATT
import ByteCodec
import EventLoop

/// The server side of one bearer. It answers from a database that all clients share, for a client that all its bearers
/// share, and keeps what is this bearer's alone: the request that waits for the owner, the indications that wait for
/// their confirmation.
///
/// Source: Core 6.0, Vol 3, Part F, 3.4, and Part G, 4.
struct GATTServer: Sendable {
    /// A request that waits for the owner. Until it is answered, no other is looked at (Part F, 3.3.2).
    private struct OpenRequest: Sendable {
        enum Continuation: Sendable {
            case read(ReadJob)
            case write(WritePlan)
        }

        var id: UInt64
        var opcode: ATTOpcode
        var continuation: Continuation
    }

    /// A client that sends requests without waiting breaks the protocol, so only so many are kept.
    private static let maximumLine = 16
    /// What a client may prepare before it executes: as many parts as a 512-octet value needs at the least ATT_MTU,
    /// and a few such values.
    private static let maximumPreparedParts = 128
    private static let maximumPreparedOctets = 8 * ATTLimits.maximumValueLength

    private let bearer: GATTBearerID
    private var open: OpenRequest?
    private var line: [[UInt8]] = []
    private var indications = ATTTransactions()
    /// Those without a confirmation so far.
    private var indicated: [(id: UInt64, handle: UInt16)] = []
    /// At which change of the database the client was told, on this bearer, that it is out of sync.
    private var toldOutOfSync: Int?

    init(bearer: GATTBearerID) { self.bearer = bearer }

    var deadline: Instant? { indications.deadline }
    var openIndication: (opcode: ATTOpcode, since: Instant)? { indications.open }

    /// Whether a request waits for the owner's answer to the question with this number.
    func waits(for id: UInt64) -> Bool { open?.id == id }

    /// Whether a value of this characteristic waits for its confirmation, or for its turn.
    func isIndicating(_ handle: UInt16) -> Bool { indicated.contains { $0.handle == handle } }

    // MARK: From the peer

    mutating func receiveRequest(
        _ pdu: ArraySlice<UInt8>, _ database: inout AttributeDatabase, _ client: inout ServedClient,
        _ state: inout BearerState
    ) -> [GATTEffect] {
        guard open == nil else {
            guard line.count < Self.maximumLine else { return [.reportViolation(Array(pdu))] }
            line.append(Array(pdu))
            return []
        }
        var effects: [GATTEffect] = []
        answer(pdu, &database, &client, &state, &effects)
        return effects
    }

    /// Commands are never answered, and what can't be done is ignored (Core 6.0, Vol 3, Part F, 3.4.5.3). A signed
    /// one is ignored here: the owner has the key to check it with.
    mutating func receiveCommand(
        _ pdu: ArraySlice<UInt8>, _ database: inout AttributeDatabase, _ client: inout ServedClient
    ) -> [GATTEffect] {
        guard pdu.first == WriteCommand.opcode.rawValue,
            let command = try? WriteCommand(octets: pdu.dropFirst())
        else { return [] }
        return write(command, &database, &client)
    }

    /// Source: Core 6.0, Vol 3, Part G, 4.9.2: only for characteristics that say so.
    mutating func receiveSigned(
        _ pdu: ArraySlice<UInt8>, _ database: inout AttributeDatabase, _ client: inout ServedClient
    ) -> [GATTEffect] {
        guard let command = try? WriteCommand(octets: pdu.dropFirst()),
            database.properties(ofValueAt: command.handle).contains(.authenticatedSignedWrites)
        else { return [] }
        return write(command, &database, &client)
    }

    private mutating func write(
        _ command: WriteCommand, _ database: inout AttributeDatabase, _ client: inout ServedClient
    ) -> [GATTEffect] {
        let part = GATTWritePart(handle: command.handle, offset: 0, value: command.value)
        guard !client.isOutOfSync, let plan = try? WritePlan([part], database, from: client) else { return [] }
        guard plan.asked.isEmpty else {
            let request = GATTWriteRequest(id: client.nextQuestion(), parts: plan.asked, needsResponse: false)
            return [.writeRequested(request)]
        }
        return keep(plan, &database, &client)
    }

    mutating func receiveConfirmation(
        _ pdu: ArraySlice<UInt8>, _ client: inout ServedClient, at now: Instant
    ) -> [GATTEffect] {
        let reactions = indications.handle(.receive(pdu), at: now)
        for case .finish(let id, .answered) in reactions { client.confirmed(id) }
        return perform(reactions)
    }

    // MARK: From the owner

    /// The owner's answer to a read or write request. An answer to one that is not open is dropped.
    ///
    /// - Parameter code: `nil` for success.
    mutating func respond(
        to id: UInt64, _ code: ATTErrorCode?, _ value: [UInt8], _ database: inout AttributeDatabase,
        _ client: inout ServedClient, _ state: inout BearerState
    ) -> [GATTEffect] {
        guard let request = open, request.id == id else { return [] }
        open = nil
        var effects: [GATTEffect] = []
        do throws(Refusal) {
            switch request.continuation {
            case .read(var job):
                if let code { try job.fail(code) } else { try job.supply(value) }
                try run(job, request.opcode, database, &client, &effects)
            case .write(let plan):
                if let code { throw Refusal(code, at: plan.asked[0].handle) }
                effects.append(.send([request.opcode.response.rawValue], on: bearer))
                effects += keep(plan, &database, &client)
            }
        } catch {
            effects.append(.send(ErrorResponse(error.code, to: request.opcode, at: error.handle).pdu, on: bearer))
        }
        while open == nil, !line.isEmpty { answer(line.removeFirst()[...], &database, &client, &state, &effects) }
        return effects
    }

    mutating func indicate(_ id: UInt64, _ indication: HandleValueIndication, at now: Instant) -> [GATTEffect] {
        indicated.append((id, indication.handle))
        return perform(indications.handle(.submit(ATTTransactions.Request(id: id, pdu: indication.pdu)), at: now))
    }

    mutating func wake(at now: Instant) -> [GATTEffect] { perform(indications.wake(at: now)) }

    /// Attributes have been removed: answers for the owner if the open request is about one of them.
    mutating func forget(
        _ range: ClosedRange<UInt16>, _ database: inout AttributeDatabase, _ client: inout ServedClient,
        _ state: inout BearerState
    ) -> [GATTEffect] {
        guard let open else { return [] }
        let isGone =
            switch open.continuation {
            case .read(let job): range.contains(job.current)
            case .write(let plan):
                // It is all or nothing, so what this side keeps counts as well.
                plan.asked.contains { range.contains($0.handle) } || plan.kept.contains { range.contains($0.handle) }
            }
        return isGone ? respond(to: open.id, .invalidHandle, [], &database, &client, &state) : []
    }

    /// The bearer is gone, or dead.
    mutating func abandon(_ failure: GATTFailure, at now: Instant) -> [GATTEffect] {
        open = nil
        line = []
        return perform(indications.handle(.abandon, at: now), abandoned: failure)
    }

    private mutating func perform(
        _ reactions: [ATTTransactions.Effect], abandoned failure: GATTFailure = .linkLost
    ) -> [GATTEffect] {
        for case .finish(let id, _) in reactions { indicated.removeAll { $0.id == id } }
        return reactions.map { reaction in
            switch reaction {
            case .send(let pdu): .send(pdu, on: bearer)
            case .finish(let id, .answered): .finish(id: id, .success(.done))
            case .finish(let id, .refused(let error)): .finish(id: id, .failure(.refused(error.code)))
            case .finish(let id, .illegal(let text)): .finish(id: id, .failure(.illegalAnswer(text)))
            case .finish(let id, .expired): .finish(id: id, .failure(.timedOut))
            case .finish(let id, .abandoned): .finish(id: id, .failure(failure))
            case .reportViolation(let pdu): .reportViolation(pdu)
            case .drop: .drop
            }
        }
    }

    // MARK: Requests

    /// Answers a request at once, or puts it to the owner.
    private mutating func answer(
        _ pdu: ArraySlice<UInt8>, _ database: inout AttributeDatabase, _ client: inout ServedClient,
        _ state: inout BearerState, _ effects: inout [GATTEffect]
    ) {
        guard let opcode = pdu.first.map(ATTOpcode.init) else { return }
        client.requestReceived(wasTold: toldOutOfSync == client.changes)
        do {
            if client.isOutOfSync, opcode.needsAwareness(pdu.dropFirst()) {
                toldOutOfSync = client.changes
                throw Refusal(.databaseOutOfSync, at: 0)
            }
            try process(opcode, pdu.dropFirst(), &database, &client, &state, &effects)
        } catch let refusal as Refusal {
            effects.append(.send(ErrorResponse(refusal.code, to: opcode, at: refusal.handle).pdu, on: bearer))
        } catch {
            // The parameters do not make sense (Core 6.0, Vol 3, Part F, 3.4.1.1).
            effects.append(.send(ErrorResponse(.invalidPDU, to: opcode, at: 0).pdu, on: bearer))
        }
    }

    private mutating func process(
        _ opcode: ATTOpcode, _ parameters: ArraySlice<UInt8>, _ database: inout AttributeDatabase,
        _ client: inout ServedClient, _ state: inout BearerState, _ effects: inout [GATTEffect]
    ) throws {
        let mtu = state.mtu
        let security = client.security
        switch opcode {
        case .exchangeMTURequest where state.exchanges:
            let request = try ExchangeMTURequest(octets: parameters)
            let own = ExchangeMTUResponse(serverRxMTU: UInt16(truncatingIfNeeded: state.ownRxMTU))
            effects.append(.send(own.pdu, on: bearer))
            effects += state.agree(peerRxMTU: request.clientRxMTU)
        case .findInformationRequest:
            effects.append(.send(try database.answer(.init(octets: parameters), mtu: mtu).pdu, on: bearer))
        case .findByTypeValueRequest:
            let request = try FindByTypeValueRequest(octets: parameters)
            effects.append(.send(try database.answer(request, mtu: mtu, security: security).pdu, on: bearer))
        case .readByGroupTypeRequest:
            let request = try ReadByGroupTypeRequest(octets: parameters)
            effects.append(.send(try database.answer(request, mtu: mtu, security: security).pdu, on: bearer))
        case .readRequest:
            try run(ReadJob(ReadRequest(octets: parameters), mtu: mtu), opcode, database, &client, &effects)
        case .readBlobRequest:
            try run(ReadJob(ReadBlobRequest(octets: parameters), mtu: mtu), opcode, database, &client, &effects)
        case .readByTypeRequest:
            let job = try ReadJob(ReadByTypeRequest(octets: parameters), mtu: mtu, in: database)
            try run(job, opcode, database, &client, &effects)
        case .readMultipleRequest:
            let handles = try ReadMultipleRequest(octets: parameters).handles
            let job = try ReadJob(multiple: handles, isVariable: false, mtu: mtu, in: database, security: security)
            try run(job, opcode, database, &client, &effects)
        case .readMultipleVariableRequest:
            let handles = try ReadMultipleVariableRequest(octets: parameters).handles
            let job = try ReadJob(multiple: handles, isVariable: true, mtu: mtu, in: database, security: security)
            try run(job, opcode, database, &client, &effects)
        case .writeRequest:
            let request = try WriteRequest(octets: parameters)
            let part = GATTWritePart(handle: request.handle, offset: 0, value: request.value)
            try write([part], opcode, &database, &client, &effects)
        case .prepareWriteRequest:
            try prepare(PrepareWriteRequest(octets: parameters), database, &client, &effects)
        case .executeWriteRequest:
            let flags = try ExecuteWriteRequest(octets: parameters).flags
            let parts = flags == .write ? client.prepared : []
            client.prepared = []
            try write(parts, opcode, &database, &client, &effects)
        default:
            throw Refusal(.requestNotSupported, at: 0)
        }
    }

    private mutating func run(
        _ job: ReadJob, _ opcode: ATTOpcode, _ database: AttributeDatabase, _ client: inout ServedClient,
        _ effects: inout [GATTEffect]
    ) throws(Refusal) {
        var job = job
        switch try job.run(database, for: client) {
        case .answer(let pdu):
            if job.hasReadHash { client.hashRead() }
            effects.append(.send(pdu, on: bearer))
        case .ask(let handle, let offset):
            let id = client.nextQuestion()
            open = OpenRequest(id: id, opcode: opcode, continuation: .read(job))
            effects.append(.readRequested(GATTReadRequest(id: id, handle: handle, offset: offset)))
        }
    }

    /// Source: Core 6.0, Vol 3, Part F, 3.4.6.1. Whether the offset makes sense is seen when the queue is executed.
    private mutating func prepare(
        _ request: PrepareWriteRequest, _ database: AttributeDatabase, _ client: inout ServedClient,
        _ effects: inout [GATTEffect]
    ) throws(Refusal) {
        do throws(ATTErrorCode) {
            _ = try database.attribute(request.handle, for: .write, on: client.security)
            let octets = client.prepared.reduce(request.part.count) { $0 + $1.value.count }
            guard client.prepared.count < Self.maximumPreparedParts, octets <= Self.maximumPreparedOctets else {
                throw .prepareQueueFull
            }
        } catch {
            throw Refusal(error, at: request.handle)
        }
        let part = GATTWritePart(handle: request.handle, offset: Int(request.offset), value: request.part)
        client.prepared.append(part)
        effects.append(.send(PrepareWriteResponse(echo: request).pdu, on: bearer))
    }

    /// Does all parts, or none: first the owner is asked for what only it can take, and what the server keeps is
    /// written when the owner has agreed.
    private mutating func write(
        _ parts: [GATTWritePart], _ opcode: ATTOpcode, _ database: inout AttributeDatabase,
        _ client: inout ServedClient, _ effects: inout [GATTEffect]
    ) throws(Refusal) {
        let plan = try WritePlan(parts, database, from: client)
        guard plan.asked.isEmpty else {
            let id = client.nextQuestion()
            open = OpenRequest(id: id, opcode: opcode, continuation: .write(plan))
            effects.append(.writeRequested(GATTWriteRequest(id: id, parts: plan.asked, needsResponse: true)))
            return
        }
        // The answer goes first: what a subscription sets off must not overtake it.
        effects.append(.send([opcode.response.rawValue], on: bearer))
        effects += keep(plan, &database, &client)
    }

    private func keep(
        _ plan: WritePlan, _ database: inout AttributeDatabase, _ client: inout ServedClient
    ) -> [GATTEffect] {
        var effects: [GATTEffect] = []
        for (handle, value) in plan.kept {
            guard let index = database.index(of: handle) else { continue }
            switch database.attributes[index].content {
            case .configuration(let characteristic, _):
                if let new = GATTSubscription(octets: value) { effects += client.subscribe(to: characteristic, new) }
            case .clientFeatures: client.setFeatures(value)
            case .stored, .dynamic, .databaseHash: database.store(value, at: handle)
            }
        }
        return effects
    }
}
