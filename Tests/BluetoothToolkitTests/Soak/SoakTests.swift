import BluetoothSimulation
import BluetoothToolkit
import CoreBluetooth
import Foundation
import Simulation
import Testing

/// C15: 30 minutes, a packet every 100 ms; more than 1 % lost or more than 2 disconnects fail.
@Suite("Stability test")
struct SoakTests {
    /// A tester and its peer, and what somebody counts who watches the air.
    private final class Scene {
        let world = BluetoothWorld(seed: 7)
        let phone: SimulatedDevice
        let peer: SimulatedDevice
        let air = AirCount()

        init(loses: @escaping @Sendable (UInt32) -> Bool = { _ in false }) {
            phone = world.addDevice("Phone")
            peer = world.addDevice("Peer", at: .init(x: 3))
            world.world.airTap = air.note
            let time = Timekeeper(world.clock)
            _ = peer.start { try await SoakPeer(loses: loses).run(on: LocalPeripheral(time: time)) }
        }

        func start(_ plan: SoakPlan) -> SimulatedProgram<SoakReport> {
            let time = Timekeeper(world.clock)
            return phone.start {
                let central = Central(time: time)
                try await central.waitUntilOn()
                let peer = try await central.first(for: [SoakService.service]).peripheral
                return await SoakTest(plan).run(with: peer)
            }
        }
    }

    private static func plan(minutes: Double) -> SoakPlan {
        var plan = SoakPlan()
        plan.duration = .seconds(minutes * 60)
        return plan
    }

    @Test("A clean link passes, and the report says what the air saw")
    func clean() throws {
        let scene = Scene()
        let report = try scene.world.output(of: scene.start(Self.plan(minutes: 1)), within: .seconds(80))
        #expect(report.passed && report.sent == 600 && report.received == 600 && report.lost == 0)
        #expect(report.sent == scene.air.pings.count && report.received == scene.air.pongs.count)
        #expect(report.duplicates == 0 && report.reordered == 0 && report.disconnects.isEmpty && report.notSent == 0)
        // There in one connection event of 15 ms, back in the next one or the one behind.
        #expect(report.latency.minimum > 0 && report.latency.median < 45 && report.latency.count == 600)
        #expect(report.rssi.count >= 11 && report.rssi.mean < -40 && report.jitter < 10)
        #expect(report.text.hasPrefix("PASSED  60.0 s"))
    }

    @Test("A peer that loses 3 % fails, with the numbers that the air saw")
    func losses() throws {
        let chance = Chance(seed: 3)
        let lost = Notes<UInt32>()
        let scene = Scene { number in
            guard chance.fraction() < 0.03 else { return false }
            lost.add(number)
            return true
        }
        let report = try scene.world.output(of: scene.start(Self.plan(minutes: 2)), within: .seconds(140))
        #expect(!report.passed && report.checks.filter { !$0.passed }.map(\.name) == ["loss"])
        #expect(report.sent == 1200 && report.sent == scene.air.pings.count)
        #expect(report.lost == lost.all.count && report.received == scene.air.pongs.count)
        #expect(report.received == 1200 - lost.all.count && report.lossRate > 0.02 && report.lossRate < 0.04)
        #expect(Set(lost.all) == scene.air.pings.subtracting(scene.air.pongs))
        #expect(report.slices.reduce(0) { $0 + $1.lost } == report.lost)
        #expect(report.slices.reduce(0) { $0 + $1.sent } == report.sent)
    }

    @Test("Three disconnects fail; each has its cause and the time until the link was back")
    func disconnects() throws {
        let scene = Scene()
        let test = scene.start(Self.plan(minutes: 3))
        for _ in 0..<3 {
            scene.world.run(for: .seconds(30))
            scene.peer.position = .init(x: 10_000)
            scene.world.run(for: .seconds(6))
            scene.peer.position = .init(x: 3)
        }
        let report = try scene.world.output(of: test, within: .seconds(200))
        #expect(report.checks.filter { !$0.passed }.map(\.name).contains("disconnects"))
        #expect(report.disconnects.map(\.cause) == Array(repeating: LinkEnd.lost.description, count: 3))
        for disconnect in report.disconnects {
            let back = try #require(disconnect.secondsToReconnect)
            #expect(back > 3 && back < 10)
        }
        #expect(report.notSent > 90 && report.sent + report.notSent == 1800)
        #expect(report.lost > 0 && report.received + report.lost == report.sent)
    }

