import CoreBluetooth

/// A stability test as it runs on the central's side (C15): a packet to the peer every so often, its way there and back
/// measured, the link kept up and its losses counted.
public struct SoakTest: Sendable {
    public var plan: SoakPlan

    public init(_ plan: SoakPlan = SoakPlan()) { self.plan = plan }

    /// Runs against a peer that runs ``SoakPeer``.
    ///
    /// - Parameters:
    ///   - peripheral: the peer, connected or not.
    ///   - progress: the report so far, about once a second.
    /// - Returns: the report, also when the test ends early because the link cannot be had any more. A cancelled test
    ///   returns what it has so far too.
    public func run(
        with peripheral: RemotePeripheral, progress: @escaping @Sendable (SoakReport) -> Void = { _ in }
    ) async -> SoakReport {
        let session = SoakSession(plan, peripheral, progress)
        return await session.run()
    }
}

// `@unchecked`: `lock` guards the ledger.
private final class SoakSession: @unchecked Sendable {
    private let plan: SoakPlan
    private let peripheral: RemotePeripheral
    private let supervisor: ConnectionSupervisor
    private let progress: @Sendable (SoakReport) -> Void
    private let lock = NSLock()
    private var ledger: SoakLedger

    init(
        _ plan: SoakPlan, _ peripheral: RemotePeripheral, _ progress: @escaping @Sendable (SoakReport) -> Void
    ) {
        self.plan = plan
        self.peripheral = peripheral
        self.progress = progress
        supervisor = ConnectionSupervisor(of: peripheral, policy: plan.supervision)
        ledger = SoakLedger(plan, at: peripheral.time.now)
    }

    private var time: Timekeeper { peripheral.time }

    func run() async -> SoakReport {
        let echoes = supervisor.values(of: SoakService.pong, in: SoakService.service, buffer: .oldest(4096))
        let events = supervisor.events(buffer: .unbounded)
        var ended: String?
        do {
            try await withThrowingTaskGroup(of: Bool.self) { group in
                defer { group.cancelAll() }
                group.addTask { [self] in
                    try await supervisor.run()
                    return true
                }
                group.addTask { [self] in
                    for try await event in events { note(event) }
                    return false
                }
                group.addTask { [self] in
                    for try await echo in echoes { receive(echo) }
                    return false
                }
                // The first link is not part of the test.
                try await supervisor.waitUntilReady()
                lock.withLock { ledger = SoakLedger(plan, at: time.now) }
                group.addTask { [self] in
                    try await measure()
                    return false
                }
                group.addTask { [self] in
                    try await send()
                    return true
                }
                // Who ends first ends the test: whoever sends, at its time; or an error.
                while let isOver = try await group.next(), !isOver {}
            }
        } catch is CancellationError {
            ended = "it was interrupted"
        } catch {
            ended = "\(error)"
        }
        return lock.withLock { ledger.close(at: time.now, ended: ended) }
    }

    private func note(_ event: SupervisionEvent) {
        lock.withLock {
            switch event {
            case .ended(let cause): ledger.disconnected(cause, at: time.now)
            case .ready: ledger.reconnected(at: time.now)
            case .watching, .near, .connecting, .pausing: break
            }
        }
    }

    private func receive(_ echo: Data) {
        guard let packet = SoakPacket(echo) else { return }
        lock.withLock { ledger.receive(packet, at: time.now) }
    }

    /// Sends a packet at each multiple of the interval, whether the one before is back or not.
    private func send() async throws {
        let begin = time.now
        var ping: RemoteCharacteristic?
        var reportAt = Duration.seconds(1)
        var count = 0
        while true {
            let due = plan.interval * count
            // Whoever was kept from sending for long does not make up for it afterwards.
            if max(due, time.now - begin) >= plan.duration { break }
            let pause = begin + due - time.now
            if pause > .zero { try await time.sleep(for: pause) }
            count += 1
            lock.withLock { ledger.expire(at: time.now) }
            ping = try await sendOne(ping)
            if due >= reportAt {
                reportAt = due + .seconds(1)
                progress(lock.withLock { ledger.soFar(at: time.now) })
            }
        }
        let rest = begin + plan.duration - time.now
        if rest > .zero { try await time.sleep(for: rest) }
        // The last packets have their time too.
        let end = time.now + plan.patience
        while lock.withLock({ ledger.hasOpen }), time.now < end { try await time.sleep(for: .milliseconds(50)) }
    }

    private func sendOne(_ known: RemoteCharacteristic?) async throws -> RemoteCharacteristic? {
        guard supervisor.isReady else {
            lock.withLock { ledger.skip() }
            return nil
        }
        do {
            let ping: RemoteCharacteristic
            if let known {
                ping = known
            } else {
                ping = try await peripheral.characteristic(SoakService.ping, in: SoakService.service)
            }
            let length = min(plan.packetLength, peripheral.maximumWriteLength(for: .withoutResponse))
            let packet = lock.withLock { ledger.send(at: time.now) }
            try await peripheral.writeWithoutResponse(packet.encoded(length: length), to: ping, within: plan.patience)
            return ping
        } catch let error as ToolkitError where error.cause != nil {
            // The link has gone; the supervisor deals with that, and what was sent on it counts as lost.
            return nil
        }
    }

    private func measure() async throws {
        while true {
            try await time.sleep(for: plan.rssiInterval)
            guard supervisor.isReady, let rssi = try? await peripheral.readRSSI(within: .seconds(2)), rssi <= 20
            else { continue }
            lock.withLock { ledger.measured(rssi: rssi, at: time.now) }
        }
    }
}
