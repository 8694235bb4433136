package import BluetoothTypes

/// What of an advertiser's content goes where, in the 31 + 31 octets of legacy advertising, or all in one extended
/// advertisement.
///
/// - Flags come first, in the advertisement: general discoverable, BR/EDR not supported.
/// - Services follow in the order given, one list for each width. One that does not fit is left out, and the list of
///   its width is then of the type *incomplete*. Services stand in the advertisement only, since scanners filter by
///   them and need not ask for a scan response.
/// - Manufacturer data, then service data, goes where there is room, the advertisement first.
/// - The name stands complete in the advertisement if it fits there, else complete in the scan response, else
///   shortened in the scan response, cut between two characters.
///
/// Source: Core 6.0, Vol 3, Part C, 9.2.4 and 11; Core Specification Supplement 12, Part A, 1.1 to 1.4.
package struct AdvertisingLayout: Equatable, Sendable {
    /// Octets of a legacy advertisement, and of its scan response: Core 6.0, Vol 6, Part B, 2.3.1.
    package static let capacity = 31

    package private(set) var advertisingData: [UInt8] = []
    package private(set) var scanResponseData: [UInt8] = []
    /// Services that are not on the air.
    package private(set) var omittedServices: [BluetoothUUID] = []
    package private(set) var isNameShortened = false
    package private(set) var isManufacturerDataOmitted = false
    package private(set) var isServiceDataOmitted = false

    /// In an extended advertisement: whether all of the content fits.
    package private(set) var isComplete = true

    /// All in one advertisement without a scan response.
    ///
    /// - Parameters:
    ///   - manufacturerData: the company identifier, least significant octet first, then the data.
    ///   - capacity: octets.
    ///   - flags: `nil` for none.
    package init(
        localName: String?, services: [BluetoothUUID], serviceData: [AdvertisingData.ServiceData],
        manufacturerData: [UInt8]?, capacity: Int, flags: UInt8? = 0x06
    ) {
        var structures: [(AdvertisingDataType, [UInt8])] = []
        if let flags { structures.append((.flags, [flags])) }
        for width in [2, 4, 16] {
            let octets = services.map(\.octets).filter { $0.count == width }.flatMap { $0 }
            if !octets.isEmpty { structures.append((type(ofWidth: width, isComplete: true), octets)) }
        }
        for data in serviceData {
            let uuid = data.service.octets
            structures.append((serviceDataType(ofWidth: uuid.count), uuid + data.data))
        }
        if let manufacturerData { structures.append((.manufacturerData, manufacturerData)) }
        if let localName, !localName.isEmpty { structures.append((.completeLocalName, Array(localName.utf8))) }
        advertisingData = structures.flatMap { structure($0, $1) }
        isComplete = advertisingData.count <= capacity && structures.allSatisfy { $0.1.count <= 254 }
    }

    /// - Parameters:
    ///   - manufacturerData: the company identifier, least significant octet first, then the data.
    ///   - flags: `nil` for none.
    package init(
        localName: String? = nil, services: [BluetoothUUID] = [], manufacturerData: [UInt8]? = nil,
        serviceData: AdvertisingData.ServiceData? = nil, flags: UInt8? = 0x06
    ) {
        if let flags { advertisingData += structure(.flags, [flags]) }
        place(services)
        if let manufacturerData {
            isManufacturerDataOmitted = !place(data: structure(.manufacturerData, manufacturerData))
        }
        if let serviceData {
            let octets = serviceData.service.octets
            let type = serviceDataType(ofWidth: octets.count)
            isServiceDataOmitted = !place(data: structure(type, octets + serviceData.data))
        }
        if let localName, !localName.isEmpty { place(name: localName) }
    }

    private mutating func place(_ services: [BluetoothUUID]) {
        struct List {
            var width: Int
            var octets: [UInt8] = []
            var isComplete = true
        }
        var lists: [List] = []
        var room = Self.capacity - advertisingData.count
        for service in services {
            let octets = service.octets
            let index = lists.firstIndex { $0.width == octets.count } ?? lists.endIndex
            if index == lists.endIndex { lists.append(List(width: octets.count)) }
            let cost = octets.count + (lists[index].octets.isEmpty ? 2 : 0)
            if cost <= room {
                lists[index].octets += octets
                room -= cost
            } else {
                lists[index].isComplete = false
                omittedServices.append(service)
            }
        }
        for list in lists where !list.octets.isEmpty {
            advertisingData += structure(type(ofWidth: list.width, isComplete: list.isComplete), list.octets)
        }
    }

    private func type(ofWidth width: Int, isComplete: Bool) -> AdvertisingDataType {
        switch width {
        case 2: isComplete ? .completeServices16 : .incompleteServices16
        case 4: isComplete ? .completeServices32 : .incompleteServices32
        default: isComplete ? .completeServices128 : .incompleteServices128
        }
    }

    private func serviceDataType(ofWidth width: Int) -> AdvertisingDataType {
        switch width {
        case 2: .serviceData16
        case 4: .serviceData32
        default: .serviceData128
        }
    }

    /// - Returns: whether there is room for it.
    private mutating func place(data structure: [UInt8]) -> Bool {
        if advertisingData.count + structure.count <= Self.capacity {
            advertisingData += structure
        } else if structure.count <= Self.capacity {
            scanResponseData += structure
        } else {
            return false
        }
        return true
    }

    private mutating func place(name: String) {
        let complete = structure(.completeLocalName, Array(name.utf8))
        if advertisingData.count + complete.count <= Self.capacity {
            advertisingData += complete
        } else if scanResponseData.count + complete.count <= Self.capacity {
            scanResponseData += complete
        } else {
            isNameShortened = true
            let beginning = prefix(of: name, octets: Self.capacity - scanResponseData.count - 2)
            if !beginning.isEmpty { scanResponseData += structure(.shortenedLocalName, beginning) }
        }
    }
}

/// An AD structure. It need not fit anywhere.
private func structure(_ type: AdvertisingDataType, _ data: [UInt8]) -> [UInt8] {
    [UInt8(clamping: data.count + 1), type.rawValue] + data
}

/// As many whole characters of `text` as `octets` of UTF-8 hold.
private func prefix(of text: String, octets: Int) -> [UInt8] {
    var result: [UInt8] = []
    for scalar in text.unicodeScalars {
        let next = Array(String(scalar).utf8)
        guard result.count + next.count <= octets else { break }
        result += next
    }
    return result
}
