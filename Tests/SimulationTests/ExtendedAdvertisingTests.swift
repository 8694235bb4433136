import BluetoothTypes
import ByteCodec
import EventLoop
import HCI
import LinkLayer
import Simulation
import Testing
import VirtualController

/// Advertising sets, scanners that follow them, and links that begin so. Section numbers are those of Core 6.0, Vol 4,
/// Part E, unless they say otherwise.
@Suite("Extended advertising")
struct ExtendedAdvertisingTests {
    /// Two stations a metre apart, all events unmasked.
    final class Stage {
        let world = World(seed: 1)
        let advertiser: Station
        let scanner: Station

        init() {
            advertiser = Station(world, "advertiser", 0xA0_0000_0000_01)
            scanner = Station(world, "scanner", 0xC0_0000_0000_02, at: Position(x: 1))
            for station in [advertiser, scanner] { station.command(LESetEventMask(mask: UInt64.max)) }
        }

        func advertise(
            _ properties: LESetExtendedAdvertisingParameters.Properties, data: [UInt8] = [], scanResponse: [UInt8] = [],
            set: UInt8 = 0, on secondary: PHY = .le1M, primary: PHY = .le1M, duration: UInt16 = 0, maxEvents: UInt8 = 0,
            _ change: (inout LESetExtendedAdvertisingParameters) -> Void = { _ in }
        ) {
            var parameters = LESetExtendedAdvertisingParameters()
            parameters.set = set
            parameters.properties = properties
            parameters.intervalMin = 0x40
            parameters.intervalMax = 0x40
            parameters.primaryPHY = primary
            parameters.secondaryPHY = secondary
            parameters.identifier = set + 5
            change(&parameters)
            #expect(advertiser.command(parameters) == .success)
            write(data, to: set) { LESetExtendedAdvertisingData(set: set, operation: $0, data: $1) }
            write(scanResponse, to: set) { LESetExtendedScanResponseData(set: set, operation: $0, data: $1) }
            let entry = LESetExtendedAdvertisingEnable.Entry(set: set, duration: duration, maxEvents: maxEvents)
            #expect(advertiser.command(LESetExtendedAdvertisingEnable(true, [entry])) == .success)
        }

        /// In as many commands as it takes.
        private func write<Command: HCICommand>(
            _ data: [UInt8], to set: UInt8, _ command: (DataOperation, [UInt8]) -> Command
        ) {
            guard data.count > 251 else {
                if !data.isEmpty { #expect(advertiser.command(command(.complete, data)) == .success) }
                return
            }
            for start in stride(from: 0, to: data.count, by: 251) {
                let end = min(data.count, start + 251)
                let operation: DataOperation = start == 0 ? .first : end == data.count ? .last : .intermediate
                #expect(advertiser.command(command(operation, Array(data[start..<end]))) == .success)
            }
        }

        func scan(
            _ phys: PHYPreference = .le1M, isActive: Bool = false, filtersDuplicates: UInt8 = 0, duration: UInt16 = 0,
            period: UInt16 = 0
        ) {
            var parameters = LESetExtendedScanParameters()
            parameters.phys = phys
            parameters.entries = Array(repeating: .init(), count: phys.rawValue.nonzeroBitCount)
            for index in parameters.entries.indices {
                parameters.entries[index].isActive = isActive
                parameters.entries[index].interval = 0x60
                parameters.entries[index].window = 0x60
            }
            #expect(scanner.command(parameters) == .success)
            #expect(
                scanner.command(
                    LESetExtendedScanEnable(
                        true, filtersDuplicates: filtersDuplicates, duration: duration, period: period)) == .success)
        }

        func connect(_ phys: PHYPreference = .le1M, as own: OwnAddressType = .publicDevice) {
            var create = LEExtendedCreateConnection()
            create.ownAddressType = own
            create.peer = advertiser.device.address
            create.phys = phys
            create.entries = Array(repeating: .init(), count: phys.rawValue.nonzeroBitCount)
            #expect(scanner.command(create) == .success)
            world.run(for: .seconds(2))
        }
    }

