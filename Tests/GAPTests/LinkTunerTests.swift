import EventLoop
import GAP
import HCI
import ProtocolTestKit
import Testing

/// The commands' octets are those of Core 6.0, Vol 4, Part E, 7.8.21, 7.8.33 and 7.8.49.
@Suite("Link tuner — Core 6.0, Vol 6, Part B, 5.1.9 and 5.1.10")
struct LinkTunerTests {
    private let readFeatures = hex("01 16 20 02 40 00")
    private let setLength = hex("01 22 20 06 40 00 FB 00 90 42")
    private let set2M = hex("01 32 20 07 40 00 00 02 02 00 00")
    private static let everything: LEFeatures = [
        .dataPacketLengthExtension, .phy2M, .peripheralInitiatedFeaturesExchange,
    ]

    @Test("A central asks what the peer has, then for long packets, then for LE 2M")
    func central() {
        Scene.play(tuner(.central)) { tuner in
            tuner.input(.start, #_sourceLocation)
            tuner.expect(.command(readFeatures))
            tuner.input(.commandFinished(.started), #_sourceLocation)
            tuner.input(features(Self.everything), #_sourceLocation)
            tuner.expect(.command(setLength))
            tuner.input(.commandFinished(.completed(returnParameters: hex("00 40 00")[...])), #_sourceLocation)
            tuner.expect(.command(set2M))
            tuner.input(.commandFinished(.started), #_sourceLocation)
            tuner.input(phy(.success), #_sourceLocation)
        }
    }

    @Test("What the peer does not have is not asked of it", arguments: [[], LEFeatures.dataPacketLengthExtension])
    func poorPeer(has peer: LEFeatures) {
        Scene.play(tuner(.central)) { tuner in
            tuner.input(.start, #_sourceLocation)
            tuner.expect(.command(readFeatures))
            tuner.input(.commandFinished(.started), #_sourceLocation)
            tuner.input(features(peer), #_sourceLocation)
            guard !peer.isEmpty else { return }
            tuner.expect(.command(setLength))
            tuner.input(.commandFinished(.completed(returnParameters: hex("00 40 00")[...])), #_sourceLocation)
        }
    }

    @Test("What the controller does not have or does not know is not asked of it")
    func poorController() {
        for missing: HCIOpcode in [.leReadRemoteFeatures, .leSetDataLength, .leSetPHY] {
            var start = tuner(.central, without: [missing])
            let effects = start.handle(.start, at: Instant())
            #expect(effects.isEmpty == (missing == .leReadRemoteFeatures))
            guard !effects.isEmpty else { continue }
            let next = start.handle(features(Self.everything), at: Instant())
            #expect(next == [.command(missing == .leSetDataLength ? set2M : setLength)])
        }
        var plain = LinkTuner(handle: 0x40, role: .central)
        #expect(plain.handle(.start, at: Instant()).isEmpty)
    }

    @Test("Packets that have grown by themselves are not asked for again")
    func suggestedDefault() {
        Scene.play(tuner(.central)) { tuner in
            tuner.input(.start, #_sourceLocation)
            tuner.expect(.command(readFeatures))
            tuner.input(.commandFinished(.started), #_sourceLocation)
            var change = LEDataLengthChange()
            change.txOctets = 251
            tuner.input(.dataLengthChanged(change), #_sourceLocation)
            tuner.input(features(Self.everything), #_sourceLocation)
            tuner.expect(.command(set2M))
        }
    }

    @Test("Whoever refuses one thing is asked for the next, and nothing is asked twice")
    func refused() {
        Scene.play(tuner(.central)) { tuner in
            tuner.input(.start, #_sourceLocation)
            tuner.expect(.command(readFeatures))
            tuner.input(.commandFinished(.started), #_sourceLocation)
            tuner.input(features(Self.everything), #_sourceLocation)
            tuner.expect(.command(setLength))
            tuner.input(.commandFinished(.refused(.unsupportedFeature)), #_sourceLocation)
            tuner.expect(.command(set2M))
            tuner.input(.commandFinished(.started), #_sourceLocation)
            tuner.input(phy(.unsupportedRemoteFeature), #_sourceLocation)
            tuner.input(phy(.success), #_sourceLocation)
        }
        var tuner = tuner(.central)
        _ = tuner.handle(.start, at: Instant())
        #expect(tuner.handle(.commandFinished(.refused(.commandDisallowed)), at: Instant()).isEmpty)
        #expect(tuner.handle(features(Self.everything), at: Instant()).isEmpty)
    }

    @Test("A peripheral leaves the central a second, and asks for what is missing then")
    func peripheral() {
        var tuner = tuner(.peripheral)
        #expect(tuner.handle(.start, at: Instant()).isEmpty)
        let due = Instant().advanced(by: .seconds(1))
        #expect(tuner.deadline == due)
        #expect(tuner.handle(phy(.success), at: Instant()).isEmpty)
        #expect(tuner.wake(at: due) == [.command(readFeatures)])
        #expect(tuner.deadline == nil)
        #expect(tuner.handle(features(Self.everything), at: due) == [.command(setLength)])
        // LE 2M is there already.
        let done = CommandOutcome.completed(returnParameters: hex("00 40 00")[...])
        #expect(tuner.handle(.commandFinished(done), at: due).isEmpty)
    }

    @Test("A link that has begun on LE 2M or on the coded PHY stays there", arguments: ["02 02", "03 03"])
    func otherPHY(phys: String) {
        var configuration = LinkTuner.Configuration()
        configuration.capabilities.features = Self.everything
        configuration.capabilities.commands = SupportedCommands([.leReadPHY, .leReadRemoteFeatures, .leSetPHY])
        configuration.readsPHY = true
        Scene.play(LinkTuner(handle: 0x40, role: .central, configuration: configuration)) { tuner in
            tuner.input(.start, #_sourceLocation)
            tuner.expect(.command(hex("01 30 20 02 40 00")))
            let answer = CommandOutcome.completed(returnParameters: hex("00 40 00 " + phys)[...])
            tuner.input(.commandFinished(answer), #_sourceLocation)
            tuner.expect(.command(readFeatures))
            tuner.input(.commandFinished(.started), #_sourceLocation)
            tuner.input(features(Self.everything), #_sourceLocation)
        }
    }

    private func tuner(_ role: LinkRole, without missing: [HCIOpcode] = []) -> LinkTuner {
        var configuration = LinkTuner.Configuration()
        configuration.capabilities.features = Self.everything
        configuration.capabilities.commands = SupportedCommands(
            [.leReadRemoteFeatures, .leSetDataLength, .leSetPHY].filter { !missing.contains($0) })
        var lengths = LEReadMaximumDataLength.ReturnParameters()
        lengths.txOctets = 251
        lengths.txTime = 17040
        configuration.capabilities.maximumDataLength = lengths
        return LinkTuner(handle: 0x40, role: role, configuration: configuration)
    }

    private func features(_ features: LEFeatures) -> LinkTuner.Input {
        var event = LEReadRemoteFeaturesComplete()
        event.handle = 0x40
        event.features = features
        return .remoteFeatures(event)
    }

    private func phy(_ status: HCIErrorCode) -> LinkTuner.Input {
        var event = LEPHYUpdateComplete()
        event.status = status
        event.handle = 0x40
        event.tx = .le2M
        event.rx = .le2M
        return .phyUpdated(event)
    }
}
