import BluetoothTypes
import EventLoop
import HCI
import LinkLayer
import Simulation
import Testing
import VirtualController

/// Section numbers are those of Core 6.0, Vol 6, Part B.
@Suite("Connection subrating")
struct SubratingTests {
    private static func range(
        _ factors: ClosedRange<UInt16>, latency: UInt16 = 0, continuation: UInt16 = 0, timeout: UInt16 = 400
    ) -> SubrateRange {
        var range = SubrateRange()
        range.factorMin = factors.lowerBound
        range.factorMax = factors.upperBound
        range.maxLatency = latency
        range.continuation = continuation
        range.supervisionTimeout = timeout
        return range
    }

    /// When the central's packets begin, in units of the interval, over so many of them.
    private static func events(of pair: Pair, interval: Duration, count: Int, from sender: Int = 0) -> [Int] {
        var starts: [Instant] = []
        pair.world.airTap = { if $0.sender == sender { starts.append($0.start) } }
        defer { pair.world.airTap = nil }
        pair.world.run(for: interval * count)
        guard let first = starts.first else { return [] }
        return starts.map { Int((first.duration(to: $0) / interval).rounded()) }
    }

    @Test(
        "5.1.19: the central's host asks, both are told, and one event in four is used", arguments: [1, 4] as [UInt16])
    func central(factor: UInt16) throws {
        let pair = try Pair(timeout: 400, subrating: true)
        let command = LESubrateRequest(handle: pair.centralHandle, range: Self.range(1...factor, timeout: 300))
        #expect(pair.central.command(command) == .success)
        pair.world.run(for: .seconds(1))
        for station in [pair.central, pair.peripheral] {
            #expect(station.subrateChanges.map(\.status) == [.success])
            #expect(station.subrateChanges.allSatisfy { $0.factor == factor && $0.supervisionTimeout == 300 })
        }
        let events = Self.events(of: pair, interval: .microseconds(7500), count: 40)
        #expect(events == Array(stride(from: 0, to: 40, by: Int(factor))))
        pair.world.run(for: .seconds(60))
        #expect(pair.central.disconnections.isEmpty && pair.peripheral.disconnections.isEmpty)
    }

    @Test("5.1.20: the peripheral asks, and gets of what it asked for what the central's host takes")
    func peripheral() throws {
        let pair = try Pair(timeout: 400, subrating: true)
        // What the central's host asks for is what it takes later: 7.8.124.
        let takes = Self.range(1...6, latency: 2, continuation: 2, timeout: 500)
        #expect(pair.central.command(LESubrateRequest(handle: pair.centralHandle, range: takes)) == .success)
        pair.world.run(for: .seconds(1))
        pair.central.host.forgetEvents()
        pair.peripheral.host.forgetEvents()
        let wants = Self.range(3...10, latency: 1, continuation: 1, timeout: 400)
        #expect(pair.peripheral.command(LESubrateRequest(handle: pair.peripheralHandle, range: wants)) == .success)
        pair.world.run(for: .seconds(1))
        for station in [pair.central, pair.peripheral] {
            let change = try #require(station.subrateChanges.last)
            #expect(change.status == .success && change.factor == 6 && change.latency == 1)
            #expect(change.continuation == 2 && change.supervisionTimeout == 400)
        }
        pair.world.run(for: .seconds(60))
        #expect(pair.central.disconnections.isEmpty && pair.peripheral.disconnections.isEmpty)
    }

    @Test(
        "5.1.20: what the central's host does not take is refused",
        arguments: [(2...4, 1, 3200), (2...4, 0, 3200), (1...1, 0, 3200)] as [(ClosedRange<UInt16>, UInt16, UInt16)])
    func refused(factors: ClosedRange<UInt16>, latency: UInt16, timeout: UInt16) throws {
        let pair = try Pair(timeout: 400, subrating: true)
        let wants = Self.range(factors, latency: latency, timeout: timeout)
        #expect(pair.peripheral.command(LESubrateRequest(handle: pair.peripheralHandle, range: wants)) == .success)
        pair.world.run(for: .seconds(1))
        // Nothing but a factor of 1 is taken unless the host says otherwise: 7.8.123.
        let isTaken = factors == 1...1
        #expect(pair.peripheral.subrateChanges.map(\.status) == [isTaken ? .success : .unsupportedLinkLayerParameter])
        #expect(pair.peripheral.subrateChanges.last?.factor == 1)
    }

