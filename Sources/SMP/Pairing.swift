import BluetoothCrypto
import BluetoothTypes

/// One pairing: what both sides have said so far, and what may come next.
///
///     features ▶ (consent) ▶ legacy: confirm ▶ random ─────────────────────────────────┐
///                          ▶ Secure Connections: public keys ▶ confirm ▶ random ▶      ▼
///                                     (comparison) ▶ DHKey check ▶ encryption ▶ keys ▶ finished
///
/// Source: Core 6.0, Vol 3, Part H, 2.3.1 and appendix C (message sequence charts).
struct Pairing: Sendable {
    typealias Effect = SecurityManager.Effect

    /// What is awaited.
    enum Step: Sendable {
        case response
        case consent
        case publicKey
        /// A person is to type the passkey before this side may speak.
        case passkey
        case confirm
        case random
        case comparison
        case check
        case encryption
        case keys
        case finished
    }

    let isInitiator: Bool
    let local: DeviceAddress
    let remote: DeviceAddress
    var configuration: SecurityConfiguration
    /// How well the keys protect that this pairing would replace. Whoever has the peer's address may not lower it.
    let floor: LinkSecurity?
    var random: any RandomNumberGenerator & Sendable

    var step = Step.response
    var request = PairingFeatures()
    var response = PairingFeatures()
    var method: PairingMethod?
    var isSecureConnections = false
    var keySize = 16

    // Stage 1: what proves that the other side is the one that the person means.
    var keyPair: P256KeyPair?
    var peerKey: P256PublicKey?
    /// TK, or the passkey; `nil` while a person types.
    var secret: UInt128?
    /// How many of the twenty bits of the passkey are proved.
    var round = 0
    var ownRandom: UInt128 = 0
    /// `nil` while this side has promised nothing.
    var ownConfirm: UInt128?
    var peerRandom: UInt128 = 0
    var peerConfirm: UInt128 = 0
    /// What the peer sent while a person was still busy here.
    var early: SMPCommand?

    // Stage 2 and phase 3.
    var macKey: SecretKey?
    /// STK or LTK.
    var linkKey: SecretKey?
    var awaitedKeys: [SMPCommand.Code] = []
    var given = Keys()
    var taken = Keys()

    init(
        isInitiator: Bool, local: DeviceAddress, remote: DeviceAddress, configuration: SecurityConfiguration,
        floor: LinkSecurity?, random: any RandomNumberGenerator & Sendable
    ) {
        self.isInitiator = isInitiator
        self.local = local
        self.remote = remote
        self.configuration = configuration
        self.floor = floor
        self.random = random
    }

    var hasMethod: Bool { method != nil }
    var awaitsEncryption: Bool { step == .encryption }
    var isPasskeyEntry: Bool { if case .passkey = method { true } else { false } }

    var security: LinkSecurity {
        LinkSecurity(
            isAuthenticated: method?.isAuthenticated == true, isSecureConnections: isSecureConnections,
            keySize: keySize)
    }

    /// How the link is protected, once all is done.
    var finished: LinkSecurity? { step == .finished ? security : nil }

    static func send(_ command: SMPCommand) -> Effect { .send(command.octets) }

    mutating func receive(_ command: SMPCommand) throws(PairingFailedReason) -> [Effect] {
        switch (step, command) {
        case (.response, .pairingResponse(let features)) where isInitiator:
            response = features
            return try proceed()
        case (.publicKey, .pairingPublicKey(let key)):
            return try receivePublicKey(key)
        case (.confirm, .pairingConfirm(let confirm)):
            guard secret != nil || !isPasskeyEntry else { return try hold(command) }
            return try receiveConfirm(confirm.value)
        case (.random, .pairingRandom(let random)):
            return try receiveRandom(random.value)
        case (.comparison, .pairingDHKeyCheck) where !isInitiator:
            return try hold(command)
        case (.check, .pairingDHKeyCheck(let check)):
            return try receiveCheck(check.value)
        case (.keys, _):
            return try receiveKey(command)
        default:
            throw .unspecified
        }
    }

    /// Puts a PDU by until the person has answered.
    private mutating func hold(_ command: SMPCommand) throws(PairingFailedReason) -> [Effect] {
        guard early == nil else { throw .unspecified }
        early = command
        return []
    }

    private mutating func takeEarly() throws(PairingFailedReason) -> [Effect] {
        guard let command = early else { return [] }
        early = nil
        return try receive(command)
    }
}

// MARK: - Phase 1: features

extension Pairing {
    mutating func sendRequest() -> [Effect] {
        request = features(hasOutOfBandData: hasOutOfBandData(secure: true) || hasOutOfBandData(secure: false))
        return [Self.send(.pairingRequest(request))]
    }

    mutating func respond(to request: PairingFeatures) throws(PairingFailedReason) -> [Effect] {
        self.request = request
        let ours = features(hasOutOfBandData: false)
        response = features(
            hasOutOfBandData: hasOutOfBandData(secure: PairingMethod.isSecureConnections(request, ours)))
        response.initiatorKeys.formIntersection(request.initiatorKeys)
        response.responderKeys.formIntersection(request.responderKeys)
        return try proceed()
    }

    private func hasOutOfBandData(secure: Bool) -> Bool {
        if secure {
            configuration.authentication.contains(.secureConnections) && configuration.outOfBand.received != nil
        } else {
            configuration.outOfBand.temporaryKey != nil
        }
    }

