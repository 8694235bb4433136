/// What an AD structure holds: its second octet.
///
/// Source: Assigned Numbers, 2.3; Core Specification Supplement 12, Part A, 1.
package struct AdvertisingDataType: RawRepresentable, Hashable, Sendable {
    package let rawValue: UInt8
    package init(rawValue: UInt8) { self.rawValue = rawValue }

    package static let flags = AdvertisingDataType(rawValue: 0x01)
    package static let incompleteServices16 = AdvertisingDataType(rawValue: 0x02)
    package static let completeServices16 = AdvertisingDataType(rawValue: 0x03)
    package static let incompleteServices32 = AdvertisingDataType(rawValue: 0x04)
    package static let completeServices32 = AdvertisingDataType(rawValue: 0x05)
    package static let incompleteServices128 = AdvertisingDataType(rawValue: 0x06)
    package static let completeServices128 = AdvertisingDataType(rawValue: 0x07)
    package static let shortenedLocalName = AdvertisingDataType(rawValue: 0x08)
    package static let completeLocalName = AdvertisingDataType(rawValue: 0x09)
    package static let txPowerLevel = AdvertisingDataType(rawValue: 0x0A)
    package static let solicitedServices16 = AdvertisingDataType(rawValue: 0x14)
    package static let solicitedServices128 = AdvertisingDataType(rawValue: 0x15)
    package static let serviceData16 = AdvertisingDataType(rawValue: 0x16)
    package static let appearance = AdvertisingDataType(rawValue: 0x19)
    package static let solicitedServices32 = AdvertisingDataType(rawValue: 0x1F)
    package static let serviceData32 = AdvertisingDataType(rawValue: 0x20)
    package static let serviceData128 = AdvertisingDataType(rawValue: 0x21)
    package static let manufacturerData = AdvertisingDataType(rawValue: 0xFF)
}

/// The AD structures of advertising or scan response data, one by one, without an allocation.
///
/// A length of zero ends the data early (Core 6.0, Vol 3, Part C, 11). A structure that runs past the end ends it
/// too, and is not handed out.
package struct AdvertisingDataStructures: Sequence, IteratorProtocol {
    private let octets: ArraySlice<UInt8>
    private var position: Int
    /// Where the structure begins that runs past the end, counted from the first octet; `nil` if none does.
    package private(set) var malformedOffset: Int?

    package init(_ octets: ArraySlice<UInt8>) {
        self.octets = octets
        position = octets.startIndex
    }

    package mutating func next() -> (type: AdvertisingDataType, data: ArraySlice<UInt8>)? {
        guard position < octets.endIndex, octets[position] > 0 else { return nil }
        let end = position + 1 + Int(octets[position])
        guard end <= octets.endIndex else {
            malformedOffset = position - octets.startIndex
            position = octets.endIndex
            return nil
        }
        defer { position = end }
        return (AdvertisingDataType(rawValue: octets[position + 1]), octets[position + 2..<end])
    }
}