    @Test("5.1.19, 5.1.20: a host that is not for it is left alone", arguments: [true, false])
    func withoutHost(byCentral: Bool) throws {
        let pair = try Pair(timeout: 400)
        let station = byCentral ? pair.central : pair.peripheral
        let handle = byCentral ? pair.centralHandle : pair.peripheralHandle
        #expect(station.command(LESubrateRequest(handle: handle, range: Self.range(4...4))) == .success)
        pair.world.run(for: .seconds(1))
        #expect(station.subrateChanges.map(\.status) == [.unsupportedRemoteFeature])
        // The features that the controller asked for by itself are no news to its host.
        #expect(
            !station.host.events.contains { if case .readRemoteFeaturesComplete = $0.event { true } else { false } })
        #expect(Self.events(of: pair, interval: .microseconds(7500), count: 8) == Array(0..<8))
    }

    @Test("4.5.1: behind an event with data both stay for as many events as were agreed", arguments: [true, false])
    func continuation(fromCentral: Bool) throws {
        let pair = try Pair(timeout: 400, subrating: true)
        let range = Self.range(20...20, continuation: 5)
        #expect(pair.central.command(LESubrateRequest(handle: pair.centralHandle, range: range)) == .success)
        pair.world.run(for: .seconds(1))
        let station = fromCentral ? pair.central : pair.peripheral
        let handle = fromCentral ? pair.centralHandle : pair.peripheralHandle
        station.host.send(aclPacket(handle: handle, boundary: .firstNonFlushable, payload: [1, 0, 4, 0, 9]))
        let events = Self.events(of: pair, interval: .microseconds(7500), count: 41)
        // The event with the packet, five more, and the next subrated one; which comes first depends on the time.
        let isFirst = events.starts(with: [0, 1, 2, 3, 4, 5, 20])
        #expect(isFirst || events.starts(with: [0, 20, 21, 22, 23, 24, 25, 40]), "\(events)")
        let receiver = fromCentral ? pair.peripheral : pair.central
        #expect(receiver.host.data.map(\.payload) == [[1, 0, 4, 0, 9]])
    }

    @Test("4.5.1: the peripheral's latency counts subrated events")
    func latency() throws {
        let pair = try Pair(timeout: 400, subrating: true)
        let range = Self.range(4...4, latency: 4)
        #expect(pair.central.command(LESubrateRequest(handle: pair.centralHandle, range: range)) == .success)
        pair.world.run(for: .seconds(1))
        let events = Self.events(of: pair, interval: .microseconds(7500), count: 200, from: 1)
        #expect(events == Array(stride(from: 0, to: events.count * 20, by: 20)) && events.count >= 10)
        // What the peripheral has to say comes at one of the central's events, and not after all the latency.
        pair.peripheral.host.send(
            aclPacket(handle: pair.peripheralHandle, boundary: .firstNonFlushable, payload: [1, 0, 4, 0, 9]))
        pair.world.run(for: .microseconds(7500 * 6))
        #expect(pair.central.host.data.count == 1)
    }

    @Test("5.1.1: another interval ends it, and both come to the instant")
    func anotherInterval() throws {
        let pair = try Pair(timeout: 400, subrating: true)
        #expect(
            pair.central.command(LESubrateRequest(handle: pair.centralHandle, range: Self.range(10...10))) == .success)
        pair.world.run(for: .seconds(1))
        var update = LEConnectionUpdate()
        update.handle = pair.centralHandle
        update.parameters = ConnectionParameterRange(
            intervalMin: 24, intervalMax: 24, latency: 0, supervisionTimeout: 400)
        #expect(pair.central.command(update) == .success)
        pair.world.run(for: .seconds(3))
        #expect(Self.events(of: pair, interval: .milliseconds(30), count: 10) == Array(0..<10))
        pair.world.run(for: .seconds(30))
        #expect(pair.central.disconnections.isEmpty && pair.peripheral.disconnections.isEmpty)
    }

    @Test(
        "5.1.19: packets get lost while the events change, and the link stays", arguments: 1...20 as ClosedRange<UInt64>
    )
    func loss(seed: UInt64) throws {
        let pair = try Pair(seed: seed, timeout: 400, subrating: true)
        pair.world.environment.packetLoss = 0.5
        for factor in [7, 1, 3, 12] as [UInt16] {
            let range = Self.range(factor...factor, continuation: factor > 2 ? 2 : 0)
            #expect(pair.central.command(LESubrateRequest(handle: pair.centralHandle, range: range)) == .success)
            pair.world.run(for: .seconds(4))
            for station in [pair.central, pair.peripheral] { #expect(station.subrateChanges.last?.factor == factor) }
        }
        #expect(pair.central.disconnections.isEmpty && pair.peripheral.disconnections.isEmpty)
    }

    @Test("7.8.123, 7.8.124: what cannot be is refused")
    func impossible() throws {
        let pair = try Pair(timeout: 400, subrating: true)
        let handle = pair.centralHandle
        for range in [
            Self.range(0...4), Self.range(1...501), Self.range(1...2, latency: 250), Self.range(1...4, continuation: 4),
            Self.range(1...4, timeout: 9), Self.range(1...400, timeout: 400),
        ] {
            #expect(pair.central.command(LESubrateRequest(handle: handle, range: range)) == .invalidParameters)
        }
        #expect(
            pair.central.command(LESubrateRequest(handle: 0x0EFF, range: Self.range(1...4))) == .unknownConnection)
        #expect(pair.central.command(LESetHostFeature(bit: 38, isSet: false)) == .commandDisallowed)
        #expect(pair.central.command(LESetHostFeature(bit: 0, isSet: true)) == .unsupportedFeature)
    }
}

extension Station {
    fileprivate var subrateChanges: [LESubrateChange] {
        host.events.compactMap { if case .subrateChange(let event) = $0.event { event } else { nil } }
    }
}
