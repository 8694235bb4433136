public import CoreBluetooth

/// Keeps a link to one device: connects, restores the subscriptions, and when the link ends for a reason that can pass,
/// connects again after a pause. It runs in ``run()``, and ends when that is cancelled or the cause is final.
///
///     let supervisor = ConnectionSupervisor(of: lock, policy: policy)
///     let battery = supervisor.values(of: CBUUID(string: "FFF4"), in: CBUUID(string: "FFF0"))
///     async let _: Void = supervisor.run()
///     for try await level in battery { ... }
// `@unchecked`: `lock` guards the variables.
public final class ConnectionSupervisor: @unchecked Sendable {
    public let peripheral: RemotePeripheral
    public let policy: Policy
    private let lock = NSLock()
    private let chance: @Sendable () -> Double
    private var wishes: [Wish] = []
    private var sources: [EventSource<SupervisionEvent>] = []
    private var numbers = Statistics()
    private var isSetUp = false
    private var readyCalls: [Call<Void>] = []

    /// A subscription to be had on each link.
    private final class Wish: Sendable {
        let characteristic: RemoteName
        let source: EventSource<Data>

        init(_ characteristic: RemoteName, _ source: EventSource<Data>) {
            self.characteristic = characteristic
            self.source = source
        }
    }

    /// - Parameters:
    ///   - peripheral: to which the link is kept; from here on nobody else connects it or ends its link.
    ///   - policy: when to connect, for how long to pause, and when to give up.
    ///   - chance: 0...1 for each pause: its jitter.
    public init(
        of peripheral: RemotePeripheral, policy: Policy = Policy(),
        chance: @escaping @Sendable () -> Double = { Double.random(in: 0...1) }
    ) {
        self.peripheral = peripheral
        self.policy = policy
        self.chance = chance
    }

    /// Whether there is a link with all subscriptions.
    public var isReady: Bool { lock.withLock { isSetUp } }

    public var statistics: Statistics { lock.withLock { numbers } }

    /// What it does, from here on.
    public func events(buffer: BufferPolicy = .newest(64)) -> Events<SupervisionEvent> {
        let (events, source) = EventSource<SupervisionEvent>.make(buffer)
        lock.withLock { sources.append(source) }
        return events
    }

    /// The values of a characteristic over all links from now on; asked for before ``run()``, or for the next link. The
    /// stream ends when the supervision does, with its cause.
    public func values(
        of characteristic: CBUUID, in service: CBUUID, buffer: BufferPolicy = .newest(256)
    ) -> Events<Data> {
        let (events, source) = EventSource<Data>.make(buffer)
        lock.withLock { wishes.append(Wish(RemoteName(characteristic, in: service), source)) }
        return events
    }

    /// Returns when there is a link with all subscriptions; at once if there is.
    public func waitUntilReady(within limit: Duration? = Central.defaultLimit) async throws {
        try Task.checkCancellation()
        let call = Call<Void>()
        lock.withLock {
            if isSetUp { call.succeed() } else { readyCalls.append(call) }
        }
        defer { lock.withLock { readyCalls.removeAll { $0 === call } } }
        try await call.value(within: limit, by: time)
    }

    var time: Timekeeper { peripheral.time }

    // MARK: Running

    /// Supervises. Called once.
    ///
    /// - Throws: ``LinkEnd`` that is final, or the last one when there were too many failures; what the peer does not
    ///   have or refuses of the subscriptions; `CancellationError` when it is cancelled. The link is ended then.
    public func run() async throws {
        do {
            try await supervise()
        } catch {
            finish(error)
            throw error
        }
    }

    private func supervise() async throws {
        var failures = 0
        var lostAt: Duration?
        while true {
            let begin: Duration
            let end: LinkEnd
            do {
                if policy.proximity != nil { try await watchUntilNear() }
                try await connect(attempt: failures + 1)
                begin = time.now
                end = try await serve(lostAt: lostAt)
            } catch let cause as LinkEnd {
                failures += 1
                try await recover(from: cause, failures)
                continue
            }
            lostAt = time.now
            failures = time.now - begin >= policy.settleTime || end == .tooFar ? 1 : failures + 1
            try await recover(from: end, failures)
        }
    }

    /// Pauses, if the cause lets hope.
    private func recover(from cause: LinkEnd, _ failures: Int) async throws {
        lock.withLock {
            isSetUp = false
            numbers.ends = numbers.ends.suffix(99) + [cause]
        }
        tell(.ended(cause))
        guard !cause.isFinal else { throw cause }
        if let most = policy.maximumFailures, failures >= most { throw cause }
        if case .radioUnavailable = cause {
            try await waitForRadio()
            return
        }
        let pause = policy.backoff.pause(afterFailures: failures, chance: chance())
        tell(.pausing(pause))
        try await time.sleep(for: pause)
    }

    private func waitForRadio() async throws {
        do {
            try await peripheral.central.waitUntilOn(within: nil)
        } catch ToolkitError.radioUnavailable(let state) {
            throw LinkEnd.radioUnavailable(state)
        }
    }

