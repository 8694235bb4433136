import BluetoothCrypto
import BluetoothTypes
import Foundation

extension DeviceAddress {
    /// A static random address that stays the same on this machine, for controllers without an address of their own.
    ///
    /// Source: Core 6.0, Vol 6, Part B, 1.3.2.1: two ones on top, the other 46 bits neither all 0 nor all 1.
    static var ofThisMachine: DeviceAddress {
        let identity =
            (try? String(contentsOfFile: "/etc/machine-id", encoding: .utf8)) ?? ProcessInfo.processInfo.hostName
        let digest = sha1(Array("swift-corebluetooth \(identity)".utf8))
        let bits = digest.prefix(6).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        return DeviceAddress(0b11 << 46 | bits & (1 << 46 - 1) | 1, kind: .random)
    }
}
