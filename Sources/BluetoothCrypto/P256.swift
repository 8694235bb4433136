import CLibCrypto

/// A point of the curve P-256, found to be one: a key that is not on the curve can't be made into a value of this type.
///
/// Source: Core 6.0, Vol 2, Part H, 7.6 (the curve); Vol 3, Part H, 2.3.5.6.1 (a key must be checked).
package struct P256PublicKey: Hashable, Sendable {
    /// 32 octets each, most significant first.
    package let x: [UInt8]
    package let y: [UInt8]

    /// - Returns: `nil` unless both are 32 octets, below the field's prime, and the point is on the curve.
    package init?(x: [UInt8], y: [UInt8]) {
        guard x.count == 32, y.count == 32 else { return nil }
        let curve = unsafe Curve()
        defer { unsafe curve.free() }
        guard unsafe curve.setPoint(x: x, y: y) else { return nil }
        self.init(checkedX: x, y: y)
    }

    /// The key that travels as `octets`: X, then Y, each least significant octet first.
    package init?(wire octets: some Collection<UInt8>) {
        guard octets.count == 64 else { return nil }
        self.init(x: octets.prefix(32).reversed(), y: octets.dropFirst(32).reversed())
    }

    fileprivate init(checkedX x: [UInt8], y: [UInt8]) {
        self.x = x
        self.y = y
    }

    /// The 64 octets as they travel in SMP.
    package var wire: [UInt8] { x.reversed() + y.reversed() }
}

/// What two sides of a key agreement share and nobody else knows: the DHKey.
package struct SharedSecret: Equatable, Sendable {
    /// 32 octets, most significant first.
    package let octets: [UInt8]

    package init(octets: [UInt8]) {
        precondition(octets.count == 32, "A DHKey has 32 octets.")
        self.octets = octets
    }
}

extension SharedSecret: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    package var description: String { "SharedSecret(redacted)" }
    package var debugDescription: String { description }
    package var customMirror: Mirror { Mirror(self, children: []) }
}

/// A private key of P-256 and the public key that belongs to it.
package struct P256KeyPair: Sendable {
    package let publicKey: P256PublicKey
    /// 32 octets, most significant first.
    private let privateKey: [UInt8]

    /// - Parameter privateKey: 32 octets, most significant first.
    /// - Returns: `nil` unless the number is from 1 to the curve's order less 1.
    package init?(privateKey: [UInt8]) {
        guard privateKey.count == 32 else { return nil }
        let curve = unsafe Curve()
        defer { unsafe curve.free() }
        guard unsafe curve.setScalar(privateKey) else { return nil }
        unsafe curve.multiplyGenerator()
        let point = unsafe curve.coordinates()
        publicKey = P256PublicKey(checkedX: point.x, y: point.y)
        self.privateKey = privateKey
    }

    /// A new pair. Where keys matter, `generator` is the system's; a test hands in one whose numbers it knows.
    package static func generate(using generator: inout some RandomNumberGenerator) -> P256KeyPair {
        while true {
            // The chance that a draw is no private key is one in 2^32.
            let octets = (0..<4).flatMap { _ in generator.next().bigEndianOctets(8) }
            if let pair = P256KeyPair(privateKey: octets) { return pair }
        }
    }

    /// The DHKey with the owner of `peer`.
    package func sharedSecret(with peer: P256PublicKey) -> SharedSecret {
        let curve = unsafe Curve()
        defer { unsafe curve.free() }
        let isReady = unsafe curve.setScalar(privateKey) && curve.setPoint(x: peer.x, y: peer.y)
        precondition(isReady, "Keys are checked when they are made.")
        unsafe curve.multiplyPoint()
        return unsafe SharedSecret(octets: curve.coordinates().x)
    }

    /// The pair that everybody knows: whoever pairs with it can be read by any sniffer.
    ///
    /// Source: Core 6.0, Vol 3, Part H, 2.3.5.6.1.
    package static let debug: P256KeyPair = {
        let octets: [UInt8] = [
            0x3F, 0x49, 0xF6, 0xD4, 0xA3, 0xC5, 0x5F, 0x38, 0x74, 0xC9, 0xB3, 0xE3, 0xD2, 0x10, 0x3F, 0x50,
            0x4A, 0xFF, 0x60, 0x7B, 0xEB, 0x40, 0xB7, 0x99, 0x58, 0x99, 0xB8, 0xA6, 0xCD, 0x3C, 0x1A, 0xBD,
        ]
        guard let pair = P256KeyPair(privateKey: octets) else { preconditionFailure("The debug key is a key.") }
        return pair
    }()
}

