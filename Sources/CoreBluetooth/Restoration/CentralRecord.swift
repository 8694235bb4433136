import BluetoothTypes
import HostInterface

/// What a central manager is to find again.
///
/// It comes out of a file, so that whatever does not make sense in it is left out when objects are made of it.
struct CentralRecord: Codable, Equatable {
    struct Scan: Codable, Equatable {
        var services: [String]
        var solicitedServices: [String]
        var allowsDuplicates: Bool
    }

    /// A peripheral that was connected, or was to be.
    struct Peripheral: Codable, Equatable {
        var peer: PeerRecord
        var systemName: String?
        var advertisedName: String?
        var reconnects: Bool
        /// What was discovered on the link; `nil` before.
        var services: [Service]?
    }

    struct Service: Codable, Equatable {
        var uuid: String
        var first: UInt16
        var last: UInt16
        var isPrimary: Bool
        /// Whether it was found by itself, and not only as a part of another.
        var isListed: Bool
        /// Where the included ones begin.
        var included: [UInt16]?
        var characteristics: [Characteristic]?
    }

    struct Characteristic: Codable, Equatable {
        var uuid: String
        var declaration: UInt16
        var value: UInt16
        var end: UInt16
        var properties: UInt8
        var isNotifying: Bool
        var descriptors: [Descriptor]?
    }

    struct Descriptor: Codable, Equatable {
        var uuid: String
        var handle: UInt16
    }

    var scan: Scan?
    var peripherals: [Peripheral] = []

    var isEmpty: Bool { scan == nil && peripherals.isEmpty }
}

/// A peer, and how the app knows it.
struct PeerRecord: Codable, Equatable {
    var address: UInt64
    var isRandom: Bool
    var identifier: UUID

    init(_ peer: CBPeer) {
        address = peer.peer.address.value
        isRandom = peer.peer.address.kind == .random
        identifier = peer.identifier
    }

    var peer: PeerID? {
        address >> 48 == 0 ? PeerID(DeviceAddress(address, kind: isRandom ? .random : .public)) : nil
    }
}

// MARK: - From what is there

extension CentralRecord {
    /// Called with the manager's lock held.
    init(_ manager: CBCentralManager) {
        scan = manager.wantedScan.map(Scan.init)
        peripherals = manager.peripherals.sorted { $0.key < $1.key }.compactMap { _, entry in
            guard let peripheral = entry.object, peripheral.isToBeRestored else { return nil }
            return Peripheral(peripheral)
        }
    }
}

extension CentralRecord.Scan {
    init(_ filter: ScanFilter) {
        services = filter.services.map(\.description)
        solicitedServices = filter.solicitedServices.map(\.description)
        allowsDuplicates = filter.allowDuplicates
    }

    var filter: ScanFilter {
        ScanFilter(
            services: services.compactMap(BluetoothUUID.init(coreBluetoothText:)),
            solicitedServices: solicitedServices.compactMap(BluetoothUUID.init(coreBluetoothText:)),
            allowDuplicates: allowsDuplicates)
    }
}

extension CBPeripheral {
    /// Whether the app believes to be connected, or waits to be, or has yet to hear that it is not.
    var isToBeRestored: Bool {
        switch linkState {
        case .connecting, .connected: true
        case .disconnecting: nextConnection != nil
        case .disconnected: owesEnd
        }
    }
}

extension CentralRecord.Peripheral {
    init(_ peripheral: CBPeripheral) {
        peer = PeerRecord(peripheral)
        systemName = peripheral.systemName
        advertisedName = peripheral.advertisedName
        reconnects = (peripheral.nextConnection ?? peripheral.options).reconnects
        guard let found = peripheral.foundServices, peripheral.linkState != .disconnecting else { return }
        let listed = Set(found.map(ObjectIdentifier.init))
        services = peripheral.knownServices.sorted { $0.key < $1.key }.compactMap { _, service in
            CentralRecord.Service(service, isListed: listed.contains(ObjectIdentifier(service)))
        }
    }
}

extension CentralRecord.Service {
    init?(_ service: CBService, isListed: Bool) {
        guard let remote = service.remote else { return nil }
        uuid = remote.uuid.description
        first = remote.handles.lowerBound
        last = remote.handles.upperBound
        isPrimary = remote.isPrimary
        self.isListed = isListed
        included = service.discoveredIncludedServices?.compactMap { $0.remote?.handles.lowerBound }
        characteristics = service.discoveredCharacteristics?.compactMap(CentralRecord.Characteristic.init)
    }

    var remote: RemoteService? {
        guard let uuid = BluetoothUUID(coreBluetoothText: uuid), first > 0, first <= last else { return nil }
        return RemoteService(uuid: uuid, handles: first...last, isPrimary: isPrimary)
    }
}

extension CentralRecord.Characteristic {
    init?(_ characteristic: CBCharacteristic) {
        guard let remote = characteristic.remote else { return nil }
        uuid = remote.uuid.description
        declaration = remote.declaration.rawValue
        value = remote.value.rawValue
        end = remote.end.rawValue
        properties = remote.properties
        isNotifying = characteristic.isSubscribed
        descriptors = characteristic.currentDescriptors?.compactMap { descriptor in
            descriptor.remote.map { CentralRecord.Descriptor(uuid: $0.uuid.description, handle: $0.handle.rawValue) }
        }
    }

    var remote: RemoteCharacteristic? {
        guard let uuid = BluetoothUUID(coreBluetoothText: uuid), declaration > 0, declaration < value, value <= end
        else { return nil }
        return RemoteCharacteristic(
            uuid: uuid, declaration: AttributeHandle(rawValue: declaration), value: AttributeHandle(rawValue: value),
            end: AttributeHandle(rawValue: end), properties: properties)
    }
}

extension CentralRecord.Descriptor {
    var remote: RemoteDescriptor? {
        guard let uuid = BluetoothUUID(coreBluetoothText: uuid), handle > 0 else { return nil }
        return RemoteDescriptor(uuid: uuid, handle: AttributeHandle(rawValue: handle))
    }
}
