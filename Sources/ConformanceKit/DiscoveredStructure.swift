import BluetoothTypes
import GATT

/// What a client can see of a database, one line an item, in the order of the handles.
struct DiscoveredStructure {
    private var items: [(handle: UInt16, text: String)] = []

    var lines: [String] { items.sorted { $0.handle < $1.handle }.map { "\($0.handle) \($0.text)" } }

    mutating func add(_ service: GATTService) {
        items.append((service.handles.lowerBound, "service \(service.uuid) to \(service.handles.upperBound)"))
    }

    mutating func add(_ include: GATTInclude) {
        let range = include.service.handles
        items.append(
            (include.declaration, "include \(include.service.uuid) \(range.lowerBound) to \(range.upperBound)"))
    }

    mutating func add(_ characteristic: GATTCharacteristic) {
        let text = "\(characteristic.uuid) at \(characteristic.value), properties \(characteristic.properties.rawValue)"
        items.append((characteristic.declaration, "characteristic \(text)"))
    }

    mutating func add(_ descriptor: GATTDescriptor) {
        items.append((descriptor.handle, "descriptor \(descriptor.uuid)"))
    }

    init() {}

    /// Read off the attributes themselves.
    init(of database: AttributeDatabase) {
        var valueHandle: UInt16?
        for attribute in database.attributes {
            guard case .stored(let value) = attribute.content else { continue }
            switch attribute.type {
            case GATTAttributeType.primaryService:
                guard let uuid = BluetoothUUID(octets: value[...]) else { continue }
                add(GATTService(uuid: uuid, handles: attribute.handle...attribute.groupEnd))
            case GATTAttributeType.secondaryService: continue
            case GATTAttributeType.include where value.count >= 4:
                let range = value.handle(at: 0)...max(value.handle(at: 0), value.handle(at: 2))
                let uuid = BluetoothUUID(octets: value[4...]) ?? database.serviceUUID(at: range.lowerBound)
                guard let uuid else { continue }
                add(GATTInclude(declaration: attribute.handle, service: GATTService(uuid: uuid, handles: range)))
            case GATTAttributeType.characteristic where value.count >= 5:
                guard let uuid = BluetoothUUID(octets: value[3...]) else { continue }
                valueHandle = value.handle(at: 1)
                add(
                    GATTCharacteristic(
                        uuid: uuid, declaration: attribute.handle, value: value.handle(at: 1),
                        end: value.handle(at: 1), properties: GATTProperties(rawValue: value[0])))
            case _ where attribute.handle == valueHandle: continue
            default: add(GATTDescriptor(uuid: attribute.type, handle: attribute.handle))
            }
        }
    }
}

extension [UInt8] {
    fileprivate func handle(at offset: Int) -> UInt16 { UInt16(self[offset]) | UInt16(self[offset + 1]) << 8 }
}

extension AttributeDatabase {
    fileprivate func serviceUUID(at handle: UInt16) -> BluetoothUUID? {
        storedValue(at: handle).flatMap { BluetoothUUID(octets: $0[...]) }
    }
}
