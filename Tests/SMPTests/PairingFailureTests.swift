import BluetoothCrypto
import BluetoothTypes
import EventLoop
import ProtocolTestKit
import SMP
import Testing

/// Pairings that must not succeed, and how each side says so.
@Suite("Pairings that fail")
struct PairingFailureTests {
    private func expect(
        _ devices: TwoDevices, _ role: TwoDevices.Role, _ reason: PairingFailedReason,
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        let other: TwoDevices.Role = role == .central ? .peripheral : .central
        #expect(devices[role].failures == [.local(reason)], sourceLocation: sourceLocation)
        #expect(devices[other].failures == [.peer(reason)], sourceLocation: sourceLocation)
        for device in [devices.central, devices.peripheral] {
            #expect(device.finished == [] && device.bond == nil, sourceLocation: sourceLocation)
            #expect(device.machine.deadline == nil, sourceLocation: sourceLocation)
        }
        #expect(devices[role].sent.last == [0x05, reason.rawValue], sourceLocation: sourceLocation)
    }

    @Test("SM/CEN/PKE/BI-01-C, SM/PER/PKE/BI-02-C, SM/PER/SCPK/BI-03-C: a wrong passkey", arguments: [true, false])
    func wrongPasskey(isSecure: Bool) {
        // The initiator's proof is looked at first, whoever mistypes.
        for (central, peripheral) in [
            (IOCapability.displayOnly, IOCapability.keyboardOnly), (.keyboardOnly, .displayOnly),
        ] {
            var devices = TwoDevices(central: { $0.use(central, secure: isSecure) }, peripheral: { $0.use(peripheral) })
            devices.typingError = 1
            devices.secure()
            expect(devices, .peripheral, .confirmValueFailed)
        }
    }

    @Test("SM/CEN/SCPK/BI-02-C, SM/CEN/JW/BI-01-C: the responder's value does not fit", arguments: [true, false])
    func wrongResponderValue(isSecure: Bool) {
        for capability in [IOCapability.keyboardOnly, .noInputNoOutput] {
            var devices = TwoDevices(
                central: { $0.use(capability, secure: isSecure) }, peripheral: { $0.use(.displayOnly) })
            devices.tamper = { role, octets in
                guard role == .peripheral, octets[0] == 0x04 else { return octets }
                return octets.dropLast() + [octets[16] ^ 1]
            }
            devices.secure()
            expect(devices, .central, .confirmValueFailed)
        }
    }

    @Test("SM/PER/JW/BI-03-C: the initiator's value does not fit")
    func wrongInitiatorValue() {
        var devices = TwoDevices(central: { $0.use(.noInputNoOutput, secure: false) })
        devices.tamper = { role, octets in
            role == .central && octets[0] == 0x04 ? octets.dropLast() + [octets[16] ^ 1] : octets
        }
        devices.secure()
        expect(devices, .peripheral, .confirmValueFailed)
    }

    @Test("SM/CEN/PKE/BI-03-C: the peer echoes our confirm value")
    func echoedConfirm() {
        for isSecure in [true, false] {
            var devices = TwoDevices(
                central: { $0.use(.displayOnly, secure: isSecure) }, peripheral: { $0.use(.keyboardOnly) })
            var confirm: [UInt8] = []
            devices.tamper = { role, octets in
                guard octets[0] == 0x03 else { return octets }
                if role == .central { confirm = octets }
                return confirm
            }
            devices.secure()
            expect(devices, .central, .confirmValueFailed)
        }
    }

    @Test("DHKey checks that do not fit, from either side")
    func wrongCheck() {
        for sender in [TwoDevices.Role.central, .peripheral] {
            var devices = TwoDevices()
            devices.tamper = { role, octets in
                role == sender && octets[0] == 0x0D ? octets.dropLast() + [octets[16] ^ 1] : octets
            }
            devices.secure()
            expect(devices, sender == .central ? .peripheral : .central, .dhKeyCheckFailed)
        }
    }

