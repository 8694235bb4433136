/// Why a pairing fails, as the side that ends it says.
///
/// Source: Core 6.0, Vol 3, Part H, 3.5.5, table 3.7.
package struct PairingFailedReason: RawRepresentable, Hashable, Sendable, Error {
    package let rawValue: UInt8
    package init(rawValue: UInt8) { self.rawValue = rawValue }

    package static let passkeyEntryFailed = PairingFailedReason(rawValue: 0x01)
    package static let outOfBandNotAvailable = PairingFailedReason(rawValue: 0x02)
    package static let authenticationRequirements = PairingFailedReason(rawValue: 0x03)
    package static let confirmValueFailed = PairingFailedReason(rawValue: 0x04)
    package static let pairingNotSupported = PairingFailedReason(rawValue: 0x05)
    package static let encryptionKeySize = PairingFailedReason(rawValue: 0x06)
    package static let commandNotSupported = PairingFailedReason(rawValue: 0x07)
    package static let unspecified = PairingFailedReason(rawValue: 0x08)
    package static let repeatedAttempts = PairingFailedReason(rawValue: 0x09)
    package static let invalidParameters = PairingFailedReason(rawValue: 0x0A)
    package static let dhKeyCheckFailed = PairingFailedReason(rawValue: 0x0B)
    package static let numericComparisonFailed = PairingFailedReason(rawValue: 0x0C)
    package static let pairingInProgress = PairingFailedReason(rawValue: 0x0D)
    package static let crossTransportKeyNotAllowed = PairingFailedReason(rawValue: 0x0E)
    package static let keyRejected = PairingFailedReason(rawValue: 0x0F)
    package static let busy = PairingFailedReason(rawValue: 0x10)
}

extension PairingFailedReason: CustomStringConvertible {
    /// The specification's words, or the number.
    package var description: String {
        switch self {
        case .passkeyEntryFailed: "Passkey Entry Failed"
        case .outOfBandNotAvailable: "OOB Not Available"
        case .authenticationRequirements: "Authentication Requirements"
        case .confirmValueFailed: "Confirm Value Failed"
        case .pairingNotSupported: "Pairing Not Supported"
        case .encryptionKeySize: "Encryption Key Size"
        case .commandNotSupported: "Command Not Supported"
        case .unspecified: "Unspecified Reason"
        case .repeatedAttempts: "Repeated Attempts"
        case .invalidParameters: "Invalid Parameters"
        case .dhKeyCheckFailed: "DHKey Check Failed"
        case .numericComparisonFailed: "Numeric Comparison Failed"
        case .pairingInProgress: "BR/EDR Pairing In Progress"
        case .crossTransportKeyNotAllowed: "Cross-transport Key Derivation/Generation Not Allowed"
        case .keyRejected: "Key Rejected"
        case .busy: "Busy"
        default: "Reserved Reason 0x" + (rawValue < 16 ? "0" : "") + String(rawValue, radix: 16, uppercase: true)
        }
    }
}
