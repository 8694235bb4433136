/// What a device says of itself in its advertisement and its scan response.
///
/// Reading never fails: what is well formed counts, whatever stands around it.
///
/// Source: Core 6.0, Vol 3, Part C, 11; Core Specification Supplement 12, Part A, 1.
package struct AdvertisingData: Equatable, Sendable {
    package struct ServiceData: Equatable, Sendable {
        package var service: BluetoothUUID
        package var data: [UInt8]

        package init(service: BluetoothUUID, data: [UInt8]) {
            self.service = service
            self.data = data
        }
    }

    package struct ManufacturerData: Equatable, Sendable {
        package var company: UInt16
        package var data: [UInt8]

        package init(company: UInt16, data: [UInt8]) {
            self.company = company
            self.data = data
        }

        /// The company identifier, then the data: the form in which CoreBluetooth hands it out.
        package var octets: [UInt8] {
            [UInt8(truncatingIfNeeded: company), UInt8(truncatingIfNeeded: company >> 8)] + data
        }
    }

    /// A structure that does not fit its type, or whose type is not read here, as it came.
    package struct Other: Equatable, Sendable {
        package var type: AdvertisingDataType
        package var data: [UInt8]

        package init(type: AdvertisingDataType, data: [UInt8]) {
            self.type = type
            self.data = data
        }
    }

    /// The first octet of the Flags structure.
    package var flags: UInt8?
    /// Octets that are no UTF-8 are read as U+FFFD. A complete name goes before a shortened one.
    package var localName: String?
    package var isNameComplete = false
    /// Of all six kinds of lists, in the order in which they came, repetitions included.
    package var services: [BluetoothUUID] = []
    package var solicitedServices: [BluetoothUUID] = []
    package var serviceData: [ServiceData] = []
    package var manufacturerData: [ManufacturerData] = []
    /// dBm.
    package var txPowerLevel: Int8?
    package var appearance: UInt16?
    package var others: [Other] = []
    /// Where a structure begins that runs past the end of its packet; of several packets, in the last such one;
    /// `nil` if none does.
    package var malformedOffset: Int?

    package init() {}

    /// Reads the data of one packet.
    package init(octets: [UInt8]) { add(octets[...]) }

    /// Reads an advertisement together with its scan response.
    package init(advertisement: [UInt8], scanResponse: [UInt8]) {
        add(advertisement[...])
        add(scanResponse[...])
    }

    /// Takes the data of one more packet in.
    package mutating func add(_ octets: ArraySlice<UInt8>) {
        var structures = AdvertisingDataStructures(octets)
        while let (type, data) = structures.next() {
            if !take(type, data) { others.append(Other(type: type, data: Array(data))) }
        }
        if let offset = structures.malformedOffset { malformedOffset = offset }
    }

    /// Says how the data is malformed; `nil` if it is not.
    package var malformed: String? { malformedOffset.map { "structure at \($0) runs past the end" } }

    /// - Returns: whether the structure was understood.
    private mutating func take(_ type: AdvertisingDataType, _ data: ArraySlice<UInt8>) -> Bool {
        switch type {
        case .flags:
            guard let octet = data.first else { return false }
            flags = octet
        case .incompleteServices16, .completeServices16: services += uuids(of: 2, in: data)
        case .incompleteServices32, .completeServices32: services += uuids(of: 4, in: data)
        case .incompleteServices128, .completeServices128: services += uuids(of: 16, in: data)
        case .solicitedServices16: solicitedServices += uuids(of: 2, in: data)
        case .solicitedServices32: solicitedServices += uuids(of: 4, in: data)
        case .solicitedServices128: solicitedServices += uuids(of: 16, in: data)
        case .shortenedLocalName: takeName(data, isComplete: false)
        case .completeLocalName: takeName(data, isComplete: true)
        case .txPowerLevel:
            guard data.count == 1, let octet = data.first else { return false }
            txPowerLevel = Int8(bitPattern: octet)
        case .serviceData16: return takeServiceData(data, width: 2)
        case .serviceData32: return takeServiceData(data, width: 4)
        case .serviceData128: return takeServiceData(data, width: 16)
        case .appearance:
            guard let value = UInt16(littleEndian: data.prefix(2)) else { return false }
            appearance = value
        case .manufacturerData:
            guard let company = UInt16(littleEndian: data.prefix(2)) else { return false }
            manufacturerData.append(ManufacturerData(company: company, data: Array(data.dropFirst(2))))
        default: return false
        }
        return true
    }

    private mutating func takeName(_ data: ArraySlice<UInt8>, isComplete: Bool) {
        guard isComplete || !isNameComplete else { return }
        localName = String(decoding: data, as: UTF8.self)
        isNameComplete = isComplete
    }

    private mutating func takeServiceData(_ data: ArraySlice<UInt8>, width: Int) -> Bool {
        guard let service = BluetoothUUID(octets: data.prefix(width)), data.count >= width else { return false }
        serviceData.append(ServiceData(service: service, data: Array(data.dropFirst(width))))
        return true
    }
}

/// The whole UUIDs of a list; octets that are left over are no UUID.
private func uuids(of width: Int, in data: ArraySlice<UInt8>) -> [BluetoothUUID] {
    stride(from: data.startIndex, through: data.endIndex - width, by: width).compactMap {
        BluetoothUUID(octets: data[$0..<$0 + width])
    }
}

extension UInt16 {
    fileprivate init?(littleEndian octets: ArraySlice<UInt8>) {
        guard octets.count == 2, let low = octets.first, let high = octets.last else { return nil }
        self = UInt16(low) | UInt16(high) << 8
    }
}
