import CoreBluetooth
import Foundation

/// How the two sides talk: one service with two characteristics.
///
/// The receiver writes to `from` at which octet the sender shall go on, and the sender notifies `part` after `part`
/// from there. After the last one comes a part without octets.
public enum Transfer {
    public static let service = CBUUID(string: "7D0A1E50-3E5B-4B21-9C1C-5B0C6B1E0A01")
    /// Notify: four octets say where the part begins, least significant first; its octets follow.
    public static let part = CBUUID(string: "7D0A1E50-3E5B-4B21-9C1C-5B0C6B1E0A02")
    /// Write: four octets, least significant first.
    public static let from = CBUUID(string: "7D0A1E50-3E5B-4B21-9C1C-5B0C6B1E0A03")

    static func octets(of offset: Int) -> Data {
        Data((0..<4).map { UInt8(truncatingIfNeeded: offset >> (8 * $0)) })
    }

    /// The offset in front of `data`; `nil` if there is none.
    static func offset(in data: Data) -> Int? {
        guard data.count >= 4 else { return nil }
        return data.prefix(4).reversed().reduce(0) { $0 << 8 | Int($1) }
    }
}
