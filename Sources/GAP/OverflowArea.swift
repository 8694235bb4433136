package import BluetoothTypes

/// Where a phone of Apple's puts the services of a program in the background: a set of 128 bits in manufacturer data
/// of Apple (company 0x004C), type 0x01. A service sets one bit, so a bit means any of many services; only a scanner
/// that looks for a service by name can tell that it may be there.
///
/// The octets are known from the air (D. G. Young, "Hacking the Overflow Area", 2020): `4C 00 01`, then 16 octets.
/// Which bit a service sets is Apple's secret. Here it is made of the UUID by a rule of our own, so that simulated
/// phones understand each other and nobody else.
package struct OverflowArea: Equatable, Sendable {
    private static let prefix: [UInt8] = [0x4C, 0x00, 0x01]
    private static let length = 16
    private var bits = [UInt8](repeating: 0, count: length)

    package init(_ services: [BluetoothUUID]) {
        for service in services {
            let bit = Self.bit(of: service)
            bits[bit / 8] |= 0x80 >> UInt8(bit % 8)
        }
    }

    /// - Parameter manufacturerData: company identifier and data; `nil` comes of data that is something else.
    package init?(manufacturerData: [UInt8]) {
        guard manufacturerData.count == Self.prefix.count + Self.length, manufacturerData.starts(with: Self.prefix)
        else { return nil }
        bits = Array(manufacturerData.dropFirst(Self.prefix.count))
    }

    package var manufacturerData: [UInt8] { Self.prefix + bits }

    /// Whether the service may be among those that were put in.
    package func mayContain(_ service: BluetoothUUID) -> Bool {
        let bit = Self.bit(of: service)
        return bits[bit / 8] & 0x80 >> UInt8(bit % 8) != 0
    }

    /// 0...127, the same for all widths of one UUID: FNV-1a over its 16 octets, folded to seven bits.
    private static func bit(of service: BluetoothUUID) -> Int {
        var hash: UInt32 = 0x811C_9DC5
        var rest = service.full
        for _ in 0..<16 {
            hash = (hash ^ UInt32(truncatingIfNeeded: rest & 0xFF)) &* 0x0100_0193
            rest >>= 8
        }
        return Int((hash ^ hash >> 16) & 0x7F)
    }
}
