import BluetoothTypes
import EventLoop
import Host
import HostInterface
import Simulation

/// A world of two hosts that do random legal work while links drop, packets vanish, a peer misbehaves, controllers
/// reset and batteries fall out; and what must hold all the same.
///
/// The seed decides all of it, so a run that fails can be had again.
package final class FaultRun {
    /// How a run ended.
    package struct Outcome: Equatable, Sendable {
        package var seed: UInt64
        /// What did not hold, each with its time; empty if all is well.
        package var violations: [String]
        package var requests: Int
        package var events: Int
        package var faults: Int
    }

    /// How long the hosts work and things fail.
    private static let turmoil = Duration.seconds(8)
    /// Longer than every timeout of a host: 30 s of ATT (Core 6.0, Vol 3, Part F, 3.3.3), and then the goodbyes.
    private static let calm = Duration.seconds(40)

    private let world: World
    private let ledger = WriteLedger()
    private let log: Log
    private let devices: [HostedDevice]
    private let players: [Player]
    private var generator: SeededGenerator
    private var faults = 0
    private let seed: UInt64
    private let isMeddling: Bool

    /// - Parameter trace: takes a line for each step of the run.
    package init(seed: UInt64, trace: ((String) -> Void)? = nil) {
        self.seed = seed
        let world = World(seed: seed)
        let log = Log(world: world, trace: trace)
        let devices = (0..<2).map { number in
            HostedDevice(
                in: world, name: "host \(number)", address: DeviceAddress(0x02_0000_0000_01 + UInt64(number)),
                position: Position(x: Double(number) * 2))
        }
        let peers = devices.map { PeerID($0.device.address) }
        var generator = SeededGenerator(seed: seed ^ 0xFA17)
        // Two programs on the first host, one on the second.
        players = [(0, "A"), (0, "B"), (1, "C")].map { [ledger] device, name in
            Player(
                name: name, on: devices[device], peer: peers[1 - device], ledger: ledger, log: log,
                generator: generator.split())
        }
        (self.world, self.log, self.devices, self.generator) = (world, log, devices, generator)
        // In every third world the second host's packets are damaged on their way to its controller.
        isMeddling = seed % 3 == 2
    }

    package func run() -> Outcome {
        if isMeddling { beginMeddling() }
        for player in players { player.begin() }
        scheduleFault()
        world.run(for: Self.turmoil)
        makePeace()
        world.run(for: Self.calm)
        for player in players { player.checkThatOnlyConnectsWait() }
        for player in players { player.leaveLinks() }
        world.run(for: .seconds(10))
        for player in players { player.checkEnd() }
        checkWrites()
        for player in players { player.close() }
        world.run(for: .seconds(5))
        checkLevels()
        return Outcome(
            seed: seed, violations: log.violations, requests: players.reduce(0) { $0 + $1.requestCount },
            events: players.reduce(0) { $0 + $1.eventCount }, faults: faults)
    }

    // MARK: What fails

    private func scheduleFault() {
        world.schedule(after: .milliseconds(generator.next(below: 1200))) { [unowned self] in
            guard world.now.sinceStart < Self.turmoil else { return }
            fail()
            scheduleFault()
        }
    }

    private func fail() {
        faults += 1
        let hosted = devices[generator.next(below: devices.count)]
        let device = hosted.device
        switch generator.next(below: 7) {
        case 0:
            world.environment.packetLoss = Double(generator.next(below: 60)) / 100
            log.note("air", "loses \(Int(world.environment.packetLoss * 100)) % of the packets")
        case 1:
            log.note(device.name, "is switched off")
            hosted.setPowered(false)
            later { hosted.setPowered(true) }
        case 2:
            log.note(device.name, "loses its battery")
            device.removeFromAir()
            later { device.returnToAir() }
        case 3:
            log.note(device.name, "goes out of reach")
            let home = device.position
            device.move(to: Position(x: 100_000))
            later { device.move(to: home) }
        case 4:
            log.note(device.name, "has a controller that resets")
            device.resetController()
            later { hosted.setPowered(true) }
        case 5:
            world.environment.packetLoss = 0
        default:
            let player = players[generator.next(below: players.count)]
            player.close()
            later { player.open() }
        }
    }

    private func later(_ action: @escaping () -> Void) {
        world.schedule(after: .milliseconds(1 + generator.next(below: 3000)), action)
    }

    /// Damages what the second host sends to its peers: one ACL data packet in four.
    private func beginMeddling() {
        var chance = SeededGenerator(seed: seed ^ 0x3EDD1E)
        devices[1].device.hciFault = { direction, packet in
            guard direction == .hostToController else { return [packet] }
            return Meddler.meddle(packet, &chance)
        }
    }

    private func makePeace() {
        log.note("world", "comes to rest")
        world.environment.packetLoss = 0
        for (number, hosted) in devices.enumerated() {
            hosted.device.hciFault = nil
            hosted.device.move(to: Position(x: Double(number) * 2))
            hosted.device.returnToAir()
            hosted.setPowered(true)
        }
        for player in players { player.rest() }
    }

    // MARK: What must hold

    private func checkWrites() {
        guard !isMeddling else { return }
        for complaint in ledger.complaints { log.violation("writes", complaint) }
    }

    /// When nobody asks for anything any more, a host holds nothing.
    private func checkLevels() {
        for hosted in devices {
            hosted.withHost { host in
                let holdings = host.holdings
                if holdings != .none { log.violation(hosted.device.name, "still holds \(holdings)") }
            }
        }
    }
}

extension SeededGenerator {
    mutating func next(below bound: Int) -> Int { Int(next() % UInt64(bound)) }

    mutating func isChosen(outOf100 percent: Int) -> Bool { next(below: 100) < percent }
}
