public import CoreBluetooth
import HostInterface

/// Pairing and bonds, which Apple's API leaves to the system: make one beside a manager to answer the questions of
/// pairings, to list and remove bonds, and to see how a link is protected.
///
///     let manager = CBCentralManager(delegate: self, queue: nil)
///     let security = BluetoothSecurity(manager: manager)
///     security.delegate = self
///     security.setPolicy(PairingPolicy(capability: .keyboardDisplay))
///
/// Programs that do none of this pair as on Apple's systems, without asking anybody. The delegate and completions are
/// called on the manager's queue. A manager has one such object at a time: the last one made.
// `@unchecked`: `lock` guards the state. Of what that refers to, the manager has a lock of its own, questions are
// constants, and the delegate is called on the manager's queue only.
public final class BluetoothSecurity: @unchecked Sendable {
    private struct State {
        weak var manager: CBManager?
        weak var delegate: (any BluetoothSecurityDelegate)?
        var questions: [UInt64: PairingQuestion] = [:]
    }

    private var state: State
    private let lock = NSLock()

    public init(manager: CBManager) {
        state = State(manager: manager)
        manager.observeSecurity { [weak self, weak manager] event in
            if let self { receive(event) } else { manager?.refuse(event) }
        }
    }

    private func withState<Result>(_ body: (inout State) -> Result) -> Result {
        lock.withLock { body(&state) }
    }

    /// The manager beside which this was made; it is held weakly.
    public var manager: CBManager? { withState { $0.manager } }

    /// Who is asked, and told. Held weakly.
    public var delegate: (any BluetoothSecurityDelegate)? {
        get { withState { $0.delegate } }
        set { withState { $0.delegate = newValue } }
    }

    /// Says how pairings go from now on, and that the delegate answers for the persons here; `nil` takes it back. Of
    /// several programs on one radio the first one counts. It can be called before the radio is on.
    public func setPolicy(_ policy: PairingPolicy?) {
        manager?.askHost(.security(.setPolicy(policy?.hostValue)))
    }

    // MARK: Links

    /// Encrypts the link to a connected peer: with the bond's keys, else by a pairing. Apple's way is to read or write
    /// what the peer protects; this is for programs that want to pair beforehand.
    ///
    /// - Parameters:
    ///   - peer: the connected peer.
    ///   - authenticated: whether somebody in the middle must be found out.
    ///   - completion: gets how the link is protected, or why it is not.
    public func secure(
        _ peer: CBPeer, authenticated: Bool = false,
        completion: @escaping (Result<LinkSecurity, any Error>) -> Void = { _ in }
    ) {
        ask(.secure(peer.hostPeer, authenticated: authenticated)) { answer in
            if case .success(.link(let status)) = answer, let security = status.security {
                completion(.success(LinkSecurity(security)))
            } else {
                completion(.failure(answer.problem))
            }
        }
    }

    /// How things stand on the link to a connected peer, whichever side made it; as ``BluetoothLink`` tells it.
    public func readStatus(of peer: CBPeer, completion: @escaping (Result<LinkStatus, any Error>) -> Void) {
        guard let manager else { return completion(.failure(CBError(.unknown))) }
        BluetoothLink(to: peer, of: manager).readStatus(completion: completion)
    }

    /// Writes a value without response, signed with the bond's key: on a link in the clear it proves who wrote it. On
    /// an encrypted link it goes unsigned.
    ///
    /// - Parameters:
    ///   - data: at most ATT_MTU - 15 octets.
    ///   - characteristic: one with the property `authenticatedSignedWrites`.
    ///   - peripheral: whose it is.
    ///   - completion: gets `nil` when the value is on its way.
    public func writeSigned(
        _ data: Data, for characteristic: CBCharacteristic, of peripheral: CBPeripheral,
        completion: @escaping ((any Error)?) -> Void = { _ in }
    ) {
        guard let handle = peripheral.valueHandle(of: characteristic) else {
            return completion(CBError(.invalidHandle))
        }
        ask(.writeSigned(peripheral.hostPeer, handle, value: Array(data))) { answer in
            if case .success = answer { completion(nil) } else { completion(answer.problem) }
        }
    }

    // MARK: Bonds

    /// The peers whose keys are kept, the oldest bond first.
    public func listBonds(completion: @escaping (Result<[BondedPeer], any Error>) -> Void) {
        ask(.listBonds) { [weak self] answer in
            guard case .success(.bonds(let records)) = answer, let manager = self?.manager else {
                return completion(.failure(answer.problem))
            }
            completion(
                .success(
                    records.compactMap { record in
                        manager.identifier(of: record.peer).map { BondedPeer(record, id: $0) }
                    }))
        }
    }

