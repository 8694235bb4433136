import BluetoothTypes
import EventLoop
import Host
import HostInterface
import Simulation

/// A program on a host, with a person in front of it: it asks for random things that are legal, answers its peers' and
/// its host's questions, mostly, and watches that its host keeps its promises.
final class Player: @unchecked Sendable {
    // `@unchecked`: used on the thread that runs the world alone.
    /// What all players of a world share.
    struct Common {
        let writes = WriteLedger()
        /// Of writes without response, signed or not.
        let commands = WriteLedger()
        let streams = StreamLedger()
        let board = Board()
        let log: Log
    }

    let name: String
    let own: PeerID
    let peer: PeerID
    private let hosted: HostedDevice
    private let common: Common
    var generator: SeededGenerator

    var commandLedger: WriteLedger { common.commands }
    var streams: StreamLedger { common.streams }
    var board: Board { common.board }
    private var log: Log { common.log }
    /// Whether this program holds a link to the peer.
    var isLinkUp: Bool { watch.isLinkUp }

    /// The client, and the host that it belongs to: a host that lost its power does not come back.
    private var client: (id: ClientID, host: Host)?
    /// How often it was opened.
    private var life = 0
    private var watch = PromiseWatch()
    private var isResting = false
    private var lastNumber: UInt64 = 0
    /// The numbers of the values that are being written.
    private var writes: [RequestNumber: [UInt32]] = [:]
    private var enlargements: Set<RequestNumber> = []
    /// What was asked for where it matters when the answer comes.
    private var definitions: [RequestNumber: ServiceDefinition] = [:]
    var surroundings = Surroundings()

    private(set) var eventCount = 0
    /// What was reached, for a world in which nothing happens proves nothing.
    private(set) var reached = FaultRun.Reached()
    var requestCount: Int { Int(lastNumber) }

    init(name: String, on hosted: HostedDevice, peer: PeerID, common: Common, generator: SeededGenerator) {
        self.name = name
        self.hosted = hosted
        own = PeerID(hosted.device.address)
        self.peer = peer
        self.common = common
        self.generator = generator
    }

    func begin() {
        open()
        scheduleMove()
    }

    /// Asks for nothing any more, answers all questions, and reads what comes.
    func rest() {
        isResting = true
        open()
        readAll()
        // A link on which little happens is rarely to be heard, and costs little: every 100 ms.
        later(.seconds(5)) { player in
            guard player.isLinkUp else { return }
            let slow = ConnectionPreference(intervalSlots: 80...80, latency: 0, supervisionTimeout: 300)
            player.ask(.updateConnectionParameters(player.peer, slow))
        }
    }

    // MARK: The client

    /// Becomes a client of the host as it is now, unless it is one.
    func open() {
        hosted.withHost { host in
            guard client?.host !== host else { return }
            log.note(name, "opens")
            forget()
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
        forget()
    }

    private func forget() {
        for psm in surroundings.psms { board.withdraw(psm, of: own) }
        life += 1
        watch = PromiseWatch()
        writes = [:]
        definitions = [:]
        enlargements = []
        surroundings = Surroundings()
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
            switch request {
            case .write(_, _, let value, withResponse: true): writes[number] = [WriteLedger.number(of: value)]
            case .enlargeChannel: enlargements.insert(number)
            case .writeReliably(_, let parts): writes[number] = parts.map { WriteLedger.number(of: $0.value) }
            default: break
            }
            if case .addService(let definition) = request { definitions[number] = definition }
            host.submit(request, number: number, client: id, at: hosted.world.now)
        }
    }

    /// Does something after `delay`, unless this life of the player has ended.
    func later(_ delay: Duration, _ action: @escaping (Player) -> Void) {
        let now = life
        hosted.world.schedule(after: delay) { [unowned self] in if life == now { action(self) } }
    }

    private func scheduleMove() {
        hosted.world.schedule(after: .milliseconds(1 + generator.next(below: 160))) { [unowned self] in
            guard !isResting else { return }
            open()
            if let request = nextRequest() { ask(request) }
            scheduleMove()
        }
    }

    func newWriteValue() -> [UInt8] {
        let isLong = generator.isChosen(outOf100: 10)
        return common.writes.newValue(length: 4 + generator.next(below: isLong ? 508 : 40)).value
    }

    // MARK: What must hold

    /// `connect` and `synchronize` wait for as long as it takes; nothing else does.
    func checkThatOnlyConnectsWait() {
        for (number, request) in watch.open {
            switch request {
            case .connect, .synchronize: continue
            default: break
            }
            log.violation(name, "request \(number.rawValue) still waits: \(request)")
        }
    }

    func leaveLinks() {
        ask(.disconnect(peer))
        ask(.endSynchronization(peer))
    }

