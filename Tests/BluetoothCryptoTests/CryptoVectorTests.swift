import BluetoothCrypto
import ConformanceKit
import Foundation
import Testing

/// The sample data of the Core specification and of other stacks.
@Suite("Cryptographic functions")
struct CryptoVectorTests {
    @Test("All vectors, and the methods that IO capabilities lead to (Vol 3, Part H, table 2.8)")
    func vectors() throws {
        let file = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .appending(path: "Vectors/crypto-vectors.json")
        let report = try VectorFile(Data(contentsOf: file)).play()
        #expect(report.failures == [])
        #expect(report.summary == "98 passed, 0 failed")
    }

    struct Holder { var key: SecretKey }

    @Test("A secret is not printed, however it is asked")
    func redacted() throws {
        let key = SecretKey(0x0011_2233_4455_6677_8899_AABB_CCDD_EEFF)
        let pair = P256KeyPair.debug
        let secret = pair.sharedSecret(with: pair.publicKey)
        var dumped = ""
        dump([Holder(key: key)], to: &dumped)
        dump(pair, to: &dumped)
        dump(secret, to: &dumped)
        let texts = ["\(key)", String(reflecting: key), "\(Holder(key: key))", "\(pair)", "\(secret)", dumped]
        for text in texts {
            #expect(text.contains("redacted"))
            for trace in ["0011", "EEFF", "eeff", "\(key.value)", "\(secret.octets[0])", "63"] {
                #expect(!text.contains(trace))
            }
        }
    }

    @Test("A key that is no point of the curve is not a key (CVE-2018-5383)")
    func invalidPoints() {
        let valid = P256KeyPair.debug.publicKey
        let prime = hexadecimal("ffffffff00000001000000000000000000000000ffffffffffffffffffffffff")
        let zero = [UInt8](repeating: 0, count: 32)
        #expect(P256PublicKey(x: valid.x, y: valid.y) == valid)
        #expect(P256PublicKey(wire: valid.wire) == valid)
        #expect(P256PublicKey(x: zero, y: zero) == nil)
        #expect(P256PublicKey(x: valid.x, y: zero) == nil)
        #expect(P256PublicKey(x: zero, y: valid.y) == nil)
        #expect(P256PublicKey(x: valid.y, y: valid.x) == nil)
        #expect(P256PublicKey(x: prime, y: valid.y) == nil)
        #expect(P256PublicKey(x: valid.x, y: valid.y.map { ~$0 }) == nil)
        #expect(P256PublicKey(x: Array(valid.x.dropLast()), y: valid.y) == nil)
        #expect(P256PublicKey(wire: valid.wire.dropLast()) == nil)
        #expect(P256PublicKey(wire: valid.wire + [0]) == nil)
    }

    @Test("A private key is from 1 to the order less 1")
    func privateKeys() {
        let order = hexadecimal("ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551")
        let last = Array(order.dropLast()) + [0x50]
        #expect(P256KeyPair(privateKey: [UInt8](repeating: 0, count: 32)) == nil)
        #expect(P256KeyPair(privateKey: order) == nil)
        #expect(P256KeyPair(privateKey: [UInt8](repeating: 0xFF, count: 32)) == nil)
        #expect(P256KeyPair(privateKey: Array(last.dropFirst())) == nil)
        #expect(P256KeyPair(privateKey: last) != nil)
        #expect(P256KeyPair(privateKey: [UInt8](repeating: 0, count: 31) + [1]) != nil)
    }

    @Test("Two sides agree on the secret, whatever their keys")
    func agreement() {
        var generator = Counter(value: 0x9E37_79B9_7F4A_7C15)
        for _ in 0..<20 {
            let (left, right) = (
                P256KeyPair.generate(using: &generator), P256KeyPair.generate(using: &generator)
            )
            #expect(left.publicKey != right.publicKey)
            #expect(left.sharedSecret(with: right.publicKey) == right.sharedSecret(with: left.publicKey))
        }
    }

    @Test("A shortened key keeps its least significant octets (2.3.4)")
    func shortened() {
        let key = SecretKey(0x0011_2233_4455_6677_8899_AABB_CCDD_EEFF)
        #expect(key.shortened(to: 16) == key)
        #expect(
            key.shortened(to: 7).wire == [0xFF, 0xEE, 0xDD, 0xCC, 0xBB, 0xAA, 0x99] + [UInt8](repeating: 0, count: 9))
        #expect(SecretKey(wire: key.wire) == key)
        #expect(SecretKey(wire: [UInt8](repeating: 0, count: 15)) == nil)
        #expect(SecretKey(wire: [UInt8](repeating: 0, count: 17)) == nil)
    }

    @Test("Whatever is shorter than a MIC is no packet")
    func shortPackets() {
        let link = LinkEncryption(sessionKey: SecretKey(1), initializationVector: 2)
        for count in 0...4 {
            let octets = [UInt8](repeating: 0, count: count)
            #expect(link.decrypt(octets[...], header: 0, counter: 0, direction: .centralToPeripheral) == nil)
        }
    }

    private func hexadecimal(_ text: String) -> [UInt8] {
        stride(from: 0, to: text.count, by: 2).compactMap { UInt8(text.dropFirst($0).prefix(2), radix: 16) }
    }
}

/// Weyl numbers: different each time, the same in each run.
private struct Counter: RandomNumberGenerator {
    var value: UInt64

    mutating func next() -> UInt64 {
        value &*= 0xD134_2543_DE82_EF95
        value &+= 0x9E37_79B9_7F4A_7C15
        return value
    }
}