    private func features(hasOutOfBandData: Bool) -> PairingFeatures {
        var features = PairingFeatures()
        features.ioCapability = configuration.ioCapability
        features.hasOutOfBandData = hasOutOfBandData
        features.authentication = configuration.authentication.intersection([.bonding, .mitm, .secureConnections])
        features.maximumKeySize = configuration.maximumKeySize
        if features.authentication.contains(.bonding) {
            features.initiatorKeys = configuration.initiatorKeys.subtracting(.link)
            features.responderKeys = configuration.responderKeys.subtracting(.link)
        }
        return features
    }

    /// Both features are known: checks them, and goes on to whatever the method wants first.
    private mutating func proceed() throws(PairingFailedReason) -> [Effect] {
        let peer = isInitiator ? response : request
        guard peer.maximumKeySize <= 16 else { throw .invalidParameters }
        isSecureConnections = PairingMethod.isSecureConnections(request, response)
        keySize = Int(min(request.maximumKeySize, response.maximumKeySize))
        let leastKeySize = configuration.isSecureConnectionsOnly ? 16 : Int(configuration.minimumKeySize)
        guard keySize >= leastKeySize else { throw .encryptionKeySize }
        guard response.initiatorKeys.isSubset(of: request.initiatorKeys),
            response.responderKeys.isSubset(of: request.responderKeys)
        else { throw .invalidParameters }
        let method = PairingMethod.select(initiator: request, responder: response)
        let isOnly = configuration.isSecureConnectionsOnly
        let mustAuthenticate = configuration.requiresAuthentication || isOnly || floor?.isAuthenticated == true
        let mustBeSecure = isOnly || floor?.isSecureConnections == true
        guard isSecureConnections || !mustBeSecure, method.isAuthenticated || !mustAuthenticate else {
            throw .authenticationRequirements
        }
        try checkOutOfBand(method)
        self.method = method
        if method == .justWorks, configuration.confirmsJustWorks {
            step = .consent
            return [.needsUser(.confirm)]
        }
        return beginMethod()
    }

    /// What the flags promise must be there.
    private func checkOutOfBand(_ method: PairingMethod) throws(PairingFailedReason) {
        guard method == .outOfBand else { return }
        let (own, peer) = isInitiator ? (request, response) : (response, request)
        let data = configuration.outOfBand
        let isComplete =
            isSecureConnections
            ? (data.received != nil || !own.hasOutOfBandData) && (data.given != nil || !peer.hasOutOfBandData)
            : data.temporaryKey != nil
        guard isComplete else { throw .outOfBandNotAvailable }
    }

    private mutating func beginMethod() -> [Effect] {
        let answer = isInitiator ? [] : [Self.send(.pairingResponse(response))]
        return answer + (isSecureConnections ? beginPublicKeys() : beginLegacy())
    }
}

// MARK: - The person

extension Pairing {
    mutating func enter(_ passkey: UInt32) throws(PairingFailedReason) -> [Effect] {
        guard isPasskeyEntry, secret == nil, step == .passkey || step == .confirm else { return [] }
        guard passkey <= 999_999 else { throw .passkeyEntryFailed }
        secret = UInt128(passkey)
        let effects = step == .passkey ? sendConfirm() : []
        return effects + (try takeEarly())
    }

    mutating func confirm(_ isConfirmed: Bool) throws(PairingFailedReason) -> [Effect] {
        switch step {
        case .consent:
            guard isConfirmed else { throw .pairingNotSupported }
            return beginMethod()
        case .comparison:
            guard isConfirmed else { throw .numericComparisonFailed }
            step = .check
            let effects = isInitiator ? sendCheck() : []
            return effects + (try takeEarly())
        case .response, .publicKey, .passkey, .confirm, .random, .check, .encryption, .keys, .finished:
            return []
        }
    }

    /// Whether a person types the passkey here.
    private var entersPasskey: Bool {
        switch method {
        case .passkey(.bothEnter): true
        case .passkey(.initiatorEnters): isInitiator
        case .passkey(.responderEnters): !isInitiator
        case .justWorks, .numericComparison, .outOfBand, nil: false
        }
    }

    /// Asks for the passkey, or makes and shows one. Then the initiator speaks, as soon as it can.
    mutating func beginPasskey() -> [Effect] {
        if entersPasskey {
            step = isInitiator ? .passkey : .confirm
            return [.needsUser(.enterPasskey)]
        }
        let passkey = random.nextPasskey()
        secret = UInt128(passkey)
        step = .confirm
        return [.needsUser(.displayPasskey(passkey))] + (isInitiator ? sendConfirm() : [])
    }

    mutating func sendConfirm() -> [Effect] {
        ownRandom = random.nextBlock()
        let confirm = confirmValue(own: true)
        ownConfirm = confirm
        step = isInitiator ? .confirm : .random
        return [Self.send(.pairingConfirm(PairingValue(confirm)))]
    }

    /// Of this side's random value, or of the peer's.
    func confirmValue(own: Bool) -> UInt128 {
        isSecureConnections ? secureConfirmValue(own: own) : legacyConfirmValue(own: own)
    }

    mutating func receiveConfirm(_ confirm: UInt128) throws(PairingFailedReason) -> [Effect] {
        peerConfirm = confirm
        guard isInitiator else { return sendConfirm() }
        // Who sends our own value back knows nothing (2.3.5.5 and 2.3.5.6.3).
        guard confirm != ownConfirm else { throw .confirmValueFailed }
        if ownConfirm == nil { ownRandom = random.nextBlock() }
        step = .random
        return [Self.send(.pairingRandom(PairingValue(ownRandom)))]
    }

    mutating func receiveRandom(_ random: UInt128) throws(PairingFailedReason) -> [Effect] {
        peerRandom = random
        return isSecureConnections ? try receiveSecureRandom() : try receiveLegacyRandom()
    }
}
