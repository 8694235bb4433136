import BluetoothTypes
import EventLoop
import HCI
import LinkLayer
import Simulation
import Testing
import VirtualController

/// Trains and those who follow them. Section numbers are those of Core 6.0, Vol 4, Part E, unless they say otherwise.
@Suite("Periodic advertising")
struct PeriodicAdvertisingTests {
    /// Two stations a metre apart; the one advertises with a train, the other scans.
    final class Stage {
        let world: World
        let advertiser: Station
        let scanner: Station

        init(seed: UInt64 = 1, clockError: Int = 0) {
            world = World(seed: seed)
            var configuration = ControllerConfiguration(address: DeviceAddress(0))
            configuration.clockError = clockError
            advertiser = Station(world, "advertiser", 0xA0_0000_0000_01, configuration: configuration)
            scanner = Station(world, "scanner", 0xC0_0000_0000_02, at: Position(x: 1))
            for station in [advertiser, scanner] { station.command(LESetEventMask(mask: UInt64.max)) }
        }

        /// - Parameter interval: of the train, in slots of 1.25 ms.
        func advertise(
            _ data: [UInt8], interval: UInt16 = 40, on phy: PHY = .le1M, includesInfo: Bool = false,
            includesTxPower: Bool = false
        ) {
            var parameters = LESetExtendedAdvertisingParameters()
            parameters.properties = []
            parameters.intervalMin = 0xA0
            parameters.intervalMax = 0xA0
            parameters.secondaryPHY = phy
            parameters.identifier = 7
            #expect(advertiser.command(parameters) == .success)
            var periodic = LESetPeriodicAdvertisingParameters()
            periodic.intervalMin = interval
            periodic.intervalMax = interval
            periodic.properties = includesTxPower ? 1 << 6 : 0
            #expect(advertiser.command(periodic) == .success)
            write(data)
            #expect(
                advertiser.command(LESetPeriodicAdvertisingEnable(true, set: 0, includesInfo: includesInfo)) == .success
            )
            #expect(advertiser.command(LESetExtendedAdvertisingEnable(true, [.init(set: 0)])) == .success)
        }

        private func write(_ data: [UInt8]) {
            guard data.count > 252 else {
                #expect(advertiser.command(LESetPeriodicAdvertisingData(set: 0, data: data)) == .success)
                return
            }
            for start in stride(from: 0, to: data.count, by: 252) {
                let end = min(data.count, start + 252)
                let operation: DataOperation = start == 0 ? .first : end == data.count ? .last : .intermediate
                let command = LESetPeriodicAdvertisingData(
                    set: 0, operation: operation, data: Array(data[start..<end]))
                #expect(advertiser.command(command) == .success)
            }
        }

        func scan() {
            var parameters = LESetExtendedScanParameters()
            parameters.entries[0].interval = 0x60
            parameters.entries[0].window = 0x60
            #expect(scanner.command(parameters) == .success)
            #expect(scanner.command(LESetExtendedScanEnable(true)) == .success)
        }

        func stopScanning() { #expect(scanner.command(LESetExtendedScanEnable(false)) == .success) }

        @discardableResult
        func follow(
            identifier: UInt8 = 7, options: UInt8 = 0, skip: UInt16 = 0, timeout: UInt16 = 100
        ) -> HCIErrorCode {
            var create = LEPeriodicAdvertisingCreateSync()
            create.options = options
            create.identifier = identifier
            create.advertiser = advertiser.device.address
            create.skip = skip
            create.timeout = timeout
            return scanner.command(create)
        }
    }

    private static func bytes(_ count: Int) -> [UInt8] { (0..<count).map { UInt8(truncatingIfNeeded: $0 * 7) } }

    /// The data of whole packets and chains, from their reports.
    private static func whole(_ reports: [LEPeriodicAdvertisingReport]) -> [[UInt8]] {
        var whole: [[UInt8]] = []
        var part: [UInt8] = []
        for report in reports {
            part += report.data
            switch report.dataStatus {
            case .incomplete: continue
            case .complete: whole.append(part)
            case .truncated: break
            }
            part = []
        }
        return whole
    }

