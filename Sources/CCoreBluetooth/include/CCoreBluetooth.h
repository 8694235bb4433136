// The error codes as open C enums: Swift imports them as enums that hold any raw value, and whose switches need
// `@unknown default`. A Swift enum cannot do the first, a Swift struct not the second.
#ifndef CCOREBLUETOOTH_H
#define CCOREBLUETOOTH_H

#define CB_OPEN_ENUM __attribute__((enum_extensibility(open)))
#define CB_SWIFT_NAME(name) __attribute__((swift_name(name)))

typedef enum CB_OPEN_ENUM CBErrorCode : long {
    CBErrorUnknown CB_SWIFT_NAME("unknown") = 0,
    CBErrorInvalidParameters CB_SWIFT_NAME("invalidParameters") = 1,
    CBErrorInvalidHandle CB_SWIFT_NAME("invalidHandle") = 2,
    CBErrorNotConnected CB_SWIFT_NAME("notConnected") = 3,
    CBErrorOutOfSpace CB_SWIFT_NAME("outOfSpace") = 4,
    CBErrorOperationCancelled CB_SWIFT_NAME("operationCancelled") = 5,
    CBErrorConnectionTimeout CB_SWIFT_NAME("connectionTimeout") = 6,
    CBErrorPeripheralDisconnected CB_SWIFT_NAME("peripheralDisconnected") = 7,
    CBErrorUUIDNotAllowed CB_SWIFT_NAME("uuidNotAllowed") = 8,
    CBErrorAlreadyAdvertising CB_SWIFT_NAME("alreadyAdvertising") = 9,
    CBErrorConnectionFailed CB_SWIFT_NAME("connectionFailed") = 10,
    CBErrorConnectionLimitReached CB_SWIFT_NAME("connectionLimitReached") = 11,
    CBErrorUnkownDevice CB_SWIFT_NAME("unkownDevice") = 12,
    CBErrorOperationNotSupported CB_SWIFT_NAME("operationNotSupported") = 13,
    CBErrorPeerRemovedPairingInformation CB_SWIFT_NAME("peerRemovedPairingInformation") = 14,
    CBErrorEncryptionTimedOut CB_SWIFT_NAME("encryptionTimedOut") = 15,
    CBErrorTooManyLEPairedDevices CB_SWIFT_NAME("tooManyLEPairedDevices") = 16,
    CBErrorLeGattExceededBackgroundNotificationLimit
        CB_SWIFT_NAME("leGattExceededBackgroundNotificationLimit") = 17,
    CBErrorLeGattNearBackgroundNotificationLimit
        CB_SWIFT_NAME("leGattNearBackgroundNotificationLimit") = 18,
    // Apple names the last two and prints no numbers; these follow from the order of declaration.
    CBErrorChannelSoundingConfigurationFailed CB_SWIFT_NAME("channelSoundingConfigurationFailed") = 19,
    CBErrorChannelSoundingProcedureFailed CB_SWIFT_NAME("channelSoundingProcedureFailed") = 20,
} CBErrorCode;

// Core 6.0, Vol 3, Part F, 3.4.1.1.
typedef enum CB_OPEN_ENUM CBATTErrorCode : long {
    CBATTErrorSuccess CB_SWIFT_NAME("success") = 0x00,
    CBATTErrorInvalidHandle CB_SWIFT_NAME("invalidHandle") = 0x01,
    CBATTErrorReadNotPermitted CB_SWIFT_NAME("readNotPermitted") = 0x02,
    CBATTErrorWriteNotPermitted CB_SWIFT_NAME("writeNotPermitted") = 0x03,
    CBATTErrorInvalidPdu CB_SWIFT_NAME("invalidPdu") = 0x04,
    CBATTErrorInsufficientAuthentication CB_SWIFT_NAME("insufficientAuthentication") = 0x05,
    CBATTErrorRequestNotSupported CB_SWIFT_NAME("requestNotSupported") = 0x06,
    CBATTErrorInvalidOffset CB_SWIFT_NAME("invalidOffset") = 0x07,
    CBATTErrorInsufficientAuthorization CB_SWIFT_NAME("insufficientAuthorization") = 0x08,
    CBATTErrorPrepareQueueFull CB_SWIFT_NAME("prepareQueueFull") = 0x09,
    CBATTErrorAttributeNotFound CB_SWIFT_NAME("attributeNotFound") = 0x0A,
    CBATTErrorAttributeNotLong CB_SWIFT_NAME("attributeNotLong") = 0x0B,
    CBATTErrorInsufficientEncryptionKeySize CB_SWIFT_NAME("insufficientEncryptionKeySize") = 0x0C,
    CBATTErrorInvalidAttributeValueLength CB_SWIFT_NAME("invalidAttributeValueLength") = 0x0D,
    CBATTErrorUnlikelyError CB_SWIFT_NAME("unlikelyError") = 0x0E,
    CBATTErrorInsufficientEncryption CB_SWIFT_NAME("insufficientEncryption") = 0x0F,
    CBATTErrorUnsupportedGroupType CB_SWIFT_NAME("unsupportedGroupType") = 0x10,
    CBATTErrorInsufficientResources CB_SWIFT_NAME("insufficientResources") = 0x11,
} CBATTErrorCode;

#endif
