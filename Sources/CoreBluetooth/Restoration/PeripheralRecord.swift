import BluetoothTypes
import HostInterface

/// What a peripheral manager is to find again.
///
/// It comes out of a file, so that whatever does not make sense in it is left out when objects are made of it.
struct PeripheralRecord: Codable, Equatable {
    /// A service as it was when it was added.
    struct Service: Codable, Equatable {
        var uuid: String
        var isPrimary: Bool
        /// The places, in this record, of the services that it includes; they stand before it.
        var included: [Int] = []
        var characteristics: [Characteristic]
        /// Whether the app was told that it is published.
        var isAnnounced = false
    }

    struct Characteristic: Codable, Equatable {
        var uuid: String
        var properties: UInt
        var permissions: UInt
        var value: Data?
        var descriptors: [Descriptor]?
        var subscribers: [Subscriber] = []
    }

    struct Descriptor: Codable, Equatable {
        var uuid: String
        var text: String?
        var data: Data?
    }

    struct Subscriber: Codable, Equatable {
        var peer: PeerRecord
        var mtu: Int
    }

    struct Advertisement: Codable, Equatable {
        var localName: String?
        var services: [String]
        /// Whether the app was told that it is on the air.
        var isAnnounced: Bool
    }

    var services: [Service] = []
    var advertisement: Advertisement?

    var isEmpty: Bool { services.isEmpty && advertisement == nil }
}

// MARK: - From what is there

extension PeripheralRecord {
    /// Called with the manager's lock held.
    init(_ manager: CBPeripheralManager) {
        let locals = manager.localServices
        services = locals.map { local in
            var record = local.record
            record.isAnnounced = local.isAnnounced
            record.included = (local.service.includedServices ?? []).compactMap { included in
                locals.firstIndex { $0.service === included }
            }
            for (index, characteristic) in local.characteristics.enumerated() {
                let subscribers = characteristic.lock.withLock { characteristic.subscribers }
                // Who has left is one of them until the app has been told.
                let leaving = manager.leavingSubscribers.filter { $0.characteristic === characteristic }
                record.characteristics[index].subscribers = (subscribers + leaving.map(\.central)).map(Subscriber.init)
            }
            return record
        }
        guard manager.advertising != .off, let content = manager.advertisement else { return }
        advertisement = Advertisement(
            localName: content.localName, services: content.services.map(\.description),
            isAnnounced: manager.announcedAdvertising == manager.advertisingNumber)
    }
}

extension PeripheralRecord.Subscriber {
    init(_ central: CBCentral) {
        peer = PeerRecord(central)
        mtu = central.maximumUpdateValueLength + 3
    }
}

extension PeripheralRecord.Service {
    init(_ service: CBMutableService, _ parts: [CBMutableCharacteristic]) {
        uuid = service.uuid.bluetoothUUID.description
        isPrimary = service.isPrimary
        characteristics = parts.map(PeripheralRecord.Characteristic.init)
    }
}

extension PeripheralRecord.Characteristic {
    init(_ characteristic: CBMutableCharacteristic) {
        uuid = characteristic.uuid.bluetoothUUID.description
        properties = characteristic.properties.rawValue
        permissions = characteristic.permissions.rawValue
        value = characteristic.value
        descriptors = characteristic.descriptors?.map { descriptor in
            PeripheralRecord.Descriptor(
                uuid: descriptor.uuid.bluetoothUUID.description, text: descriptor.value as? String,
                data: descriptor.value as? Data)
        }
    }
}

// MARK: - To what is to be there again

extension PeripheralRecord.Service {
    /// The service without what it includes; `nil` if it makes no sense.
    var service: CBMutableService? {
        guard let uuid = BluetoothUUID(coreBluetoothText: uuid) else { return nil }
        let service = CBMutableService(type: CBUUID(uuid), primary: isPrimary)
        var parts: [CBMutableCharacteristic] = []
        for record in characteristics {
            guard let characteristic = record.characteristic else { return nil }
            parts.append(characteristic)
        }
        service.characteristics = parts
        return service
    }
}

extension PeripheralRecord.Characteristic {
    fileprivate var characteristic: CBMutableCharacteristic? {
        guard let uuid = BluetoothUUID(coreBluetoothText: uuid) else { return nil }
        let characteristic = CBMutableCharacteristic(
            type: CBUUID(uuid), properties: CBCharacteristicProperties(rawValue: properties), value: value,
            permissions: CBAttributePermissions(rawValue: permissions))
        if let descriptors { characteristic.descriptors = descriptors.compactMap(\.descriptor) }
        return characteristic
    }
}

extension PeripheralRecord.Descriptor {
    fileprivate var descriptor: CBMutableDescriptor? {
        switch BluetoothUUID(coreBluetoothText: uuid) {
        case .userDescription?: CBMutableDescriptor(type: CBUUID(.userDescription), value: text)
        case .presentationFormat?: CBMutableDescriptor(type: CBUUID(.presentationFormat), value: data)
        default: nil
        }
    }
}

extension PeripheralRecord.Advertisement {
    var content: AdvertisementContent {
        AdvertisementContent(
            localName: localName, services: services.compactMap(BluetoothUUID.init(coreBluetoothText:)))
    }
}
