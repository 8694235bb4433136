import BluetoothTypes
import EventLoop
import GAP
import HCI
import HostInterface

/// A client's advertisement of extended packets, in a set of its own.
struct ExtendedAdvertising {
    let set: UInt8
    var advertiser = Advertiser()
    /// `nil` once it is not wanted any more.
    var content: ExtendedAdvertisement?
    var layout = AdvertisingLayout()
    /// Requests that end when the advertiser has done what is wanted now.
    var requests: [RequestKey] = []
}

/// Advertisements that not every device hears: longer than legacy ones, or on the coded PHY.
extension Host {
    /// Set 0 is the one of legacy packets, and Advertising_SID has four bits.
    private static let extendedSets: ClosedRange<UInt8> = 1...15

    func startExtendedAdvertising(_ wanted: ExtendedAdvertisement, for key: RequestKey, at now: Instant) {
        guard let capabilities, usesExtendedCommands else {
            return fail(key, .invalidParameters("The radio has no extended advertising."))
        }
        guard !wanted.isOnCoded || capabilities.features.contains(.codedPHY) else {
            return fail(key, .invalidParameters("The radio has no coded PHY."))
        }
        let content = wanted.content
        let capacity = Self.capacity(isConnectable: content.isConnectable) - (wanted.tellsTransmitPower ? 3 : 0)
        let layout = AdvertisingLayout(
            localName: content.localName, services: content.services,
            serviceData: content.serviceData,
            manufacturerData: content.manufacturerData, capacity: capacity)
        guard layout.isComplete else {
            return fail(
                key, .invalidParameters("An extended advertisement holds \(capacity) octets, 254 in one structure."))
        }
        if let problem = problem(ofPeriodic: wanted) { return fail(key, problem) }
        guard client(key.client)?.extendedAdvertising?.content == nil else { return fail(key, .alreadyAdvertising) }
        let used = Set(clients.compactMap { $0.extendedAdvertising?.set })
        let own = client(key.client)?.extendedAdvertising?.set
        guard let set = own ?? Self.extendedSets.first(where: { !used.contains($0) }) else {
            return fail(key, .controller(status: HCIErrorCode.memoryCapacityExceeded.rawValue))
        }
        updateClient(key.client) {
            var advertising = $0.extendedAdvertising ?? ExtendedAdvertising(set: set)
            advertising.content = wanted
            advertising.layout = layout
            advertising.requests.append(key)
            $0.extendedAdvertising = advertising
        }
        updateExtendedAdvertiser(of: key.client, at: now)
    }

    func stopExtendedAdvertising(for key: RequestKey, at now: Instant) {
        guard client(key.client)?.extendedAdvertising != nil else { return finish(key, .success(.done)) }
        updateClient(key.client) {
            $0.extendedAdvertising?.content = nil
            $0.extendedAdvertising?.requests.append(key)
        }
        updateExtendedAdvertiser(of: key.client, at: now)
    }

    /// An auxiliary packet that is connectable holds 254 octets with its header; without one they may come in a chain
    /// (Core 6.0, Vol 4, Part E, 7.8.54 and 7.8.57).
    private static func capacity(isConnectable: Bool) -> Int { isConnectable ? 238 : 1650 }

    func updateExtendedAdvertisers(at now: Instant) {
        for client in clients where client.extendedAdvertising != nil {
            updateExtendedAdvertiser(of: client.id, at: now)
        }
    }

    func updateExtendedAdvertiser(of id: ClientID, at now: Instant) {
        guard capabilities != nil, addressChange == nil, let advertising = client(id)?.extendedAdvertising else {
            return
        }
        var configuration: Advertiser.Configuration?
        if let content = advertising.content, !policy.isInBackground {
            var wanted = Advertiser.Configuration()
            wanted.advertisingData = advertising.layout.advertisingData
            wanted.isConnectable = content.content.isConnectable
            wanted.ownAddressType = ownAddressType
            var extended = Advertiser.Configuration.Extended()
            extended.set = advertising.set
            extended.pdus =
                content.isOnCoded
                ? .extended(primary: .leCoded, secondary: .leCoded) : .extended(primary: .le1M, secondary: .le1M)
            extended.tellsTransmitPower = content.tellsTransmitPower
            if ownAddressType == .randomDevice { extended.randomAddress = ownAddress }
            extended.periodic = content.periodic.map {
                .init(interval: $0.interval, data: AdvertisingLayout(periodic: $0.content).advertisingData)
            }
            wanted.extended = extended
            configuration = wanted
        }
        advance(.want(configuration), advertiserOf: id, at: now)
    }

    func advance(_ input: Advertiser.Input, advertiserOf id: ClientID, at now: Instant) {
        guard var advertising = client(id)?.extendedAdvertising else { return }
        let effects = advertising.advertiser.handle(input, at: now)
        updateClient(id) { $0.extendedAdvertising = advertising }
        for effect in effects {
            switch effect {
            case .command(let packet): submit(packet, for: .extendedAdvertiser(id), at: now)
            // A pause for a new address is nobody's wish.
            case .stopped where addressChange != nil: break
            case .started, .stopped:
                let placement = AdvertisementPlacement(
                    advertisingData: advertising.layout.advertisingData, scanResponseData: [], omittedServices: [],
                    isNameShortened: false)
                endExtendedRequests(of: id, .success(.advertising(placement)))
            case .failed(let failure):
                updateClient(id) { $0.extendedAdvertising?.content = nil }
                endExtendedRequests(of: id, .failure(HostFailure(failure)))
            }
        }
    }

    private func endExtendedRequests(of id: ClientID, _ result: Result<HostAnswer, HostFailure>) {
        let ended = client(id)?.extendedAdvertising?.requests ?? []
        updateClient(id) { $0.extendedAdvertising?.requests = [] }
        for key in ended {
            switch (requests.request(key), result) {
            case (.stopExtendedAdvertising, _), (.updatePeriodicAdvertising, .success): finish(key, .success(.done))
            default: finish(key, result)
            }
        }
    }

    /// A link has taken a set off the air. The one of legacy packets goes by Connection Complete where it is alone.
    func setTerminated(_ event: LEAdvertisingSetTerminated, at now: Instant) {
        guard event.status == .success else { return }
        if event.set == 0 {
            guard hasExtendedAdvertising else { return }
            return performAdvertiser(advertiser.handle(.connected, at: now), at: now)
        }
        for client in clients where client.extendedAdvertising?.set == event.set {
            advance(.connected, advertiserOf: client.id, at: now)
        }
    }

    var hasExtendedAdvertising: Bool { clients.contains { $0.extendedAdvertising?.advertiser.isOnTheAir == true } }

    var areExtendedAdvertisersOff: Bool { clients.allSatisfy { $0.extendedAdvertising?.advertiser.isOff ?? true } }

    /// The client goes: so does what it has on the air.
    func silence(_ advertising: ExtendedAdvertising?, at now: Instant) {
        guard let advertising, !advertising.advertiser.isOff else { return }
        submit(LESetExtendedAdvertisingEnable(false, [.init(set: advertising.set)]).packet, for: .nobody, at: now)
        guard advertising.advertiser.isPeriodic else { return }
        submit(LESetPeriodicAdvertisingEnable(false, set: advertising.set).packet, for: .nobody, at: now)
        submit(LERemoveAdvertisingSet(set: advertising.set).packet, for: .nobody, at: now)
    }
}
