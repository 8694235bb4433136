import CLibCrypto

// Looked up once, for that takes longer than to use it. Unsafe to Swift, as any pointer is; but the variable is a
// constant, `EVP_Digest` takes the method as const, and its count of references is atomic (openssl-threads(7)).
nonisolated(unsafe) private let sha1Method = unsafe EVP_MD_fetch(nil, "SHA1", nil)

/// SHA-1 of `octets`: 20 octets. It names things (RFC 9562, 5.5); it protects nothing.
package func sha1(_ octets: [UInt8]) -> [UInt8] {
    var digest = [UInt8](repeating: 0, count: 20)
    var length: UInt32 = 0
    let status = unsafe EVP_Digest(octets, octets.count, &digest, &length, sha1Method, nil)
    precondition(status == 1 && length == 20, "libcrypto has no SHA-1; install a libssl that provides it.")
    return digest
}
