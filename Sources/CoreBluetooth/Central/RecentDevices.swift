import BluetoothTypes
import HostInterface

/// The devices that a scan heard last, with what they said. A device says the same again and again, and most of a
/// callback's cost would be to make the same objects anew.
///
/// It keeps its devices' objects while the scan runs, none with a link or an attempt: those are the app's to keep.
struct RecentDevices {
    /// How many.
    private static let capacity = 1024

    struct Entry {
        let peripheral: CBPeripheral
        let advertisement: [String: Any]
        fileprivate let discovery: Discovery
    }

    private var entries: [PeerID: Entry] = [:]

    /// The device, if it says what it said before.
    func entry(saying discovery: Discovery) -> Entry? {
        guard let known = entries[discovery.peer], known.discovery.isConnectable == discovery.isConnectable,
            known.discovery.advertisingData == discovery.advertisingData,
            known.discovery.scanResponseData == discovery.scanResponseData,
            known.discovery.overflowServices == discovery.overflowServices
        else { return nil }
        return known
    }

    mutating func note(_ peripheral: CBPeripheral, _ discovery: Discovery, _ advertisement: [String: Any]) {
        if entries.count >= Self.capacity, entries[discovery.peer] == nil { entries.removeAll(keepingCapacity: true) }
        entries[discovery.peer] = Entry(peripheral: peripheral, advertisement: advertisement, discovery: discovery)
    }

    mutating func forget(_ peer: PeerID) { entries[peer] = nil }

    mutating func forgetAll() { entries = [:] }

    /// What stands for a strength, in dBm: each is one object.
    static func number(_ strength: Int8) -> NSNumber { numbers[Int(strength) + 128] }

    private static let numbers = (Int8.min...Int8.max).map { NSNumber(value: $0) }
}
