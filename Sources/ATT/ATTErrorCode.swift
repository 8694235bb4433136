/// Why a server refuses a request.
///
/// Source: Core 6.0, Vol 3, Part F, 3.4.1.1; the codes from 0xE0 on, Core Specification Supplement, Part B.
package struct ATTErrorCode: RawRepresentable, Hashable, Sendable, Error {
    package let rawValue: UInt8
    package init(rawValue: UInt8) { self.rawValue = rawValue }

    package static let invalidHandle = ATTErrorCode(rawValue: 0x01)
    package static let readNotPermitted = ATTErrorCode(rawValue: 0x02)
    package static let writeNotPermitted = ATTErrorCode(rawValue: 0x03)
    package static let invalidPDU = ATTErrorCode(rawValue: 0x04)
    package static let insufficientAuthentication = ATTErrorCode(rawValue: 0x05)
    package static let requestNotSupported = ATTErrorCode(rawValue: 0x06)
    package static let invalidOffset = ATTErrorCode(rawValue: 0x07)
    package static let insufficientAuthorization = ATTErrorCode(rawValue: 0x08)
    package static let prepareQueueFull = ATTErrorCode(rawValue: 0x09)
    package static let attributeNotFound = ATTErrorCode(rawValue: 0x0A)
    package static let attributeNotLong = ATTErrorCode(rawValue: 0x0B)
    package static let encryptionKeySizeTooShort = ATTErrorCode(rawValue: 0x0C)
    package static let invalidAttributeValueLength = ATTErrorCode(rawValue: 0x0D)
    package static let unlikelyError = ATTErrorCode(rawValue: 0x0E)
    package static let insufficientEncryption = ATTErrorCode(rawValue: 0x0F)
    package static let unsupportedGroupType = ATTErrorCode(rawValue: 0x10)
    package static let insufficientResources = ATTErrorCode(rawValue: 0x11)
    package static let databaseOutOfSync = ATTErrorCode(rawValue: 0x12)
    package static let valueNotAllowed = ATTErrorCode(rawValue: 0x13)
    package static let writeRequestRejected = ATTErrorCode(rawValue: 0xFC)
    package static let configurationDescriptorImproperlyConfigured = ATTErrorCode(rawValue: 0xFD)
    package static let procedureAlreadyInProgress = ATTErrorCode(rawValue: 0xFE)
    package static let outOfRange = ATTErrorCode(rawValue: 0xFF)
}

extension ATTErrorCode: CustomStringConvertible {
    /// The specification's words, or what range the code belongs to.
    package var description: String {
        switch self {
        case .invalidHandle: "Invalid Handle"
        case .readNotPermitted: "Read Not Permitted"
        case .writeNotPermitted: "Write Not Permitted"
        case .invalidPDU: "Invalid PDU"
        case .insufficientAuthentication: "Insufficient Authentication"
        case .requestNotSupported: "Request Not Supported"
        case .invalidOffset: "Invalid Offset"
        case .insufficientAuthorization: "Insufficient Authorization"
        case .prepareQueueFull: "Prepare Queue Full"
        case .attributeNotFound: "Attribute Not Found"
        case .attributeNotLong: "Attribute Not Long"
        case .encryptionKeySizeTooShort: "Encryption Key Size Too Short"
        case .invalidAttributeValueLength: "Invalid Attribute Value Length"
        case .unlikelyError: "Unlikely Error"
        case .insufficientEncryption: "Insufficient Encryption"
        case .unsupportedGroupType: "Unsupported Group Type"
        case .insufficientResources: "Insufficient Resources"
        case .databaseOutOfSync: "Database Out Of Sync"
        case .valueNotAllowed: "Value Not Allowed"
        case .writeRequestRejected: "Write Request Rejected"
        case .configurationDescriptorImproperlyConfigured:
            "Client Characteristic Configuration Descriptor Improperly Configured"
        case .procedureAlreadyInProgress: "Procedure Already In Progress"
        case .outOfRange: "Out Of Range"
        default: numbered
        }
    }

    private var numbered: String {
        let digits = "0x" + (rawValue < 16 ? "0" : "") + String(rawValue, radix: 16, uppercase: true)
        return switch rawValue {
        case 0x80...0x9F: "Application Error \(digits)"
        case 0xE0...0xFF: "Common Profile Error \(digits)"
        default: "Reserved Error \(digits)"
        }
    }
}