    @Test("A person says that the numbers differ")
    func comparisonRefused() {
        var devices = TwoDevices(central: { $0.use(.displayYesNo) }, peripheral: { $0.use(.displayYesNo) })
        devices.confirms = false
        devices.secure()
        #expect(devices.central.finished == [] && devices.peripheral.finished == [])
        #expect(
            [devices.central.failures, devices.peripheral.failures].contains([.local(.numericComparisonFailed)]))
    }

    @Test(
        """
        SM/CEN/KDU/BI-04-C, SM/PER/KDU/BI-04-C, SM/CEN/KDU/BI-01-C, SM/PER/KDU/BI-01-C: a public key that is no point \
        of the curve (CVE-2018-5383)
        """
    )
    func invalidKey() {
        for sender in [TwoDevices.Role.central, .peripheral] {
            var devices = TwoDevices()
            devices.tamper = { role, octets in
                guard role == sender, octets[0] == 0x0C else { return octets }
                return octets.prefix(33) + [UInt8](repeating: 0, count: 32)
            }
            devices.secure()
            expect(devices, sender == .central ? .peripheral : .central, .invalidParameters)
        }
    }

    @Test("Our own public key comes back, and so does everybody's debug key")
    func reflectedKey() {
        var devices = TwoDevices()
        var own: [UInt8] = []
        devices.tamper = { role, octets in
            guard octets[0] == 0x0C else { return octets }
            if role == .central { own = octets }
            return own
        }
        devices.secure()
        expect(devices, .central, .unspecified)

        devices = TwoDevices()
        devices.tamper = { role, octets in
            role == .central && octets[0] == 0x0C ? [0x0C] + P256KeyPair.debug.publicKey.wire : octets
        }
        devices.secure()
        expect(devices, .peripheral, .authenticationRequirements)
    }

    @Test(
        "SM/CEN/EKS/BI-01-C, SM/PER/EKS/BI-02-C: too short a key; SM/CEN/EKS/BV-01-C, SM/PER/EKS/BV-02-C: the shortest")
    func keySizes() throws {
        for (peer, least, isEnough) in [(UInt8(7), UInt8(7), true), (7, 8, false), (15, 16, false), (9, 9, true)] {
            for isSecure in [true, false] {
                var devices = TwoDevices(
                    central: { configuration in
                        configuration.use(.noInputNoOutput, secure: isSecure)
                        configuration.minimumKeySize = 7
                        configuration.maximumKeySize = peer
                    }, peripheral: { $0.minimumKeySize = least })
                devices.secure()
                guard isEnough else {
                    expect(devices, .peripheral, .encryptionKeySize)
                    continue
                }
                let (ours, theirs) = (try #require(devices.central.bond), try #require(devices.peripheral.bond))
                let key = try #require(ours.peerKey)
                #expect(ours.security.keySize == Int(peer) && ours.security.level < 4)
                #expect(key == theirs.localKey)
                #expect(key.key.wire.suffix(16 - Int(peer)).allSatisfy { $0 == 0 })
            }
        }
    }

    @Test(
        """
        GAP/SEC/SEM/BI-09-C, GAP/SEC/SEM/BI-10-C: Secure Connections only: neither legacy nor Just Works nor a short \
        key will do
        """
    )
    func secureConnectionsOnly() {
        for role in [TwoDevices.Role.central, .peripheral] {
            let strict: (inout SecurityConfiguration) -> Void = { configuration in
                configuration.use(.keyboardDisplay)
                configuration.isSecureConnectionsOnly = true
            }
            let peers: [((inout SecurityConfiguration) -> Void, PairingFailedReason?)] = [
                ({ $0.use(.keyboardDisplay) }, nil),
                ({ $0.use(.keyboardDisplay, secure: false) }, .authenticationRequirements),
                ({ $0.use(.noInputNoOutput) }, .authenticationRequirements),
                (
                    { configuration in
                        configuration.use(.keyboardDisplay)
                        configuration.maximumKeySize = 15
                    }, .encryptionKeySize
                ),
            ]
            for (peer, reason) in peers {
                var devices =
                    role == .central
                    ? TwoDevices(central: strict, peripheral: peer) : TwoDevices(central: peer, peripheral: strict)
                devices.secure()
                if let reason {
                    expect(devices, role, reason)
                } else {
                    #expect(devices[role].bond?.security.level == 4)
                }
            }
        }
    }

    @Test("Authentication that is demanded, and that the devices can't give")
    func demandedAuthentication() {
        var devices = TwoDevices()
        devices.secure(authenticated: true)
        expect(devices, .central, .authenticationRequirements)
        devices = TwoDevices()
        devices.secure(.peripheral, authenticated: true)
        #expect(devices.peripheral.sent.first == [0x0B, 0x0D])
        expect(devices, .peripheral, .authenticationRequirements)
    }

    @Test("SMP-26: a device that does not pair, and a person who does not want to")
    func consent() {
        var devices = TwoDevices(peripheral: { $0.acceptsPairing = false })
        devices.secure()
        #expect(devices.peripheral.sent == [[0x05, 0x05]])
        #expect(devices.central.failures == [.peer(.pairingNotSupported)])
        devices = TwoDevices(peripheral: { $0.confirmsJustWorks = true })
        devices.confirms = false
        devices.secure()
        #expect(devices.peripheral.questions == [.confirm])
        expect(devices, .peripheral, .pairingNotSupported)
        devices = TwoDevices(central: { $0.confirmsJustWorks = true }, peripheral: { $0.confirmsJustWorks = true })
        devices.secure()
        #expect(devices.central.bond != nil && devices.peripheral.bond != nil)
    }

    @Test("A bond is not replaced by a weaker one")
    func downgrade() throws {
        var first = TwoDevices(central: { $0.use(.displayYesNo) }, peripheral: { $0.use(.displayYesNo) })
        first.secure()
        let bond = try #require(first.peripheral.bond)
        for isSecure in [true, false] {
            var devices = TwoDevices(
                central: { $0.use(isSecure ? .noInputNoOutput : .keyboardDisplay, secure: isSecure) },
                peripheral: { $0.use(.displayYesNo) }, bonds: (nil, bond))
            devices.secure()
            expect(devices, .peripheral, .authenticationRequirements)
            #expect(devices.peripheral.machine.bond == bond)
        }
        var devices = TwoDevices(
            central: { $0.use(.displayYesNo) }, peripheral: { $0.use(.displayYesNo) }, bonds: (nil, bond), seed: 5)
        devices.secure()
        #expect(devices.peripheral.bond?.security == bond.security && devices.peripheral.bond != bond)
    }

    @Test(
        """
        SM/CEN/SCJW/BI-01-C, SM/CEN/SCPK/BI-01-C, SM/PER/SCPK/BI-04-C, SM/CEN/SCOB/BI-01-C, SM/PER/SCOB/BI-02-C, \
        SM/CEN/JW/BI-04-C, SM/PER/JW/BI-02-C: the peer ends the pairing, whatever its reason
        """,
        arguments: [0, 1, 2, 3, 4, 5, 8, 9, 0x0B, 0x0F, 0x10, 0xFF] as [UInt8])
    func peerFails(reason: UInt8) {
        for code: UInt8 in [0x02, 0x03, 0x04, 0x0C, 0x0D, 0x08] {
            var devices = TwoDevices()
            devices.tamper = { role, octets in role == .peripheral && octets[0] == code ? [0x05, reason] : octets }
            devices.secure()
            #expect(devices.central.failures == [.peer(PairingFailedReason(rawValue: reason))])
            #expect(devices.central.bond == nil)
        }
        for (isSecure, codes) in [(true, [0x0C, 0x04, 0x0D, 0x08]), (false, [0x03, 0x04, 0x06])] as [(Bool, [UInt8])] {
            for code in codes {
                var devices = TwoDevices(central: { $0.use(.noInputNoOutput, secure: isSecure) })
                devices.tamper = { role, octets in role == .central && octets[0] == code ? [0x05, reason] : octets }
                devices.secure()
                #expect(devices.peripheral.failures == [.peer(PairingFailedReason(rawValue: reason))])
                #expect(devices.peripheral.bond == nil)
            }
        }
        for role in [TwoDevices.Role.central, .peripheral] {
            for code: UInt8 in [0x03, 0x0D] {
                var devices = TwoDevices(central: { $0.use(.keyboardOnly) }, peripheral: { $0.use(.displayOnly) })
                expectPeerFails(&devices, role, at: code, reason)
            }
            guard let pair = P256KeyPair(privateKey: [UInt8](repeating: 1, count: 32)) else { return }
            let given = OutOfBandData.Given(random: SecretKey(1), keyPair: pair)
            var devices = TwoDevices(
                central: { $0.outOfBand.received = given.received }, peripheral: { $0.outOfBand.given = given })
            expectPeerFails(&devices, role, at: 0x0D, reason)
        }
    }

    /// In place of its PDU with `code`, the peer of `role` says that the pairing has failed.
    private func expectPeerFails(
        _ devices: inout TwoDevices, _ role: TwoDevices.Role, at code: UInt8, _ reason: UInt8
    ) {
        devices.tamper = { sender, octets in sender != role && octets[0] == code ? [0x05, reason] : octets }
        devices.secure()
        #expect(devices[role].failures == [.peer(PairingFailedReason(rawValue: reason))])
        #expect(devices[role].bond == nil)
    }

    @Test("SM/CEN/PKE/BI-02-C, SM/PER/PKE/BI-03-C: a person gives up entering the passkey")
    func cancel() {
        for isSecure in [true, false] {
            var devices = TwoDevices(
                central: { $0.use(.displayOnly, secure: isSecure) }, peripheral: { $0.use(.keyboardOnly) })
            devices.tamper = { role, octets in role == .central && octets[0] == 0x03 ? nil : octets }
            devices.secure()
            devices.input(.cancel, to: .peripheral)
            #expect(devices.peripheral.failures == [.cancelled])
            #expect(devices.central.failures == [.peer(.passkeyEntryFailed)])
        }
    }

    @Test("SM/CEN/PROT/BV-01-C, SM/PER/PROT/BV-02-C: thirty seconds of silence end the pairing, and SMP on the link")
    func timeout() {
        for (code, role) in [(UInt8(0x0C), TwoDevices.Role.central), (0x0C, .peripheral), (0x02, .central)] {
            var devices = TwoDevices()
            var isSilent = false
            devices.tamper = { sender, octets in
                if octets[0] == code, sender != role { isSilent = true }
                return isSilent ? nil : octets
            }
            devices.secure()
            devices.wait(.milliseconds(29_999))
            #expect(devices[role].failures == [])
            devices.wait(.milliseconds(1))
            #expect(devices[role].failures == [.timedOut])
            let count = devices[role].sent.count
            devices.input(.receive([0x01, 0x03, 0x00, 0x01, 0x10, 0x07, 0x07]), to: role)
            devices.input(.receive([0x0B, 0x01]), to: role)
            devices.secure(role)
            #expect(devices[role].sent.count == count)
            #expect(devices[role].failures == [.timedOut, .timedOut])
        }
    }

    @Test("SMP-18: each failure doubles the wait; what stays quiet comes back (2.3.6)")
    func repeatedAttempts() {
        var devices = TwoDevices(central: { $0.use(.noInputNoOutput, secure: false) })
        devices.tamper = { role, octets in
            role == .central && octets[0] == 0x04 ? octets.dropLast() + [octets[16] ^ 1] : octets
        }
        let request: [UInt8] = [0x01, 0x03, 0x00, 0x01, 0x10, 0x07, 0x07]
        for wait in [1, 2, 4, 8] {
            devices.secure()
            #expect(devices.peripheral.sent.last == [0x05, 0x04])
            let failures = devices.peripheral.failures.count
            devices.input(.receive(request[...]), to: .peripheral)
            #expect(devices.peripheral.sent.last == [0x05, 0x09])
            #expect(devices.peripheral.failures.count == failures)
            #expect(devices.central.machine.attempts.waits(at: devices.now) != nil)
            devices.now = devices.now.advanced(by: .seconds(wait))
        }
        devices.tamper = { _, octets in octets }
        devices.secure()
        #expect(devices.peripheral.bond != nil)
        #expect(devices.peripheral.machine.attempts == AttemptLimiter())
    }

    @Test("The wait ends at a limit, and halves in peace")
    func limiter() {
        var limiter = AttemptLimiter()
        var now = Instant()
        #expect(limiter.waits(at: now) == nil)
        for _ in 0..<20 { limiter.recordFailure(at: now) }
        #expect(limiter.waits(at: now) == now.advanced(by: .seconds(64)))
        now = now.advanced(by: .seconds(64 + 64))
        limiter.recordFailure(at: now)
        #expect(limiter.waits(at: now) == now.advanced(by: .seconds(64)))
        now = now.advanced(by: .seconds(3600))
        limiter.recordFailure(at: now)
        #expect(limiter.waits(at: now) == now.advanced(by: .seconds(1)))
    }

    @Test("The link is lost in the middle of a pairing")
    func linkLost() {
        var devices = TwoDevices(central: { $0.use(.displayOnly) }, peripheral: { $0.use(.keyboardOnly) })
        devices.tamper = { _, octets in octets[0] == 0x04 ? nil : octets }
        devices.secure()
        devices.input(.linkLost, to: .central)
        devices.input(.linkLost, to: .central)
        #expect(devices.central.failures == [.linkLost])
        #expect(devices.central.machine.security == nil && devices.central.machine.deadline == nil)
        devices.input(.receive([0x04] + [UInt8](repeating: 0, count: 16)), to: .central)
        devices.secure()
        #expect(devices.central.failures == [.linkLost, .linkLost])
    }
}
