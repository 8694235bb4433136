import BluetoothTypes
import EventLoop
import HCI
import LinkLayer

/// One advertising set of the host, or what the legacy commands are about.
final class AdvertisingSet {
    // What is looked at all the time stands first and together, here as in what follows: of many controllers, little
    // else is in the cache.

    /// While it advertises.
    var machine: AdvertisingMachine?
    /// While it advertises periodically.
    var train: Running<PeriodicTrain>?
    /// `nil` for the legacy commands.
    let handle: UInt8?
    var parameters = LESetExtendedAdvertisingParameters()
    /// Of this set; the legacy commands have one address for everything.
    var randomAddress: DeviceAddress?
    var data: [UInt8] = []
    var scanResponse: [UInt8] = []
    /// Whether the last part of the one and of the other has come.
    var isDataWhole = true
    var isScanResponseWhole = true
    /// DID of the data: 12 bits.
    var dataIdentifier: UInt16 = 0
    /// `nil` until the host has said anything of it.
    var periodic: PeriodicSettings?

    init(handle: UInt8?) { self.handle = handle }
}

/// Either way of advertising, behind one face.
///
/// By reference: it is asked with each packet, and is large.
final class AdvertisingMachine {
    let isExtended: Bool
    /// How a link begins that comes of it.
    let mode: RadioMode
    let usesPrivateAddress: Bool
    // One of the two.
    private var legacy: Advertiser?
    private var extended: ExtendedAdvertiser?

    init(_ advertiser: Advertiser) {
        legacy = advertiser
        isExtended = false
        mode = .le1M
        usesPrivateAddress = advertiser.usesPrivateAddress
    }

    init(_ advertiser: ExtendedAdvertiser) {
        extended = advertiser
        isExtended = true
        mode = advertiser.parameters.secondary
        usesPrivateAddress = advertiser.parameters.usesPrivateAddress
    }

    var nextStart: Instant? { isExtended ? extended?.nextStart : legacy?.nextStart }
    /// How long one event may take.
    var eventTime: Duration { (isExtended ? extended?.eventTime : legacy?.eventTime) ?? .zero }
    /// Events that have taken place.
    var events: Int { legacy?.events ?? extended?.events ?? 0 }

    func handle(_ input: RadioInput, at now: Instant, reports: inout [Advertiser.Report]) -> RadioOrder {
        legacy?.handle(input, at: now, reports: &reports) ?? extended?.handle(input, at: now, reports: &reports)
            ?? .release
    }

    /// What an advertisement tells of the set's periodic advertising.
    func setTrain(_ train: PeriodicTrain?) { extended?.update { $0.train = train } }

    func setAddresses(own: DeviceAddress, target: DeviceAddress?, resolvingList: ResolvingList) {
        legacy?.setAddresses(own: own, target: target, resolvingList: resolvingList)
        extended?.update {
            $0.address = own
            $0.target = target
            $0.resolvingList = resolvingList
        }
    }

    func setContent(of set: AdvertisingSet) {
        legacy?.setData(set.data)
        legacy?.setScanResponse(set.scanResponse)
        extended?.update {
            $0.data = set.data
            $0.scanResponse = set.scanResponse
            $0.info = AdvertisingDataInfo(
                dataIdentifier: set.dataIdentifier, setIdentifier: set.parameters.identifier)
        }
    }
}

// MARK: - Starting and stopping

extension VirtualController {
    var isAdvertising: Bool { sets.contains { $0.machine != nil } }

    /// The set of that handle; the one of the legacy commands is made when it is first needed.
    func advertisingSet(_ handle: UInt8?) -> AdvertisingSet? {
        if let set = sets.first(where: { $0.handle == handle }) { return set }
        guard handle == nil else { return nil }
        let set = AdvertisingSet(handle: nil)
        sets.append(set)
        return set
    }

    /// - Parameters:
    ///   - duration: in units of 10 ms; 0 for no end.
    ///   - maxEvents: 0 for no limit.
    func start(
        _ set: AdvertisingSet, duration: UInt16 = 0, maxEvents: UInt8 = 0, at now: Instant
    ) throws(HCIErrorCode) {
        let properties = set.parameters.properties
        guard !properties.contains(.connectable) || links.count < configuration.maxLinks else {
            throw .connectionLimitExceeded
        }
        let base = try ownAddress(of: set)
        if set.parameters.ownAddressType.isPrivate { renewAddressesIfDue(at: now) }
        let addresses = self.addresses(of: set, own: base)
        let expiry = duration == 0 ? nil : now.advanced(by: .milliseconds(10 * Int(duration)))
        let limit = maxEvents == 0 ? nil : Int(maxEvents)
        let random = generator.split()
        if properties.contains(.legacy) {
            var parameters = legacyParameters(of: set, addresses)
            parameters.expiry = expiry
            parameters.maxEvents = limit
            set.machine = AdvertisingMachine(Advertiser(parameters, generator: random, at: now))
        } else {
            var parameters = extendedParameters(of: set, addresses)
            parameters.expiry = expiry
            parameters.maxEvents = limit
            set.machine = AdvertisingMachine(ExtendedAdvertiser(parameters, generator: random, at: now))
        }
        startTrain(of: set, at: now)
    }

