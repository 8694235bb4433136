package import BluetoothToolkit
import BluetoothTypes
import CoreBluetooth
package import Foundation
import HostInterface

/// Which device a command means.
package enum DeviceChoice: Sendable, Equatable {
    case any
    case identifier(UUID)
    case address(HardwareAddress)
    case name(String)

    /// By its identifier on this host, its address, or its name.
    package init(_ text: String) {
        if let identifier = UUID(uuidString: text) {
            self = .identifier(identifier)
        } else if let address = HardwareAddress(text), text.contains(":") {
            self = .address(address)
        } else {
            self = .name(text)
        }
    }

    static let help = """
        DEVICE is a name, an identifier as "ble scan" shows it, or an address like AA:BB:CC:DD:EE:FF.
        """

    /// Looks for it; how long, the command's own limit says.
    ///
    /// - Parameter services: only devices that advertise one of these.
    func find(
        with central: Central, services: [CBUUID]? = nil, within limit: Duration? = .seconds(20)
    ) async throws -> RemotePeripheral {
        if case .identifier(let identifier) = self, let known = central.peripheral(identifier) { return known }
        let heard = HeardNames()
        do {
            return try await central.first(for: services, within: limit) { seen in
                heard.note(seen)
                return seen.isConnectable && matches(seen)
            }.peripheral
        } catch ToolkitError.timedOut {
            throw CommandFailure(sentence: "\(self) is not on the air; \(heard.sentence)")
        }
    }

    private func matches(_ seen: Advertisement) -> Bool {
        switch self {
        case .any: true
        case .identifier(let identifier): seen.peripheral.identifier == identifier
        case .address(let address): seen.peripheral.hostAddress == address.description
        case .name(let name):
            [seen.localName, seen.peripheral.name].contains { $0?.lowercased() == name.lowercased() }
        }
    }
}

extension DeviceChoice: CustomStringConvertible {
    package var description: String {
        switch self {
        case .any: "such a device"
        case .identifier(let identifier): identifier.uuidString
        case .address(let address): address.description
        case .name(let name): "\"\(Terminal.printable(name))\""
        }
    }
}

/// Who else was heard, for whoever misspelled a name.
// `@unchecked`: `lock` guards the set.
private final class HeardNames: @unchecked Sendable {
    private let lock = NSLock()
    private var names: Set<String> = []
    private var count: Set<UUID> = []

    func note(_ seen: Advertisement) {
        lock.withLock {
            count.insert(seen.peripheral.identifier)
            if let name = seen.name { names.insert(Terminal.printable(name)) }
        }
    }

    var sentence: String {
        lock.withLock {
            if count.isEmpty { return "nothing is" }
            if names.isEmpty { return "\(count.count) devices without a name are" }
            return "these are: " + names.sorted().prefix(12).joined(separator: ", ")
        }
    }
}

extension RemotePeripheral {
    /// The address under which this host knows it.
    var hostAddress: String { coreBluetoothPeripheral.hostPeer.address.description }

    /// For people.
    var label: String { name.map { "\"\(Terminal.printable($0))\"" } ?? identifier.uuidString }
}
