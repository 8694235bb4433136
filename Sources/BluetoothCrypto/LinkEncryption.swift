import CLibCrypto

/// The cipher of an encrypted LE link: AES-CCM with a message integrity check of four octets.
///
/// Source: Core 6.0, Vol 6, Part B, 5.1.3.1 (session key) and Part E, 2 (CCM).
package struct LinkEncryption: Equatable, Sendable {
    package enum Direction: UInt8, Sendable {
        case peripheralToCentral = 0
        case centralToPeripheral = 1
    }

    package let sessionKey: SecretKey
    /// IV_C in its low half, IV_P in its high half.
    package let initializationVector: UInt64

    package init(sessionKey: SecretKey, initializationVector: UInt64) {
        self.sessionKey = sessionKey
        self.initializationVector = initializationVector
    }

    /// The session of a link from the halves that the central (LL_ENC_REQ) and the peripheral (LL_ENC_RSP) gave.
    package init(
        longTermKey: SecretKey, centralDiversifier: UInt64, peripheralDiversifier: UInt64, centralVector: UInt32,
        peripheralVector: UInt32
    ) {
        let diversifier = UInt128(peripheralDiversifier) << 64 | UInt128(centralDiversifier)
        self.init(
            sessionKey: SecretKey(aes128(longTermKey, diversifier)),
            initializationVector: UInt64(peripheralVector) << 32 | UInt64(centralVector))
    }

    package static let micLength = 4

    /// The payload encrypted, and the MIC behind it.
    ///
    /// - Parameters:
    ///   - header: the first octet of the PDU's header. NESN, SN and MD change with each transmission, so they are
    ///     not protected.
    ///   - counter: 39 bits; of this direction alone.
    package func encrypt(
        _ payload: ArraySlice<UInt8>, header: UInt8, counter: UInt64, direction: Direction
    ) -> [UInt8] {
        let context = unsafe newCipherContext()
        defer { unsafe EVP_CIPHER_CTX_free(context) }
        let nonce = nonce(counter, direction)
        var output = [UInt8](repeating: 0, count: payload.count)
        var code = [UInt8](repeating: 0, count: Self.micLength)
        var length: Int32 = 0
        let count = Int32(payload.count)
        let isDone = unsafe payload.withUnsafeBufferPointer { input in
            unsafe EVP_EncryptInit_ex(context, EVP_aes_128_ccm(), nil, nil, nil) == 1
                && EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_IVLEN, Int32(nonce.count), nil) == 1
                && EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, Int32(Self.micLength), nil) == 1
                && EVP_EncryptInit_ex(context, nil, nil, sessionKey.value.octets, nonce) == 1
                && EVP_EncryptUpdate(context, nil, &length, nil, count) == 1
                && EVP_EncryptUpdate(context, nil, &length, [header & Self.headerMask], 1) == 1
                && EVP_EncryptUpdate(context, &output, &length, input.baseAddress, count) == 1
                && EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, Int32(Self.micLength), &code) == 1
        }
        precondition(isDone, "libcrypto has no AES-CCM; install a libssl that provides it.")
        return output + code
    }

    /// The payload in the clear; `nil` if the MIC does not fit, upon which the link must end (5.1.3.1).
    package func decrypt(
        _ octets: ArraySlice<UInt8>, header: UInt8, counter: UInt64, direction: Direction
    ) -> [UInt8]? {
        guard octets.count > Self.micLength else { return nil }
        let context = unsafe newCipherContext()
        defer { unsafe EVP_CIPHER_CTX_free(context) }
        let nonce = nonce(counter, direction)
        var code = Array(octets.suffix(Self.micLength))
        let input = Array(octets.dropLast(Self.micLength))
        var output = [UInt8](repeating: 0, count: input.count)
        var length: Int32 = 0
        let count = Int32(input.count)
        let isReady =
            unsafe EVP_DecryptInit_ex(context, EVP_aes_128_ccm(), nil, nil, nil) == 1
            && EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_IVLEN, Int32(nonce.count), nil) == 1
            && EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, Int32(Self.micLength), &code) == 1
            && EVP_DecryptInit_ex(context, nil, nil, sessionKey.value.octets, nonce) == 1
            && EVP_DecryptUpdate(context, nil, &length, nil, count) == 1
            && EVP_DecryptUpdate(context, nil, &length, [header & Self.headerMask], 1) == 1
        precondition(isReady, "libcrypto has no AES-CCM; install a libssl that provides it.")
        return unsafe EVP_DecryptUpdate(context, &output, &length, input, count) == 1 ? output : nil
    }

    private static let headerMask: UInt8 = 0xE3

    private func nonce(_ counter: UInt64, _ direction: Direction) -> [UInt8] {
        precondition(counter >> 39 == 0, "The packet counter has 39 bits.")
        var nonce = (0..<5).map { UInt8(truncatingIfNeeded: counter >> (8 * UInt64($0))) }
        nonce[4] |= direction.rawValue << 7
        return nonce + (0..<8).map { UInt8(truncatingIfNeeded: initializationVector >> (8 * UInt64($0))) }
    }
}