    @Test(
        "7.7.65.14, 7.7.65.15: a train is found by its advertisement and followed, whatever the length and the PHY",
        arguments: [0, 10, 247, 252, 500, 1650], [PHY.le1M, .le2M, .leCoded])
    func follows(count: Int, phy: PHY) throws {
        // Chains on the coded PHY take long.
        let interval: UInt16 = phy == .leCoded ? 200 : 40
        let stage = Stage()
        stage.advertise(Self.bytes(count), interval: interval, on: phy, includesTxPower: true)
        stage.scan()
        #expect(stage.follow() == .success)
        stage.world.run(for: .seconds(3))
        let established = try #require(stage.scanner.syncs.first)
        #expect(established.status == .success && established.identifier == 7 && established.phy == phy)
        #expect(established.advertiser == stage.advertiser.device.address && established.interval == interval)
        stage.stopScanning()
        stage.scanner.host.forgetEvents()
        let time = AirTiming.slot * Int(interval) * 20
        stage.world.run(for: time)
        let whole = Self.whole(stage.scanner.periodicReports)
        #expect((19...21).contains(whole.count) && whole.allSatisfy { $0 == Self.bytes(count) }, "\(whole.count)")
        #expect(stage.scanner.periodicReports.allSatisfy { $0.sync == established.sync && $0.txPower == 0 })
    }

    @Test(
        "Vol 6, Part B, 4.4.2.12: it goes on without the advertisement that began it, at its interval, on its channels")
    func train() {
        let stage = Stage()
        stage.advertise([1, 2, 3], interval: 24)
        stage.world.run(for: .seconds(1))
        #expect(stage.advertiser.command(LESetExtendedAdvertisingEnable(false, [.init(set: 0)])) == .success)
        var packets: [AirPacket] = []
        stage.world.airTap = { packets.append($0) }
        stage.world.run(for: .seconds(3))
        #expect((99...101).contains(packets.count))
        #expect(Set(packets.map(\.accessAddress)).count == 1 && packets[0].accessAddress != advertisingAccessAddress)
        for (first, second) in zip(packets, packets.dropFirst()) {
            #expect(first.start.duration(to: second.start) == .milliseconds(30))
        }
        #expect(packets.allSatisfy { $0.channel <= 36 } && Set(packets.map(\.channel)).count > 20)
        #expect(stage.advertiser.command(LESetPeriodicAdvertisingEnable(false, set: 0)) == .success)
        packets = []
        stage.world.run(for: .seconds(1))
        #expect(packets.isEmpty)
    }

    @Test("7.7.65.13: the advertisement's report says the interval, and new data reaches whoever follows")
    func newData() {
        let stage = Stage()
        stage.advertise([1], includesInfo: true)
        stage.scan()
        stage.follow(options: 0b100)
        stage.world.run(for: .seconds(2))
        #expect(stage.scanner.extendedReports.contains { $0.periodicInterval == 40 })
        for value in 2...5 as ClosedRange<UInt8> {
            #expect(stage.advertiser.command(LESetPeriodicAdvertisingData(set: 0, data: [value])) == .success)
            stage.world.run(for: .seconds(1))
        }
        // Each is reported once, for the host asked for that: 7.8.67.
        #expect(stage.scanner.periodicReports.map(\.data) == [[1], [2], [3], [4], [5]])
    }

    @Test("7.8.67: skipped packets are slept through, and the clocks' drift is listened for", arguments: [-50, 0, 50])
    func skip(clockError: Int) {
        let stage = Stage(clockError: clockError)
        stage.advertise([9], interval: 80)
        stage.scan()
        stage.follow(skip: 9, timeout: 1000)
        stage.world.run(for: .seconds(3))
        stage.stopScanning()
        stage.scanner.host.forgetEvents()
        stage.world.run(for: .seconds(100))
        #expect((98...102).contains(stage.scanner.periodicReports.count))
        #expect(stage.scanner.lostSyncs.isEmpty)
    }

    @Test("7.7.65.16: when nothing comes for the timeout, the synchronization is lost")
    func loss() {
        let stage = Stage()
        stage.advertise([9])
        stage.scan()
        stage.follow(timeout: 50)
        stage.world.run(for: .seconds(2))
        #expect(stage.scanner.syncs.map(\.status) == [.success])
        stage.advertiser.device.removeFromAir()
        stage.world.run(for: .milliseconds(450))
        #expect(stage.scanner.lostSyncs.isEmpty)
        stage.world.run(for: .milliseconds(150))
        #expect(stage.scanner.lostSyncs == [stage.scanner.syncs[0].sync])
    }

    @Test("7.7.65.14: a train of which nothing is heard within six intervals fails with 0x3E")
    func failure() {
        let stage = Stage()
        stage.advertise([9], interval: 400)
        stage.scan()
        stage.follow()
        // Dead as soon as it has been heard of.
        stage.world.airTap = { [world = stage.world, advertiser = stage.advertiser] packet in
            guard packet.channel < 37, packet.sender == 0, packet.receptions.contains(where: \.isIntact) else { return }
            world.schedule(after: .zero) { advertiser.device.removeFromAir() }
        }
        stage.world.run(for: .seconds(10))
        #expect(stage.scanner.syncs.map(\.status) == [.connectionFailedToBeEstablished])
        #expect(stage.follow() == .success)
    }

