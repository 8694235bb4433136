import BluetoothTypes
import EventLoop
import HCI
import Simulation
import Testing

/// Hosts that send whatever comes to their mind, well-formed for the most part. A controller answers each command
/// once, takes no more data than it has buffers for, and never breaks.
@Suite("Hostile hosts on one air")
struct HostileAirTests {
    @Test("Six of them on one air, in many courses of chance", arguments: 0..<4)
    func riot(seed: UInt64) throws {
        let world = World(seed: seed)
        var generator = SeededGenerator(seed: seed)
        let stations = (0..<6).map { Station(world, "\($0)", Rioter.address($0), at: Position(x: Double($0))) }
        var rioter = Rioter(generator: generator.split())
        var links = 0
        for _ in 0..<2000 {
            let station = stations[Int.random(in: 0..<6, using: &generator)]
            let before = station.host.events.count
            if Int.random(in: 0..<3, using: &generator) == 0 {
                station.host.send(rioter.data())
                world.run(for: .zero)
            } else {
                let command = rioter.command()
                station.host.send(command)
                world.run(for: .zero)
                #expect(answers(to: command, in: station.host.events[before...].map(\.event)) == 1, "\(command)")
            }
            let pause = [0, 0, 1, 5, 40][Int.random(in: 0..<5, using: &generator)]
            world.run(for: .milliseconds(pause))
            for station in stations where station.host.events.count > 200 {
                links += station.connections.count { $0.status == .success }
                station.host.forgetEvents()
            }
        }
        #expect(links > 0)

        // And all is as on the first day.
        for station in stations {
            #expect(station.command(Reset()) == .success)
            station.command(SetEventMask(mask: 0x3FFF_FFFF_FFFF_FFFF))
            station.command(LESetEventMask(mask: 0xFFFF_FFFF & ~(1 << 9)))
            station.host.forgetEvents()
        }
        stations[0].advertise()
        stations[1].connect(to: stations[0])
        world.run(for: .seconds(1))
        #expect(stations[0].connections.count == 1 && stations[1].connections.count == 1)
    }

    private func answers(to command: [UInt8], in events: [ControllerEvent]) -> Int {
        let opcode = HCIOpcode(rawValue: UInt16(command[1]) | UInt16(command[2]) << 8)
        return events.count { event in
            switch event {
            case .commandComplete(let complete): complete.opcode == opcode
            case .commandStatus(let status): status.opcode == opcode
            default: false
            }
        }
    }
}

/// Makes packets of which many make sense, so that hosts get far enough to do harm.
private struct Rioter {
    var generator: SeededGenerator

    static func address(_ number: Int) -> UInt64 { 0xC0_0000_0000_00 + UInt64(number) }

    /// Opcodes and the lengths of their parameters: Core 6.0, Vol 4, Part E, 7.1 to 7.8. Event masks and Reset are
    /// left out, for without events nothing could be judged.
    private static let lengths: [(UInt16, Int)] = [
        (0x0406, 3), (0x0406, 3), (0x041D, 2), (0x0C2D, 3), (0x0C7C, 4), (0x1009, 0), (0x1405, 2), (0x2002, 0),
        (0x2005, 6),
        (0x2006, 15), (0x2007, 0), (0x2008, 32), (0x2009, 32), (0x200A, 1), (0x200A, 1), (0x200A, 1), (0x200B, 7),
        (0x200C, 2), (0x200D, 25), (0x200D, 25), (0x200D, 25), (0x200E, 0), (0x200E, 0), (0x2010, 0), (0x2011, 7),
        (0x2012, 7),
        (0x2013, 14), (0x2013, 14), (0x2014, 5), (0x2015, 2), (0x2016, 2), (0x2017, 32), (0x2018, 0), (0x2020, 14),
        (0x2021, 3), (0x2022, 6), (0x2024, 4), (0x2030, 2), (0x2031, 3), (0x2032, 7),
    ]

    private mutating func number(_ range: ClosedRange<Int>) -> Int { Int.random(in: range, using: &generator) }
    private mutating func one<Element>(of choices: [Element]) -> Element { choices[number(0...choices.count - 1)] }
    private mutating func octets(_ count: Int) -> [UInt8] { (0..<count).map { _ in UInt8(number(0...255)) } }
    private func low(_ value: Int) -> [UInt8] {
        [UInt8(truncatingIfNeeded: value), UInt8(truncatingIfNeeded: value >> 8)]
    }

    private mutating func someAddress() -> [UInt8] { DeviceAddress(Self.address(number(0...5))).octets }

    /// Interval, latency and supervision timeout.
    private mutating func timing() -> [UInt8] {
        let interval = low(one(of: [6, 7, 12, 24, 80, 3200, 5]))
        return interval + interval + low(one(of: [0, 0, 0, 1, 10, 499, 500]))
            + low(one(of: [10, 42, 100, 100, 100, 3200, 3201])) + low(0) + low(0)
    }

    mutating func command() -> [UInt8] {
        let (opcode, length) = one(of: Self.lengths)
        var parameters = number(0...9) == 0 ? octets(length) : likely(opcode, length)
        if number(0...49) == 0 { parameters = octets(number(0...255)) }
        return [0x01] + low(Int(opcode)) + [UInt8(parameters.count)] + parameters
    }

    private mutating func likely(_ opcode: UInt16, _ length: Int) -> [UInt8] {
        let handle = low(0x0040 + number(0...2))
        switch opcode {
        case 0x2006:
            let interval = low(one(of: [0x20, 0x30, 0x100]))
            return interval + interval + [one(of: [0, 0, 0, 0, 1, 2, 3, 4]), 0, 0] + someAddress() + [7, 0]
        case 0x2008, 0x2009: return [UInt8(number(0...31))] + octets(31)
        case 0x200A: return [one(of: [1, 1, 1, 1, 0])]
        case 0x200B: return [UInt8(number(0...1))] + low(0x10) + low(0x10) + [0, UInt8(number(0...1))]
        case 0x200C: return [UInt8(number(0...1)), UInt8(number(0...1))]
        case 0x200D: return low(0x10) + low(0x10) + [0, 0] + someAddress() + [0] + timing()
        case 0x2011, 0x2012: return [0] + someAddress()
        case 0x2013, 0x2020: return handle + timing()
        case 0x2014: return octets(4) + [0x1F]
        case 0x2022: return handle + low(number(27...251)) + low(number(328...17040))
        case 0x2032: return handle + [0, 1, 1, 0, 0]
        case 0x0406 where number(0...3) == 0: return low(0x0EFF) + [0x13]
        case 0x0406: return handle + [one(of: [0x13, 0x15, 0x16])]
        case 0x041D, 0x0C2D, 0x0C7C, 0x1405, 0x2015, 0x2016, 0x2021, 0x2030:
            return handle + octets(length - 2)
        default: return octets(length)
        }
    }

    /// ACL data of any length and any boundary.
    mutating func data() -> [UInt8] {
        let payload = octets(number(0...40))
        return [0x02] + low(0x0040 + number(0...2) + one(of: [0, 0, 0x1000, 0x2000, 0x3000])) + low(payload.count)
            + payload
    }
}
