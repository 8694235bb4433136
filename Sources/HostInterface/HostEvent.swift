package import BluetoothTypes

/// What a host can tell.
package enum HostEvent: Equatable, Sendable {
    /// The adapter's state. The first one comes after `open`, also when the adapter has long been on.
    case state(AdapterState)
    case answer(RequestNumber, Result<HostAnswer, HostFailure>)
    /// The adapter knows a peer, or knows it better, whichever client learnt it. After `open` it comes for each
    /// known peer, before the first state; later at every change.
    case peerKnown(PeerKnowledge)

    // Central side.
    case discovered(Discovery)
    /// A link ended that this client held, without this client asking. Requests open on it were answered before.
    case disconnected(PeerID, HostFailure)
    /// ATT_MTU of a link that was reported, 23...517; `.connected` tells the first one.
    case mtuChanged(PeerID, mtu: Int)
    case notified(PeerID, AttributeHandle, value: [UInt8])
    /// The peer's GAP Device Name was read.
    case nameChanged(PeerID, String)
    /// Service Changed: what lies in `handles` must be discovered anew.
    case servicesChanged(PeerID, handles: ClosedRange<UInt16>)

    // Periodic advertising that this client follows.
    case periodicReport(PeerID, PeriodicReport)
    /// Its packets do not come any more, or the radio is off. Nothing follows.
    case synchronizationLost(PeerID)

    // Peripheral side.
    case readRequested(ServerReadRequest)
    /// One write, or all parts of an executed queue, to be applied together; one `respond` answers them.
    case writeRequested(ServerWriteRequest)
    case subscribed(PeerID, AttributeHandle, mtu: Int)
    case unsubscribed(PeerID, AttributeHandle)
    /// ATT_MTU of a link on which this client's services are used.
    case centralMTUChanged(PeerID, mtu: Int)

    // L2CAP channels.
    /// A peer opened one that this client has published.
    case channelOpened(OpenChannel)
    case channelReceived(ChannelNumber, [UInt8])
    /// An open channel ended without `closeChannel`: `.channelClosed` by the peer, `.cancelled` because this client
    /// withdrew it or let go of the link, or what ended the link.
    case channelClosed(ChannelNumber, HostFailure)

    case security(SecurityEvent)
}

package enum AdapterState: Equatable, Sendable {
    case unknown
    case resetting
    /// - Parameter reason: a sentence for a person.
    case unsupported(reason: String)
    case unauthorized(reason: String)
    case poweredOff
    /// - Parameter address: the adapter's identity address.
    case poweredOn(address: DeviceAddress)
}

/// What an adapter knows of a peer, for all its clients.
package struct PeerKnowledge: Equatable, Sendable {
    package var peer: PeerID
    /// The peer's GAP Device Name, once read.
    package var name: String?
    /// Whether the adapter holds a link to it, for whichever client.
    package var isConnected: Bool
    /// The primary services that were discovered on that link so far.
    package var services: [BluetoothUUID]

    package init(peer: PeerID, name: String? = nil, isConnected: Bool = false, services: [BluetoothUUID] = []) {
        self.peer = peer
        self.name = name
        self.isConnected = isConnected
        self.services = services
    }
}

/// One advertising report, or the advertisement and its scan response merged.
package struct Discovery: Equatable, Sendable {
    package var peer: PeerID
    /// Advertising data and scan response data, AD structures as they came (Core 6.0, Vol 3, Part C, 11).
    package var advertisingData: [UInt8]
    package var scanResponseData: [UInt8]
    package var isConnectable: Bool
    /// dBm; 127 means not available.
    package var rssi: Int8
    /// Services of the scan's filter that may be in the device's overflow area, as of an app in the background.
    package var overflowServices: [BluetoothUUID]

    package init(
        peer: PeerID, advertisingData: [UInt8], scanResponseData: [UInt8], isConnectable: Bool, rssi: Int8,
        overflowServices: [BluetoothUUID] = []
    ) {
        self.peer = peer
        self.advertisingData = advertisingData
        self.scanResponseData = scanResponseData
        self.isConnectable = isConnectable
        self.rssi = rssi
        self.overflowServices = overflowServices
    }
}