    @Test("7.8.68, 7.8.69, 7.8.88: cancelling, ending, and reports that are not wanted")
    func endings() throws {
        let stage = Stage()
        #expect(stage.scanner.command(LEPeriodicAdvertisingCreateSyncCancel()) == .commandDisallowed)
        #expect(stage.follow() == .success)
        #expect(stage.follow() == .commandDisallowed)
        #expect(stage.scanner.command(LEPeriodicAdvertisingCreateSyncCancel()) == .success)
        #expect(stage.scanner.syncs.map(\.status) == [.operationCancelled])
        stage.advertise([9])
        stage.scan()
        stage.follow(options: 0b010)
        stage.world.run(for: .seconds(2))
        let sync = try #require(stage.scanner.syncs.last).sync
        #expect(stage.scanner.periodicReports.isEmpty)
        #expect(stage.follow() == .connectionAlreadyExists)
        #expect(stage.scanner.command(LESetPeriodicAdvertisingReceiveEnable(sync: sync, reports: true)) == .success)
        stage.world.run(for: .seconds(1))
        #expect(stage.scanner.periodicReports.count > 15)
        #expect(stage.scanner.command(LEPeriodicAdvertisingTerminateSync(sync: sync)) == .success)
        #expect(
            stage.scanner.command(LEPeriodicAdvertisingTerminateSync(sync: sync)) == .unknownAdvertisingIdentifier)
        stage.scanner.host.forgetEvents()
        stage.world.run(for: .seconds(1))
        #expect(stage.scanner.periodicReports.isEmpty && stage.scanner.lostSyncs.isEmpty)
    }

    @Test("7.8.70 to 7.8.73: the periodic advertiser list")
    func list() {
        let stage = Stage()
        let wanted = PeriodicAdvertiser(address: stage.advertiser.device.address, identifier: 7)
        let other = PeriodicAdvertiser(address: stage.advertiser.device.address, identifier: 8)
        #expect(stage.scanner.command(LEAddDeviceToPeriodicAdvertiserList(other)) == .success)
        #expect(stage.scanner.command(LEAddDeviceToPeriodicAdvertiserList(other)) == .invalidParameters)
        stage.advertise([9])
        stage.scan()
        stage.follow(identifier: 0, options: 0b001)
        stage.world.run(for: .seconds(2))
        #expect(stage.scanner.syncs.isEmpty)
        #expect(stage.scanner.command(LEAddDeviceToPeriodicAdvertiserList(wanted)) == .commandDisallowed)
        #expect(stage.scanner.command(LEPeriodicAdvertisingCreateSyncCancel()) == .success)
        stage.scanner.host.forgetEvents()
        #expect(stage.scanner.command(LEClearPeriodicAdvertiserList()) == .success)
        #expect(
            stage.scanner.command(LERemoveDeviceFromPeriodicAdvertiserList(other)) == .unknownAdvertisingIdentifier)
        #expect(stage.scanner.command(LEAddDeviceToPeriodicAdvertiserList(wanted)) == .success)
        stage.follow(identifier: 0, options: 0b001)
        stage.world.run(for: .seconds(2))
        #expect(stage.scanner.syncs.map(\.status) == [.success])
    }

    @Test("7.8.61 to 7.8.63: what cannot be is refused")
    func refusals() {
        let stage = Stage()
        let station = stage.advertiser
        #expect(station.command(LESetPeriodicAdvertisingParameters()) == .unknownAdvertisingIdentifier)
        #expect(station.command(LESetPeriodicAdvertisingEnable(true, set: 0)) == .unknownAdvertisingIdentifier)
        var parameters = LESetExtendedAdvertisingParameters()
        parameters.properties = [.connectable]
        #expect(station.command(parameters) == .success)
        #expect(station.command(LESetPeriodicAdvertisingParameters()) == .invalidParameters)
        parameters.properties = []
        #expect(station.command(parameters) == .success)
        #expect(station.command(LESetPeriodicAdvertisingEnable(true, set: 0)) == .commandDisallowed)
        #expect(station.command(LESetPeriodicAdvertisingData(set: 0, data: [1])) == .commandDisallowed)
        var periodic = LESetPeriodicAdvertisingParameters()
        periodic.intervalMin = 5
        #expect(station.command(periodic) == .invalidParameters)
        periodic.intervalMin = 6
        periodic.intervalMax = 6
        #expect(station.command(periodic) == .success)
        // Data of before is no first part.
        #expect(station.command(LESetPeriodicAdvertisingData(set: 0, data: [1])) == .success)
        for operation in [DataOperation.intermediate, .last] {
            let part = LESetPeriodicAdvertisingData(set: 0, operation: operation, data: [2])
            #expect(station.command(part) == .commandDisallowed)
        }
        let part = LESetPeriodicAdvertisingData(set: 0, operation: .first, data: Self.bytes(252))
        #expect(station.command(part) == .success)
        #expect(station.command(LESetPeriodicAdvertisingEnable(true, set: 0)) == .commandDisallowed)
        for operation in [DataOperation.intermediate, .intermediate, .intermediate, .last] {
            let part = LESetPeriodicAdvertisingData(set: 0, operation: operation, data: Self.bytes(252))
            #expect(station.command(part) == .success)
        }
        // 1260 octets take longer than 7.5 ms.
        #expect(station.command(LESetPeriodicAdvertisingEnable(true, set: 0)) == .packetTooLong)
        #expect(station.command(LESetPeriodicAdvertisingData(set: 0, data: [1])) == .success)
        #expect(station.command(LESetPeriodicAdvertisingEnable(true, set: 0)) == .success)
        parameters.properties = [.connectable]
        #expect(station.command(parameters) == .invalidParameters)
        #expect(station.command(periodic) == .commandDisallowed)
        #expect(station.command(LERemoveAdvertisingSet(set: 0)) == .commandDisallowed)
        #expect(station.command(LEClearAdvertisingSets()) == .commandDisallowed)
    }

    @Test(
        "7.8.62: new data that takes longer than the interval is refused while the train runs, and the old one goes on")
    func tooLongForInterval() {
        let stage = Stage()
        stage.advertise([1], interval: 6, on: .leCoded)
        let long = LESetPeriodicAdvertisingData(set: 0, data: Self.bytes(252))
        // At 125 kb/s it takes some 17 ms, and an event may take 7.5.
        #expect(stage.advertiser.command(long) == .packetTooLong)
        #expect(stage.advertiser.command(LESetPeriodicAdvertisingEnable(true, set: 0)) == .success)
        #expect(stage.advertiser.command(LESetPeriodicAdvertisingData(set: 0, data: [1, 2])) == .success)
    }

    @Test(
        "A train, who follows it, and links share the radio: none of them starves", arguments: [6, 12, 40] as [UInt16])
    func beside(interval: UInt16) throws {
        let stage = Stage()
        stage.advertise([9], interval: 12)
        let third = Station(stage.world, "third", 0xB0_0000_0000_03, at: Position(x: 2))
        third.advertise()
        stage.scan()
        stage.follow()
        stage.world.run(for: .seconds(2))
        stage.stopScanning()
        var create = LEExtendedCreateConnection()
        create.peer = third.device.address
        create.entries[0].parameters = ConnectionParameterRange(
            intervalMin: interval, intervalMax: interval, latency: 0, supervisionTimeout: 100)
        #expect(stage.scanner.command(create) == .success)
        stage.world.run(for: .seconds(2))
        #expect(stage.scanner.connections.count == 1)
        stage.scanner.host.forgetEvents()
        stage.world.run(for: .seconds(30))
        #expect(stage.scanner.disconnections.isEmpty && stage.scanner.lostSyncs.isEmpty)
        // One event in three at least.
        #expect(stage.scanner.periodicReports.count > 30_000 / 15 / 3 - 10)
    }

    @Test("Half of the packets lost: the chain is told to be cut, and what is whole is right", arguments: 1...10)
    func lossy(seed: UInt64) {
        let stage = Stage(seed: seed)
        stage.advertise(Self.bytes(600))
        stage.scan()
        stage.follow()
        stage.world.run(for: .seconds(2))
        stage.world.environment.packetLoss = 0.5
        stage.world.run(for: .seconds(20))
        let whole = Self.whole(stage.scanner.periodicReports)
        #expect(whole.count > 20 && whole.allSatisfy { $0 == Self.bytes(600) })
        #expect(stage.scanner.periodicReports.contains { $0.dataStatus == .truncated })
    }
}

extension Station {
    fileprivate var syncs: [LEPeriodicAdvertisingSyncEstablished] {
        host.events.compactMap { if case .periodicSyncEstablished(let event) = $0.event { event } else { nil } }
    }

    fileprivate var periodicReports: [LEPeriodicAdvertisingReport] {
        host.events.compactMap { if case .periodicReport(let event) = $0.event { event } else { nil } }
    }

    fileprivate var lostSyncs: [UInt16] {
        host.events.compactMap { if case .periodicSyncLost(let event) = $0.event { event.sync } else { nil } }
    }
}
