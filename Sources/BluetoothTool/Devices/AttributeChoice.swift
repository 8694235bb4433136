import BluetoothToolkit
import BluetoothTypes
import CoreBluetooth

/// Which characteristic a command means: by UUID, or by the handle of its value where several have one UUID.
enum AttributeChoice: Sendable {
    case uuid(CBUUID)
    case handle(UInt16)

    static let help = """
        CHARACTERISTIC is a UUID of 4, 8 or 36 characters, or the handle of its value as "ble browse" shows it: @2A.
        """

    init(_ text: String) throws(UsageError) {
        if text.hasPrefix("@") {
            guard let handle = UInt16(text.dropFirst(), radix: 16), handle > 0 else {
                throw UsageError("\"\(text)\" is no handle; those are @1...@FFFF")
            }
            self = .handle(handle)
        } else {
            self = .uuid(try Self.uuid(text))
        }
    }

    /// `CBUUID` stops the program at a bad text, so we look first.
    static func uuid(_ text: String) throws(UsageError) -> CBUUID {
        guard let uuid = BluetoothUUID(coreBluetoothText: text) else {
            throw UsageError("\"\(text)\" is no UUID; those have 4, 8 or 36 characters")
        }
        return CBUUID(uuid)
    }

    /// - Parameter service: where to look; `nil` is everywhere.
    func find(in peripheral: RemotePeripheral, service: CBUUID?) async throws -> RemoteCharacteristic {
        let services = try await peripheral.discover(service.map { [$0] })
        let all = services.flatMap(\.characteristics).filter { candidate in
            switch self {
            case .uuid(let uuid): candidate.uuid == uuid
            case .handle(let handle): candidate.handle == handle
            }
        }
        guard let first = all.first else {
            throw CommandFailure(sentence: "\(peripheral.label) has no characteristic \(self)\(Self.place(service))")
        }
        guard all.count == 1 else {
            let handles = all.map { "@" + String($0.handle ?? 0, radix: 16, uppercase: true) }.joined(separator: ", ")
            throw CommandFailure(
                sentence: "\(peripheral.label) has \(all.count) characteristics \(self); say which: \(handles)")
        }
        return first
    }

    private static func place(_ service: CBUUID?) -> String { service.map { " in the service \($0.uuidString)" } ?? "" }
}

extension AttributeChoice: CustomStringConvertible {
    var description: String {
        switch self {
        case .uuid(let uuid): uuid.uuidString
        case .handle(let handle): "@" + String(handle, radix: 16, uppercase: true)
        }
    }
}

extension RemoteCharacteristic {
    /// Of its value.
    var handle: UInt16? { coreBluetoothCharacteristic.valueHandle }

    /// In words.
    var propertyNames: [String] {
        let names: [(CBCharacteristicProperties, String)] = [
            (.broadcast, "broadcast"), (.read, "read"), (.writeWithoutResponse, "writeWithoutResponse"),
            (.write, "write"), (.notify, "notify"), (.indicate, "indicate"),
            (.authenticatedSignedWrites, "signedWrite"), (.extendedProperties, "extended"),
        ]
        return names.filter { properties.contains($0.0) }.map(\.1)
    }
}
