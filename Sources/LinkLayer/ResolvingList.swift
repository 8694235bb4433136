package import BluetoothCrypto
package import BluetoothTypes
package import EventLoop

/// Whom this device knows behind private addresses, and under which one it shows itself to each of them.
///
/// Whoever goes by it holds a copy; the owner hands out a new one when the addresses change.
///
/// Source: Core 6.0, Vol 6, Part B, 4.7 (the list) and 6 (what a device does by it).
package struct ResolvingList: Sendable {
    package struct Entry: Sendable {
        /// Public, or static random.
        package var identity: DeviceAddress
        /// `nil` where that side has none.
        package var peerKey: SecretKey?
        package var localKey: SecretKey?
        /// Whether the peer is heard under its identity address too. 6.2 to 6.5: device privacy mode.
        package var isDeviceMode = false
        /// The private address that this device shows to the peer now.
        package var localAddress: DeviceAddress?
        /// The private address by which this device calls the peer now.
        package var targetAddress: DeviceAddress?
        /// The private address under which the peer was last heard.
        package var lastHeardAddress: DeviceAddress?

        package init(identity: DeviceAddress, peerKey: SecretKey?, localKey: SecretKey?) {
            self.identity = identity
            self.peerKey = peerKey
            self.localKey = localKey
        }
    }

    /// Somebody who was heard.
    package struct Party: Hashable, Sendable {
        /// The identity address, or the one on the air.
        package var address: DeviceAddress
        /// The place in the list.
        package var entry: Int?
        /// The private address behind which the identity was found.
        package var privateAddress: DeviceAddress?

        var addressOnAir: DeviceAddress { privateAddress ?? address }
    }

    package private(set) var entries: [Entry] = []
    /// Whether the controller looks behind private addresses.
    package var isEnabled = false
    /// What was found out about addresses lately.
    private var cache: [UInt64: Int?] = [:]

    package init() {}

    // MARK: The owner

    package mutating func append(_ entry: Entry) { entries.append(entry) }

    package mutating func remove(at index: Int) {
        entries.remove(at: index)
        cache.removeAll()
    }

    package mutating func removeAll() {
        entries.removeAll()
        cache.removeAll()
    }

    package mutating func setDeviceMode(_ isDeviceMode: Bool, at index: Int) {
        entries[index].isDeviceMode = isDeviceMode
    }

    package mutating func noteHeard(_ party: Party) {
        guard let index = party.entry, let address = party.privateAddress else { return }
        entries[index].lastHeardAddress = address
    }

    /// Makes new private addresses for the entry, as far as there are keys.
    package mutating func renew(at index: Int, using generator: inout SeededGenerator) {
        func make(_ key: SecretKey) -> DeviceAddress {
            DeviceAddress(
                PrivateAddress.make(key, random: UInt32(truncatingIfNeeded: generator.next())), kind: .random)
        }
        entries[index].localAddress = entries[index].localKey.map(make)
        entries[index].targetAddress = entries[index].peerKey.map(make)
    }

    package func index(of identity: DeviceAddress) -> Int? { entries.firstIndex { $0.identity == identity } }

    // MARK: Whoever goes by it

    /// Who it is; `nil` for somebody who must not be heard under this address (network privacy mode).
    package mutating func recognize(_ address: DeviceAddress) -> Party? {
        guard isEnabled else { return Party(address: address) }
        if Self.isResolvable(address) {
            guard let index = resolve(address) else { return Party(address: address) }
            return Party(address: entries[index].identity, entry: index, privateAddress: address)
        }
        guard let index = index(of: address) else { return Party(address: address) }
        guard entries[index].peerKey == nil || entries[index].isDeviceMode else { return nil }
        return Party(address: address, entry: index)
    }

    /// The address that this device shows to a peer.
    ///
    /// - Parameter own: that of this device where it shows no private one.
    package func localAddress(for entry: Int?, own: DeviceAddress) -> DeviceAddress {
        entry.flatMap { entries[$0].localAddress } ?? own
    }

    /// Whether what a peer calls `target` is this device.
    package func isLocal(_ target: DeviceAddress, calledBy entry: Int?, own: DeviceAddress) -> Bool {
        if isEnabled, Self.isResolvable(target), let key = entry.flatMap({ entries[$0].localKey }) {
            return PrivateAddress.isMade(target.value, by: key)
        }
        return target == own
    }

    package static func isResolvable(_ address: DeviceAddress) -> Bool {
        address.kind == .random && PrivateAddress.isResolvable(address.value)
    }

    private mutating func resolve(_ address: DeviceAddress) -> Int? {
        if let known = cache[address.value] { return known }
        let index = entries.firstIndex { entry in
            entry.peerKey.map { PrivateAddress.isMade(address.value, by: $0) } ?? false
        }
        // Strangers come and go.
        if cache.count >= 256 { cache.removeAll(keepingCapacity: true) }
        cache[address.value] = .some(index)
        return index
    }
}