package struct ServerReadRequest: Equatable, Sendable {
    package var id: ServerRequestID
    package var central: PeerID
    package var characteristic: AttributeHandle
    package var offset: Int
    /// ATT_MTU of the link.
    package var mtu: Int

    package init(id: ServerRequestID, central: PeerID, characteristic: AttributeHandle, offset: Int, mtu: Int) {
        self.id = id
        self.central = central
        self.characteristic = characteristic
        self.offset = offset
        self.mtu = mtu
    }
}

package struct ServerWriteRequest: Equatable, Sendable {
    package struct Part: Equatable, Sendable {
        package var characteristic: AttributeHandle
        package var offset: Int
        package var value: [UInt8]

        package init(characteristic: AttributeHandle, offset: Int, value: [UInt8]) {
            self.characteristic = characteristic
            self.offset = offset
            self.value = value
        }
    }

    package var id: ServerRequestID
    package var central: PeerID
    package var parts: [Part]
    /// Whether the peer waits for an answer: a Write Command does not, and `respond` to it is dropped quietly.
    package var needsResponse: Bool
    /// ATT_MTU of the link.
    package var mtu: Int

    package init(id: ServerRequestID, central: PeerID, parts: [Part], needsResponse: Bool, mtu: Int) {
        self.id = id
        self.central = central
        self.parts = parts
        self.needsResponse = needsResponse
        self.mtu = mtu
    }
}

package enum HostAnswer: Equatable, Sendable {
    case done
    case connected(mtu: Int)
    case value([UInt8])
    case rssi(Int8)
    case services([RemoteService])
    case includedServices([RemoteService])
    case characteristics([RemoteCharacteristic])
    case descriptors([RemoteDescriptor])
    case published(PublishedService)
    case advertising(AdvertisementPlacement)
    case synchronized(TrainStatus)
    case link(LinkStatus)
    case bonds([BondRecord])
    case outOfBand(OutOfBandShare)
    case channelPublished(psm: UInt16)
    case channel(OpenChannel)
    case openWork([OpenWork])
}

/// What of an advertisement's content fitted where.
package struct AdvertisementPlacement: Equatable, Sendable {
    package var advertisingData: [UInt8]
    package var scanResponseData: [UInt8]
    /// Services that fitted nowhere and are not on the air.
    package var omittedServices: [BluetoothUUID]
    package var isNameShortened: Bool

    package init(
        advertisingData: [UInt8], scanResponseData: [UInt8], omittedServices: [BluetoothUUID], isNameShortened: Bool
    ) {
        self.advertisingData = advertisingData
        self.scanResponseData = scanResponseData
        self.omittedServices = omittedServices
        self.isNameShortened = isNameShortened
    }
}

/// Why the host could not do what it was asked, or why a link ended. Each layer that can refuse has one case with
/// that layer's own code.
package enum HostFailure: Error, Equatable, Sendable {
    case notPowered
    case notConnected
    case unknownPeer
    /// The client itself took the request back.
    case cancelled
    /// The link ended under the request. Core 6.0, Vol 1, Part F, 1.3: 0x08 supervision timeout, 0x13 peer ended.
    case disconnected(reason: UInt8)
    /// The controller refused. Core 6.0, Vol 1, Part F, 1.3.
    case controller(status: UInt8)
    /// Core 6.0, Vol 3, Part F, 3.4.1.1.
    case attribute(errorCode: UInt8)
    /// The peer's answer breaks the protocol. The text says how.
    case illegalAnswer(String)
    /// The peer has no Client Characteristic Configuration descriptor where one is needed.
    case noConfigurationDescriptor
    case alreadyAdvertising
    case invalidParameters(String)
    /// The ATT transaction timeout of 30 s (Core 6.0, Vol 3, Part F, 3.3.3).
    case timedOut
    case connectionLimitReached
    /// The link could not be encrypted.
    case security(SecurityProblem)
    /// The peer opens no channel. Core 6.0, Vol 3, Part A, 4.23; `nil`: it knows no such channels.
    case channelRefused(result: UInt16?)
    /// The peer closed the channel.
    case channelClosed
    case sessionLost
}
