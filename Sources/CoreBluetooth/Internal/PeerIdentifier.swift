import BluetoothCrypto
import BluetoothTypes
import HostInterface

extension UUID {
    /// How a host calls a peer: the same at each meeting, another on each host. It is made of both addresses as RFC
    /// 9562, 5.5, makes a UUID of a name.
    init(peer: PeerID, seenBy adapter: DeviceAddress) {
        let name = adapter.octets + [adapter.kind.rawValue] + peer.address.octets + [peer.address.kind.rawValue]
        var octets = [UInt8](sha1(peerNamespace + name).prefix(16))
        octets[6] = octets[6] & 0x0F | 0x50
        octets[8] = octets[8] & 0x3F | 0x80
        self = unsafe octets.withUnsafeBytes { unsafe UUID(uuid: $0.loadUnaligned(as: uuid_t.self)) }
    }
}

/// The name space of peers, drawn at random once: 6f1bcf0e-54d1-4d0b-9a5c-0d6f2f6bb0a7.
private let peerNamespace: [UInt8] = [
    0x6F, 0x1B, 0xCF, 0x0E, 0x54, 0xD1, 0x4D, 0x0B, 0x9A, 0x5C, 0x0D, 0x6F, 0x2F, 0x6B, 0xB0, 0xA7,
]
