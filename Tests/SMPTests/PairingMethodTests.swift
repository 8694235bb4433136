import BluetoothCrypto
import BluetoothTypes
import ByteCodec
import EventLoop
import SMP
import Testing

/// Machine against machine: whatever two devices can do, both end with the same keys.
@Suite("Pairings of two devices")
struct PairingMethodTests {
    struct Combination: CustomTestStringConvertible, Sendable {
        var central: IOCapability
        var peripheral: IOCapability
        var isSecure: Bool
        var mitm: (Bool, Bool)
        var testDescription: String { "\(central), \(peripheral), \(isSecure ? "SC" : "legacy"), MITM \(mitm)" }
    }

    static let combinations = IOCapability.allCases.flatMap { central in
        IOCapability.allCases.flatMap { peripheral in
            [true, false].flatMap { isSecure in
                [(true, true), (true, false), (false, true), (false, false)].map { mitm in
                    Combination(central: central, peripheral: peripheral, isSecure: isSecure, mitm: mitm)
                }
            }
        }
    }

    @Test(
        """
        SM/CEN/SCJW/BV-01-C, SM/PER/SCJW/BV-02-C, SM/CEN/SCPK/BV-01-C, SM/PER/SCPK/BV-02-C, SM/CEN/JW/BV-05-C, \
        SM/PER/JW/BV-02-C, SM/CEN/PKE/BV-01-C, SM/PER/PKE/BV-02-C, SM/CEN/PKE/BV-04-C, SM/PER/PKE/BV-05-C: every \
        pair of IO capabilities
        """,
        arguments: combinations)
    func everyCombination(_ combination: Combination) throws {
        var devices = TwoDevices(
            central: { $0.use(combination.central, mitm: combination.mitm.0, secure: combination.isSecure) },
            peripheral: { $0.use(combination.peripheral, mitm: combination.mitm.1) })
        devices.secure()
        let canAuthenticate = expectedAuthentication(combination)
        try expectSuccess(devices, authenticated: canAuthenticate, secure: combination.isSecure)
        expectQuestions(devices, combination, authenticated: canAuthenticate)
    }

    /// Read off table 2.8 by another way than the code's: who shows and who types.
    private func expectedAuthentication(_ combination: Combination) -> Bool {
        guard combination.mitm.0 || combination.mitm.1 else { return false }
        let pair = [combination.central, combination.peripheral]
        if pair.contains(.noInputNoOutput) { return false }
        let types = pair.contains { $0 == .keyboardOnly || $0 == .keyboardDisplay }
        let compares = combination.isSecure && pair.allSatisfy { $0 == .displayYesNo || $0 == .keyboardDisplay }
        return types || compares
    }

    private func expectQuestions(_ devices: TwoDevices, _ combination: Combination, authenticated: Bool) {
        let questions = devices.central.questions + devices.peripheral.questions
        #expect(questions.count == (authenticated ? 2 : 0))
        if case .compare(let number) = questions.first {
            #expect(questions == [.compare(number), .compare(number)])
            #expect(combination.isSecure)
        }
    }

    @Test("SM/CEN/SCOB/BV-01-C, SM/PER/SCOB/BV-02-C: OOB data of either or both sides", arguments: [1, 2, 3])
    func outOfBand(directions: Int) throws {
        let (central, peripheral) = (Self.given(1), Self.given(2))
        var devices = TwoDevices(
            central: { configuration in
                configuration.outOfBand.given = central
                if directions & 1 != 0 { configuration.outOfBand.received = peripheral.received }
            },
            peripheral: { configuration in
                configuration.outOfBand.given = peripheral
                if directions & 2 != 0 { configuration.outOfBand.received = central.received }
            })
        devices.secure()
        try expectSuccess(devices, authenticated: true, secure: true)
        #expect(devices.central.questions == [] && devices.peripheral.questions == [])
    }

    @Test("SM/PER/SCOB/BI-03-C, SM/CEN/SCOB/BI-04-C: an OOB commitment that does not fit", arguments: [1, 2])
    func wrongCommitment(direction: Int) {
        let (central, peripheral, stranger) = (Self.given(1), Self.given(2), Self.given(3))
        var devices = TwoDevices(
            central: { configuration in
                configuration.outOfBand.given = central
                if direction == 1 { configuration.outOfBand.received = stranger.received }
            },
            peripheral: { configuration in
                configuration.outOfBand.given = peripheral
                if direction == 2 { configuration.outOfBand.received = stranger.received }
            })
        devices.secure()
        let local: TwoDevices.Role = direction == 1 ? .central : .peripheral
        let other: TwoDevices.Role = direction == 1 ? .peripheral : .central
        #expect(devices[local].failures == [.local(.confirmValueFailed)])
        #expect(devices[other].failures == [.peer(.confirmValueFailed)])
    }

    @Test("OOB data that the peer says it has, and we never gave")
    func outOfBandMissing() {
        var devices = TwoDevices(central: { $0.outOfBand.received = Self.given(9).received })
        devices.secure()
        #expect(devices.peripheral.failures == [.local(.outOfBandNotAvailable)])
        #expect(devices.central.failures == [.peer(.outOfBandNotAvailable)])
    }

