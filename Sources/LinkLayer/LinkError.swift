/// Why a procedure failed or a connection ended, as it travels in LL control PDUs.
///
/// Source: Core 6.0, Vol 1, Part F, 1.3, of which these are the ones that the link layer itself gives.
package struct LinkError: RawRepresentable, Hashable, Sendable {
    package let rawValue: UInt8
    package init(rawValue: UInt8) { self.rawValue = rawValue }

    package static let success = LinkError(rawValue: 0x00)
    package static let keyMissing = LinkError(rawValue: 0x06)
    package static let connectionTimeout = LinkError(rawValue: 0x08)
    package static let localHostTerminated = LinkError(rawValue: 0x16)
    package static let unsupportedRemoteFeature = LinkError(rawValue: 0x1A)
    package static let invalidParameters = LinkError(rawValue: 0x1E)
    package static let unsupportedParameterValue = LinkError(rawValue: 0x20)
    package static let responseTimeout = LinkError(rawValue: 0x22)
    package static let procedureCollision = LinkError(rawValue: 0x23)
    package static let instantPassed = LinkError(rawValue: 0x28)
    package static let differentTransactionCollision = LinkError(rawValue: 0x2A)
    package static let unacceptableParameters = LinkError(rawValue: 0x3B)
    package static let micFailure = LinkError(rawValue: 0x3D)
    package static let failedToBeEstablished = LinkError(rawValue: 0x3E)
}