    @Test("A peer whose radio goes and comes sends back again", arguments: [false, true])
    func radio(resets: Bool) throws {
        let scene = Scene()
        let test = scene.start(Self.plan(minutes: 1))
        scene.world.run(for: .seconds(20))
        if resets {
            scene.peer.resetBluetooth(for: .seconds(2))
        } else {
            scene.peer.setBluetooth(on: false)
            scene.world.run(for: .seconds(2))
            scene.peer.setBluetooth(on: true)
        }
        let report = try scene.world.output(of: test, within: .seconds(70))
        #expect(report.disconnects.count == 1 && report.disconnects[0].secondsToReconnect != nil)
        #expect(report.received > 450 && report.endedEarly == nil, "\(report.received)")
    }

    @Test("A peer that is gone for good, and a test that is interrupted, end with a report that says so")
    func early() throws {
        let scene = Scene()
        var plan = Self.plan(minutes: 10)
        plan.supervision.attemptLimit = .seconds(2)
        plan.supervision.maximumFailures = 3
        let test = scene.start(plan)
        scene.world.run(for: .seconds(60))
        scene.peer.removeBattery()
        let report = try scene.world.output(of: test, within: .seconds(60))
        #expect(!report.passed && report.endedEarly == LinkEnd.notEstablished.description && report.seconds < 90)
        let second = Scene()
        let interrupted = second.start(Self.plan(minutes: 10))
        second.world.run(for: .seconds(60))
        interrupted.cancel()
        second.world.run(for: .zero)
        let rest = try #require(try interrupted.result?.get())
        #expect(rest.endedEarly == "it was interrupted" && rest.received > 500 && !rest.passed)
    }

    /// Neither side's controller says anything then: the battery of the tester's own is out, say.
    @Test("A test whose own radio falls silent ends in its time")
    func silent() throws {
        let scene = Scene()
        let test = scene.start(Self.plan(minutes: 1))
        scene.world.run(for: .seconds(10))
        scene.phone.removeBattery()
        let report = try scene.world.output(of: test, within: .seconds(62))
        #expect(!report.passed && report.seconds < 70, "\(report.text)")
    }

    @Test("The report as JSON, for continuous integration, and as a page that needs nothing else")
    func forms() throws {
        let scene = Scene { $0 % 20 == 0 }
        let report = try scene.world.output(of: scene.start(Self.plan(minutes: 1)), within: .seconds(70))
        let object = try JSONSerialization.jsonObject(with: Data(report.json.utf8)) as? [String: Any]
        #expect(object?["passed"] as? Bool == false)
        #expect((object?["report"] as? [String: Any])?["sent"] as? Int == 600)
        let junit = try XMLParserCheck.elements(of: report.junit)
        #expect(junit["testcase"] == 3 && junit["failure"] == 1)
        let page = report.html(title: "A <test>")
        #expect(page.contains("A &lt;test&gt;: failed") && page.contains("<path d=\"M"))
        #expect(!page.contains("http") && !page.contains("<script") && !page.contains("src="))
    }
}

/// Counts packets of the stability test on the air, each number once, however often the link layer repeats it.
private final class AirCount: @unchecked Sendable {
    // `@unchecked`: on the world's thread only.
    private(set) var pings: Set<UInt32> = []
    private(set) var pongs: Set<UInt32> = []

    func note(_ packet: AirPacket) {
        // Header of the link layer (2 octets), of L2CAP (4) for the attribute channel, opcode, handle, value.
        let octets = packet.octets
        guard packet.channel < 37, octets.count >= 18, octets[4] == 4, octets[5] == 0, octets[9] == 0x53,
            packet.receptions.contains(where: \.isIntact)
        else { return }
        let number = (10..<14).reversed().reduce(UInt32(0)) { $0 << 8 | UInt32(octets[$1]) }
        switch octets[6] {
        case 0x52: pings.insert(number)
        case 0x1B: pongs.insert(number)
        default: break
        }
    }
}

/// Reads XML well enough to know that it is well-formed: each element that begins also ends.
private enum XMLParserCheck {
    struct Malformed: Error {
        var text: String
    }

    static func elements(of text: String) throws -> [String: Int] {
        var counts: [String: Int] = [:]
        var open: [String] = []
        for piece in text.split(separator: "<").dropFirst() where !piece.hasPrefix("?") {
            guard let end = piece.firstIndex(of: ">") else { throw Malformed(text: String(piece)) }
            let tag = piece[..<end]
            if tag.hasPrefix("/") {
                guard open.popLast() == String(tag.dropFirst()) else { throw Malformed(text: String(tag)) }
            } else {
                let name = String(tag.prefix { $0 != " " && $0 != "/" })
                counts[name, default: 0] += 1
                if !tag.hasSuffix("/") { open.append(name) }
            }
        }
        guard open.isEmpty else { throw Malformed(text: open.joined(separator: " ")) }
        return counts
    }
}
