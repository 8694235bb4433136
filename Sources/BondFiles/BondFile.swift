import BluetoothCrypto
package import BluetoothTypes
package import HostInterface

/// How another stack writes bonds down.
package enum BondFormat: Sendable {
    /// Google's Bumble: one JSON file, with the bonds of each adapter under its address.
    case bumble
    /// BlueZ: for each bond a file `ADAPTER/PEER/info` below `/var/lib/bluetooth`, in the form of an ini file.
    case blueZ
    /// This package's own: one JSON file, with everything that is kept.
    case ours
}

/// A file of bonds. Its contents are secret.
package struct BondFile: Equatable, Sendable {
    /// Below the format's own folder.
    package var path: String
    package var contents: [UInt8]

    package init(path: String, contents: [UInt8]) {
        self.path = path
        self.contents = contents
    }
}

/// Why a file of bonds cannot be taken, in a sentence for a person. It never holds a key.
package struct BondFileError: Error, Equatable, Sendable, CustomStringConvertible {
    package var path: String
    package var reason: String

    package var description: String { "\(path) holds no bonds that can be taken: \(reason)." }
}

extension BondFormat {
    /// Nobody has as many bonds as fill more.
    static let longestFile = 1 << 20

    package func files(of records: [BondRecord], adapter: DeviceAddress) -> [BondFile] {
        switch self {
        case .bumble: [BumbleKeyStore.file(of: records, adapter: adapter)]
        case .blueZ: records.map { BlueZInfo.file(of: $0, adapter: adapter) }
        case .ours: [OwnBondFile.file(of: records, adapter: adapter)]
        }
    }

    /// - Parameter adapter: whose bonds are wanted, where a file has those of several.
    package func records(
        in files: [BondFile], adapter: DeviceAddress
    ) throws(BondFileError) -> [BondRecord] {
        var records: [BondRecord] = []
        for file in files {
            guard file.contents.count <= Self.longestFile else {
                throw BondFileError(path: file.path, reason: "it is longer than any such file can be")
            }
            switch self {
            case .bumble: records += try BumbleKeyStore.records(in: file, adapter: adapter)
            case .blueZ: records.append(try BlueZInfo.record(in: file))
            case .ours: records += try OwnBondFile.records(in: file, adapter: adapter)
            }
        }
        return records
    }
}

extension SecretKey {
    /// 32 digits: the octets as they travel, the form of both formats.
    init?(hexadecimal text: some StringProtocol) {
        let digits = Array(text.utf8)
        guard digits.count == 32 else { return nil }
        var octets: [UInt8] = []
        for index in stride(from: 0, to: 32, by: 2) {
            guard let octet = UInt8(hexadecimal: digits[index], digits[index + 1]) else { return nil }
            octets.append(octet)
        }
        self.init(wire: octets)
    }

    var hexadecimal: String { wire.hexadecimal }
}

extension UInt8 {
    init?(hexadecimal high: UInt8, _ low: UInt8) {
        func value(_ digit: UInt8) -> UInt8? {
            switch digit {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
            case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
            case UInt8(ascii: "A")...UInt8(ascii: "F"): digit - UInt8(ascii: "A") + 10
            default: nil
            }
        }
        guard let high = value(high), let low = value(low) else { return nil }
        self = high << 4 | low
    }
}

extension [UInt8] {
    var hexadecimal: String { map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined() }
}
