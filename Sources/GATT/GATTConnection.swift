package import ATT
package import EventLoop

/// The attribute protocol of one link: its bearers, and client and server side on each of them.
///
/// Each link has the bearer on the fixed channel; on an encrypted link L2CAP channels may be more of them, so that one
/// slow answer holds nothing else up. Procedures take whichever bearer is free, as far as the order of their effects
/// allows. What nobody answers goes on the fixed one, so that its order is kept; and that one's ATT_MTU is what
/// programs are told, for the others come and go. If the fixed one dies, the link is dead; of another, only what was
/// open on it.
///
/// The database belongs to the adapter; each call is handed it.
///
///     let effects = attributes.handle(.receive(pdu), database: &database, at: now)
///
/// Source: Core 6.0, Vol 3, Parts F and G.
package struct GATTConnection: Sendable {
    package enum Input: Equatable, Sendable {
        /// A PDU from the peer.
        case receive(ArraySlice<UInt8>, on: GATTBearerID = .fixed)
        /// A Signed Write Command whose signature has been found good, without it. Such come on the fixed channel only.
        case receiveSigned(ArraySlice<UInt8>)

        /// An L2CAP channel for attributes is open. Neither side takes more than `mtu` octets on it, 64...65535.
        case bearerOpened(GATTBearerID, mtu: Int)
        /// The peer takes more on the channel than before; `mtu` as above.
        case bearerWidened(GATTBearerID, mtu: Int)
        /// The channel is closed, by whomever.
        case bearerClosed(GATTBearerID)

        // Client side. Whoever chooses an `id` is told under it how the matter ended; it must not be in use.
        /// - Parameter party: for whom. What one party asks for has its effects on the peer in the order in which it
        ///   was submitted.
        case submit(id: UInt64, GATTProcedure, party: UInt32 = 0)
        /// It waits for no procedure. It is handed over by `sendUnanswered`.
        case writeCommand(id: UInt64, handle: UInt16, value: [UInt8])

        /// What was known of the peer's attributes on an earlier link, if the peer is bonded.
        case restoreDatabase(RemoteDatabase)

        // Server side.
        /// The answer to a read or write request; `error` of `nil` is success.
        case respond(id: UInt64, error: ATTErrorCode?, value: [UInt8])
        /// The value is cut to ATT_MTU - 3. Whether the peer has subscribed is for the caller to look up. It is handed
        /// over by `sendUnanswered`.
        case notify(id: UInt64, handle: UInt16, value: [UInt8])
        /// As `notify`, and ends with the peer's confirmation. One is on its way at a time.
        case indicate(id: UInt64, handle: UInt16, value: [UInt8])
        /// These attributes have been removed from the database. A request that waits for the owner of one is refused.
        case forget(ClosedRange<UInt16>)
        /// What lies in these handles has changed. A peer that has subscribed to Service Changed is told, which ends
        /// with its confirmation; for another peer it is done at once.
        case databaseChanged(id: UInt64, ClosedRange<UInt16>)

        // What the peer, a bonded client, left behind when it was here before.
        /// `isAware`: whether the database is as it was then.
        case restoreClient(GATTClientStatus)
        /// It is told as if it had subscribed anew.
        case restoreSubscription(handle: UInt16, GATTSubscription)

        case securityChanged(GATTLinkSecurity)
        /// The link ended. All that is open ends with it.
        case linkLost
    }

    /// The fixed one first.
    private var bearers: [GATTBearer]
    private var served = ServedClient()
    private var client = GATTClient()
    /// After the link, or a transaction's thirty seconds on the fixed channel, nothing may be sent any more (Part F,
    /// 3.3.3).
    private var isDead = false

    /// - Parameter ownRxMTU: the longest PDU that this side can take on the fixed channel, 23...65535. 517 carries a
    ///   whole value in any PDU.
    package init(ownRxMTU: Int = 517) {
        bearers = [GATTBearer(id: .fixed, BearerState(ownRxMTU: ownRxMTU))]
    }

    /// ATT_MTU of the fixed channel, 23 before any exchange.
    package var mtu: Int { bearers[0].state.mtu }

    /// The bearers on channels of their own, in the order in which they were opened.
    package var enhancedBearers: [GATTBearerID] { bearers.dropFirst().map(\.id) }

    package func hasBearer(_ id: GATTBearerID) -> Bool { place(of: id) != nil }

    /// What is known of the peer's attributes.
    package var remoteDatabase: RemoteDatabase { client.known }

    /// What the peer asked for in the configuration descriptor of the characteristic with its value at `handle`.
    package func subscription(to handle: UInt16) -> GATTSubscription { served.configurations[handle] ?? [] }

    /// The values of the characteristics that the peer has subscribed to, in order.
    package var subscribedHandles: [UInt16] { served.configurations.keys.sorted() }

    /// What is to be kept of the peer if it is bonded.
    package var clientStatus: GATTClientStatus { served.status }

    /// The requests and the indications that the peer has not answered yet.
    package var openTransactions: [(opcode: ATTOpcode, since: Instant)] { bearers.flatMap(\.openTransactions) }

    /// When ``wake(at:)`` must be called unless an input comes first.
    package var deadline: Instant? {
        if isDead { return nil }
        var earliest = bearers[0].deadline
        for bearer in bearers.dropFirst() {
            guard let deadline = bearer.deadline else { continue }
            earliest = min(earliest ?? deadline, deadline)
        }
        return earliest
    }

    private func place(of id: GATTBearerID) -> Int? {
        id == .fixed ? 0 : bearers.firstIndex { $0.id == id }
    }

    package mutating func handle(
        _ input: Input, database: inout AttributeDatabase, at now: Instant
    ) -> [GATTEffect] {
        let before = served.status
        var effects = react(to: input, &database, at: now)
        if served.status != before {
            effects.append(.clientChanged)
            if !served.isOutOfSync { effects += notify(served.takeWithheld(), database) }
        }
        return effects
    }

    private mutating func react(
        to input: Input, _ database: inout AttributeDatabase, at now: Instant
    ) -> [GATTEffect] {
        switch input {
        case .receive(let pdu, let id):
            guard !isDead, let place = place(of: id) else { return [] }
            return receive(pdu, onBearer: place, &database, at: now)
        case .receiveSigned(let pdu):
            return isDead ? [] : bearers[0].server.receiveSigned(pdu, &database, &served)
        case .bearerOpened(let id, let mtu):
            guard !isDead, place(of: id) == nil else { return [] }
            bearers.append(GATTBearer(id: id, BearerState(channelMTU: mtu)))
            return client.goOn(&bearers, at: now)
        case .bearerWidened(let id, let mtu):
            if let place = place(of: id), place > 0 { bearers[place].state.widen(to: mtu) }
            return []
        case .bearerClosed(let id):
            return isDead ? [] : lose(id, at: now)
        case .submit(let id, let procedure, let party):
            return client.submit(GATTClient.Submission(id, procedure, party: party), &bearers, at: now)
        case .writeCommand(let id, let handle, let value):
            guard value.count <= mtu - 3 else {
                let text = "\(value.count) octets in a Write Command that holds \(mtu - 3)"
                return [.finish(id: id, .failure(.invalidParameters(text)))]
            }
            return sendUnanswered(WriteCommand(handle: handle, value: value), id: id)
        case .restoreDatabase(let database):
            client.restore(database)
            return []
        case .respond(let id, let error, let value):
            guard let place = bearers.firstIndex(where: { $0.server.waits(for: id) }) else { return [] }
            return bearers[place].respond(to: id, error, value, &database, &served)
        case .notify(let id, let handle, let value):
            guard served.isOutOfSync, served.isBeingTold else { return notify(id, handle, value, database) }
            served.withhold(ServedClient.Notification(id: id, handle: handle, value: value))
            return []
        case .indicate(let id, let handle, let value):
            return indicate(id, handle, value, database, at: now)
        case .forget(let range):
            served.configurations = served.configurations.filter { !range.contains($0.key) }
            served.forgetPrepared(in: range)
            var effects: [GATTEffect] = []
            for place in bearers.indices { effects += bearers[place].forget(range, &database, &served) }
            return effects
        case .databaseChanged(let id, let range):
            return databaseChanged(id, range, database, at: now)
        case .restoreClient(let status):
            served.restore(status)
            return []
        case .restoreSubscription(let handle, let subscription):
            return served.restore(subscription, to: handle, database)
        case .securityChanged(let security):
            served.security = security
            return []
        case .linkLost:
            return abandon(.linkLost, at: now)
        }
    }

    /// A transaction's time is up: its bearer is dead, and the link with it if it is the fixed one (Part F, 3.3.3).
    package mutating func wake(at now: Instant) -> [GATTEffect] {
        guard !isDead else { return [] }
        var effects: [GATTEffect] = []
        for id in bearers.map(\.id) {
            guard let place = place(of: id) else { continue }
            let reactions = bearers[place].requests.wake(at: now)
            let isExpired = !reactions.isEmpty
            if isExpired { effects += client.expired(on: id, &bearers) }
            let ends = bearers[place].server.wake(at: now)
            effects += ends.filter { $0 != .drop }
            guard isExpired || ends.contains(.drop) else { continue }
            guard place > 0 else { return effects + abandon(.timedOut, at: now) + [.drop] }
            effects += [.closeBearer(id)] + lose(id, at: now)
        }
        return effects
    }

    private mutating func lose(_ id: GATTBearerID, at now: Instant) -> [GATTEffect] {
        guard let place = place(of: id), place > 0 else { return [] }
        var lost = bearers.remove(at: place)
        return lost.server.abandon(.bearerLost, at: now) + client.lost(id, &bearers, at: now)
    }

    private mutating func abandon(_ failure: GATTFailure, at now: Instant) -> [GATTEffect] {
        isDead = true
        served.prepared = []
        let withheld = served.takeWithheld().map { GATTEffect.finish(id: $0.id, .failure(.linkLost)) }
        let asked = client.abandon(failure)
        var told: [GATTEffect] = []
        for place in bearers.indices { told += bearers[place].server.abandon(.linkLost, at: now) }
        return asked + told + withheld + served.unsubscribeAll()
    }

    /// Source: Core 6.0, Vol 3, Part G, 2.5.2 and 7.1.
    private mutating func databaseChanged(
        _ id: UInt64, _ range: ClosedRange<UInt16>, _ database: AttributeDatabase, at now: Instant
    ) -> [GATTEffect] {
        guard let handle = database.serviceChangedHandle, subscription(to: handle).contains(.indications) else {
            served.databaseChanged(announcedBy: nil)
            return [.finish(id: id, .success(.done))]
        }
        served.databaseChanged(announcedBy: id)
        let indication = HandleValueIndication(handle: handle, value: AttributeDatabase.serviceChangedValue(range))
        return bearers[0].server.indicate(id, indication, at: now)
    }

    private mutating func indicate(
        _ id: UInt64, _ handle: UInt16, _ value: [UInt8], _ database: AttributeDatabase, at now: Instant
    ) -> [GATTEffect] {
        // Who is about to learn of a change confirms that first: one indication is on its way at a time on a bearer,
        // and changes are told on the fixed one.
        let comesLater = served.isBeingTold
        if let refusal = refusal(toNotify: handle, database, comesLater: comesLater) {
            return [.finish(id: id, .failure(refusal))]
        }
        let indication = HandleValueIndication(handle: handle, value: fitting(value))
        let place = comesLater ? 0 : place(forIndicating: handle, octets: 3 + indication.value.count)
        return bearers[place].server.indicate(id, indication, at: now)
    }

    /// One characteristic's values stay in order: behind those that wait for a confirmation. Else a free bearer.
    private func place(forIndicating handle: UInt16, octets: Int) -> Int {
        bearers.firstIndex { $0.server.isIndicating(handle) }
            ?? bearers.firstIndex { $0.server.openIndication == nil && octets <= $0.state.mtu } ?? 0
    }

    private func notify(
        _ id: UInt64, _ handle: UInt16, _ value: [UInt8], _ database: AttributeDatabase
    ) -> [GATTEffect] {
        if let refusal = refusal(toNotify: handle, database) { return [.finish(id: id, .failure(refusal))] }
        return sendUnanswered(HandleValueNotification(handle: handle, value: fitting(value)), id: id)
    }

    /// Source: Core 6.0, Vol 3, Part F, 3.3: who has to do with which kind of PDU.
    private mutating func receive(
        _ pdu: ArraySlice<UInt8>, onBearer place: Int, _ database: inout AttributeDatabase, at now: Instant
    ) -> [GATTEffect] {
        guard let opcode = pdu.first.map(ATTOpcode.init) else { return [.reportViolation([])] }
        switch opcode.kind {
        case .request: return bearers[place].receiveRequest(pdu, &database, &served)
        case .response: return client.receiveResponse(pdu, onBearer: place, &bearers, at: now)
        case .command: return bearers[place].server.receiveCommand(pdu, &database, &served)
        case .notification:
            return opcode == .handleValueNotification
                ? client.receiveNotification(pdu) : client.receiveMultipleNotification(pdu)
        case .indication: return client.receiveIndication(pdu, on: bearers[place].id)
        case .confirmation: return bearers[place].server.receiveConfirmation(pdu, &served, at: now)
        case nil: return opcode.isCommand ? [] : bearers[place].receiveRequest(pdu, &database, &served)
        }
    }

    /// Values that have waited go together, as many as fit, if the peer can take that (Core 6.0, Vol 3, Part G, 4.10).
    private func notify(_ waiting: [ServedClient.Notification], _ database: AttributeDatabase) -> [GATTEffect] {
        guard served.status.features.contains(.multipleNotifications) else {
            return waiting.flatMap { notify($0.id, $0.handle, $0.value, database) }
        }
        var effects: [GATTEffect] = []
        var group: [ServedClient.Notification] = []
        var length = 1
        func flush() {
            guard let last = group.last else { return }
            if group.count == 1 {
                effects += notify(last.id, last.handle, last.value, database)
            } else {
                effects += group.dropLast().map { .finish(id: $0.id, .success(.done)) }
                let values = group.map { HandleValueNotification(handle: $0.handle, value: $0.value) }
                effects += sendUnanswered(MultipleHandleValueNotification(notifications: values), id: last.id)
            }
            (group, length) = ([], 1)
        }
        for next in waiting {
            // Each has its handle and its length before it (Part F, 3.4.7.4); one alone goes as others do.
            let octets = 4 + next.value.count
            let isRefused = refusal(toNotify: next.handle, database) != nil
            if isRefused || length + octets > mtu { flush() }
            if isRefused || 1 + octets > mtu {
                effects += notify(next.id, next.handle, next.value, database)
            } else {
                group.append(next)
                length += octets
            }
        }
        flush()
        return effects
    }

    /// - Parameter comesLater: whether the peer will have learnt of the last change by then.
    private func refusal(
        toNotify handle: UInt16, _ database: AttributeDatabase, comesLater: Bool = false
    ) -> GATTFailure? {
        // What it is told may be taken for another attribute's value (Core 6.0, Vol 3, Part G, 2.5.2.1).
        if served.isOutOfSync, !comesLater { return .refused(.databaseOutOfSync) }
        do throws(ATTErrorCode) {
            _ = try database.attribute(handle, for: .notify, on: served.security)
            return nil
        } catch {
            // What is not in the database protects nothing.
            return error == .invalidHandle ? nil : .refused(error)
        }
    }

    private func sendUnanswered(_ parameters: some ATTParameters, id: UInt64) -> [GATTEffect] {
        isDead ? [.finish(id: id, .failure(.linkLost))] : [.sendUnanswered(parameters.pdu, id: id)]
    }

    private func fitting(_ value: [UInt8]) -> [UInt8] {
        value.count <= mtu - 3 ? value : Array(value.prefix(mtu - 3))
    }
}
