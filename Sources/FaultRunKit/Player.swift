import BluetoothTypes
import EventLoop
import Host
import HostInterface
import Simulation

/// A program on a host: it asks for random things that are legal, answers its peers' questions, mostly, and watches
/// that its host keeps its promises.
final class Player: @unchecked Sendable {
    // `@unchecked`: used on the thread that runs the world alone.
    let name: String
    let peer: PeerID
    private let hosted: HostedDevice
    private let ledger: WriteLedger
    private let log: Log
    var generator: SeededGenerator

    /// The client, and the host that it belongs to: a host that lost its power does not come back.
    private var client: (id: ClientID, host: Host)?
    private var watch = PromiseWatch()
    private var isResting = false
    private var lastNumber: UInt64 = 0
    private var writes: [RequestNumber: UInt32] = [:]
    var surroundings = Surroundings()

    private(set) var eventCount = 0
    var requestCount: Int { Int(lastNumber) }

    init(
        name: String, on hosted: HostedDevice, peer: PeerID, ledger: WriteLedger, log: Log, generator: SeededGenerator
    ) {
        self.name = name
        self.hosted = hosted
        self.peer = peer
        self.ledger = ledger
        self.log = log
        self.generator = generator
    }

    func begin() {
        open()
        scheduleMove()
    }

    /// Asks for nothing any more, and answers all questions.
    func rest() {
        isResting = true
        open()
    }

    // MARK: The client

    /// Becomes a client of the host as it is now, unless it is one.
    func open() {
        hosted.withHost { host in
            guard client?.host !== host else { return }
            log.note(name, "opens")
            watch = PromiseWatch()
            writes = [:]
            surroundings = Surroundings()
            let watched = watch
            let id = host.attach(
                { [unowned self, unowned watched] in if watch === watched { hear($0) } }, at: hosted.world.now)
            client = (id, host)
        }
    }

    func close() {
        withClient { host, id in
            log.note(name, "leaves")
            host.detach(id, at: hosted.world.now)
        }
        client = nil
        watch = PromiseWatch()
    }

    private func withClient(_ body: (Host, ClientID) -> Void) {
        guard let client else { return }
        hosted.withHost { host in if host === client.host { body(host, client.id) } }
    }

    func ask(_ request: HostRequest) {
        withClient { host, id in
            lastNumber += 1
            let number = RequestNumber(lastNumber)
            log.note(name, "asks \(lastNumber): \(request)")
            watch.began(number, request)
            if case .write(_, _, let value, withResponse: true) = request {
                writes[number] = value.prefix(4).enumerated().reduce(0) { $0 | UInt32($1.element) << (8 * $1.offset) }
            }
            host.submit(request, number: number, client: id, at: hosted.world.now)
        }
    }

    // MARK: Moves

    private func scheduleMove() {
        hosted.world.schedule(after: .milliseconds(1 + generator.next(below: 250))) { [unowned self] in
            guard !isResting else { return }
            open()
            if let request = nextRequest() { ask(request) }
            scheduleMove()
        }
    }

    func newWriteValue() -> [UInt8] {
        let isLong = generator.isChosen(outOf100: 10)
        return ledger.newValue(length: 4 + generator.next(below: isLong ? 508 : 40)).value
    }

    // MARK: Events

    private func hear(_ event: HostEvent) {
        eventCount += 1
        log.note(name, "hears \(event)")
        for complaint in watch.heard(event) { log.violation(name, complaint) }
        switch event {
        case .answer(let number, let result):
            if case .success = result, let write = writes[number] { ledger.confirm(write) }
            writes[number] = nil
        case .writeRequested(let request):
            ledgerEntry(request)
            if request.needsResponse { answer(request.id, value: []) }
        case .readRequested(let request):
            answer(request.id, value: Array(repeating: 0x55, count: generator.next(below: 60)))
        default: break
        }
        surroundings.learn(from: event)
    }

    private func ledgerEntry(_ request: ServerWriteRequest) {
        guard request.needsResponse else { return }
        ledger.arrived(request.parts.sorted { $0.offset < $1.offset }.flatMap(\.value))
    }

    /// Most questions are answered at once, some late, a few never.
    private func answer(_ id: ServerRequestID, value: [UInt8]) {
        let kind = isResting ? 0 : generator.next(below: 100)
        guard kind < 97 else { return }
        let delay = kind < 85 ? Duration.zero : .milliseconds(generator.next(below: 2000))
        let asked = client
        hosted.world.schedule(after: delay) { [unowned self] in
            guard client?.id == asked?.id, client?.host === asked?.host else { return }
            ask(.respond(id, errorCode: 0, value: value))
        }
    }

    // MARK: What must hold

    /// `connect` waits for as long as it takes; nothing else does.
    func checkThatOnlyConnectsWait() {
        for (number, request) in watch.open {
            if case .connect = request { continue }
            log.violation(name, "request \(number.rawValue) still waits: \(request)")
        }
    }

    func leaveLinks() { ask(.disconnect(peer)) }

    func checkEnd() {
        for (number, request) in watch.open {
            log.violation(name, "request \(number.rawValue) was never answered: \(request)")
        }
    }
}
