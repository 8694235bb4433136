package import ByteCodec

/// A PDU of the Security Manager channel.
///
/// Source: Core 6.0, Vol 3, Part H, 3.3 to 3.6.
package enum SMPCommand: Equatable, Sendable {
    case pairingRequest(PairingFeatures)
    case pairingResponse(PairingFeatures)
    case pairingConfirm(PairingValue)
    case pairingRandom(PairingValue)
    case pairingFailed(PairingFailed)
    case encryptionInformation(DistributedKey)
    case centralIdentification(CentralIdentification)
    case identityInformation(DistributedKey)
    case identityAddressInformation(IdentityAddressInformation)
    case signingInformation(DistributedKey)
    case securityRequest(SecurityRequest)
    case pairingPublicKey(PairingPublicKey)
    case pairingDHKeyCheck(PairingValue)
    case keypressNotification(KeypressNotification)

    /// What a PDU is: its first octet. 3.3, table 3.3.
    package struct Code: RawRepresentable, Hashable, Sendable {
        package let rawValue: UInt8
        package init(rawValue: UInt8) { self.rawValue = rawValue }

        package static let pairingRequest = Code(rawValue: 0x01)
        package static let pairingResponse = Code(rawValue: 0x02)
        package static let pairingConfirm = Code(rawValue: 0x03)
        package static let pairingRandom = Code(rawValue: 0x04)
        package static let pairingFailed = Code(rawValue: 0x05)
        package static let encryptionInformation = Code(rawValue: 0x06)
        package static let centralIdentification = Code(rawValue: 0x07)
        package static let identityInformation = Code(rawValue: 0x08)
        package static let identityAddressInformation = Code(rawValue: 0x09)
        package static let signingInformation = Code(rawValue: 0x0A)
        package static let securityRequest = Code(rawValue: 0x0B)
        package static let pairingPublicKey = Code(rawValue: 0x0C)
        package static let pairingDHKeyCheck = Code(rawValue: 0x0D)
        package static let keypressNotification = Code(rawValue: 0x0E)
    }

    /// Decodes a PDU.
    ///
    /// - Returns: `nil` if its code is reserved: such a PDU is ignored (3.3).
    /// - Throws: ``PacketError`` that names the field in which the octets stop making sense.
    package init?(octets: ArraySlice<UInt8>) throws(PacketError) {
        guard let code = octets.first else { throw PacketError(.truncated, field: "Code") }
        let data = octets.dropFirst()
        switch Code(rawValue: code) {
        case .pairingRequest: self = .pairingRequest(try PairingFeatures(octets: data))
        case .pairingResponse: self = .pairingResponse(try PairingFeatures(octets: data))
        case .pairingConfirm: self = .pairingConfirm(try PairingValue(octets: data))
        case .pairingRandom: self = .pairingRandom(try PairingValue(octets: data))
        case .pairingFailed: self = .pairingFailed(try PairingFailed(octets: data))
        case .encryptionInformation: self = .encryptionInformation(try DistributedKey(octets: data))
        case .centralIdentification: self = .centralIdentification(try CentralIdentification(octets: data))
        case .identityInformation: self = .identityInformation(try DistributedKey(octets: data))
        case .identityAddressInformation:
            self = .identityAddressInformation(try IdentityAddressInformation(octets: data))
        case .signingInformation: self = .signingInformation(try DistributedKey(octets: data))
        case .securityRequest: self = .securityRequest(try SecurityRequest(octets: data))
        case .pairingPublicKey: self = .pairingPublicKey(try PairingPublicKey(octets: data))
        case .pairingDHKeyCheck: self = .pairingDHKeyCheck(try PairingValue(octets: data))
        case .keypressNotification: self = .keypressNotification(try KeypressNotification(octets: data))
        default: return nil
        }
    }

    /// The PDU as it travels.
    package var octets: [UInt8] { [code.rawValue] + parameters.octets }

    package var code: Code { content.code }

    /// One line a field. Keys and random values are counted, not shown.
    package var summary: String { parameters.summary }

    private var parameters: any Packet { content.parameters }

    private var content: (code: Code, parameters: any Packet) {
        switch self {
        case .pairingRequest(let features): (.pairingRequest, features)
        case .pairingResponse(let features): (.pairingResponse, features)
        case .pairingConfirm(let value): (.pairingConfirm, value)
        case .pairingRandom(let value): (.pairingRandom, value)
        case .pairingFailed(let failed): (.pairingFailed, failed)
        case .encryptionInformation(let key): (.encryptionInformation, key)
        case .centralIdentification(let identification): (.centralIdentification, identification)
        case .identityInformation(let key): (.identityInformation, key)
        case .identityAddressInformation(let address): (.identityAddressInformation, address)
        case .signingInformation(let key): (.signingInformation, key)
        case .securityRequest(let request): (.securityRequest, request)
        case .pairingPublicKey(let key): (.pairingPublicKey, key)
        case .pairingDHKeyCheck(let value): (.pairingDHKeyCheck, value)
        case .keypressNotification(let notification): (.keypressNotification, notification)
        }
    }
}
