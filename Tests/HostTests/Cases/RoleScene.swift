import BluetoothTypes
import EventLoop
import Host
import HostInterface
import Simulation
import Testing

/// A GATT server and its client; either of them is the central of their link, as the SIG's cases come in pairs.
final class RoleScene {
    static let value = Array("level".utf8)

    let world: TestWorld
    let server: TestClient
    let client: TestClient
    let clientIsCentral: Bool
    /// Read, written and subscribed to over an encrypted link only.
    private(set) var protected = AttributeHandle(rawValue: 0)
    /// Takes signed writes.
    private(set) var signed = AttributeHandle(rawValue: 0)
    private var passkey: UInt32?
    /// Who waits for the passkey that the other side has yet to show.
    private var typing: (client: TestClient, id: PairingQuestionID)?

    init(
        clientIsCentral: Bool, _ serverPolicy: PairingPolicy = PairingPolicy(),
        _ clientPolicy: PairingPolicy = PairingPolicy()
    ) {
        self.clientIsCentral = clientIsCentral
        world = TestWorld()
        server = world.device("server", at: 2)
        client = world.device("client")
        server.onQuestion = { [unowned self] in answer($0, server) }
        client.onQuestion = { [unowned self] in answer($0, client) }
        publish()
        setPolicy(of: server, serverPolicy)
        setPolicy(of: client, clientPolicy)
        _ = peripheral.answer(.startAdvertising(AdvertisementContent(localName: "Peripheral")))
    }

    private func publish() {
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
        guard case .success(.published(let service)) = server.answer(.addService(definition)) else {
            Issue.record("The service was not published.")
            return
        }
        protected = service.characteristics[0]
        signed = service.characteristics[1]
    }

    func setPolicy(of side: TestClient, _ policy: PairingPolicy) {
        #expect(side.answer(.security(.setPolicy(policy))) == .success(.done))
    }

    var central: TestClient { clientIsCentral ? client : server }
    var peripheral: TestClient { clientIsCentral ? server : client }
    var sides: [TestClient] { [server, client] }
    func other(than side: TestClient) -> TestClient { side === server ? client : server }

    var remote: RemoteCharacteristic {
        RemoteCharacteristic(
            uuid: .uuid16(0xFFF1), declaration: AttributeHandle(rawValue: protected.rawValue - 1),
            value: protected, end: AttributeHandle(rawValue: protected.rawValue + 1), properties: 0x3E)
    }

    // MARK: The story

    /// Both hold the link then.
    @discardableResult
    func connect() -> Result<HostAnswer, HostFailure>? {
        let waiting = peripheral.ask(.connect(central.peer))
        let answer = central.answer(.connect(peripheral.peer))
        world.run(.milliseconds(500))
        guard case .success = answer else {
            _ = peripheral.answer(.disconnect(central.peer))
            return answer
        }
        #expect(peripheral.answers(waiting).count == 1)
        return answer
    }

    func disconnect() {
        for side in [central, peripheral] { _ = side.answer(.disconnect(other(than: side).peer)) }
        world.run(.milliseconds(500))
    }

    /// Pairs, leaves, and comes back in the clear.
    func bondAndComeBack() {
        connect()
        #expect(read() == .success(.value(Self.value)))
        world.run(.milliseconds(500))
        disconnect()
        connect()
        #expect(security == nil)
    }

    func read() -> Result<HostAnswer, HostFailure>? { client.answer(.read(server.peer, protected)) }

    /// How the client sees its link.
    var security: LinkSecurity? {
        guard case .success(.link(let status)) = client.answer(.readLink(server.peer)) else { return nil }
        return status.security
    }

    func bonds(of side: TestClient) -> [BondRecord] {
        guard case .success(.bonds(let bonds)) = side.answer(.security(.listBonds)) else { return [] }
        return bonds
    }

    func events(of side: TestClient) -> [SecurityEvent] {
        side.events.compactMap { if case .security(let event) = $0.event { event } else { nil } }
    }

    /// What the server's application was asked to write.
    var written: [[UInt8]] {
        server.events.compactMap {
            if case .writeRequested(let request) = $0.event { request.parts.first?.value } else { nil }
        }
    }

    // MARK: Who answers

    private func answer(_ event: HostEvent, _ side: TestClient) -> HostRequest? {
        switch event {
        case .readRequested(let request):
            return .respond(request.id, errorCode: 0, value: Array(Self.value.dropFirst(request.offset)))
        case .writeRequested(let request) where request.needsResponse:
            return .respond(request.id, errorCode: 0, value: [])
        case .security(.asked(let question)): return answer(question, side)
        default: return nil
        }
    }

    /// Each person agrees, and types what the other one's device shows.
    private func answer(_ question: PairingQuestion, _ side: TestClient) -> HostRequest? {
        switch question.kind {
        case .display(let shown):
            passkey = shown
            guard let typing else { return nil }
            self.typing = nil
            typing.client.device.loop.enqueue { _ in
                typing.client.ask(.security(.reply(typing.id, .passkey(shown))))
            }
            return nil
        case .enterPasskey:
            guard let passkey else {
                typing = (side, question.id)
                return nil
            }
            return .security(.reply(question.id, .passkey(passkey)))
        case .compare, .confirm: return .security(.reply(question.id, .yes))
        }
    }
}

extension PairingPolicy {
    static func with(_ capability: IOCapability, _ change: (inout PairingPolicy) -> Void = { _ in }) -> PairingPolicy {
        var policy = PairingPolicy()
        policy.ioCapability = capability
        change(&policy)
        return policy
    }

    /// Bonded peers meet in the clear until something needs more.
    static var lazy: PairingPolicy { with(.noInputNoOutput) { $0.encryptsAtOnce = false } }

    static var secureConnectionsOnly: PairingPolicy { with(.displayYesNo) { $0.isSecureConnectionsOnly = true } }
}
