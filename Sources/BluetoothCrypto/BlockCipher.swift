import CLibCrypto

/// AES-128 of one block: the *security function e*.
///
/// Source: Core 6.0, Vol 3, Part H, 2.2.1; FIPS 197.
package func aes128(_ key: SecretKey, _ block: UInt128) -> UInt128 {
    let context = unsafe newCipherContext()
    defer { unsafe EVP_CIPHER_CTX_free(context) }
    var output = [UInt8](repeating: 0, count: 32)
    var length: Int32 = 0
    let isDone =
        unsafe EVP_EncryptInit_ex(context, EVP_aes_128_ecb(), nil, key.value.octets, nil) == 1
        && EVP_CIPHER_CTX_set_padding(context, 0) == 1
        && EVP_EncryptUpdate(context, &output, &length, block.octets, 16) == 1
    precondition(isDone && length == 16, "libcrypto has no AES-128; install a libssl that provides it.")
    return UInt128(bigEndianOctets: output.prefix(16))
}

/// AES-CMAC of `message`, with AES-128.
///
/// Source: Core 6.0, Vol 3, Part H, 2.2.5; RFC 4493.
package func aesCMAC(_ key: SecretKey, _ message: [UInt8]) -> UInt128 {
    var code = [UInt8](repeating: 0, count: 16)
    var length = 0
    let result = unsafe EVP_Q_mac(
        nil, "CMAC", nil, "AES-128-CBC", nil, key.value.octets, 16, message, message.count, &code, 16, &length)
    precondition(
        unsafe result != nil && length == 16, "libcrypto has no AES-CMAC; install a libssl that provides it.")
    return UInt128(bigEndianOctets: code)
}

/// A context that the caller must free.
func newCipherContext() -> OpaquePointer {
    guard let context = unsafe EVP_CIPHER_CTX_new() else { preconditionFailure("There is no memory left.") }
    return unsafe context
}
