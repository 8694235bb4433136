import Backends
import BluetoothTypes
import HostInterface

/// A manager's line to its host: it numbers the requests, keeps what each answer is for, and holds the lock of the
/// manager and of all its objects.
///
/// Everything that a delegate is told comes through here, on the manager's queue, with `lock` free.
// `@unchecked`: `lock` guards the variables.
final class HostLine: @unchecked Sendable {
    typealias Answer = Result<HostAnswer, HostFailure>

    let lock = StateLock()
    let channels: ChannelRegistry
    /// Whether a test runs the world in which this is, and callbacks come on that world's thread or are waited for.
    let isInTestedWorld: Bool
    let place: any SessionFactory
    /// The run of the program that the manager belongs to. When that is over nobody is told anything any more.
    let program: ProgramRun
    /// Where the manager's state is kept, if it is to be restored.
    var restoration: Restoration?
    /// Whether there is something restored, and nothing known of the radio yet.
    var isRestoring = false
    private let session: any HostSession
    private let executor: any CallbackExecutor
    /// Whether the executor runs what it is given as of `place`.
    private let bindsPlace: Bool
    private var lastNumber: UInt64 = 0
    private var waiting: [RequestNumber: (Answer) -> Void] = [:]
    private var handle: ((HostEvent) -> Void)?
    private var isClosed = false
    var securityObserver: ((SecurityEvent) -> Void)?
    /// Who follows the periodic advertising of a peer.
    var trainObservers: [PeerID: (HostEvent) -> Void] = [:]
    private var adapter: AdapterState = .unknown
    /// Whether the host has told a state.
    private(set) var hasHeardState = false
    /// How often the radio has ceased to be powered on: what was asked of the app before has ended with it.
    private var radioEnds = 0

    init(queue: DispatchQueue?) {
        place = SessionProvider.current
        program = place.program
        session = place.makeSession()
        channels = ChannelRegistry(lock: lock)
        isInTestedWorld = session.defaultExecutor != nil
        executor =
            if let queue { DispatchCallbackExecutor(queue, place: place) } else {
                session.defaultExecutor ?? DispatchCallbackExecutor(nil, place: place)
            }
        bindsPlace = executor is DispatchCallbackExecutor
    }

    /// Starts delivery to `handle`, which is called on the queue.
    func open(_ handle: @escaping (HostEvent) -> Void) {
        lock.withLock { self.handle = handle }
        session.open(on: executor) { [weak self] event in self?.receive(event) }
    }

    /// Ends it: whoever still waits for an answer is told that there will be none.
    func close() {
        let (wasOpen, unanswered) = lock.withLock {
            defer {
                isClosed = true
                waiting = [:]
                trainObservers = [:]
                handle = nil
            }
            return (!isClosed, waiting.sorted { $0.key.rawValue < $1.key.rawValue }.map(\.value))
        }
        channels.endAll()
        guard wasOpen else { return }
        session.close()
        restoration?.forget()
        guard !unanswered.isEmpty else { return }
        // Each belongs to the queue, on which it is run, and let go of.
        nonisolated(unsafe) let answers = unanswered
        onQueue { for then in unsafe answers { then(.failure(.sessionLost)) } }
    }

    /// Tells whoever watches the host's security, which Apple's API does not speak of.
    func security(_ event: SecurityEvent) {
        let observer = lock.withLock { securityObserver }
        // Nobody may be there to hear it, and who pairs relies on it.
        if case .storeFailed(let reason) = event { note("\(reason) Bonds last for this run only.") }
        observer?(event)
    }

    /// Tells whoever follows a peer's periodic advertising, which Apple's API does not speak of.
    func train(_ event: HostEvent, of peer: PeerID) { lock.withLock { trainObservers[peer] }?(event) }

    /// Asks the host; `then` gets the answer, on the queue.
    func ask(_ request: HostRequest, then: @escaping (Answer) -> Void = { _ in }) {
        lock.withLock {
            guard !isClosed, !program.isOver else { return }
            lastNumber += 1
            let number = RequestNumber(lastNumber)
            waiting[number] = then
            session.submit(request, number: number)
        }
    }

    /// Runs `work` later, on the queue.
    func later(_ work: @escaping @Sendable () -> Void) {
        onQueue { [weak self] in
            if let self, !program.isOver, !lock.withLock({ self.isClosed }) { work() }
        }
    }

    /// Runs `work` later, on the queue, also if the manager is gone by then.
    func onQueue(_ work: @escaping @Sendable () -> Void) {
        executor.run { [place] in SessionProvider.with(place, work) }
    }

    /// Whether the caller may call a delegate without changing threads.
    var isOnQueue: Bool { (executor as? DispatchCallbackExecutor)?.isCurrent ?? true }

    private func receive(_ event: HostEvent) {
        guard !program.isOver else { return }
        // What an app makes in a callback belongs to the same place. Some executors see to that themselves.
        if bindsPlace { pass(event) } else { SessionProvider.with(place) { pass(event) } }
    }

    private func pass(_ event: HostEvent) {
        if case .answer(let number, let answer) = event {
            lock.withLock { waiting.removeValue(forKey: number) }?(answer)
        } else {
            lock.withLock { handle }?(event)
        }
    }
}

// MARK: - State

extension HostLine {
    var state: CBManagerState { lock.withLock { adapter.managerState } }

    /// Whether the adapter is powered on. Called with the lock held.
    var isOn: Bool { if case .poweredOn = adapter { true } else { false } }

    var authorization: CBManagerAuthorization {
        let told = CBManagerAuthorization(place.permission)
        // A host behind a transport may refuse what the place knows nothing of.
        guard told == .allowedAlways, case .unauthorized = lock.withLock({ adapter }) else { return told }
        return .denied
    }

    /// The power-on that goes on now; `nil` if there is none, or nobody who could use it.
    var epoch: Int? { lock.withLock { isClosed || adapterAddress == nil ? nil : radioEnds } }

    /// Whether the program to which this belongs has been ended by its system.
    var isOfEndedProgram: Bool { program.isOver }

    /// The adapter's address, by which identifiers are made; `nil` unless it is powered on.
    var adapterAddress: DeviceAddress? {
        guard case .poweredOn(let address) = lock.withLock({ adapter }) else { return nil }
        return address
    }

    func setAdapter(_ state: AdapterState) {
        lock.withLock {
            adapter = state
            hasHeardState = true
            if adapterAddress == nil { radioEnds += 1 }
            if state != .unknown { isRestoring = false }
        }
        switch state {
        case .unsupported(let reason), .unauthorized(let reason): note("Bluetooth cannot be used: \(reason)")
        case .unknown, .resetting, .poweredOff, .poweredOn: break
        }
    }

    /// Whether commands are accepted; a command that is not is reported as a misuse.
    func isPoweredOn(for manager: CBManager) -> Bool {
        if state == .poweredOn { return true }
        misuse("\(manager) can only accept this command while in the powered on state")
        return false
    }
}

extension AdapterState {
    var managerState: CBManagerState {
        switch self {
        case .unknown: .unknown
        case .resetting: .resetting
        case .unsupported: .unsupported
        case .unauthorized: .unauthorized
        case .poweredOff: .poweredOff
        case .poweredOn: .poweredOn
        }
    }
}
