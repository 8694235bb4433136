public import Foundation

/// CRC-32 as of ISO 3309 and Ethernet: reflected polynomial 0xEDB88320, begun and ended with all ones.
public struct Checksum: Hashable, Sendable {
    private var register: UInt32 = 0xFFFF_FFFF

    private static let table: [UInt32] = (0..<256).map { index in
        (0..<8).reduce(UInt32(index)) { value, _ in value & 1 == 0 ? value >> 1 : value >> 1 ^ 0xEDB8_8320 }
    }

    public init() {}

    /// - Parameter data: all of it.
    public init(of data: Data) { add(data) }

    public mutating func add(_ data: some Sequence<UInt8>) {
        for octet in data {
            register = register >> 8 ^ Self.table[Int((register ^ UInt32(octet)) & 0xFF)]
        }
    }

    public var value: UInt32 { ~register }
}
