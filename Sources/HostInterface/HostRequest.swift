package import BluetoothTypes

/// What a client can ask. One case is one GATT or GAP procedure, for that is what BlueZ offers too; single ATT PDUs
/// are the host's own affair.
///
/// Every request is answered exactly once, by ``HostEvent/answer(_:_:)`` under its number: reply, error, timeout,
/// disconnect, cancel and power-off end it through one gate.
package enum HostRequest: Equatable, Sendable {
    // Scanning. `startScan` replaces a scan of this client that is running. Answer: `.done`.
    case startScan(ScanFilter)
    case stopScan

    // Links. `connect` stays open until the link is up (`.connected`), it fails, or `disconnect` cancels it
    // (`.failure(.cancelled)`); it never times out by itself. `disconnect` is answered `.done` when this client's
    // hold on the link is gone, and no `disconnected` event follows it.
    case connect(PeerID)
    case disconnect(PeerID)
    /// Answer: `.rssi`, in dBm; 127 means not available.
    case readRSSI(PeerID)
    /// Answer: `.link`.
    case readLink(PeerID)
    /// Preferred interval range in 1.25 ms slots, latency in events, timeout in 10 ms. Answer: `.done` when asked.
    case updateConnectionParameters(PeerID, ConnectionPreference)
    /// Answer: `.done` when it is in force; `.controller` with 0x11 where this radio does not have it, with 0x1A where
    /// the peer does not.
    case subrate(PeerID, SubratePreference)

    // GATT client. Answers: `.services`, `.includedServices`, `.characteristics`, `.descriptors`, in handle order;
    // `only` of `nil` means all.
    case discoverServices(PeerID, only: [BluetoothUUID]?)
    case discoverIncludedServices(PeerID, of: RemoteService)
    case discoverCharacteristics(PeerID, of: RemoteService)
    case discoverDescriptors(PeerID, of: RemoteCharacteristic)
    /// Answer: `.value`, the whole of it, by Read Blob if it is long.
    case read(PeerID, AttributeHandle)
    /// Answer with response: `.done` from the peer; long values go by Prepare and Execute Write. Without response:
    /// `.done` once the controller has taken it, so that open requests are the back-pressure.
    case write(PeerID, AttributeHandle, value: [UInt8], withResponse: Bool)
    /// Several values, all of them or none, each by its Prepare Writes and checked by what the peer sends back (Core
    /// 6.0, Vol 3, Part G, 4.9.5). Answer: `.done`.
    case writeReliably(PeerID, [AttributeWrite])
    /// Finds the Client Characteristic Configuration descriptor and writes it. Answer: `.done`, or
    /// `.failure(.noConfigurationDescriptor)`.
    case subscribe(PeerID, RemoteCharacteristic, SubscriptionKind)

    // GATT server. Answer of `addService`: `.published`.
    case addService(ServiceDefinition)
    case removeService(AttributeHandle)
    case removeAllServices
    /// The reply to `.readRequested` or `.writeRequested`. A reply to a question that has ended is dropped.
    /// `errorCode` of 0 is success (Core 6.0, Vol 3, Part F, 3.4.1.1). Answer: `.done`.
    case respond(ServerRequestID, errorCode: UInt8, value: [UInt8])
    /// A notification, or an indication where the peer asked for that only, to the subscribers in `to`, or all.
    /// Values are cut to each peer's MTU - 3. Answer: `.done` once the controller has taken all of them (and for
    /// an indication, once it is confirmed), so that open requests are the back-pressure.
    case notify(AttributeHandle, value: [UInt8], to: [PeerID]?)

    // L2CAP channels. Answers: `.channelPublished` with a PSM of the dynamic range, `.channel`. What is published
    // stays so while the radio is off. To withdraw it ends its open channels.
    case publishChannel(requiresEncryption: Bool)
    case unpublishChannel(psm: UInt16)
    /// - Parameter isEnhanced: by the newer of the two kinds of request, whose channels can be enlarged (Core 6.0,
    ///   Vol 3, Part A, 4.25).
    case openChannel(PeerID, psm: UInt16, isEnhanced: Bool = false)
    /// This side takes SDUs of `mtu` octets on an enhanced channel from now on, more than before. Answer: `.done` when
    /// the peer has agreed.
    case enlargeChannel(ChannelNumber, mtu: UInt16)
    /// Octets of a stream. Answer: `.done` once the controller has taken all of them, which waits for the peer's
    /// credits, so that open requests are the back-pressure; `.failure(.channelClosed)` if the channel ends before.
    case send(ChannelNumber, [UInt8])
    /// So many octets that came have been read: the peer may send more. Answer: `.done`.
    case received(ChannelNumber, Int)
    /// What has not been sent is lost. Answer: `.done` when the peer has answered or the link is gone; no
    /// `channelClosed` follows it.
    case closeChannel(ChannelNumber)

    // Advertising. Answer: `.advertising` with what was placed where, when it is on the air.
    case startAdvertising(AdvertisementContent)
    case stopAdvertising
    /// Beside the other, in extended packets. Answer: `.advertising` when it is on the air; `.invalidParameters` where
    /// the radio does not have them or they do not hold it. In the background it pauses.
    case startExtendedAdvertising(ExtendedAdvertisement)
    case stopExtendedAdvertising
    /// Other content of the periodic advertising that is on the air. Answer: `.done` when it is there.
    case updatePeriodicAdvertising(AdvertisementContent)

    // Periodic advertising of others. `synchronize` stays open until the packets are found (`.synchronized`), it fails,
    // or `endSynchronization` cancels it (`.failure(.cancelled)`); it never times out by itself. After
    // `endSynchronization`, `.done`, nothing of the peer's packets is told any more.
    case synchronize(PeerID, SynchronizationPreference)
    case endSynchronization(PeerID)

    case security(SecurityCommand)

    /// What the host waits for, whoever has asked for it. Answer: `.openWork`, the oldest first.
    case listOpenWork
}

