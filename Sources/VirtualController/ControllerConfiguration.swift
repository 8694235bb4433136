package import BluetoothTypes
import EventLoop
import HCI
import LinkLayer

/// What kind of controller it is: its address, its buffers, its limits.
package struct ControllerConfiguration: Sendable {
    /// The public device address.
    package var address: DeviceAddress
    /// Octets of one ACL data packet from the host, at least 27 (Core 6.0, Vol 4, Part E, 7.8.2).
    package var aclLength: UInt16 = 251
    /// How many such packets it holds at once, for all links together.
    package var aclCount: UInt8 = 20
    /// The most octets in one PDU on the air that it can send and receive, 27...251.
    package var maxDataOctets: UInt16 = 251
    /// How many links it holds at once.
    package var maxLinks = 8
    /// How many devices its filter accept list holds.
    package var acceptListSize = 16
    /// How many advertising sets it holds.
    package var maxAdvertisingSets = 8
    /// How many periodic advertising trains it follows at once.
    package var maxSyncs = 8
    /// How many places its periodic advertiser list has.
    package var periodicListSize = 16
    /// How many devices its resolving list holds.
    package var resolvingListSize = 16
    /// How many packets it sends in one connection event at most, as the controllers of phones do; `nil` for as many as
    /// fit.
    package var packetsPerEvent: Int?
    /// In dBm.
    package var transmitPower: Int8 = 0
    /// Of the sleep clock, as a class from 0 (500 ppm) to 7 (20 ppm): Core 6.0, Vol 6, Part B, 2.3.3.1.
    package var clockAccuracyClass: UInt8 = 5
    /// How much slower than true time its sleep clock is, in parts per million; negative if it is faster. A good device
    /// keeps within its class.
    package var clockError = 0

    package init(address: DeviceAddress) { self.address = address }

    /// 0xFFFF stands for a company without an assigned number, 0x0E for Core 6.0.
    static let version = VersionIndication(version: 0x0E, company: 0xFFFF, subversion: 1)

    static let features: LEFeatures = [
        .encryption, .connectionParametersRequest, .extendedRejectIndication, .peripheralInitiatedFeaturesExchange,
        .ping,
        .dataPacketLengthExtension, .phy2M, .codedPHY, .privacy, .extendedScannerFilterPolicies,
        .extendedAdvertising, .periodicAdvertising, .periodicAdvertisingInfo, .channelSelectionAlgorithm2,
        .connectionSubrating,
    ]

    var clockAccuracy: Int { AirTiming.clockAccuracy(clockAccuracyClass) }

    func capabilities(hostAnswersParameterRequests: Bool, _ settings: HostSettings) -> LinkCapabilities {
        var capabilities = LinkCapabilities(
            features: Self.features.union(settings.hostFeatures).rawValue, version: Self.version,
            maxOctets: maxDataOctets,
            clockAccuracy: clockAccuracy, hostAnswersParameterRequests: hostAnswersParameterRequests,
            completionBatch: max(1, Int(aclCount) / 3))
        capabilities.phyPreferences = settings.phys
        capabilities.acceptableSubrates = settings.subrates
        capabilities.clockError = clockError
        capabilities.packetsPerEvent = packetsPerEvent
        return capabilities
    }
}

/// What the host has set, and what Reset sets back.
struct HostSettings {
    var eventMask = SetEventMask().mask
    var eventMaskPage2 = SetEventMaskPage2().mask
    var leEventMask = LESetEventMask().mask
    var randomAddress: DeviceAddress?
    var scanning = LESetExtendedScanParameters()
    /// Whether the host has used the extended commands for advertising, scanning and connecting, or the legacy ones.
    var usesExtendedCommands: Bool?
    var acceptList: [DeviceAddress] = []
    var periodicList: [PeriodicAdvertiser] = []
    var resolvingList = ResolvingList()
    /// How long a private address is shown.
    var privateAddressTimeout = Duration.seconds(900)
    /// When the private addresses were made.
    var lastRenewal = Instant()
    var channels = ChannelMap()
    var phys = PHYPreferences.all
    var suggestedTxOctets: UInt16 = 27
    var suggestedTxTime: UInt16 = 328
    /// What the host is for, of the features that are for it to say.
    var hostFeatures: LEFeatures = []
    /// What it takes of peripherals that ask.
    var subrates = SubrateRequest()

    init() {}
}
