/// What a peer, or the local database, answers to an attribute request. The codes are those of the Attribute
/// Protocol, and a peer may send more than have a name here: 0x80...0x9F belong to the application, 0xE0...0xFF to
/// profiles.
public struct CBATTError: _BridgedStoredNSError {
    public typealias Code = CBATTErrorCode

    public let _nsError: NSError

    public init(_nsError error: NSError) {
        precondition(error.domain == CBATTErrorDomain, "A CBATTError has the domain \(CBATTErrorDomain).")
        _nsError = error
    }

    /// The error with `code`, whose text is added to `userInfo` unless that has one.
    public init(_ code: CBATTError.Code, userInfo: [String: Any] = [:]) {
        let described = userInfo.merging([NSLocalizedDescriptionKey: code.text]) { given, _ in given }
        _nsError = NSError(domain: CBATTErrorDomain, code: code.rawValue, userInfo: described)
    }

    public static var _nsErrorDomain: String { CBATTErrorDomain }
    public static var errorDomain: String { CBATTErrorDomain }

    /// A sentence for a person.
    public var localizedDescription: String { _nsError.localizedDescription }

    public var description: String { errorDescription(of: _nsError) }

    public static var success: CBATTError.Code { .success }
    public static var invalidHandle: CBATTError.Code { .invalidHandle }
    public static var readNotPermitted: CBATTError.Code { .readNotPermitted }
    public static var writeNotPermitted: CBATTError.Code { .writeNotPermitted }
    public static var invalidPdu: CBATTError.Code { .invalidPdu }
    public static var insufficientAuthentication: CBATTError.Code { .insufficientAuthentication }
    public static var requestNotSupported: CBATTError.Code { .requestNotSupported }
    public static var invalidOffset: CBATTError.Code { .invalidOffset }
    public static var insufficientAuthorization: CBATTError.Code { .insufficientAuthorization }
    public static var prepareQueueFull: CBATTError.Code { .prepareQueueFull }
    public static var attributeNotFound: CBATTError.Code { .attributeNotFound }
    public static var attributeNotLong: CBATTError.Code { .attributeNotLong }
    public static var insufficientEncryptionKeySize: CBATTError.Code { .insufficientEncryptionKeySize }
    public static var invalidAttributeValueLength: CBATTError.Code { .invalidAttributeValueLength }
    public static var unlikelyError: CBATTError.Code { .unlikelyError }
    public static var insufficientEncryption: CBATTError.Code { .insufficientEncryption }
    public static var unsupportedGroupType: CBATTError.Code { .unsupportedGroupType }
    public static var insufficientResources: CBATTError.Code { .insufficientResources }
}

extension CBATTErrorCode: @retroactive _ErrorCodeProtocol {
    public typealias _ErrorType = CBATTError
}

extension CBATTError.Code {
    var text: String {
        switch self {
        case .success: "Success."
        case .invalidHandle: "The handle is invalid."
        case .readNotPermitted: "Reading is not permitted."
        case .writeNotPermitted: "Writing is not permitted."
        case .invalidPdu: "The command is invalid."
        case .insufficientAuthentication: "Authentication is insufficient."
        case .requestNotSupported: "The request is not supported."
        case .invalidOffset: "The offset is invalid."
        case .insufficientAuthorization: "Authorization is insufficient."
        case .prepareQueueFull: "The prepare queue is full."
        case .attributeNotFound: "The attribute could not be found."
        case .attributeNotLong: "The attribute is not long."
        case .insufficientEncryptionKeySize: "The encryption key size is insufficient."
        case .invalidAttributeValueLength: "The value's length is invalid."
        case .unlikelyError: "Unlikely error."
        case .insufficientEncryption: "Encryption is insufficient."
        case .unsupportedGroupType: "The group type is unsupported."
        case .insufficientResources: "Resources are insufficient."
        @unknown default: "Unknown ATT error."
        }
    }
}
