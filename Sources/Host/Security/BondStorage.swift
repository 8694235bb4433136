package import BluetoothCrypto
package import BluetoothTypes
package import HostInterface

/// Where the bonds of adapters are kept. What has returned without an error is kept for good.
///
/// It is used on its host's loop alone.
package protocol BondStorage: AnyObject {
    /// The adapter's IRK, which is made with `makeKey` if there is none.
    func resolvingKey(of adapter: DeviceAddress, makeKey: () -> SecretKey) throws(BondStorageError) -> SecretKey
    /// The oldest bond first.
    func bonds(of adapter: DeviceAddress) throws(BondStorageError) -> [BondRecord]
    /// Keeps it, in place of what was kept for the same identity.
    func save(_ record: BondRecord, of adapter: DeviceAddress) throws(BondStorageError)
    func remove(_ identity: DeviceAddress, of adapter: DeviceAddress) throws(BondStorageError)
}

/// A sentence for a person.
package struct BondStorageError: Error, Equatable, Sendable, CustomStringConvertible {
    package var description: String
    package init(_ description: String) { self.description = description }
}

/// Bonds that last as long as the process.
package final class MemoryBondStorage: BondStorage {
    private var keys: [DeviceAddress: SecretKey] = [:]
    private var records: [DeviceAddress: [BondRecord]] = [:]

    package init() {}

    package func resolvingKey(of adapter: DeviceAddress, makeKey: () -> SecretKey) -> SecretKey {
        if let key = keys[adapter] { return key }
        let key = makeKey()
        keys[adapter] = key
        return key
    }

    package func bonds(of adapter: DeviceAddress) -> [BondRecord] { records[adapter] ?? [] }

    package func save(_ record: BondRecord, of adapter: DeviceAddress) {
        var kept = bonds(of: adapter)
        if let index = kept.firstIndex(where: { $0.identity == record.identity }) {
            kept[index] = record
        } else {
            kept.append(record)
        }
        records[adapter] = kept
    }

    package func remove(_ identity: DeviceAddress, of adapter: DeviceAddress) {
        records[adapter]?.removeAll { $0.identity == identity }
    }
}
