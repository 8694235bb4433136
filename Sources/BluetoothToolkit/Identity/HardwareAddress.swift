public import Foundation

/// The 48 bits by which a device is told from all others: its MAC, or Bluetooth device address.
public struct HardwareAddress: Hashable, Sendable, Comparable, CustomStringConvertible, LosslessStringConvertible {
    /// The most significant octet first, as people write it; six.
    public let octets: [UInt8]

    /// - Parameter octets: six, the most significant first. All zeros and all ones name no device: `nil`.
    public init?(octets: some Sequence<UInt8>) {
        let octets = Array(octets)
        guard octets.count == 6, octets.contains(where: { $0 != 0 }), octets.contains(where: { $0 != 0xFF })
        else { return nil }
        self.octets = octets
    }

    /// From `AA:BB:CC:DD:EE:FF`, also with hyphens or nothing between.
    public init?(_ description: String) {
        let digits = description.filter { $0 != ":" && $0 != "-" }
        guard digits.utf8.count == 12, [12, 17].contains(description.utf8.count) else { return nil }
        var octets: [UInt8] = []
        var rest = Array(digits.utf8)[...]
        while let high = rest.popFirst(), let low = rest.popFirst() {
            guard let high = Character(UnicodeScalar(high)).hexDigitValue,
                let low = Character(UnicodeScalar(low)).hexDigitValue
            else { return nil }
            octets.append(UInt8(high << 4 | low))
        }
        self.init(octets: octets)
    }

    /// `AA:BB:CC:DD:EE:FF`.
    public var description: String { octets.map { String(format: "%02X", $0) }.joined(separator: ":") }

    public static func < (left: HardwareAddress, right: HardwareAddress) -> Bool {
        left.octets.lexicographicallyPrecedes(right.octets)
    }
}

/// The value of System ID (0x2A23 in Device Information, 0x180A): 64 bits, which mostly are a MAC around a filler.
public struct SystemID: Hashable, Sendable {
    /// How the 48 bits of a MAC are made 64. The octets in the middle tell.
    public enum Convention: Sendable, CaseIterable {
        /// `FE FF` in the middle and the least significant octet first, as the Device Information Service has it.
        case standard
        /// `FF FE` in the middle and the most significant octet first: an EUI-64 as it is written on paper.
        case mostSignificantFirst
        /// `00 00` in the middle and the least significant octet first: a widespread family of chips.
        case zeroFiller
    }

    /// As on the air; eight.
    public let octets: [UInt8]

    /// - Parameter value: of the characteristic; `nil` if it has not eight octets.
    public init?(_ value: Data) {
        guard value.count == 8 else { return nil }
        octets = Array(value)
    }

    /// `nil` if the octets in the middle are none of the known fillers: then there is no MAC in it.
    public var convention: Convention? {
        switch (octets[3], octets[4]) {
        case (0xFE, 0xFF): .standard
        case (0xFF, 0xFE): .mostSignificantFirst
        case (0x00, 0x00): .zeroFiller
        default: nil
        }
    }

    /// The MAC in it; `nil` if there is none. It is not guessed.
    public var address: HardwareAddress? {
        switch convention {
        case .standard, .zeroFiller: HardwareAddress(octets: [7, 6, 5, 2, 1, 0].map { octets[$0] })
        case .mostSignificantFirst: HardwareAddress(octets: [0, 1, 2, 5, 6, 7].map { octets[$0] })
        case nil: nil
        }
    }
}

/// The manufacturer's data of an advertisement: a company's number and what the company makes of the rest.
public struct ManufacturerData: Hashable, Sendable {
    /// In which order a MAC stands in it.
    public enum Order: Sendable {
        case mostSignificantFirst, leastSignificantFirst
    }

    /// Assigned by the Bluetooth SIG; 0xFFFF is for tests.
    public let company: UInt16
    public let content: Data

    /// - Parameter data: as CoreBluetooth hands it out; `nil` if it is too short for a company's number.
    public init?(_ data: Data) {
        guard data.count >= 2 else { return nil }
        let octets = Array(data)
        company = UInt16(octets[0]) | UInt16(octets[1]) << 8
        content = Data(octets[2...])
    }

    /// The MAC that stands in the content where the maker says so; `nil` if there is none.
    public func address(at offset: Int = 0, order: Order = .mostSignificantFirst) -> HardwareAddress? {
        guard offset >= 0, content.count >= offset + 6 else { return nil }
        let octets = Array(content)[offset..<offset + 6]
        return HardwareAddress(octets: order == .mostSignificantFirst ? Array(octets) : octets.reversed())
    }
}
