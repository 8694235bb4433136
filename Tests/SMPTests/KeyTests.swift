import BluetoothCrypto
import BluetoothTypes
import EventLoop
import SMP
import Testing

/// What comes of a pairing: keys that are handed out, and links that are encrypted with them.
@Suite("Keys and bonds")
struct KeyTests {
    @Test(
        """
        SM/PER/KDU/BV-01-C, SM/PER/KDU/BV-02-C, SM/PER/KDU/BV-03-C, SM/PER/KDU/BV-08-C, SM/PER/KDU/BV-09-C, \
        SM/CEN/KDU/BV-04-C, SM/CEN/KDU/BV-05-C, SM/CEN/KDU/BV-06-C, SM/CEN/KDU/BV-10-C, SM/CEN/KDU/BV-11-C: each \
        choice of keys, in order
        """,
        arguments: [true, false])
    func distribution(isSecure: Bool) throws {
        for mask in UInt8(0)..<64 {
            let (initiator, responder) = (KeyDistribution(rawValue: mask & 7), KeyDistribution(rawValue: mask >> 3))
            var devices = TwoDevices(
                central: { configuration in
                    configuration.use(.noInputNoOutput, secure: isSecure)
                    configuration.initiatorKeys = initiator.union(.link)
                }, peripheral: { $0.responderKeys = responder.union(.link) })
            devices.secure()
            #expect(codes(of: devices.peripheral) == expected(responder, isSecure))
            #expect(codes(of: devices.central) == expected(initiator, isSecure))
            let (ours, theirs) = (try #require(devices.central.bond), try #require(devices.peripheral.bond))
            #expect(ours.peerKey == theirs.localKey && ours.localKey == theirs.peerKey)
            #expect((ours.peerKey != nil) == (isSecure || responder.contains(.encryption)))
            #expect((theirs.resolvingKey != nil) == initiator.contains(.identity))
            #expect((ours.resolvingKey != nil) == responder.contains(.identity))
            #expect(ours.peerSigningKey == theirs.localSigningKey)
            let address = responder.contains(.identity) ? DeviceAddress(0x0B0B) : TwoDevices.peripheralAddress
            #expect(ours.address == address)
        }
    }

    private func codes(of device: TwoDevices.Device) -> [UInt8] {
        device.sent.map { $0[0] }.filter { (0x06...0x0A).contains($0) }
    }

    private func expected(_ keys: KeyDistribution, _ isSecure: Bool) -> [UInt8] {
        (keys.contains(.encryption) && !isSecure ? [0x06, 0x07] : [])
            + (keys.contains(.identity) ? [0x08, 0x09] : []) + (keys.contains(.signing) ? [0x0A] : [])
    }

    @Test("Without bonding on both sides nothing is kept")
    func noBond() {
        var devices = TwoDevices(central: { $0.authentication = [.secureConnections] })
        devices.secure()
        #expect(devices.central.finished.count == 1 && devices.peripheral.finished.count == 1)
        #expect(devices.central.bond == nil && devices.peripheral.bond == nil)
        #expect(codes(of: devices.central) == [] && codes(of: devices.peripheral) == [])
    }

    @Test("SM/CEN/PIS/BV-02-C, SM/PER/PIS/BV-01-C: a Security Request makes the central pair")
    func securityRequest() {
        var devices = TwoDevices()
        devices.secure(.peripheral)
        #expect(devices.peripheral.sent.first == [0x0B, 0x09])
        #expect(devices.central.bond != nil && devices.peripheral.bond != nil)
        #expect(devices.peripheral.finished.count == 1)
    }

    @Test(
        "SM/CEN/PIS/BV-03-C, SM/PER/PIS/BV-02-C, SM/PER/KDU/BV-07-C: with a bond the stored key encrypts",
        arguments: [true, false])
    func reconnection(isSecure: Bool) throws {
        var first = TwoDevices(central: { $0.use(.noInputNoOutput, mitm: false, secure: isSecure) })
        first.secure()
        let bonds = (try #require(first.central.bond), try #require(first.peripheral.bond))
        for role in [TwoDevices.Role.central, .peripheral] {
            var devices = TwoDevices(bonds: bonds)
            devices.secure(role)
            #expect(devices.central.finished == [bonds.0.security])
            #expect(devices.peripheral.finished == [bonds.0.security])
            #expect(devices.central.sent == [])
            #expect(devices.peripheral.sent == (role == .central ? [] : [[0x0B, 0x09]]))
            #expect(devices.central.machine.deadline == nil && devices.peripheral.machine.deadline == nil)
            // What is encrypted need not be again.
            devices.secure(.central)
            #expect(devices.central.finished.count == 2 && devices.peripheral.finished.count == 1)
            devices.input(.receive([0x0B, 0x01]), to: .central)
            #expect(devices.central.sent == [])
        }
    }

    @Test("SMP-16, SMP-17: a peer that lost its key is told from a wrong key; the bond stays, and nobody pairs anew")
    func lostKey() throws {
        var first = TwoDevices()
        first.secure()
        let bonds = (try #require(first.central.bond), try #require(first.peripheral.bond))
        var devices = TwoDevices(bonds: (bonds.0, nil))
        devices.input(.receive([0x0B, 0x0D]), to: .central)
        #expect(devices.central.failures == [.keyMissing])
        #expect(devices.peripheral.failures == [.unknownKey])
        #expect(devices.central.machine.bond == bonds.0 && devices.central.sent == [])
        #expect(devices.central.machine.security == nil)

        var wrong = bonds.1
        wrong.localKey = LongTermKey(SecretKey(5))
        devices = TwoDevices(bonds: (bonds.0, wrong))
        devices.secure()
        #expect(devices.central.failures == [.encryptionFailed])
        #expect(devices.central.machine.bond == bonds.0)
    }

    @Test("A bond that is not good enough is paired over")
    func upgrade() throws {
        var first = TwoDevices()
        first.secure()
        let bonds = (try #require(first.central.bond), try #require(first.peripheral.bond))
        var devices = TwoDevices(
            central: { $0.use(.displayYesNo, mitm: false) }, peripheral: { $0.use(.displayYesNo, mitm: false) },
            bonds: bonds)
        devices.secure(authenticated: true)
        #expect(devices.central.bond?.security.level == 4)
        #expect(devices.peripheral.bond?.security.level == 4)
    }

    @Test("SMP-23: EDIV or Rand that name no key of ours")
    func namedKey() throws {
        var first = TwoDevices()
        first.secure()
        let bond = try #require(first.peripheral.bond)
        for (random, diversifier) in [(UInt64(0xFF), UInt16(0)), (0, 0xFF), (0xFF, 0xFF00)] {
            var machine = TwoDevices(bonds: (nil, bond)).peripheral.machine
            let effects = machine.handle(
                .longTermKeyRequested(random: random, diversifier: diversifier), at: Instant())
            #expect(effects == [.answerLongTermKey(nil), .failed(.unknownKey)])
        }
    }

    @Test("SMP-06 (CVE-2020-13593): encryption is asked for before the check values")
    func earlyEncryption() {
        for isSecure in [true, false] {
            let codes: [UInt8] = isSecure ? [0x04, 0x0C, 0x0D] : [0x03, 0x04]
            for code in codes {
                var devices = TwoDevices(central: { $0.use(.noInputNoOutput, secure: isSecure) })
                devices.tamper = { role, octets in role == .central && octets[0] == code ? nil : octets }
                devices.secure()
                devices.input(.longTermKeyRequested(random: 0, diversifier: 0), to: .peripheral)
                #expect(devices.peripheral.finished == [])
                #expect(devices.peripheral.machine.security == nil)
                #expect(devices.peripheral.failures.first == .local(.unspecified))
            }
        }
    }

    @Test("SM/PER/KDU/BI-02-C, SM/PER/KDU/BI-03-C: the peer rejects our key")
    func keyRejected() {
        for isSecure in [true, false] {
            var devices = TwoDevices(central: { $0.use(.noInputNoOutput, secure: isSecure) })
            devices.tamper = { role, octets in role == .central && octets[0] == 0x08 ? [0x05, 0x0F] : octets }
            devices.secure()
            #expect(devices.peripheral.failures == [.peer(.keyRejected)])
            #expect(devices.peripheral.bond == nil && devices.peripheral.machine.bond == nil)
        }
    }

    @Test("SMP-14: addresses that are no identity; a key of zeros resolves nothing")
    func identities() throws {
        for (address, isIdentity) in [
            ([0x02, 0xC1, 0xC2, 0xC3, 0xC4, 0xC5, 0xC6], false), ([0x01, 1, 2, 3, 4, 5, 6], false),
            ([0x01, 1, 2, 3, 4, 5, 0xC6], true), ([0x00, 1, 2, 3, 4, 5, 6], true),
        ] as [([UInt8], Bool)] {
            var devices = TwoDevices()
            devices.tamper = { role, octets in role == .peripheral && octets[0] == 0x09 ? [0x09] + address : octets }
            devices.secure()
            #expect((devices.central.bond != nil) == isIdentity)
            if !isIdentity { #expect(devices.central.failures.count == 1 && devices.central.machine.bond == nil) }
        }
        var devices = TwoDevices()
        devices.tamper = { role, octets in
            role == .peripheral && octets[0] == 0x08 ? [0x08] + [UInt8](repeating: 0, count: 16) : octets
        }
        devices.secure()
        #expect(try #require(devices.central.bond).resolvingKey == nil)
    }
}
