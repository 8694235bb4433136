package import BluetoothCrypto
import EventLoop

/// What the central's host asks for, and what this side adds to the session by chance.
package struct EncryptionOrder: Sendable {
    package var randomNumber: UInt64
    package var encryptedDiversifier: UInt16
    package var longTermKey: SecretKey
    package var half: SessionHalf

    package init(randomNumber: UInt64, encryptedDiversifier: UInt16, longTermKey: SecretKey, half: SessionHalf) {
        self.randomNumber = randomNumber
        self.encryptedDiversifier = encryptedDiversifier
        self.longTermKey = longTermKey
        self.half = half
    }

    var request: EncryptionRequest {
        var request = EncryptionRequest()
        request.randomNumber = randomNumber
        request.encryptedDiversifier = encryptedDiversifier
        request.half = half
        return request
    }
}

/// One direction of an encrypted link: its session, and the number of the next packet.
///
/// A packet is numbered when it is first sent or accepted; an empty one is neither encrypted nor numbered.
///
/// Source: Core 6.0, Vol 6, Part E, 2.1.
struct DirectionCipher: Sendable {
    private let session: LinkEncryption
    private let direction: LinkEncryption.Direction
    private var counter: UInt64 = 0

    init(_ session: LinkEncryption, _ direction: LinkEncryption.Direction) {
        self.session = session
        self.direction = direction
    }

    mutating func seal(_ payload: ArraySlice<UInt8>, header: UInt8) -> ArraySlice<UInt8> {
        defer { counter += 1 }
        return session.encrypt(payload, header: header, counter: counter, direction: direction)[...]
    }

    /// `nil` if the integrity check fails.
    mutating func open(_ payload: ArraySlice<UInt8>, header: UInt8) -> ArraySlice<UInt8>? {
        defer { counter += 1 }
        return session.decrypt(payload, header: header, counter: counter, direction: direction)?[...]
    }
}

/// How far the encryption of a connection is.
///
///     central     idle ──▶ requesting ──▶ agreed ──▶ confirming ──▶ idle
///                   └─▶ pausing ─▲ (when the link is encrypted already)
///     peripheral  idle ──▶ awaitingHalf ──▶ awaitingKey ──▶ starting ──▶ idle
///                   └─▶ pausing ──▶ awaitingRequest ─▲
///
/// Source: Core 6.0, Vol 6, Part B, 5.1.3.
struct EncryptionState: Sendable {
    enum Phase: Sendable {
        case idle
        /// Central: LL_PAUSE_ENC_REQ is out, LL_PAUSE_ENC_RSP is due; then the order is carried out.
        case pausingForOrder(EncryptionOrder)
        /// Central: LL_ENC_REQ is out, LL_ENC_RSP is due.
        case requesting(EncryptionOrder)
        /// Central: the session is known, LL_START_ENC_REQ is due.
        case agreed(LinkEncryption)
        /// Central: LL_START_ENC_RSP is out, the peer's is due.
        case confirming
        /// Peripheral: LL_PAUSE_ENC_RSP is out, the peer's is due.
        case pausing
        /// Peripheral: both directions are in the clear again, LL_ENC_REQ is due.
        case awaitingRequest
        /// Peripheral: the owner has yet to give this side's half.
        case awaitingHalf(EncryptionRequest)
        /// Peripheral: the host has yet to give the key.
        case awaitingKey(EncryptionRequest, SessionHalf)
        /// Peripheral: LL_START_ENC_REQ is out, LL_START_ENC_RSP is due.
        case starting(LinkEncryption)
    }

    var phase = Phase.idle
    /// Whether the link was encrypted before, so that the host hears of a new key.
    var isRefresh = false
    var transmit: DirectionCipher?
    var receive: DirectionCipher?
    /// Until when the peripheral waits for the central; the central's own procedure has its time in `ControlState`.
    var until: Instant?

    /// How long the link may go without proof of the peer's key. Vol 6, Part B, 5.4.
    var payloadTimeout = Duration.seconds(30)
    /// When that proof last came.
    var lastProof = Instant()
    /// Whether the peer has been asked for it.
    var hasAskedForProof = false

    var isOn: Bool { transmit != nil && receive != nil }
    var isBusy: Bool { if case .idle = phase { false } else { true } }

    /// When to ask the peer for proof, or to tell the host that there is none.
    var proofDeadline: Instant? {
        guard isOn else { return nil }
        return lastProof.advanced(by: hasAskedForProof ? payloadTimeout : payloadTimeout / 2)
    }

    /// Whether a PDU may come in this phase; any other ends the link at once. 5.1.3.1, 5.1.3.2.
    ///
    /// - Parameter opcode: `nil` for data.
    func expects(_ opcode: ControlOpcode?) -> Bool {
        if opcode == .terminate { return true }
        switch phase {
        case .idle, .pausingForOrder, .requesting: return true
        case .agreed: return opcode == .startEncryptionRequest || opcode == .reject || opcode == .rejectExtended
        case .confirming, .starting: return opcode == .startEncryptionResponse
        case .pausing: return opcode == .pauseEncryptionResponse
        case .awaitingRequest: return opcode == .encryptionRequest
        case .awaitingHalf, .awaitingKey: return false
        }
    }
}