    @Test(
        """
        SM/CEN/OOB/BV-01-C, SM/PER/OOB/BV-02-C: both have OOB data. SM/CEN/OOB/BV-03-C, SM/PER/OOB/BV-04-C, \
        SM/CEN/OOB/BV-05-C, SM/PER/OOB/BV-06-C, SM/CEN/OOB/BV-07-C, SM/PER/OOB/BV-08-C, SM/CEN/OOB/BV-09-C, \
        SM/PER/OOB/BV-10-C: one side alone has, and the pairing goes on unauthenticated
        """
    )
    func legacyOutOfBand() throws {
        for (central, peripheral) in [(true, true), (true, false), (false, true)] {
            var devices = TwoDevices(
                central: { configuration in
                    configuration.use(.noInputNoOutput, secure: false)
                    if central { configuration.outOfBand.temporaryKey = SecretKey(77) }
                },
                peripheral: { configuration in
                    configuration.use(.noInputNoOutput, secure: false)
                    if peripheral { configuration.outOfBand.temporaryKey = SecretKey(77) }
                })
            devices.secure()
            try expectSuccess(devices, authenticated: central && peripheral, secure: false)
        }
    }

    @Test("SM/CEN/OOB/BI-01-C, SM/PER/OOB/BI-02-C: OOB data differ")
    func legacyOutOfBandDiffers() {
        var devices = TwoDevices(
            central: { configuration in
                configuration.use(.noInputNoOutput, secure: false)
                configuration.outOfBand.temporaryKey = SecretKey(77)
            }, peripheral: { $0.outOfBand.temporaryKey = SecretKey(78) })
        devices.secure()
        #expect(devices.peripheral.failures == [.local(.confirmValueFailed)])
        #expect(devices.central.failures == [.peer(.confirmValueFailed)])
    }

    @Test("SM/CEN/SCPK/BV-05-C, SM/CEN/PKE/BV-05-C: passkeys that are shown differ from pairing to pairing")
    func passkeysDiffer() {
        for isSecure in [true, false] {
            let passkeys = (0..<50).map { seed in
                var devices = TwoDevices(
                    central: { $0.use(.displayOnly, secure: isSecure) }, peripheral: { $0.use(.keyboardOnly) },
                    seed: UInt64(seed))
                devices.secure()
                return devices.central.questions
            }
            #expect(Set(passkeys).count == 50)
        }
    }

    @Test(
        """
        SM/PER/SCJW/BV-03-C, SM/CEN/SCJW/BV-04-C, SM/PER/SCPK/BV-03-C, SM/CEN/SCPK/BV-04-C, SM/PER/SCOB/BV-03-C, \
        SM/CEN/SCOB/BV-04-C: reserved AuthReq bits are ignored
        """
    )
    func reservedBits() {
        for bits: UInt8 in [0x40, 0x80, 0xC0] {
            var features = PairingFeatures()
            features.authentication = AuthenticationRequirements(rawValue: 0x0D | bits)
            var plain = features
            plain.authentication = AuthenticationRequirements(rawValue: 0x0D)
            for capability in IOCapability.allCases {
                features.ioCapability = capability
                plain.ioCapability = capability
                let method = PairingMethod.select(initiator: plain, responder: plain)
                #expect(PairingMethod.select(initiator: features, responder: plain) == method)
                #expect(PairingMethod.select(initiator: plain, responder: features) == method)
            }
            var machine = TwoDevices(peripheral: { $0.ioCapability = .displayOnly }).peripheral.machine
            let request = [0x01] + features.octets
            #expect(machine.handle(.receive(request[...]), at: .init()) == [.send(hexResponse)])
        }
    }

    private var hexResponse: [UInt8] { [0x02, 0x00, 0x00, 0x09, 0x10, 0x00, 0x00] }

    private static func given(_ seed: UInt8) -> OutOfBandData.Given {
        let octets = [UInt8](repeating: seed, count: 32)
        guard let pair = P256KeyPair(privateKey: octets) else { preconditionFailure("A small number is a key.") }
        return OutOfBandData.Given(random: SecretKey(UInt128(seed)), keyPair: pair)
    }

    private func expectSuccess(_ devices: TwoDevices, authenticated: Bool, secure: Bool) throws {
        let security = LinkSecurity(isAuthenticated: authenticated, isSecureConnections: secure, keySize: 16)
        for device in [devices.central, devices.peripheral] {
            #expect(device.finished == [security])
            #expect(device.failures == [])
            #expect(device.machine.security == security)
            #expect(device.machine.deadline == nil)
        }
        let (ours, theirs) = (try #require(devices.central.bond), try #require(devices.peripheral.bond))
        #expect(ours.security == security && theirs.security == security)
        #expect(ours.peerKey != nil && ours.peerKey == theirs.localKey)
        #expect(ours.localKey != nil && ours.localKey == theirs.peerKey)
        #expect((ours.localKey == ours.peerKey) == secure)
        #expect(ours.localSigningKey != nil && ours.localSigningKey == theirs.peerSigningKey)
        #expect(ours.peerSigningKey != nil && ours.peerSigningKey == theirs.localSigningKey)
        #expect(ours.resolvingKey == SecretKey(0xBBBB) && theirs.resolvingKey == SecretKey(0xAAAA))
        #expect(ours.address == devices.peripheral.machine.configuration.identity.address)
        #expect(theirs.address == devices.central.machine.configuration.identity.address)
    }
}
