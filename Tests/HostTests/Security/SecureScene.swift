import BluetoothTypes
import EventLoop
import Host
import HostInterface
import Simulation
import Testing

/// A lock whose characteristic FFF1 wants an encrypted link for reading, writing and subscribing, a phone, and the
/// persons who hold the two.
final class SecureScene {
    /// What the persons do.
    struct Persons {
        /// Both answer, the phone's person alone, or nobody.
        var answers = true
        /// What they say to comparisons and requests for consent.
        var agree = true
        /// Added to the passkey that is typed.
        var typingError: UInt32 = 0
    }

    static let value = Array("secret".utf8)

    let world: TestWorld
    let lock: TestClient
    let phone: TestClient
    var persons = Persons()
    private(set) var characteristic = AttributeHandle(rawValue: 0)
    private(set) var signedCharacteristic = AttributeHandle(rawValue: 0)
    private(set) var questions: [(isPhone: Bool, kind: PairingQuestion.Kind)] = []
    private var passkey: UInt32?
    /// Who waits for the passkey that the other side has yet to show.
    private var typing: (client: TestClient, id: PairingQuestionID)?

    init(
        seed: UInt64 = 1, privatePhone: Bool = false, privateLock: Bool = false, usesResolvingList: Bool = true,
        phone phoneCapability: IOCapability? = nil, lock lockCapability: IOCapability? = nil,
        _ change: (inout PairingPolicy) -> Void = { _ in }
    ) {
        world = TestWorld(seed: seed)
        lock = world.device("lock", at: 2) { $0.usesPrivateAddress = privateLock }
        phone = world.device("phone") {
            $0.usesPrivateAddress = privatePhone
            $0.usesResolvingList = usesResolvingList
        }
        lock.onQuestion = { [unowned self] in lockAnswers($0) }
        phone.onQuestion = { [unowned self] event in person(event, isPhone: true) }
        publish()
        setPolicy(of: phone, phoneCapability, change)
        setPolicy(of: lock, lockCapability, change)
    }

    func publish() {
        let definition = ServiceDefinition(
            uuid: .uuid16(0xFFF0),
            characteristics: [
                CharacteristicDefinition(
                    uuid: .uuid16(0xFFF1), properties: 0x3E,
                    permissions: [.readEncryptionRequired, .writeEncryptionRequired],
                    subscriptionNeedsEncryption: true),
                // Authenticated Signed Writes: Core 6.0, Vol 3, Part G, 3.3.1.1.
                CharacteristicDefinition(uuid: .uuid16(0xFFF2), properties: 0x40, permissions: .writeable),
            ])
        guard case .success(.published(let service)) = lock.answer(.addService(definition)) else {
            Issue.record("The service was not published.")
            return
        }
        characteristic = service.characteristics[0]
        signedCharacteristic = service.characteristics[1]
        _ = lock.answer(.startAdvertising(AdvertisementContent(localName: "Lock")))
    }

    func setPolicy(
        of client: TestClient, _ capability: IOCapability?, _ change: (inout PairingPolicy) -> Void = { _ in }
    ) {
        var policy = PairingPolicy()
        if let capability { policy.ioCapability = capability }
        change(&policy)
        #expect(client.answer(.security(.setPolicy(policy))) == .success(.done))
    }

    var remote: RemoteCharacteristic {
        RemoteCharacteristic(
            uuid: .uuid16(0xFFF1), declaration: AttributeHandle(rawValue: characteristic.rawValue - 1),
            value: characteristic, end: AttributeHandle(rawValue: characteristic.rawValue + 1), properties: 0x3E)
    }

    // MARK: The story

    func connect() -> Result<HostAnswer, HostFailure>? { phone.answer(.connect(lock.peer)) }

    func read(within limit: Duration = .seconds(60)) -> Result<HostAnswer, HostFailure>? {
        phone.answer(.read(lock.peer, characteristic), within: limit)
    }

    func disconnect() {
        _ = phone.answer(.disconnect(lock.peer))
        world.run(.milliseconds(200))
    }

    /// How the phone sees its link.
    var security: LinkSecurity? {
        guard case .success(.link(let status)) = phone.answer(.readLink(lock.peer)) else { return nil }
        return status.security
    }

    func bonds(of client: TestClient) -> [BondRecord] {
        guard case .success(.bonds(let bonds)) = client.answer(.security(.listBonds)) else { return [] }
        return bonds
    }

    func events(of client: TestClient) -> [SecurityEvent] {
        client.events.compactMap { if case .security(let event) = $0.event { event } else { nil } }
    }

    func problems(of client: TestClient) -> [SecurityProblem] {
        events(of: client).compactMap { if case .failed(_, let problem) = $0 { problem } else { nil } }
    }

    /// Each request so far was answered once, and nothing is open.
    func checkAnswers(_ client: TestClient, _ what: String) {
        #expect(client.openRequests.map(\.request) == [], "\(what)")
        for number in 1...client.requestCount {
            let answers = client.answers(RequestNumber(number))
            #expect(answers.count == 1, "\(what): request \(number) was answered \(answers)")
        }
    }

    // MARK: Who answers

    private func lockAnswers(_ event: HostEvent) -> HostRequest? {
        switch event {
        case .readRequested(let request):
            .respond(request.id, errorCode: 0, value: Array(Self.value.dropFirst(request.offset)))
        case .writeRequested(let request) where request.needsResponse:
            .respond(request.id, errorCode: 0, value: [])
        default: person(event, isPhone: false)
        }
    }

    private func person(_ event: HostEvent, isPhone: Bool) -> HostRequest? {
        guard case .security(.asked(let question)) = event else { return nil }
        questions.append((isPhone, question.kind))
        guard persons.answers else { return nil }
        switch question.kind {
        case .display(let shown):
            passkey = shown
            if let typing {
                self.typing = nil
                let reply = PairingReply.passkey((shown + persons.typingError) % 1_000_000)
                typing.client.device.loop.enqueue { _ in
                    typing.client.ask(.security(.reply(typing.id, reply)))
                }
            }
            return nil
        case .enterPasskey:
            // Where both type, they have agreed on a number.
            let bothType = questions.filter { $0.kind == .enterPasskey }.count == 2
            guard let shown = passkey ?? (bothType ? 314_159 : nil) else {
                typing = (isPhone ? phone : lock, question.id)
                return nil
            }
            if bothType, let typing {
                self.typing = nil
                typing.client.device.loop.enqueue { _ in
                    typing.client.ask(.security(.reply(typing.id, .passkey(shown))))
                }
            }
            return .security(.reply(question.id, .passkey((shown + persons.typingError) % 1_000_000)))
        case .compare, .confirm: return .security(.reply(question.id, persons.agree ? .yes : .no))
        }
    }
}