    /// Forgets the keys of a peer, and ends a link that is encrypted with them. The next access that needs them pairs
    /// anew. The peer may have to be told to forget its own.
    ///
    /// - Parameters:
    ///   - identifier: of the `CBPeripheral`, the `CBCentral` or the ``BondedPeer``.
    ///   - completion: gets `nil` when the bond is gone.
    public func removeBond(of identifier: UUID, completion: @escaping ((any Error)?) -> Void = { _ in }) {
        ask(.listBonds) { [weak self] answer in
            guard case .success(.bonds(let records)) = answer, let self, let manager else {
                return completion(answer.problem)
            }
            guard let record = records.first(where: { manager.identifier(of: $0.peer) == identifier }) else {
                return completion(CBError(.unknownDevice))
            }
            ask(.removeBond(record.peer)) { answer in
                if case .success = answer { completion(nil) } else { completion(answer.problem) }
            }
        }
    }

    func ask(_ command: SecurityCommand, then: @escaping (Result<HostAnswer, HostFailure>) -> Void) {
        guard let manager else { return then(.failure(.sessionLost)) }
        manager.askHost(.security(command), then: then)
    }

    // MARK: Events

    private func receive(_ event: SecurityEvent) {
        guard let manager else { return }
        guard let delegate else {
            if case .questionEnded(let id) = event { withState { _ = $0.questions.removeValue(forKey: id.rawValue) } }
            return manager.refuse(event)
        }
        switch event {
        case .asked(let question):
            guard let peer = manager.identifier(of: question.peer) else { return }
            let kind: PairingQuestion.Kind =
                switch question.kind {
                case .display(let passkey): .showPasskey(Int(passkey))
                case .enterPasskey: .enterPasskey
                case .compare(let number): .compare(Int(number))
                case .confirm: .confirm
                }
            let asked = PairingQuestion(id: question.id.rawValue, peer: peer, kind: kind) { [weak manager] reply in
                manager?.askHost(.security(.reply(question.id, reply)))
            }
            withState { $0.questions[asked.id] = asked }
            delegate.security(self, asks: asked)
        case .questionEnded(let id):
            guard let ended = withState({ $0.questions.removeValue(forKey: id.rawValue) }) else { return }
            delegate.security(self, withdraws: ended)
        case .secured(let peer, let security):
            guard let peer = manager.identifier(of: peer) else { return }
            delegate.security(self, didSecure: peer, LinkSecurity(security))
        case .failed(let peer, let problem):
            guard let peer = manager.identifier(of: peer) else { return }
            delegate.security(self, didFailToSecure: peer, SecurityProblem(problem))
        case .bonded(let peer):
            if let peer = manager.identifier(of: peer) { delegate.security(self, didBond: peer) }
        case .bondRemoved(let peer):
            if let peer = manager.identifier(of: peer) { delegate.security(self, didRemoveBond: peer) }
        case .storeFailed(let reason): delegate.security(self, cannotKeepBonds: reason)
        }
    }
}

extension CBManager {
    /// Nobody is there to answer: the pairing ends at once, and not when its time is over.
    fileprivate func refuse(_ event: SecurityEvent) {
        if case .asked(let question) = event { askHost(.security(.reply(question.id, .no))) }
    }
}

extension Result<HostAnswer, HostFailure> {
    /// What the caller is told of a failure.
    var problem: any Error {
        switch self {
        case .failure(.security(let problem)): SecurityProblem(problem)
        case .failure(let failure): failure.error
        case .success: CBError(.unknown)
        }
    }
}

/// Who answers for the persons in front of the device, and hears how links are protected. Peers go by the identifiers
/// of their `CBPeripheral` or `CBCentral`.
public protocol BluetoothSecurityDelegate: AnyObject {
    /// A pairing needs a person. It is answered by a method of the question.
    func security(_ security: BluetoothSecurity, asks question: PairingQuestion)
    /// The question needs no answer any more: take it off the screen.
    func security(_ security: BluetoothSecurity, withdraws question: PairingQuestion)
    /// The link to a peer is encrypted, or better encrypted than before.
    func security(_ security: BluetoothSecurity, didSecure peer: UUID, _ link: LinkSecurity)
    func security(_ security: BluetoothSecurity, didFailToSecure peer: UUID, _ problem: SecurityProblem)
    func security(_ security: BluetoothSecurity, didBond peer: UUID)
    func security(_ security: BluetoothSecurity, didRemoveBond peer: UUID)
    /// Bonds cannot be read from disk or written to it; they last for this run.
    ///
    /// - Parameters:
    ///   - security: whose delegate this is.
    ///   - reason: a sentence.
    func security(_ security: BluetoothSecurity, cannotKeepBonds reason: String)
}

extension BluetoothSecurityDelegate {
    public func security(_ security: BluetoothSecurity, asks question: PairingQuestion) { question.refuse() }
    public func security(_ security: BluetoothSecurity, withdraws question: PairingQuestion) {}
    public func security(_ security: BluetoothSecurity, didSecure peer: UUID, _ link: LinkSecurity) {}
    public func security(_ security: BluetoothSecurity, didFailToSecure peer: UUID, _ problem: SecurityProblem) {}
    public func security(_ security: BluetoothSecurity, didBond peer: UUID) {}
    public func security(_ security: BluetoothSecurity, didRemoveBond peer: UUID) {}
    public func security(_ security: BluetoothSecurity, cannotKeepBonds reason: String) {}
}
