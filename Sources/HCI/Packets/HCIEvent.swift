package import ByteCodec

/// What an event packet is: its first octet behind the indicator.
///
/// Source: Core 6.0, Vol 4, Part E, 7.7.
package struct HCIEventCode: RawRepresentable, Hashable, Sendable {
    package let rawValue: UInt8
    package init(rawValue: UInt8) { self.rawValue = rawValue }

    package static let disconnectionComplete = HCIEventCode(rawValue: 0x05)
    package static let encryptionChange = HCIEventCode(rawValue: 0x08)
    package static let readRemoteVersionComplete = HCIEventCode(rawValue: 0x0C)
    package static let commandComplete = HCIEventCode(rawValue: 0x0E)
    package static let commandStatus = HCIEventCode(rawValue: 0x0F)
    package static let hardwareError = HCIEventCode(rawValue: 0x10)
    package static let numberOfCompletedPackets = HCIEventCode(rawValue: 0x13)
    package static let dataBufferOverflow = HCIEventCode(rawValue: 0x1A)
    package static let encryptionKeyRefreshComplete = HCIEventCode(rawValue: 0x30)
    package static let leMeta = HCIEventCode(rawValue: 0x3E)
    package static let authenticatedPayloadTimeoutExpired = HCIEventCode(rawValue: 0x57)
    /// Encryption Change [v2].
    package static let encryptionChangeV2 = HCIEventCode(rawValue: 0x59)

    /// Whether a host can keep the event from coming. Those that its flow control lives on have no bit in the mask,
    /// though their codes would name one (7.3.1: bits 13, 14 and 18 are reserved).
    package var isMaskable: Bool {
        switch self {
        case .commandComplete, .commandStatus, .numberOfCompletedPackets: false
        default: true
        }
    }

    /// The event's bit in the mask of Set Event Mask (7.3.1).
    package var mask: UInt64 { rawValue == 0 || rawValue > 64 ? 0 : 1 << UInt64(rawValue - 1) }

    /// The event's bit in the mask of Set Event Mask Page 2 (7.3.69); 0 for one of the first page.
    package var maskOnPage2: UInt64 {
        switch self {
        case .authenticatedPayloadTimeoutExpired: 1 << 23
        case .encryptionChangeV2: 1 << 25
        default: 0
        }
    }
}

/// What an LE Meta event is: its first parameter.
///
/// Source: Core 6.0, Vol 4, Part E, 7.7.65.
package struct LESubeventCode: RawRepresentable, Hashable, Sendable {
    package let rawValue: UInt8
    package init(rawValue: UInt8) { self.rawValue = rawValue }

    package static let connectionComplete = LESubeventCode(rawValue: 0x01)
    package static let advertisingReport = LESubeventCode(rawValue: 0x02)
    package static let connectionUpdateComplete = LESubeventCode(rawValue: 0x03)
    package static let readRemoteFeaturesComplete = LESubeventCode(rawValue: 0x04)
    package static let longTermKeyRequest = LESubeventCode(rawValue: 0x05)
    package static let remoteConnectionParameterRequest = LESubeventCode(rawValue: 0x06)
    package static let dataLengthChange = LESubeventCode(rawValue: 0x07)
    package static let enhancedConnectionComplete = LESubeventCode(rawValue: 0x0A)
    package static let directedAdvertisingReport = LESubeventCode(rawValue: 0x0B)
    package static let phyUpdateComplete = LESubeventCode(rawValue: 0x0C)
    package static let extendedAdvertisingReport = LESubeventCode(rawValue: 0x0D)
    package static let periodicAdvertisingSyncEstablished = LESubeventCode(rawValue: 0x0E)
    package static let periodicAdvertisingReport = LESubeventCode(rawValue: 0x0F)
    package static let periodicAdvertisingSyncLost = LESubeventCode(rawValue: 0x10)
    package static let scanTimeout = LESubeventCode(rawValue: 0x11)
    package static let advertisingSetTerminated = LESubeventCode(rawValue: 0x12)
    package static let scanRequestReceived = LESubeventCode(rawValue: 0x13)
    package static let channelSelectionAlgorithm = LESubeventCode(rawValue: 0x14)
    package static let subrateChange = LESubeventCode(rawValue: 0x23)

    /// The subevent's bit in the mask of LE Set Event Mask (7.8.1).
    package var mask: UInt64 { rawValue == 0 || rawValue > 64 ? 0 : 1 << UInt64(rawValue - 1) }
}

/// The parameters of an event, controller to host.
package protocol HCIEvent: Packet {
    static var code: HCIEventCode { get }
}

extension HCIEvent {
    /// The event in its H4 form.
    package var packet: [UInt8] { shortPacket(.event, header: [Self.code.rawValue], parameters: octets) }
}

/// The parameters of an LE Meta event, behind the subevent code.
package protocol LEEvent: HCIEvent {
    static var subevent: LESubeventCode { get }
}

extension LEEvent {
    package static var code: HCIEventCode { .leMeta }

    /// The event in its H4 form.
    package var packet: [UInt8] {
        shortPacket(.event, header: [Self.code.rawValue], parameters: [Self.subevent.rawValue] + octets)
    }
}