    func checkEnd() {
        for (number, request) in watch.open {
            log.violation(name, "request \(number.rawValue) was never answered: \(request)")
        }
        for question in watch.questions { log.violation(name, "a person still sees \(question)") }
    }
}

// MARK: - Events

extension Player {
    private func hear(_ event: HostEvent) {
        eventCount += 1
        log.note(name, "hears \(event)")
        for complaint in watch.heard(event) { log.violation(name, complaint) }
        switch event {
        case .answer(let number, let result):
            if case .success(let answer) = result { succeeded(answer, number) }
            if !watch.isLinkUp { surroundings.forgetLink() }
            if let channel = watch.closed(by: number) { ended(channel) }
            writes[number] = nil
            definitions[number] = nil
            enlargements.remove(number)
        case .writeRequested(let request):
            checkGuard(of: request.parts.map(\.characteristic), for: request.central)
            enter(request)
            if request.needsResponse { answer(request.id, value: []) }
        case .readRequested(let request):
            checkGuard(of: [request.characteristic], for: request.central)
            answer(request.id, value: Array(repeating: 0x55, count: generator.next(below: 60)))
        case .disconnected: surroundings.forgetLink()
        case .channelOpened(let channel): began(channel)
        case .channelReceived(let number, let octets): arrived(octets, on: number)
        case .channelClosed(let number, _): ended(number)
        case .security(.asked(let question)): answer(question)
        case .notified: reached.values += 1
        case .periodicReport: reached.periodicReports += 1
        case .security(.bonded): reached.bonds += 1
        case .security(.secured): reached.encryptions += 1
        default: break
        }
    }

    private func succeeded(_ answer: HostAnswer, _ number: RequestNumber) {
        if let written = writes[number] {
            for write in written { common.writes.confirm(write) }
            reached.writes += written.count
            if written.count > 1 { reached.reliableWrites += 1 }
        }
        if enlargements.contains(number) { reached.enlargements += 1 }
        switch answer {
        case .services(let found): surroundings.services = found
        case .characteristics(let found): surroundings.characteristics = found
        case .published(let service):
            surroundings.published.append(service)
            for (handle, definition) in zip(service.characteristics, definitions[number]?.characteristics ?? [])
            where definition.uuid == Self.guardedType {
                surroundings.guarded.insert(handle)
            }
        case .channelPublished(let psm):
            surroundings.psms.append(psm)
            board.offer(psm, of: own)
        case .channel(let channel): began(channel)
        case .link(let status): reached.bearers = max(reached.bearers, status.attributeBearers)
        case .bonds(let bonds): if !bonds.isEmpty { surroundings.bonds = bonds }
        case .outOfBand(let share): board.shares[own] = share
        case .done, .connected, .value, .rssi, .includedServices, .descriptors, .advertising, .synchronized, .openWork:
            break
        }
    }

    private func enter(_ request: ServerWriteRequest) {
        // Each value begins at 0, and its other parts follow.
        var values: [[UInt8]] = []
        for part in request.parts {
            if part.offset == 0 || values.isEmpty { values.append([]) }
            values[values.count - 1] += part.value
        }
        for value in values { (request.needsResponse ? common.writes : common.commands).arrived(value) }
    }

    /// What is for encrypted links is used on such ones only.
    private func checkGuard(of handles: [AttributeHandle], for central: PeerID) {
        guard !surroundings.guarded.isDisjoint(with: handles), client?.host.protection(of: central) == nil else {
            return
        }
        log.violation(name, "a guarded characteristic is used in the clear by \(central)")
    }

    /// Most questions are answered at once, some late, a few never.
    private func answer(_ id: ServerRequestID, value: [UInt8]) {
        let kind = isResting ? 0 : generator.next(below: 100)
        guard kind < 97 else { return }
        let delay = kind < 85 ? Duration.zero : .milliseconds(generator.next(below: 2000))
        later(delay) { $0.ask(.respond(id, errorCode: 0, value: value)) }
    }

    // MARK: Channels

    private func began(_ channel: OpenChannel) {
        reached.channels += 1
        surroundings.channels.append(Surroundings.Channel(open: channel, stream: streams.begin()))
    }

    private func ended(_ number: ChannelNumber) { surroundings.channels.removeAll { $0.open.number == number } }

    private func arrived(_ octets: [UInt8], on number: ChannelNumber) {
        reached.streamed += octets.count
        let place = StreamLedger.Place(player: name, life: life, channel: number.rawValue)
        if let complaint = streams.arrived(octets, at: place), !log.isMeddling { log.violation(name, complaint) }
        guard let index = surroundings.channels.firstIndex(where: { $0.open.number == number }) else { return }
        surroundings.channels[index].unread += octets.count
        // Programs that read soon, and programs that do not.
        if isResting || generator.isChosen(outOf100: 60) {
            later(.milliseconds(generator.next(below: 50))) { $0.readAll() }
        }
    }
}