package struct ScanFilter: Equatable, Sendable {
    /// Report only who lists one of these services; empty means everybody.
    package var services: [BluetoothUUID] = []
    /// Report also who solicits one of these.
    package var solicitedServices: [BluetoothUUID] = []
    /// Report every packet, not only what is new.
    package var allowDuplicates = false

    package init(
        services: [BluetoothUUID] = [], solicitedServices: [BluetoothUUID] = [], allowDuplicates: Bool = false
    ) {
        self.services = services
        self.solicitedServices = solicitedServices
        self.allowDuplicates = allowDuplicates
    }
}

package struct ConnectionPreference: Equatable, Sendable {
    /// In slots of 1.25 ms, 6...3200.
    package var intervalSlots: ClosedRange<UInt16>
    /// How many events in a row the peripheral may skip, 0...499.
    package var latency: UInt16
    /// In units of 10 ms, 10...3200.
    package var supervisionTimeout: UInt16

    package init(intervalSlots: ClosedRange<UInt16>, latency: UInt16, supervisionTimeout: UInt16) {
        self.intervalSlots = intervalSlots
        self.latency = latency
        self.supervisionTimeout = supervisionTimeout
    }
}

package enum SubscriptionKind: UInt16, Equatable, Sendable {
    // Raw values: the descriptor's bits, Core 6.0, Vol 3, Part G, 3.3.3.3.
    case none = 0x0000
    case notifications = 0x0001
    case indications = 0x0002
}

/// What a peripheral wants to be seen of it. The host places it into the 31 + 31 octets of legacy advertising.
package struct AdvertisementContent: Equatable, Sendable {
    package var localName: String?
    package var services: [BluetoothUUID] = []
    /// Not offered by Apple's API. Legacy packets carry the first one.
    package var serviceData: [AdvertisingData.ServiceData] = []
    /// Company identifier (2 octets, little-endian) and data; not offered by Apple's API.
    package var manufacturerData: [UInt8]?
    package var isConnectable = true

    package init(
        localName: String? = nil, services: [BluetoothUUID] = [],
        serviceData: [AdvertisingData.ServiceData] = [], manufacturerData: [UInt8]? = nil,
        isConnectable: Bool = true
    ) {
        self.localName = localName
        self.services = services
        self.serviceData = serviceData
        self.manufacturerData = manufacturerData
        self.isConnectable = isConnectable
    }
}

/// An advertisement of extended packets: up to 1650 octets, 238 if it is connectable. Only newer devices hear it.
package struct ExtendedAdvertisement: Equatable, Sendable {
    package var content: AdvertisementContent
    /// Whether it goes on the coded PHY, which reaches farther and lasts longer.
    package var isOnCoded: Bool
    /// Whether it says at which power it is sent. That takes three octets.
    package var tellsTransmitPower: Bool
    /// What is said at fixed times besides, if it is not connectable.
    package var periodic: PeriodicAdvertisement?

    package init(
        _ content: AdvertisementContent, isOnCoded: Bool = false, tellsTransmitPower: Bool = false,
        periodic: PeriodicAdvertisement? = nil
    ) {
        self.content = content
        self.isOnCoded = isOnCoded
        self.tellsTransmitPower = tellsTransmitPower
        self.periodic = periodic
    }
}
