import Backends
import BluetoothTypes
import CoreBluetooth
import HostInterface
import Testing

/// A host that does nothing by itself: a test reads what it was asked and says what it answers. Everything runs on
/// the test's thread, callbacks when the test calls ``settle()``.
///
/// For what no real host does on demand; whatever one can do is tested over the simulated radio.
final class ScriptedHost: SessionFactory, HostSession, CallbackExecutor, @unchecked Sendable {
    // `@unchecked`: one test, one thread.
    private(set) var asked: [(number: RequestNumber, request: HostRequest)] = []
    private(set) var reports: [String] = []
    private(set) var isClosed = false
    private let hasExecutor: Bool
    var time = 1000.0
    private var scheduled: [(delay: Duration, work: @Sendable () -> Void)] = []
    private var deliver: (@Sendable (HostEvent) -> Void)?
    private var pending: [@Sendable () -> Void] = []

    static let address = DeviceAddress(0x00_1122_3344_5566)

    /// - Parameter hasExecutor: whether it is in a world that a test runs; else managers need a queue, though callbacks
    ///   come at ``settle()`` all the same.
    init(hasExecutor: Bool = true) { self.hasExecutor = hasExecutor }

    // MARK: SessionFactory

    func makeSession() -> any HostSession { self }
    func report(_ line: String) { reports.append(line) }
    var secondsSince2001: Double { time }
    func schedule(after delay: Duration, _ work: @escaping @Sendable () -> Void) { scheduled.append((delay, work)) }

    // MARK: HostSession

    var defaultExecutor: (any CallbackExecutor)? { hasExecutor ? self : nil }
    func open(on executor: any CallbackExecutor, _ deliver: @escaping @Sendable (HostEvent) -> Void) {
        self.deliver = deliver
    }
    func submit(_ request: HostRequest, number: RequestNumber) { asked.append((number, request)) }
    func close() { isClosed = true }

    // MARK: CallbackExecutor

    func run(_ work: @escaping @Sendable () -> Void) { pending.append(work) }
    func settle() {
        while !pending.isEmpty { pending.removeFirst()() }
    }

    // MARK: Script

    /// Makes managers that talk to this host.
    func launch<App>(_ body: () throws -> App) rethrows -> App { try SessionProvider.with(self, body) }

    /// Tells something, and lets it be heard.
    func tell(_ event: HostEvent) {
        run { [deliver] in deliver?(event) }
        settle()
    }

    func powerOn() { tell(.state(.poweredOn(address: Self.address))) }

    /// Answers the request that was asked first and is not answered.
    func answer(_ answer: Result<HostAnswer, HostFailure>) {
        if asked.isEmpty {
            Issue.record("Nothing was asked.")
            return
        }
        tell(.answer(asked.removeFirst().number, answer))
    }

    func answer(_ answer: HostAnswer) { self.answer(.success(answer)) }

    /// Expects that these requests, and no others, are open.
    func expect(_ requests: HostRequest..., sourceLocation: SourceLocation = #_sourceLocation) {
        #expect(asked.map(\.request) == requests, sourceLocation: sourceLocation)
    }

    /// Expects one request, and answers it.
    func expect(
        _ request: HostRequest, answer: Result<HostAnswer, HostFailure>,
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        expect(request, sourceLocation: sourceLocation)
        if !asked.isEmpty { self.answer(answer) }
    }

    /// Lets the scheduled work happen, whose delays must be these.
    func elapse(_ delays: Duration..., sourceLocation: SourceLocation = #_sourceLocation) {
        #expect(scheduled.map(\.delay) == delays, sourceLocation: sourceLocation)
        let due = scheduled
        scheduled = []
        for entry in due { entry.work() }
        settle()
    }

    /// The reports so far; later ones are counted from here.
    func takeReports() -> [String] {
        defer { reports = [] }
        return reports
    }
}
