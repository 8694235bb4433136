package import BluetoothTypes

/// What a controller claims and does not keep, found by others the hard way: what a host must not use of it.
///
/// The rows are data. Each says by what the controller is known, and where its trouble is on record.
package struct ControllerQuirk: Equatable, Sendable {
    /// Company identifiers and HCI versions, as in Read Local Version Information; any if empty or `nil`.
    var manufacturers: [UInt16] = []
    var versions: ClosedRange<UInt8>?

    /// Public addresses that every such controller has which was given none. Two of them in one room would be one.
    var sharedAddresses: [UInt64] = []
    var brokenFeatures: LEFeatures = []
    var brokenCommands: [HCIOpcode] = []

    /// A sentence for people: what is not used, and why.
    package var reason: String
    /// Where that is documented.
    package var source: String
}

extension ControllerQuirk {
    /// All that are known. They are only taken away from, never added to, what a controller says of itself.
    package static let all: [ControllerQuirk] = [
        ControllerQuirk(
            sharedAddresses: [0xFFFF_FFFF_FFFF],
            reason: "Its public address is all ones, which is none: a static random one is used.",
            source: "Core 6.0, Vol 6, Part B, 1.3: an address is a company's 24 bits and 24 more"),
        ControllerQuirk(
            manufacturers: [0x000F, 0x0131],
            sharedAddresses: [
                0x0020_7002_A000, 0x2070_02A0_0000, 0x2076_A000_5679, 0x4343_A012_1FAC, 0xAAAA_AAAA_AAAA,
                0x4324_B300_0000, 0x4330_B100_0000, 0x4334_B000_0000, 0x4345_C500_1FAC, 0x4334_1B00_1FAC,
                0x4384_B000_7693, 0x4345_C000_1FAC,
            ],
            reason: "Its public address is the one that its chip has from the factory, and so have all others of its "
                + "kind: a static random one is used.",
            source: "Linux, drivers/bluetooth/btbcm.c, btbcm_check_bdaddr; the last (Raspberry Pi 3B+): "
                + "github.com/agherzan/meta-raspberrypi/issues/236"),
        ControllerQuirk(
            manufacturers: [0x03E0], versions: 0x0C...0x0C,
            brokenFeatures: [.extendedAdvertising, .periodicAdvertising],
            brokenCommands: [
                .leSetExtendedScanParameters, .leSetExtendedScanEnable, .leExtendedCreateConnection,
                .leSetResolvablePrivateAddressTimeout,
            ],
            reason: "Extended scanning and connecting are not used: the controller names these commands, but does not "
                + "know them. Nor is extended advertising, which must not be mixed with the older commands.",
            source: "Linux, drivers/bluetooth/btusb.c, BTUSB_ACTIONS_SEMI (ATS2851); Core 6.0, Vol 4, Part E, 3.1.1"),
        ControllerQuirk(
            manufacturers: [0x0002], versions: 0...0x0C, brokenFeatures: .codedPHY,
            reason: "The LE Coded PHY is not used: scanning and connecting with it fail.",
            source: "Linux, drivers/bluetooth/btintel.c, HCI_QUIRK_BROKEN_LE_CODED (hardware variants up to 0x19)"),
    ]

    /// Those that may concern a controller, by its HCI version and its maker's company identifier.
    package static func of(version: UInt8, manufacturer: UInt16) -> [ControllerQuirk] {
        all.filter { quirk in
            (quirk.manufacturers.isEmpty || quirk.manufacturers.contains(manufacturer))
                && (quirk.versions?.contains(version) ?? true)
        }
    }
}

extension ControllerQuirk {
    /// Whether it concerns a controller with this public address.
    package func concerns(_ address: DeviceAddress?) -> Bool {
        sharedAddresses.isEmpty || sharedAddresses.contains(address?.value ?? 0)
    }
}

extension AdapterCapabilities {
    private var quirks: [ControllerQuirk] {
        ControllerQuirk.of(version: version.hciVersion, manufacturer: version.companyIdentifier)
    }

    /// Takes away what this controller is known not to keep.
    mutating func applyQuirks() {
        for quirk in quirks {
            features.subtract(quirk.brokenFeatures)
            for command in quirk.brokenCommands { commands.remove(command) }
        }
    }

    /// A public address, or none if it is not this controller's alone.
    func ownAlone(_ address: DeviceAddress) -> DeviceAddress {
        quirks.contains { $0.sharedAddresses.contains(address.value) } ? DeviceAddress(0) : address
    }
}
