import BluetoothTypes
import ByteCodec
import EventLoop
import HCI
import ProtocolTestKit
import Testing

@Suite("Adapter set-up — Core 6.0, Vol 6, Part D, 2.1")
struct AdapterSetupTests {
    private static let fallback = DeviceAddress(0xC000_0000_0001, kind: .random)

    @Test("An LE-only controller")
    func lowEnergyOnly() {
        let (effect, asked) = run(FakeAnswers())
        guard case .ready(let capabilities) = effect else {
            Issue.record("not ready: \(effect)")
            return
        }
        #expect(capabilities.address == DeviceAddress(0x00AA_0100_0042))
        #expect(capabilities.ownAddressType == .publicDevice)
        #expect((capabilities.aclLength, capabilities.aclCount) == (27, 20))
        #expect(capabilities.filterAcceptListSize == 8)
        #expect(!capabilities.isDualMode)
        #expect(capabilities.maximumDataLength == nil)
        #expect(
            asked == [
                .reset, .readLocalVersion, .readLocalSupportedFeatures, .readLocalSupportedCommands, .setEventMask,
                .leSetEventMask, .leReadLocalSupportedFeatures, .leReadBufferSize, .leReadSupportedStates, .readAddress,
                .leReadFilterAcceptListSize,
            ])
    }

    @Test("Buffers that LE shares with BR/EDR — Vol 4, Part E, 7.8.2")
    func sharedBuffers() {
        var answers = FakeAnswers()
        answers[.leReadBufferSize] = .completed(returnParameters: hex("00 00 00 00")[...])
        answers[.readBufferSize] = .completed(returnParameters: hex("00 FB 00 40 08 00 00 00")[...])
        guard case (.ready(let capabilities), _) = run(answers) else {
            Issue.record("not ready")
            return
        }
        #expect((capabilities.aclLength, capabilities.aclCount) == (251, 8))
        answers[.readBufferSize] = .completed(returnParameters: hex("00 FB 00 40 00 00 00 00")[...])
        #expect(run(answers).0 == .failed(.noBuffers))
    }

    @Test(
        "Without a public address the static random one is set — Vol 6, Part B, 1.3",
        arguments: [
            CommandOutcome.completed(returnParameters: hex("00 00 00 00 00 00 00")[...]),
            .completed(returnParameters: hex("00 FF FF FF FF FF FF")[...]), .refused(.unknownCommand),
        ])
    func noPublicAddress(outcome: CommandOutcome) {
        var answers = FakeAnswers()
        answers[.readAddress] = outcome
        let (effect, asked) = run(answers)
        guard case .ready(let capabilities) = effect else {
            Issue.record("not ready: \(effect)")
            return
        }
        #expect(capabilities.address == Self.fallback)
        #expect(capabilities.ownAddressType == .randomDevice)
        #expect(asked.last == .leSetRandomAddress)
    }

    @Test("An address that a whole series has from the factory is none: BCM43430A1, Raspberry Pi 3B+")
    func sharedAddress() {
        for (version, address, isOwn) in [
            ("00 07 00 00 07 0F 00 00 00", "00 AA AA AA AA AA AA", false),
            ("00 07 00 00 07 31 01 00 00", "00 AC 1F 00 C0 45 43", false),
            ("00 07 00 00 07 0F 00 00 00", "00 01 02 03 EB 27 B8", true),
            // Another maker's address with the same octets may be its own.
            ("00 09 00 00 09 59 00 00 00", "00 AA AA AA AA AA AA", true),
        ] {
            var answers = FakeAnswers()
            answers[.readLocalVersion] = .completed(returnParameters: hex(version)[...])
            answers[.readAddress] = .completed(returnParameters: hex(address)[...])
            guard case .ready(let capabilities) = run(answers).0 else {
                Issue.record("not ready")
                continue
            }
            #expect((capabilities.address != Self.fallback) == isOwn, "\(address)")
        }
    }

    @Test("Commands that a controller names and does not know are taken from it: ATS2851, and from no other")
    func brokenCommands() {
        for (version, isBroken) in [("00 0C 01 02 0C E0 03 01 02", true), ("00 0C 01 02 0C F1 05 01 02", false)] {
            var answers = FakeAnswers()
            answers[.readLocalVersion] = .completed(returnParameters: hex(version)[...])
            answers[.leReadLocalSupportedFeatures] = .completed(
                returnParameters: hex("00 DF FF 00 00 00 00 00 00")[...])
            guard case .ready(let capabilities) = run(answers).0 else {
                Issue.record("not ready")
                continue
            }
            let broken: [HCIOpcode] = [
                .leSetExtendedScanParameters, .leSetExtendedScanEnable, .leExtendedCreateConnection,
            ]
            for command in broken { #expect(capabilities.commands.contains(command) != isBroken, "\(command)") }
            #expect(capabilities.features.contains(.extendedAdvertising) != isBroken)
            #expect(capabilities.commands.contains(.leSetScanEnable) && capabilities.features.contains(.encryption))
        }
    }

    @Test("Intel's controllers up to Bluetooth 5.3 are not asked for the Coded PHY")
    func brokenFeature() {
        for (version, isBroken) in [("00 0B 00 00 0B 02 00 00 00", true), ("00 0D 00 00 0D 02 00 00 00", false)] {
            var answers = FakeAnswers()
            answers[.readLocalVersion] = .completed(returnParameters: hex(version)[...])
            answers[.leReadLocalSupportedFeatures] = .completed(
                returnParameters: hex("00 DF FF 00 00 00 00 00 00")[...])
            guard case .ready(let capabilities) = run(answers).0 else {
                Issue.record("not ready")
                continue
            }
            #expect(capabilities.features.contains(.codedPHY) != isBroken)
            #expect(capabilities.features.contains(.phy2M))
        }
    }

    @Test("Every quirk says what it does, why, and where that is documented")
    func quirksHaveSources() {
        for quirk in ControllerQuirk.all { #expect(quirk.reason.hasSuffix(".") && quirk.source.count > 10) }
    }

    @Test("What rules a controller out")
    func failures() {
        var answers = FakeAnswers()
        answers[.readLocalSupportedFeatures] = .completed(returnParameters: hex("00 00 00 00 00 00 00 00 00")[...])
        #expect(run(answers).0 == .failed(.noLowEnergy))
        answers = FakeAnswers()
        answers[.leSetEventMask] = .refused(.unknownCommand)
        #expect(run(answers).0 == .failed(.refused(.leSetEventMask, .unknownCommand)))
        answers = FakeAnswers()
        answers[.reset] = .timedOut
        #expect(run(answers).0 == .failed(.timedOut(.reset)))
        answers = FakeAnswers()
        answers[.readLocalVersion] = .completed(returnParameters: hex("00 09")[...])
        let error = PacketError(.truncated, field: "HCI_Subversion")
        #expect(run(answers).0 == .failed(.senselessAnswer(.readLocalVersion, error)))
        answers = FakeAnswers()
        answers[.leReadBufferSize] = .started
        #expect(run(answers).0 == .failed(.noReturnParameters(.leReadBufferSize)))
    }

    @Test("A static random address has two ones on top — Vol 6, Part B, 1.3.2.1")
    func staticRandom() {
        var generator = SeededGenerator(seed: 7)
        for _ in 0..<100 { #expect(DeviceAddress.staticRandom(using: &generator).value >> 46 == 0b11) }
    }

    /// Runs a set-up to its end; also the commands it asked for.
    private func run(_ answers: FakeAnswers) -> (AdapterSetup.Effect, [HCIOpcode]) {
        var setup = AdapterSetup(fallbackAddress: Self.fallback)
        var effect = setup.handle(.start, at: Instant())[0]
        var asked: [HCIOpcode] = []
        while case .command(let packet) = effect {
            let opcode = HCIOpcode(rawValue: UInt16(packet[1]) | UInt16(packet[2]) << 8)
            asked.append(opcode)
            effect = setup.handle(.commandFinished(answers[opcode]), at: Instant())[0]
        }
        return (effect, asked)
    }
}

/// What a small LE-only controller of version 5.0 answers; what is not listed here is a bare success.
private struct FakeAnswers {
    private var outcomes: [HCIOpcode: CommandOutcome] = [:]

    init() {
        self[.readLocalVersion] = .completed(returnParameters: hex("00 09 01 00 09 F1 05 02 00")[...])
        self[.readLocalSupportedFeatures] = .completed(returnParameters: hex("00 00 00 00 00 60 00 00 00")[...])
        self[.readLocalSupportedCommands] = .completed(returnParameters: [0] + Array(repeating: 0xFF, count: 64))
        self[.leReadLocalSupportedFeatures] = .completed(returnParameters: hex("00 01 00 00 00 00 00 00 00")[...])
        self[.leReadBufferSize] = .completed(returnParameters: hex("00 1B 00 14")[...])
        self[.leReadSupportedStates] = .completed(returnParameters: hex("00 FF FF FF FF FF 03 00 00")[...])
        self[.readAddress] = .completed(returnParameters: hex("00 42 00 00 01 AA 00")[...])
        self[.leReadFilterAcceptListSize] = .completed(returnParameters: hex("00 08")[...])
    }

    subscript(opcode: HCIOpcode) -> CommandOutcome {
        get { outcomes[opcode] ?? .completed(returnParameters: [0]) }
        set { outcomes[opcode] = newValue }
    }
}
