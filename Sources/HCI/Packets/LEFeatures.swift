/// What a link layer can do.
///
/// Source: Core 6.0, Vol 6, Part B, 4.6.
package struct LEFeatures: OptionSet, Hashable, Sendable {
    package let rawValue: UInt64
    package init(rawValue: UInt64) { self.rawValue = rawValue }

    package static let encryption = LEFeatures(rawValue: 1 << 0)
    package static let connectionParametersRequest = LEFeatures(rawValue: 1 << 1)
    package static let extendedRejectIndication = LEFeatures(rawValue: 1 << 2)
    package static let peripheralInitiatedFeaturesExchange = LEFeatures(rawValue: 1 << 3)
    package static let ping = LEFeatures(rawValue: 1 << 4)
    package static let dataPacketLengthExtension = LEFeatures(rawValue: 1 << 5)
    package static let privacy = LEFeatures(rawValue: 1 << 6)
    package static let extendedScannerFilterPolicies = LEFeatures(rawValue: 1 << 7)
    package static let phy2M = LEFeatures(rawValue: 1 << 8)
    package static let codedPHY = LEFeatures(rawValue: 1 << 11)
    package static let extendedAdvertising = LEFeatures(rawValue: 1 << 12)
    package static let periodicAdvertising = LEFeatures(rawValue: 1 << 13)
    package static let channelSelectionAlgorithm2 = LEFeatures(rawValue: 1 << 14)
    package static let periodicAdvertisingInfo = LEFeatures(rawValue: 1 << 36)
    package static let connectionSubrating = LEFeatures(rawValue: 1 << 37)
    /// The host is for it.
    package static let connectionSubratingHost = LEFeatures(rawValue: 1 << 38)
}

/// Which roles a controller can play, alone and at once. Those that a host needs to tell apart have names.
///
/// Source: Core 6.0, Vol 4, Part E, 7.8.27.
package struct LESupportedStates: OptionSet, Hashable, Sendable {
    package let rawValue: UInt64
    package init(rawValue: UInt64) { self.rawValue = rawValue }

    package static let connectableAdvertising = LESupportedStates(rawValue: 1 << 2)
    package static let passiveScanning = LESupportedStates(rawValue: 1 << 4)
    package static let activeScanning = LESupportedStates(rawValue: 1 << 5)
    package static let connectableAdvertisingAndActiveScanning = LESupportedStates(rawValue: 1 << 14)
    package static let passiveScanningAndInitiating = LESupportedStates(rawValue: 1 << 22)
    package static let activeScanningAndInitiating = LESupportedStates(rawValue: 1 << 23)
    package static let activeScanningAndCentral = LESupportedStates(rawValue: 1 << 25)
    package static let activeScanningAndPeripheral = LESupportedStates(rawValue: 1 << 27)
    package static let initiatingAndCentral = LESupportedStates(rawValue: 1 << 28)
    package static let connectableAdvertisingAndInitiating = LESupportedStates(rawValue: 1 << 32)
    package static let connectableAdvertisingAndCentral = LESupportedStates(rawValue: 1 << 35)
    package static let connectableAdvertisingAndPeripheral = LESupportedStates(rawValue: 1 << 38)
    package static let initiatingAndPeripheral = LESupportedStates(rawValue: 1 << 41)

    /// Every combination of legacy roles: bits 0...41.
    package static let all = LESupportedStates(rawValue: 0x3FF_FFFF_FFFF)
}