    func ownAddress(of set: AdvertisingSet) throws(HCIErrorCode) -> DeviceAddress {
        let random = set.handle == nil ? settings.randomAddress : set.randomAddress
        return try ownAddress(set.parameters.ownAddressType, random: random)
    }

    func stop(_ set: AdvertisingSet) {
        if case .advertiser(let holding) = holder, holding === set {
            silenceRadio()
            holder = .nobody
        }
        set.machine = nil
    }

    /// What it shows: itself, and the peer of directed advertising.
    func addresses(of set: AdvertisingSet, own: DeviceAddress) -> (own: DeviceAddress, target: DeviceAddress?) {
        let peer = set.parameters.peer
        let isDirected = set.parameters.properties.contains(.directed)
        guard set.parameters.ownAddressType.isPrivate else { return (own, isDirected ? peer : nil) }
        let index = settings.resolvingList.index(of: peer)
        let target = index.flatMap { settings.resolvingList.entries[$0].targetAddress } ?? peer
        return (settings.resolvingList.localAddress(for: index, own: own), isDirected ? target : nil)
    }

    private func legacyParameters(
        of set: AdvertisingSet, _ addresses: (own: DeviceAddress, target: DeviceAddress?)
    ) -> Advertiser.Parameters {
        let properties = set.parameters.properties
        var parameters = Advertiser.Parameters()
        parameters.kind =
            switch (properties.contains(.connectable), properties.contains(.scannable)) {
            case (true, _): properties.contains(.directed) ? .directed : .connectable
            case (false, true): .scannable
            case (false, false): .nonconnectable
            }
        parameters.interval = AirTiming.halfSlot * Int(set.parameters.intervalMax)
        parameters.isHighDuty = properties.contains(.highDuty)
        parameters.channels = set.channels
        parameters.address = addresses.own
        parameters.usesPrivateAddress = set.parameters.ownAddressType.isPrivate
        parameters.resolvingList = settings.resolvingList
        parameters.peer = properties.contains(.directed) ? set.parameters.peer : nil
        parameters.target = addresses.target
        parameters.data = set.data
        parameters.scanResponse = set.scanResponse
        if set.parameters.filterPolicy & 0b01 != 0 { parameters.scannersAllowed = settings.acceptList }
        if set.parameters.filterPolicy & 0b10 != 0 { parameters.initiatorsAllowed = settings.acceptList }
        return parameters
    }

    private func extendedParameters(
        of set: AdvertisingSet, _ addresses: (own: DeviceAddress, target: DeviceAddress?)
    ) -> ExtendedAdvertiser.Parameters {
        let properties = set.parameters.properties
        var parameters = ExtendedAdvertiser.Parameters()
        if properties.contains(.connectable) { parameters.mode = .connectable }
        if properties.contains(.scannable) { parameters.mode = .scannable }
        parameters.interval = AirTiming.halfSlot * Int(set.parameters.intervalMax)
        parameters.channels = set.channels
        parameters.primary = RadioMode(set.parameters.primaryPHY)
        parameters.secondary = RadioMode(set.parameters.secondaryPHY)
        parameters.info = AdvertisingDataInfo(
            dataIdentifier: set.dataIdentifier, setIdentifier: set.parameters.identifier)
        parameters.isAnonymous = properties.contains(.anonymous)
        parameters.txPower = properties.contains(.includesTxPower) ? configuration.transmitPower : nil
        parameters.address = addresses.own
        parameters.usesPrivateAddress = set.parameters.ownAddressType.isPrivate
        parameters.resolvingList = settings.resolvingList
        parameters.peer = properties.contains(.directed) ? set.parameters.peer : nil
        parameters.target = addresses.target
        parameters.data = set.data
        parameters.scanResponse = set.scanResponse
        if set.parameters.filterPolicy & 0b01 != 0 { parameters.scannersAllowed = settings.acceptList }
        if set.parameters.filterPolicy & 0b10 != 0 { parameters.initiatorsAllowed = settings.acceptList }
        return parameters
    }
}

extension AdvertisingSet {
    /// All sets with the same channels share their list.
    private static let channelLists: [[UInt8]] = (0..<8).map { map in (37...39).filter { map >> ($0 - 37) & 1 == 1 } }

    fileprivate var channels: [UInt8] { Self.channelLists[Int(parameters.channelMap & 0b111)] }
}

extension RadioMode {
    /// As an advertiser sends on the PHY: on the coded one with S=8.
    init(_ phy: PHY) {
        switch phy {
        case .le2M: self = .le2M
        case .leCoded: self = .codedS8
        default: self = .le1M
        }
    }
}
