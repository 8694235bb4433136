/// The Security Manager's cryptographic toolbox. Numbers are as the Core specification prints them; a device's
/// address in f5 and f6 is 56 bits: its kind (0 public, 1 random), then its 48 bits.
///
/// Source: Core 6.0, Vol 3, Part H, 2.2.
package enum Toolbox {
    /// The hash of a resolvable private address: 24 bits. 2.2.2.
    package static func ah(_ key: SecretKey, _ random: UInt32) -> UInt32 {
        UInt32(truncatingIfNeeded: aes128(key, UInt128(random & 0xFF_FFFF))) & 0xFF_FFFF
    }

    /// A party of a legacy pairing.
    package struct Party: Sendable {
        /// The command with which it opened: Pairing Request or Pairing Response, seven octets as they travel.
        var command: [UInt8]
        /// 0 public, 1 random.
        var addressKind: UInt8
        /// 48 bits.
        var address: UInt64

        package init(command: [UInt8], addressKind: UInt8, address: UInt64) {
            precondition(command.count == 7, "Pairing Request and Pairing Response have seven octets.")
            self.command = command
            self.addressKind = addressKind
            self.address = address
        }
    }

    /// The confirm value of LE legacy pairing. 2.2.3.
    package static func c1(_ key: SecretKey, _ random: UInt128, initiator: Party, responder: Party) -> UInt128 {
        let kinds = [responder.addressKind, initiator.addressKind]
        let p1 = UInt128(
            bigEndianOctets: responder.command.reversed() + initiator.command.reversed() + kinds)
        let p2 = UInt128(initiator.address) << 48 | UInt128(responder.address)
        return aes128(key, aes128(key, random ^ p1) ^ p2)
    }

    /// The short term key of LE legacy pairing. 2.2.4.
    package static func s1(_ key: SecretKey, responder: UInt128, initiator: UInt128) -> SecretKey {
        let low = UInt128(UInt64.max)
        return SecretKey(aes128(key, (responder & low) << 64 | (initiator & low)))
    }

    /// The confirm value of LE Secure Connections pairing. `u` and `v` are X coordinates. 2.2.6.
    package static func f4(_ u: [UInt8], _ v: [UInt8], _ x: UInt128, _ z: UInt8) -> UInt128 {
        aesCMAC(SecretKey(x), u + v + [z])
    }

    /// MacKey and LTK of LE Secure Connections pairing. 2.2.7.
    package static func f5(
        _ secret: SharedSecret, _ n1: UInt128, _ n2: UInt128, _ a1: UInt64, _ a2: UInt64
    ) -> (macKey: SecretKey, longTermKey: SecretKey) {
        let salt = SecretKey(0x6C88_8391_AAF5_A538_6037_0BDB_5A60_83BE)
        let t = SecretKey(aesCMAC(salt, secret.octets))
        let addresses = a1.bigEndianOctets(7) + a2.bigEndianOctets(7)
        // "btle", and 256 bits as the length.
        let common = [0x62, 0x74, 0x6C, 0x65] + n1.octets + n2.octets + addresses + [0x01, 0x00]
        return (SecretKey(aesCMAC(t, [0] + common)), SecretKey(aesCMAC(t, [1] + common)))
    }

    /// The check value of LE Secure Connections pairing. 2.2.8.
    ///
    /// - Parameter ioCapability: 24 bits: AuthReq, OOB data flag, IO capability, most significant first.
    package static func f6(
        _ macKey: SecretKey, _ n1: UInt128, _ n2: UInt128, _ r: UInt128, ioCapability: UInt32, _ a1: UInt64,
        _ a2: UInt64
    ) -> UInt128 {
        let tail = ioCapability.bigEndianOctets(3) + a1.bigEndianOctets(7) + a2.bigEndianOctets(7)
        return aesCMAC(macKey, n1.octets + n2.octets + r.octets + tail)
    }

    /// The value of a numeric comparison; both sides show its last six digits. `u` and `v` are X coordinates. 2.2.9.
    package static func g2(_ u: [UInt8], _ v: [UInt8], _ x: UInt128, _ y: UInt128) -> UInt32 {
        UInt32(truncatingIfNeeded: aesCMAC(SecretKey(x), u + v + y.octets))
    }

    /// A key from a key and a name of four letters. 2.2.10.
    package static func h6(_ key: SecretKey, _ identifier: UInt32) -> SecretKey {
        SecretKey(aesCMAC(key, identifier.bigEndianOctets(4)))
    }

    /// A key from a key and a salt. 2.2.11.
    package static func h7(salt: UInt128, _ key: SecretKey) -> SecretKey {
        SecretKey(aesCMAC(SecretKey(salt), key.value.octets))
    }

    /// A key from a key, a salt and a name of four letters. Core 6.0, Vol 6, Part E, 1.1.1.
    package static func h8(_ key: SecretKey, salt: UInt128, _ identifier: UInt32) -> SecretKey {
        h6(h7(salt: salt, key), identifier)
    }
}
