package import ByteCodec

/// Every event of this catalogue, decoded: what a host can be told by its controller.
package enum ControllerEvent: Equatable, Sendable {
    case commandComplete(CommandComplete)
    case commandStatus(CommandStatus)
    case disconnectionComplete(DisconnectionComplete)
    /// In either version.
    case encryptionChange(EncryptionChange)
    case encryptionKeyRefreshComplete(EncryptionKeyRefreshComplete)
    case authenticatedPayloadTimeoutExpired(AuthenticatedPayloadTimeoutExpired)
    case readRemoteVersionComplete(ReadRemoteVersionComplete)
    case hardwareError(HardwareError)
    case numberOfCompletedPackets(NumberOfCompletedPackets)
    case dataBufferOverflow(DataBufferOverflow)
    /// Enhanced or not.
    case connectionComplete(LEConnectionComplete)
    case advertisingReports(AdvertisingReports)
    case extendedAdvertisingReports(ExtendedAdvertisingReports)
    case scanTimeout
    case advertisingSetTerminated(LEAdvertisingSetTerminated)
    case scanRequestReceived(LEScanRequestReceived)
    case connectionUpdateComplete(LEConnectionUpdateComplete)
    case readRemoteFeaturesComplete(LEReadRemoteFeaturesComplete)
    case longTermKeyRequest(LELongTermKeyRequest)
    case remoteConnectionParameterRequest(LERemoteConnectionParameterRequest)
    case dataLengthChange(LEDataLengthChange)
    case phyUpdateComplete(LEPHYUpdateComplete)
    case channelSelectionAlgorithm(LEChannelSelectionAlgorithm)
    case subrateChange(LESubrateChange)
    case periodicSyncEstablished(LEPeriodicAdvertisingSyncEstablished)
    case periodicReport(LEPeriodicAdvertisingReport)
    case periodicSyncLost(LEPeriodicAdvertisingSyncLost)
    /// An event that this host has not asked for.
    case unknown(HCIEventCode)
    case unknownLE(LESubeventCode)

    /// - Throws: ``PacketError`` if the parameters are not what the event's layout says.
    package init(code: HCIEventCode, parameters: ArraySlice<UInt8>) throws(PacketError) {
        switch code {
        case .commandComplete: self = .commandComplete(try CommandComplete(octets: parameters))
        case .commandStatus: self = .commandStatus(try CommandStatus(octets: parameters))
        case .disconnectionComplete: self = .disconnectionComplete(try DisconnectionComplete(octets: parameters))
        case .encryptionChange: self = .encryptionChange(try EncryptionChange(octets: parameters))
        case .encryptionChangeV2: self = .encryptionChange(try EncryptionChangeV2(octets: parameters).change)
        case .authenticatedPayloadTimeoutExpired:
            self = .authenticatedPayloadTimeoutExpired(try AuthenticatedPayloadTimeoutExpired(octets: parameters))
        case .encryptionKeyRefreshComplete:
            self = .encryptionKeyRefreshComplete(try EncryptionKeyRefreshComplete(octets: parameters))
        case .readRemoteVersionComplete:
            self = .readRemoteVersionComplete(try ReadRemoteVersionComplete(octets: parameters))
        case .hardwareError: self = .hardwareError(try HardwareError(octets: parameters))
        case .numberOfCompletedPackets:
            self = .numberOfCompletedPackets(try NumberOfCompletedPackets(octets: parameters))
        case .dataBufferOverflow: self = .dataBufferOverflow(try DataBufferOverflow(octets: parameters))
        default: self = .unknown(code)
        }
    }

    /// - Throws: ``PacketError`` if the parameters are not what the subevent's layout says.
    package init(subevent: LESubeventCode, parameters: ArraySlice<UInt8>) throws(PacketError) {
        switch subevent {
        case .connectionComplete: self = .connectionComplete(try LEConnectionComplete(octets: parameters))
        case .enhancedConnectionComplete:
            self = .connectionComplete(try LEEnhancedConnectionComplete(octets: parameters).connection)
        case .advertisingReport: self = .advertisingReports(AdvertisingReports(parameters: parameters))
        case .extendedAdvertisingReport:
            self = .extendedAdvertisingReports(ExtendedAdvertisingReports(parameters: parameters))
        case .scanTimeout: self = .scanTimeout
        case .advertisingSetTerminated:
            self = .advertisingSetTerminated(try LEAdvertisingSetTerminated(octets: parameters))
        case .scanRequestReceived: self = .scanRequestReceived(try LEScanRequestReceived(octets: parameters))
        case .connectionUpdateComplete:
            self = .connectionUpdateComplete(try LEConnectionUpdateComplete(octets: parameters))
        case .readRemoteFeaturesComplete:
            self = .readRemoteFeaturesComplete(try LEReadRemoteFeaturesComplete(octets: parameters))
        case .longTermKeyRequest: self = .longTermKeyRequest(try LELongTermKeyRequest(octets: parameters))
        case .remoteConnectionParameterRequest:
            self = .remoteConnectionParameterRequest(try LERemoteConnectionParameterRequest(octets: parameters))
        case .dataLengthChange: self = .dataLengthChange(try LEDataLengthChange(octets: parameters))
        case .phyUpdateComplete: self = .phyUpdateComplete(try LEPHYUpdateComplete(octets: parameters))
        case .channelSelectionAlgorithm:
            self = .channelSelectionAlgorithm(try LEChannelSelectionAlgorithm(octets: parameters))
        case .subrateChange: self = .subrateChange(try LESubrateChange(octets: parameters))
        case .periodicAdvertisingSyncEstablished:
            self = .periodicSyncEstablished(try LEPeriodicAdvertisingSyncEstablished(octets: parameters))
        case .periodicAdvertisingReport:
            self = .periodicReport(try LEPeriodicAdvertisingReport(octets: parameters))
        case .periodicAdvertisingSyncLost:
            self = .periodicSyncLost(try LEPeriodicAdvertisingSyncLost(octets: parameters))
        default: self = .unknownLE(subevent)
        }
    }
}