extension P256KeyPair: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    package var description: String { "P256KeyPair(redacted)" }
    package var debugDescription: String { description }
    package var customMirror: Mirror { Mirror(self, children: []) }
}

/// The C library's side of a calculation: a point and a scalar. Whoever makes one frees it.
@unsafe private struct Curve {
    private let group: OpaquePointer
    private let point: OpaquePointer
    private let scalar: OpaquePointer

    init() {
        guard let group = unsafe EC_GROUP_new_by_curve_name(NID_X9_62_prime256v1),
            let point = unsafe EC_POINT_new(group), let scalar = unsafe BN_secure_new()
        else { preconditionFailure("libcrypto has no P-256; install a libssl that provides it.") }
        unsafe self.group = unsafe group
        unsafe self.point = unsafe point
        unsafe self.scalar = unsafe scalar
        unsafe BN_set_flags(scalar, BN_FLG_CONSTTIME)
    }

    func free() {
        unsafe BN_clear_free(scalar)
        unsafe EC_POINT_clear_free(point)
        unsafe EC_GROUP_free(group)
    }

    /// - Returns: whether the octets are a private key.
    func setScalar(_ octets: [UInt8]) -> Bool {
        guard unsafe BN_bin2bn(octets, Int32(octets.count), scalar) != nil else {
            preconditionFailure("There is no memory left.")
        }
        return unsafe BN_is_zero(scalar) == 0 && BN_cmp(scalar, EC_GROUP_get0_order(group)) < 0
    }

    /// - Returns: whether they are coordinates of a point of the curve. The library refuses those of any other.
    func setPoint(x: [UInt8], y: [UInt8]) -> Bool {
        let (xNumber, yNumber) = unsafe (BN_bin2bn(x, 32, nil), BN_bin2bn(y, 32, nil))
        defer {
            unsafe BN_free(xNumber)
            unsafe BN_free(yNumber)
        }
        let isOnCurve =
            unsafe EC_POINT_set_affine_coordinates(group, point, xNumber, yNumber, nil) == 1
            && EC_POINT_is_on_curve(group, point, nil) == 1
        // A refusal is an answer here; it may not stay behind as somebody else's error.
        if !isOnCurve { ERR_clear_error() }
        return isOnCurve
    }

    func multiplyGenerator() {
        let status = unsafe EC_POINT_mul(group, point, scalar, nil, nil, nil)
        precondition(status == 1, "There is no memory left.")
    }

    func multiplyPoint() {
        let status = unsafe EC_POINT_mul(group, point, nil, point, scalar, nil)
        precondition(status == 1, "There is no memory left.")
    }

    /// 32 octets each. The point is not at infinity: the curve's order is prime, and the scalar is below it.
    func coordinates() -> (x: [UInt8], y: [UInt8]) {
        let (xNumber, yNumber) = unsafe (BN_secure_new(), BN_secure_new())
        defer {
            unsafe BN_clear_free(xNumber)
            unsafe BN_clear_free(yNumber)
        }
        var (x, y) = ([UInt8](repeating: 0, count: 32), [UInt8](repeating: 0, count: 32))
        let isDone =
            unsafe EC_POINT_get_affine_coordinates(group, point, xNumber, yNumber, nil) == 1
            && BN_bn2binpad(xNumber, &x, 32) == 32 && BN_bn2binpad(yNumber, &y, 32) == 32
        precondition(isDone, "The point has coordinates.")
        return (x, y)
    }
}