    private static func bytes(_ count: Int) -> [UInt8] { (0..<count).map { UInt8(truncatingIfNeeded: $0 * 7) } }

    /// The data of whole advertisements, from their reports.
    private static func whole(_ reports: [ExtendedAdvertisingReport]) -> [[UInt8]] {
        var whole: [[UInt8]] = []
        var part: [UInt8] = []
        for report in reports {
            part += report.data
            if report.eventType.contains(.incomplete) { continue }
            if !report.eventType.contains(.truncated) { whole.append(part) }
            part = []
        }
        return whole
    }

    @Test(
        "7.7.65.13: data of any length arrives whole, over chains of auxiliary packets on each PHY",
        arguments: [0, 10, 229, 245, 246, 500, 1650], [PHY.le1M, .le2M, .leCoded])
    func chains(count: Int, phy: PHY) throws {
        let stage = Stage()
        stage.advertise([], data: Self.bytes(count), on: phy)
        stage.scan()
        stage.world.run(for: .seconds(2))
        let reports = stage.scanner.extendedReports
        let whole = Self.whole(reports)
        #expect(whole.count > 10)
        #expect(whole.allSatisfy { $0 == Self.bytes(count) })
        #expect(
            reports.allSatisfy {
                $0.address == stage.advertiser.device.address && $0.identifier == 5 && $0.primaryPHY == .le1M
                    && $0.secondaryPHY == phy && $0.eventType.isDisjoint(with: [.connectable, .scannable, .legacy])
            })
    }

    @Test("Vol 6, Part B, 2.2: a set on the coded PHY is heard by those that listen to it", arguments: [true, false])
    func codedPrimary(listensToBoth: Bool) throws {
        let stage = Stage()
        stage.advertise([], data: Self.bytes(20), on: .leCoded, primary: .leCoded)
        stage.advertise([], data: Self.bytes(30), set: 1)
        stage.scan(listensToBoth ? [.le1M, .leCoded] : .le1M)
        stage.world.run(for: .seconds(3))
        let sets = Set(stage.scanner.extendedReports.map(\.identifier))
        #expect(sets == (listensToBoth ? [5, 6] : [6]))
    }

    @Test("7.8.55, 7.7.65.19: a scan request is answered, also at length, and told to the advertiser's host")
    func scanResponse() throws {
        let stage = Stage()
        stage.advertise(.scannable, scanResponse: Self.bytes(400), on: .le2M) { $0.reportsScanRequests = true }
        stage.scan(isActive: true)
        stage.world.run(for: .seconds(2))
        let responses = stage.scanner.extendedReports.filter { $0.eventType.contains(.scanResponse) }
        #expect(Self.whole(responses).count > 5)
        #expect(Self.whole(responses).allSatisfy { $0 == Self.bytes(400) })
        #expect(responses.allSatisfy { $0.eventType.contains(.scannable) })
        let requests = stage.advertiser.scanRequests
        #expect(!requests.isEmpty && requests.allSatisfy { $0.scanner == stage.scanner.device.address && $0.set == 0 })
    }

    @Test(
        "7.8.66, Vol 6, Part B, 4.4.4.2: a link begins on the PHY of the auxiliary packet",
        arguments: [(.le1M, .le1M), (.le2M, [.le1M, .le2M]), (.leCoded, [.le1M, .leCoded])] as [(PHY, PHYPreference)])
    func connect(phy: PHY, phys: PHYPreference) throws {
        let stage = Stage()
        stage.advertise(.connectable, data: Self.bytes(100), set: 3, on: phy)
        stage.connect(phys)
        let central = try #require(stage.scanner.connections.last)
        let peripheral = try #require(stage.advertiser.connections.last)
        #expect(central.status == .success && central.peer == stage.advertiser.device.address)
        let end = try #require(stage.advertiser.terminations.last)
        #expect(end.status == .success && end.set == 3 && end.handle == peripheral.handle)
        let phys = try stage.scanner.ask(LEReadPHY(handle: central.handle))
        #expect(phys.tx == phy && phys.rx == phy)
        var left = 30
        stage.scanner.host.supply(central.handle, buffers: 10) {
            left -= 1
            return left >= 0 ? Self.bytes(27) : nil
        }
        stage.world.run(for: .seconds(5))
        #expect(stage.advertiser.host.data.map(\.payload) == Array(repeating: Self.bytes(27), count: 30))
        #expect(stage.scanner.disconnections.isEmpty)
    }

    @Test("A link is not made on a PHY that the host has not named")
    func connectNot() throws {
        let stage = Stage()
        stage.advertise(.connectable, on: .le2M)
        stage.connect(.le1M)
        #expect(stage.scanner.connections.isEmpty)
        #expect(stage.scanner.command(LECreateConnectionCancel()) == .success)
    }

    @Test("7.8.53: sets of legacy PDUs are heard and connected to as ever")
    func legacyPDUs() throws {
        let stage = Stage()
        let old = Station(stage.world, "old", 0xB0_0000_0000_03)
        stage.advertise([.legacy, .connectable, .scannable], data: [2, 1, 6], scanResponse: [3, 9, 65, 66])
        stage.scan(isActive: true)
        old.scan(active: true)
        stage.world.run(for: .seconds(1))
        #expect(old.reports.contains { $0.report.eventType == .connectable && $0.report.data == [2, 1, 6] })
        #expect(old.reports.contains { $0.report.eventType == .scanResponse })
        let reports = stage.scanner.extendedReports
        #expect(reports.contains { $0.eventType == [.legacy, .connectable, .scannable] && $0.data == [2, 1, 6] })
        #expect(reports.contains { $0.eventType == [.legacy, .connectable, .scannable, .scanResponse] })
        #expect(reports.allSatisfy { $0.identifier == 0xFF && $0.secondaryPHY.rawValue == 0 })
        #expect(stage.scanner.command(LESetExtendedScanEnable(false)) == .success)
        stage.connect()
        #expect(stage.scanner.connections.map(\.status) == [.success])
        #expect(stage.advertiser.terminations.map(\.status) == [.success])
    }

    @Test("Whoever knows legacy advertising alone does not notice the other")
    func unnoticed() throws {
        let stage = Stage()
        stage.advertise([], data: Self.bytes(50))
        stage.scanner.scan()
        stage.world.run(for: .seconds(1))
        #expect(stage.scanner.reports.isEmpty)
    }

    @Test("7.7.65.18: a set ends when its time is over, or its events")
    func ends() throws {
        let stage = Stage()
        let start = stage.world.now
        stage.advertise([], data: [1], set: 1, duration: 100)
        stage.advertise([], data: [1], set: 2, maxEvents: 5)
        stage.advertise([.legacy], data: [1], set: 3, maxEvents: 7)
        stage.world.run(for: .seconds(3))
        let ends = stage.advertiser.terminations.sorted { $0.set < $1.set }
        #expect(ends.map(\.status) == [.advertisingTimeout, .limitReached, .limitReached])
        #expect(ends.dropFirst().map(\.completedEvents) == [5, 7])
        let timeout = stage.advertiser.host.events.first {
            if case .advertisingSetTerminated(let event) = $0.event { event.set == 1 } else { false }
        }
        // Another set may just have the radio.
        let elapsed = start.duration(to: try #require(timeout).at)
        #expect((Duration.seconds(1)...Duration.milliseconds(1005)).contains(elapsed))
    }

    @Test("7.8.65, 7.7.65.17: scanning ends when its time is over, or goes on with the next period")
    func scanTimes() throws {
        let stage = Stage()
        stage.advertise([], data: [1])
        stage.scan(duration: 50)
        stage.world.run(for: .seconds(2))
        #expect(stage.scanner.scanTimeouts == 1)
        let count = stage.scanner.extendedReports.count
        #expect((5...15).contains(count))
        // 0.5 s of each 1.28 s, and the same advertisement once in each.
        stage.scan(filtersDuplicates: 2, duration: 50, period: 1)
        stage.world.run(for: .milliseconds(12_800))
        #expect(stage.scanner.scanTimeouts == 1)
        #expect(stage.scanner.extendedReports.count == count + 10)
    }

    @Test("Vol 6, Part B, 4.4.2.11: new data has a new identifier, and is reported to a scanner that filters")
    func newData() throws {
        let stage = Stage()
        stage.advertise([], data: [1])
        stage.scan(filtersDuplicates: 1)
        stage.world.run(for: .seconds(2))
        #expect(stage.scanner.extendedReports.map { Array($0.data) } == [[1]])
        #expect(stage.advertiser.command(LESetExtendedAdvertisingData(set: 0, data: [2])) == .success)
        stage.world.run(for: .seconds(2))
        #expect(
            stage.advertiser.command(LESetExtendedAdvertisingData(set: 0, operation: .unchanged, data: [])) == .success)
        stage.world.run(for: .seconds(2))
        #expect(stage.scanner.extendedReports.map { Array($0.data) } == [[1], [2], [2]])
    }

    @Test("7.8.54 to 7.8.56: parts follow a first one, and nothing is advertised before the last one")
    func parts() {
        let stage = Stage()
        var parameters = LESetExtendedAdvertisingParameters()
        parameters.properties = []
        #expect(stage.advertiser.command(parameters) == .success)
        #expect(stage.advertiser.command(LESetExtendedAdvertisingData(set: 0, data: [1])) == .success)
        func send(_ operation: DataOperation) -> HCIErrorCode? {
            stage.advertiser.command(LESetExtendedAdvertisingData(set: 0, operation: operation, data: [2]))
        }
        let enable = LESetExtendedAdvertisingEnable(true, [.init(set: 0)])
        #expect(send(.intermediate) == .commandDisallowed)
        #expect(send(.last) == .commandDisallowed)
        #expect(send(.first) == .success)
        #expect(send(.intermediate) == .success)
        #expect(stage.advertiser.command(enable) == .commandDisallowed)
        #expect(send(.last) == .success)
        #expect(send(.last) == .commandDisallowed)
        #expect(stage.advertiser.command(enable) == .success)
    }

    @Test("Several sets advertise at once, each under its own address; an anonymous one under none")
    func manySets() throws {
        let stage = Stage()
        let random = DeviceAddress(0xC1_0000_0000_11, kind: .random)
        stage.advertise([], data: [0], set: 0)
        let address = LESetAdvertisingSetRandomAddress(set: 1, address: random)
        #expect(stage.advertiser.command(address) == .unknownAdvertisingIdentifier)
        stage.advertise([], data: [1], set: 1)
        #expect(stage.advertiser.command(LESetExtendedAdvertisingEnable(false, [.init(set: 1)])) == .success)
        #expect(stage.advertiser.command(address) == .success)
        stage.advertise([], data: [1], set: 1) { $0.ownAddressType = .randomDevice }
        stage.advertise(.anonymous, data: [2], set: 2)
        stage.scan()
        stage.world.run(for: .seconds(2))
        for (set, expected) in [(0, stage.advertiser.device.address), (1, random), (2, nil)]
            as [(UInt8, DeviceAddress?)]
        {
            let reports = stage.scanner.extendedReports.filter { $0.identifier == set + 5 }
            #expect(reports.count > 10)
            #expect(reports.allSatisfy { $0.address == expected && Array($0.data) == [set] })
        }
    }

    @Test("Vol 6, Part B, 6: sets show private addresses, and are known behind them")
    func privateAddress() throws {
        let stage = Stage()
        for (station, peer) in [(stage.advertiser, stage.scanner), (stage.scanner, stage.advertiser)] {
            station.command(LEAddDeviceToResolvingList(peer: peer.device.address, peerKey: 7, localKey: 7))
            station.command(LESetAddressResolutionEnable(true))
        }
        stage.advertise(.connectable) {
            $0.ownAddressType = .resolvableOrPublic
            $0.peer = stage.scanner.device.address
        }
        stage.scan()
        stage.world.run(for: .seconds(1))
        #expect(stage.scanner.extendedReports.count > 5)
        #expect(
            stage.scanner.extendedReports.allSatisfy { $0.address == stage.advertiser.device.address && $0.isIdentity })
        stage.scanner.command(LESetExtendedScanEnable(false))
        stage.connect(as: .resolvableOrPublic)
        #expect(stage.scanner.connections.map(\.peer) == [stage.advertiser.device.address])
    }

    @Test("3.1.1: extended and legacy commands do not mix until Reset")
    func noMixing() throws {
        let stage = Stage()
        stage.scan()
        #expect(stage.scanner.command(LESetScanEnable(false)) == .commandDisallowed)
        #expect(stage.scanner.command(LESetAdvertisingParameters()) == .commandDisallowed)
        #expect(stage.scanner.command(LECreateConnection()) == .commandDisallowed)
        #expect(stage.scanner.command(Reset()) == .success)
        #expect(stage.scanner.command(LESetScanEnable(false)) == .success)
        #expect(stage.scanner.command(LESetExtendedScanEnable(false)) == .commandDisallowed)
        #expect(stage.scanner.command(LESetExtendedAdvertisingEnable(false)) == .commandDisallowed)
    }

    @Test("7.8.53 to 7.8.60: what a set cannot be, and when it cannot change")
    func refused() throws {
        let stage = Stage()
        let station = stage.advertiser
        var parameters = LESetExtendedAdvertisingParameters()
        for bits in [0b0011, 0b1_0111, 0b1_0001, 0b10_0001, 0b11_0000, 0b1000] as [UInt16] {
            parameters.properties = .init(rawValue: bits)
            #expect(station.command(parameters) == .invalidParameters, "\(bits)")
        }
        parameters.properties = []
        parameters.intervalMin = 0x1F
        #expect(station.command(parameters) == .invalidParameters)
        parameters.intervalMin = 0x20
        parameters.primaryPHY = .le2M
        #expect(station.command(parameters) == .unsupportedFeature)
        parameters.primaryPHY = .le1M
        for set in 0..<8 as Range<UInt8> {
            parameters.set = set
            #expect(station.command(parameters) == .success)
        }
        parameters.set = 8
        #expect(station.command(parameters) == .memoryCapacityExceeded)
        #expect(station.command(LESetExtendedAdvertisingData(set: 9, data: [1])) == .unknownAdvertisingIdentifier)
        #expect(station.command(LESetExtendedAdvertisingEnable(true)) == .invalidParameters)
        let twice = LESetExtendedAdvertisingEnable(true, [.init(set: 1), .init(set: 1)])
        #expect(station.command(twice) == .invalidParameters)
        #expect(station.command(LESetExtendedAdvertisingEnable(true, [.init(set: 1)])) == .success)
        parameters.set = 1
        #expect(station.command(parameters) == .commandDisallowed)
        #expect(station.command(LERemoveAdvertisingSet(set: 1)) == .commandDisallowed)
        #expect(station.command(LEClearAdvertisingSets()) == .commandDisallowed)
        #expect(station.command(LESetExtendedAdvertisingEnable(false)) == .success)
        #expect(station.command(LERemoveAdvertisingSet(set: 1)) == .success)
        #expect(station.command(LERemoveAdvertisingSet(set: 1)) == .unknownAdvertisingIdentifier)
        #expect(station.command(LEClearAdvertisingSets()) == .success)
    }
}

extension Station {
    var extendedReports: [ExtendedAdvertisingReport] {
        host.events.flatMap { event -> [ExtendedAdvertisingReport] in
            if case .extendedAdvertisingReports(let reports) = event.event { Array(reports) } else { [] }
        }
    }
    var terminations: [LEAdvertisingSetTerminated] {
        host.events.compactMap { if case .advertisingSetTerminated(let event) = $0.event { event } else { nil } }
    }
    var scanRequests: [LEScanRequestReceived] {
        host.events.compactMap { if case .scanRequestReceived(let event) = $0.event { event } else { nil } }
    }
    var scanTimeouts: Int {
        host.events.filter { if case .scanTimeout = $0.event { true } else { false } }.count
    }
}
