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

    /// 0x00: nothing is wrong. The result of an answered request, never the code of an error.
    public static var success: CBATTError.Code { .success }
    /// 0x01: there is no attribute with this handle.
    public static var invalidHandle: CBATTError.Code { .invalidHandle }
    /// 0x02: the value cannot be read.
    public static var readNotPermitted: CBATTError.Code { .readNotPermitted }
    /// 0x03: the value cannot be written.
    public static var writeNotPermitted: CBATTError.Code { .writeNotPermitted }
    /// 0x04: the request was malformed.
    public static var invalidPdu: CBATTError.Code { .invalidPdu }
    /// 0x05: the link must be authenticated first.
    public static var insufficientAuthentication: CBATTError.Code { .insufficientAuthentication }
    /// 0x06: the peer does not do this.
    public static var requestNotSupported: CBATTError.Code { .requestNotSupported }
    /// 0x07: the offset lies beyond the end of the value.
    public static var invalidOffset: CBATTError.Code { .invalidOffset }
    /// 0x08: a person must first allow it.
    public static var insufficientAuthorization: CBATTError.Code { .insufficientAuthorization }
    /// 0x09: more parts of a long write than the peer can hold.
    public static var prepareQueueFull: CBATTError.Code { .prepareQueueFull }
    /// 0x0A: nothing was found in the range asked.
    public static var attributeNotFound: CBATTError.Code { .attributeNotFound }
    /// 0x0B: the value can only be read in one piece.
    public static var attributeNotLong: CBATTError.Code { .attributeNotLong }
    /// 0x0C: the key of the encrypted link is too short.
    public static var insufficientEncryptionKeySize: CBATTError.Code { .insufficientEncryptionKeySize }
    /// 0x0D: the value has a length that it cannot have.
    public static var invalidAttributeValueLength: CBATTError.Code { .invalidAttributeValueLength }
    /// 0x0E: something went wrong that no other code names.
    public static var unlikelyError: CBATTError.Code { .unlikelyError }
    /// 0x0F: the link must be encrypted first.
    public static var insufficientEncryption: CBATTError.Code { .insufficientEncryption }
    /// 0x10: attributes cannot be grouped by this type.
    public static var unsupportedGroupType: CBATTError.Code { .unsupportedGroupType }
    /// 0x11: the peer has no room for it.
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
