import CLibCrypto

/// The twelve octets behind a signed PDU: a counter and a code over PDU and counter.
///
/// Source: Core 6.0, Vol 3, Part H, 2.4.5.
package struct DataSignature: Equatable, Sendable {
    /// Goes up with each PDU that is signed with the key; one that is not above the last one is a replay.
    package let counter: UInt32
    /// 64 bits.
    package let code: UInt64

    package static let length = 12

    /// Signs `message`: a PDU as it travels, from its opcode on.
    package init(of message: ArraySlice<UInt8>, key: SecretKey, counter: UInt32) {
        self.counter = counter
        // The specification's message is a number whose least significant octet travels first.
        let signed = counter.bigEndianOctets(4) + message.reversed()
        code = UInt64(truncatingIfNeeded: aesCMAC(key, signed) >> 64)
    }

    /// Reads the signature that travels; `nil` unless there are 12 octets. It proves nothing by itself.
    package init?(wire octets: ArraySlice<UInt8>) {
        guard octets.count == Self.length else { return nil }
        counter = UInt32(bigEndianOctets: octets.prefix(4).reversed())
        code = UInt64(bigEndianOctets: octets.suffix(8).reversed())
    }

    /// The octets as they travel: the counter, then the code, each least significant octet first.
    package var wire: [UInt8] { counter.bigEndianOctets(4).reversed() + code.bigEndianOctets(8).reversed() }

    /// Whether the owner of `key` signed the PDU that ends in this signature. Who asks must also see that the counter
    /// is above all those seen before.
    package static func isValid(_ signed: ArraySlice<UInt8>, key: SecretKey) -> Bool {
        guard let signature = DataSignature(wire: signed.suffix(length)) else { return false }
        let expected = DataSignature(of: signed.dropLast(length), key: key, counter: signature.counter)
        return unsafe CRYPTO_memcmp(signature.wire, expected.wire, length) == 0
    }
}
