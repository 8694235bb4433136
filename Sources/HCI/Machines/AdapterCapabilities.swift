package import BluetoothTypes

/// What a controller can do, as far as a host needs to know.
package struct AdapterCapabilities: Equatable, Sendable {
    package var version = ReadLocalVersion.ReturnParameters()
    package var commands = SupportedCommands()
    package var features: LEFeatures = []
    /// Empty if the controller does not tell.
    package var states: LESupportedStates = []
    /// Octets of payload that one ACL data packet to the controller may carry.
    package var aclLength = 27
    /// How many of them the controller stores.
    package var aclCount = 1
    /// The identity address: the controller's own public one, or the static random one that was set.
    package var address = DeviceAddress(0)
    /// How many devices fit the filter accept list; 0 if the controller has none.
    package var filterAcceptListSize = 0
    /// `nil` without data packet length extension.
    package var maximumDataLength: LEReadMaximumDataLength.ReturnParameters?
    /// Whether the controller does BR/EDR too.
    package var isDualMode = false

    package init() {}

    /// Whether the controller has all of the extended commands for advertising, scanning and connecting. Of them and
    /// the legacy ones a host uses one kind only (Core 6.0, Vol 4, Part E, 3.1.1).
    package var hasExtendedCommands: Bool {
        let needed: [HCIOpcode] = [
            .leSetExtendedAdvertisingParameters, .leSetExtendedAdvertisingData, .leSetExtendedScanResponseData,
            .leSetExtendedAdvertisingEnable, .leSetAdvertisingSetRandomAddress, .leSetExtendedScanParameters,
            .leSetExtendedScanEnable, .leExtendedCreateConnection,
        ]
        return features.contains(.extendedAdvertising) && needed.allSatisfy(commands.contains)
    }

    /// Which of its own addresses this device shows.
    package var ownAddressType: OwnAddressType { address.kind == .public ? .publicDevice : .randomDevice }
}

extension DeviceAddress {
    /// A static random address: two ones on top, the other 46 bits by chance, not all alike.
    ///
    /// Source: Core 6.0, Vol 6, Part B, 1.3.2.1.
    package static func staticRandom(using generator: inout some RandomNumberGenerator) -> DeviceAddress {
        let chance = UInt64.random(in: 1..<(1 << 46) - 1, using: &generator)
        return DeviceAddress(0b11 << 46 | chance, kind: .random)
    }
}
