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
        package var reached: Reached
    }

    /// What the hosts came to, so that one can see that worlds are not idle.
    package struct Reached: Equatable, Sendable {
        package var encryptions = 0
        package var bonds = 0
        package var channels = 0
        /// Octets that came on channels.
        package var streamed = 0
        /// Writes with response that were confirmed.
        package var writes = 0
        /// Several at once, all or none.
        package var reliableWrites = 0
        /// Channels of the newer kind that were enlarged.
        package var enlargements = 0
        /// The most requests about attributes that could be under way at once.
        package var bearers = 1
        /// Values that were notified or indicated.
        package var values = 0
        /// Packets of periodic advertising that was followed.
        package var periodicReports = 0

        package init() {}

        package static func + (left: Reached, right: Reached) -> Reached {
            var sum = left
            sum.encryptions += right.encryptions
            sum.bonds += right.bonds
            sum.channels += right.channels
            sum.streamed += right.streamed
            sum.writes += right.writes
            sum.reliableWrites += right.reliableWrites
            sum.enlargements += right.enlargements
            sum.bearers = max(sum.bearers, right.bearers)
            sum.values += right.values
            sum.periodicReports += right.periodicReports
            return sum
        }
    }

    /// How long the hosts work and things fail.
    private static let turmoil = Duration.seconds(10)
    /// Longer than every timeout of a host, 30 s of ATT (Core 6.0, Vol 3, Part F, 3.3.3), and then what waited behind
    /// that on a link with other bearers.
    private static let calm = Duration.seconds(60)

    private let world: World
    private let common: Player.Common
    private let log: Log
    private let devices: [HostedDevice]
    private let bonds: [MemoryBondStorage]
    private let players: [Player]
    private var generator: SeededGenerator
    private var faults = 0
    private let seed: UInt64

    /// - Parameter trace: takes a line for each step of the run.
    package init(seed: UInt64, trace: ((String) -> Void)? = nil) {
        self.seed = seed
        let world = World(seed: seed)
        // In every third world the second host's packets are damaged on their way to its controller.
        let log = Log(world: world, isMeddling: seed % 3 == 2, trace: trace)
        let common = Player.Common(log: log)
        let bonds = (0..<2).map { _ in MemoryBondStorage() }
        let devices = (0..<2).map { number in
            HostedDevice(
                in: world, name: "host \(number)", address: DeviceAddress(0x02_0000_0000_01 + UInt64(number)),
                position: Position(x: Double(number) * 2), bonds: bonds[number])
        }
        let peers = devices.map { PeerID($0.device.address) }
        var generator = SeededGenerator(seed: seed ^ 0xFA17)
        // Two programs on the first host, one on the second.
        players = [(0, "A"), (0, "B"), (1, "C")].map { device, name in
            Player(
                name: name, on: devices[device], peer: peers[1 - device], common: common,
                generator: generator.split())
        }
        (self.world, self.log, self.devices, self.generator) = (world, log, devices, generator)
        (self.common, self.bonds) = (common, bonds)
    }

    package func run() -> Outcome {
        if log.isMeddling { beginMeddling() }
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
            events: players.reduce(0) { $0 + $1.eventCount }, faults: faults,
            reached: players.reduce(Reached()) { $0 + $1.reached })
    }

    // MARK: What fails

    private func scheduleFault() {
        world.schedule(after: .milliseconds(generator.next(below: 2400))) { [unowned self] in
            guard world.now.sinceStart < Self.turmoil else { return }
            fail()
            scheduleFault()
        }
    }

    private func fail() {
        faults += 1
        let number = generator.next(below: devices.count)
        let hosted = devices[number]
        let device = hosted.device
        switch generator.next(below: 8) {
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
        case 6:
            log.note(device.name, "loses its bonds, and its battery")
            for record in bonds[number].bonds(of: device.address) {
                bonds[number].remove(record.identity, of: device.address)
            }
            device.removeFromAir()
            later { device.returnToAir() }
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
        guard !log.isMeddling else { return }
        for complaint in common.writes.complaints { log.violation("writes", complaint) }
        for complaint in common.commands.complaints { log.violation("writes without response", complaint) }
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
