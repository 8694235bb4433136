/// Which commands a controller knows: 64 octets of bits.
///
/// Source: Core 6.0, Vol 4, Part E, 6.27.
package struct SupportedCommands: Equatable, Sendable {
    package var octets: [UInt8] = Array(repeating: 0, count: 64)

    /// No command.
    package init() {}

    package init(_ opcodes: [HCIOpcode]) {
        for opcode in opcodes {
            guard let place = Self.places[opcode] else { preconditionFailure("\(opcode) has no bit in the table.") }
            octets[place.octet] |= 1 << place.bit
        }
    }

    /// Whether the controller says that it knows the command; `false` for one that has no bit here.
    package func contains(_ opcode: HCIOpcode) -> Bool {
        guard let place = Self.places[opcode] else { return false }
        return octets[place.octet] >> place.bit & 1 == 1
    }

    package mutating func remove(_ opcode: HCIOpcode) {
        guard let place = Self.places[opcode] else { return }
        octets[place.octet] &= ~(1 << place.bit)
    }

    private static let places: [HCIOpcode: (octet: Int, bit: UInt8)] = [
        .disconnect: (0, 5), .readRemoteVersion: (2, 7),
        .setEventMask: (5, 6), .reset: (5, 7),
        .readTransmitPowerLevel: (10, 2), .setControllerToHostFlowControl: (10, 5), .hostBufferSize: (10, 6),
        .hostNumberOfCompletedPackets: (10, 7),
        .readLocalVersion: (14, 3), .readLocalSupportedFeatures: (14, 5), .readBufferSize: (14, 7),
        .readAddress: (15, 1), .readRSSI: (15, 5),
        .setEventMaskPage2: (22, 2), .writeLEHostSupport: (24, 6),
        .leSetEventMask: (25, 0), .leReadBufferSize: (25, 1), .leReadLocalSupportedFeatures: (25, 2),
        .leSetRandomAddress: (25, 4), .leSetAdvertisingParameters: (25, 5), .leReadAdvertisingTxPower: (25, 6),
        .leSetAdvertisingData: (25, 7),
        .leSetScanResponseData: (26, 0), .leSetAdvertisingEnable: (26, 1), .leSetScanParameters: (26, 2),
        .leSetScanEnable: (26, 3), .leCreateConnection: (26, 4), .leCreateConnectionCancel: (26, 5),
        .leReadFilterAcceptListSize: (26, 6), .leClearFilterAcceptList: (26, 7),
        .leAddDeviceToFilterAcceptList: (27, 0), .leRemoveDeviceFromFilterAcceptList: (27, 1),
        .leConnectionUpdate: (27, 2), .leSetHostChannelClassification: (27, 3), .leReadChannelMap: (27, 4),
        .leReadRemoteFeatures: (27, 5), .leEncrypt: (27, 6), .leRand: (27, 7),
        .leEnableEncryption: (28, 0), .leLongTermKeyRequestReply: (28, 1),
        .leLongTermKeyRequestNegativeReply: (28, 2), .leReadSupportedStates: (28, 3),
        .readAuthenticatedPayloadTimeout: (32, 4), .writeAuthenticatedPayloadTimeout: (32, 5),
        .leRemoteConnectionParameterRequestReply: (33, 4), .leRemoteConnectionParameterRequestNegativeReply: (33, 5),
        .leSetDataLength: (33, 6), .leReadSuggestedDefaultDataLength: (33, 7),
        .leWriteSuggestedDefaultDataLength: (34, 0),
        .leAddDeviceToResolvingList: (34, 3), .leRemoveDeviceFromResolvingList: (34, 4), .leClearResolvingList: (34, 5),
        .leReadResolvingListSize: (34, 6), .leReadPeerResolvableAddress: (34, 7),
        .leReadLocalResolvableAddress: (35, 0), .leSetAddressResolutionEnable: (35, 1),
        .leSetResolvablePrivateAddressTimeout: (35, 2),
        .leReadMaximumDataLength: (35, 3), .leReadPHY: (35, 4), .leSetDefaultPHY: (35, 5), .leSetPHY: (35, 6),
        .leSetAdvertisingSetRandomAddress: (36, 1), .leSetExtendedAdvertisingParameters: (36, 2),
        .leSetExtendedAdvertisingData: (36, 3), .leSetExtendedScanResponseData: (36, 4),
        .leSetExtendedAdvertisingEnable: (36, 5), .leReadMaximumAdvertisingDataLength: (36, 6),
        .leReadNumberOfAdvertisingSets: (36, 7), .leRemoveAdvertisingSet: (37, 0), .leClearAdvertisingSets: (37, 1),
        .leSetPeriodicAdvertisingParameters: (37, 2), .leSetPeriodicAdvertisingData: (37, 3),
        .leSetPeriodicAdvertisingEnable: (37, 4),
        .leSetExtendedScanParameters: (37, 5), .leSetExtendedScanEnable: (37, 6), .leExtendedCreateConnection: (37, 7),
        .lePeriodicAdvertisingCreateSync: (38, 0), .lePeriodicAdvertisingCreateSyncCancel: (38, 1),
        .lePeriodicAdvertisingTerminateSync: (38, 2), .leAddDeviceToPeriodicAdvertiserList: (38, 3),
        .leRemoveDeviceFromPeriodicAdvertiserList: (38, 4), .leClearPeriodicAdvertiserList: (38, 5),
        .leReadPeriodicAdvertiserListSize: (38, 6),
        .leSetPrivacyMode: (39, 2), .leSetPeriodicAdvertisingReceiveEnable: (40, 5),
        .leReadBufferSizeV2: (41, 5), .leSetHostFeature: (44, 1),
        .leSetDefaultSubrate: (46, 0), .leSubrateRequest: (46, 1),
    ]
}