    private func connect(attempt: Int) async throws {
        lock.withLock { numbers.attempts += 1 }
        tell(.connecting(attempt: attempt))
        do {
            try await peripheral.connect(within: policy.attemptLimit)
        } catch let error as ToolkitError {
            throw error.cause ?? error
        }
    }

    /// Serves one link to its end.
    private func serve(lostAt: Duration?) async throws -> LinkEnd {
        do {
            return try await withThrowingTaskGroup(of: LinkEnd.self) { group in
                defer { group.cancelAll() }
                group.addTask { [peripheral] in try await peripheral.waitForEnd() }
                let streams = try await subscribe()
                for (stream, wish) in streams { group.addTask { try await Self.pass(stream, to: wish) } }
                if let settings = policy.proximity {
                    group.addTask { [self] in try await watchUntilFar(settings) }
                }
                ready(lostAt: lostAt)
                // The first who ends is the link, or whoever sees it end.
                return try await group.next() ?? .requested
            }
        } catch let error as LinkEnd {
            return await leave(error)
        } catch {
            if let cause = (error as? ToolkitError)?.cause { return await leave(cause) }
            // Cancelled; or what the peer does not have or refuses on this link it will on the next.
            _ = await leave(.requested)
            throw error
        }
    }

    /// Ends the link, for whatever reason it is of no use.
    private func leave(_ cause: LinkEnd) async -> LinkEnd {
        guard peripheral.isConnected else { return cause }
        // Also in a cancelled task: the call ends at once then, and the radio's work with it.
        try? await peripheral.disconnect(within: .seconds(5))
        return cause
    }

    private func subscribe() async throws -> [(Events<Data>, Wish)] {
        let deadline = Deadline(policy.setupLimit, by: time)
        var streams: [(Events<Data>, Wish)] = []
        for wish in lock.withLock({ wishes }) {
            let characteristic = try await peripheral.characteristic(
                wish.characteristic.characteristic, in: wish.characteristic.service, within: deadline.left)
            let stream = try await peripheral.values(of: characteristic, buffer: .unbounded, within: deadline.left)
            streams.append((stream, wish))
        }
        return streams
    }

    private static func pass(_ stream: Events<Data>, to wish: Wish) async throws -> LinkEnd {
        for try await value in stream { wish.source.send(value) }
        throw ToolkitError.outdated
    }

    private func ready(lostAt: Duration?) {
        let (number, calls) = lock.withLock {
            numbers.links += 1
            if let lostAt {
                numbers.timesToReconnect = numbers.timesToReconnect.suffix(99) + [time.now - lostAt]
            }
            isSetUp = true
            defer { readyCalls.removeAll() }
            return (numbers.links, readyCalls)
        }
        tell(.ready(link: number))
        for call in calls { call.succeed() }
    }

    // MARK: Near and far

    private func watchUntilNear() async throws {
        guard let settings = policy.proximity else { return }
        tell(.watching)
        do {
            var meter = ProximityMeter(settings)
            for try await seen in try peripheral.central.scan(duplicates: true) {
                guard seen.peripheral === peripheral, let rssi = seen.rssi, meter.add(rssi) == .near else { continue }
                return tell(.near(average: meter.average ?? 0))
            }
        } catch let error as ToolkitError {
            throw error.cause ?? error
        }
    }

    private func watchUntilFar(_ settings: ProximityMeter.Settings) async throws -> LinkEnd {
        var meter = ProximityMeter(settings)
        while true {
            try await time.sleep(for: policy.measuringInterval)
            if meter.add(try await peripheral.readRSSI()) == .far { throw LinkEnd.tooFar }
        }
    }

    // MARK: Telling

    private func tell(_ event: SupervisionEvent) {
        for source in lock.withLock({ sources }) { source.send(event) }
    }

    private func finish(_ error: any Error) {
        let (sources, wishes, calls) = lock.withLock {
            isSetUp = false
            defer { readyCalls.removeAll() }
            return (self.sources, self.wishes, readyCalls)
        }
        for source in sources { source.finish(error) }
        for wish in wishes { wish.source.finish(error) }
        for call in calls { call.fail(error) }
    }
}

/// A characteristic by its name.
// `@unchecked`: `CBUUID` does not change.
struct RemoteName: @unchecked Sendable {
    var characteristic: CBUUID
    var service: CBUUID

    init(_ characteristic: CBUUID, in service: CBUUID) {
        self.characteristic = characteristic
        self.service = service
    }
}

extension ToolkitError {
    /// As the end of a link, or of an attempt; `nil` for what another link would not change.
    var cause: LinkEnd? {
        switch self {
        case .linkEnded(let cause): cause
        case .radioUnavailable(let state): .radioUnavailable(state)
        case .timedOut, .notConnected, .outdated: .notEstablished
        case .notFound, .tooLong, .notARegularFile, .protocolViolation: nil
        }
    }
}
