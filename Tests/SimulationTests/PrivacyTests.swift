import BluetoothCrypto
import BluetoothTypes
import ByteCodec
import EventLoop
import HCI
import LinkLayer
import Simulation
import Testing
import VirtualController

/// Private addresses made and resolved by the controllers. Section numbers are those of Core 6.0, Vol 6, Part B.
@Suite("Privacy")
struct PrivacyTests {
    static let centralKey: UInt128 = 0xEC02_34A3_57C8_AD05_3410_10A6_0A39_7D9B
    static let peripheralKey: UInt128 = 0x4C68_3841_39F5_74D8_36BC_F34E_9DFB_01BF

    /// A central and a peripheral that know each other's keys, and what is on the air.
    final class Stage {
        let world = World(seed: 1)
        let central: Station
        let peripheral: Station
        /// The addresses of advertisers, and of whoever asks them or connects to them.
        var advertisers: [DeviceAddress] = []
        var askers: [DeviceAddress] = []
        var targets: [DeviceAddress] = []
        var completions: [Int: LEEnhancedConnectionComplete] = [:]

        init(centralKnows key: UInt128 = peripheralKey) {
            central = Station(world, "central", 0xC0_0000_0000_01)
            peripheral = Station(world, "peripheral", 0xA0_0000_0000_02, at: Position(x: 1))
            for (station, peer, peerKey, localKey) in [
                (central, peripheral, key, centralKey), (peripheral, central, centralKey, peripheralKey),
            ] {
                #expect(
                    station.command(
                        LEAddDeviceToResolvingList(peer: peer.device.address, peerKey: peerKey, localKey: localKey))
                        == .success)
                #expect(station.command(LESetAddressResolutionEnable(true)) == .success)
                station.command(LESetEventMask(mask: UInt64.max))
            }
            world.airTap = { [unowned self] in watch($0) }
            world.hciTap = { [unowned self] _, device, direction, packet in
                if direction == .controllerToHost,
                    case .leEvent(.enhancedConnectionComplete, let octets) =
                        try? HCIPacket(packet)
                {
                    completions[device.number] = try? LEEnhancedConnectionComplete(octets: octets)
                }
            }
        }

        private func watch(_ packet: AirPacket) {
            guard packet.channel >= 37 else { return }
            let header = AdvertisingHeader(rawValue: UInt16(packet.octets[0]) | UInt16(packet.octets[1]) << 8)
            func address(at index: Int, _ kind: DeviceAddress.Kind) -> DeviceAddress {
                let octets = packet.octets[(2 + index)..<(8 + index)]
                return DeviceAddress(octets.reversed().reduce(0) { $0 << 8 | UInt64($1) }, kind: kind)
            }
            switch header.kind {
            case .scanRequest, .connect: askers.append(address(at: 0, header.senderKind))
            case .directed:
                advertisers.append(address(at: 0, header.senderKind))
                targets.append(address(at: 6, header.targetKind))
            default: advertisers.append(address(at: 0, header.senderKind))
            }
        }

        func advertise(
            as own: OwnAddressType = .resolvableOrPublic,
            type: LESetAdvertisingParameters.AdvertisingType = .connectable,
            filterPolicy: UInt8 = 0
        ) {
            var parameters = LESetAdvertisingParameters()
            parameters.intervalMin = 0x20
            parameters.intervalMax = 0x20
            parameters.type = type
            parameters.ownAddressType = own
            parameters.peer = central.device.address
            parameters.filterPolicy = filterPolicy
            #expect(peripheral.command(parameters) == .success)
            #expect(peripheral.command(LESetAdvertisingEnable(true)) == .success)
        }

        func connect(as own: OwnAddressType = .resolvableOrPublic, byAcceptList: Bool = false) {
            var create = LECreateConnection()
            create.peer = peripheral.device.address
            create.ownAddressType = own
            create.usesFilterAcceptList = byAcceptList
            if byAcceptList {
                let entry = LEAddDeviceToFilterAcceptList(address: peripheral.device.address)
                #expect(central.command(entry) == .success)
            }
            #expect(central.command(create) == .success)
            world.run(for: .seconds(1))
        }

        func scan(_ scanner: Station, filterPolicy: UInt8 = 0, isActive: Bool = false, filters: Bool = false) {
            var parameters = LESetScanParameters()
            parameters.isActive = isActive
            parameters.ownAddressType = .resolvableOrPublic
            parameters.filterPolicy = filterPolicy
            #expect(scanner.command(parameters) == .success)
            #expect(scanner.command(LESetScanEnable(true, filtersDuplicates: filters)) == .success)
        }
    }

    private static func isPrivate(_ address: DeviceAddress, of key: UInt128) -> Bool {
        ResolvingList.isResolvable(address) && PrivateAddress.isMade(address.value, by: SecretKey(key))
    }

    @Test(
        "6.3, 6.4: two that know each other connect under private addresses, and their hosts hear identities",
        arguments: [false, true])
    func connect(byAcceptList: Bool) throws {
        let stage = Stage()
        stage.advertise()
        stage.connect(byAcceptList: byAcceptList)
        #expect(stage.advertisers.allSatisfy { Self.isPrivate($0, of: Self.peripheralKey) })
        #expect(!stage.askers.isEmpty && stage.askers.allSatisfy { Self.isPrivate($0, of: Self.centralKey) })
        let central = try #require(stage.completions[0])
        #expect(central.peer == stage.peripheral.device.address && central.peerIsIdentity)
        #expect(central.peerResolvablePrivateAddress == stage.advertisers.last)
        #expect(central.localResolvablePrivateAddress == stage.askers.last)
        let peripheral = try #require(stage.completions[1])
        #expect(peripheral.peer == stage.central.device.address && peripheral.peerIsIdentity)
        #expect(peripheral.peerResolvablePrivateAddress == stage.askers.last)
        #expect(peripheral.localResolvablePrivateAddress == stage.advertisers.last)
        let last = try stage.central.ask(LEReadPeerResolvableAddress(peer: stage.peripheral.device.address)).address
        #expect(last == stage.advertisers.last)
        let own = try stage.central.ask(LEReadLocalResolvableAddress(peer: stage.peripheral.device.address)).address
        #expect(own == stage.askers.last)
    }

    @Test("7.7.65.1: a host that knows only the first event is told of the identity all the same")
    func firstVersion() throws {
        let stage = Stage()
        stage.central.command(LESetEventMask(mask: 0x1F))
        stage.advertise()
        stage.connect()
        let connection = try #require(stage.central.connections.last)
        #expect(connection.peer == stage.peripheral.device.address)
    }

    @Test("6.2: a scanner reports the identity, asks under a private address, and a stranger sees private ones alone")
    func scan() throws {
        let stage = Stage()
        let stranger = Station(stage.world, "stranger", 0xB0_0000_0000_03)
        stage.advertise()
        stage.scan(stage.central, isActive: true)
        stranger.scan()
        stage.world.run(for: .seconds(1))
        #expect(stage.central.reports.count > 10)
        #expect(
            stage.central.reports.allSatisfy {
                $0.report.address == stage.peripheral.device.address && $0.report.isIdentity
            })
        #expect(stage.central.reports.contains { $0.report.eventType == .scanResponse })
        #expect(!stage.askers.isEmpty && stage.askers.allSatisfy { Self.isPrivate($0, of: Self.centralKey) })
        #expect(
            stranger.reports.allSatisfy {
                Self.isPrivate($0.report.address, of: Self.peripheralKey) && !$0.report.isIdentity
            })
    }

    @Test("1.3.2.3: whoever has another key does not know the advertiser, and does not connect")
    func wrongKey() throws {
        let stage = Stage(centralKnows: Self.peripheralKey ^ 1)
        stage.advertise()
        stage.connect()
        #expect(stage.completions.isEmpty)
        stage.central.command(LECreateConnectionCancel())
        stage.scan(stage.central)
        stage.world.run(for: .seconds(1))
        #expect(stage.central.reports.allSatisfy { !$0.report.isIdentity })
    }

    @Test("6.2, 6.5: in network privacy mode the identity address itself is not heard; in device mode it is")
    func modes() throws {
        let stage = Stage()
        stage.advertise(as: .publicDevice)
        stage.scan(stage.central)
        stage.world.run(for: .seconds(1))
        #expect(stage.central.reports.isEmpty)
        let mode = LESetPrivacyMode(peer: stage.peripheral.device.address, mode: .device)
        #expect(stage.central.command(mode) == .commandDisallowed)
        #expect(stage.central.command(LESetScanEnable(false)) == .success)
        #expect(stage.central.command(mode) == .success)
        stage.scan(stage.central)
        stage.world.run(for: .seconds(1))
        #expect(!stage.central.reports.isEmpty)
        #expect(stage.central.reports.allSatisfy { !$0.report.isIdentity })
    }

    @Test("6.3: a peripheral in network privacy mode does not let the identity address connect")
    func identityInitiator() throws {
        let stage = Stage()
        stage.advertise()
        stage.connect(as: .publicDevice)
        #expect(stage.completions[1] == nil)
        #expect(stage.peripheral.connections.isEmpty)
    }

    @Test("6.3: a peripheral's accept list holds identities")
    func acceptList() throws {
        let stage = Stage()
        let entry = LEAddDeviceToFilterAcceptList(address: stage.central.device.address)
        #expect(stage.peripheral.command(entry) == .success)
        stage.advertise(filterPolicy: 0b11)
        stage.connect()
        #expect(stage.completions.count == 2)
    }

    @Test("6.3, 6.4: directed advertising calls the peer by a private address; others may watch, if they ask for it")
    func directed() throws {
        let stage = Stage()
        let stranger = Station(stage.world, "stranger", 0xB0_0000_0000_03)
        var directedReports = 0
        let plain = stage.world.hciTap
        stage.world.hciTap = { at, device, direction, packet in
            plain?(at, device, direction, packet)
            if device.number == 2, packet.starts(with: [0x04, 0x3E, 0x12, 0x0B, 0x01, 0x01, 0x01]) {
                directedReports += 1
            }
        }
        stage.scan(stranger, filterPolicy: 0b10)
        stage.advertise(type: .directedLowDuty)
        stage.world.run(for: .seconds(1))
        #expect(directedReports > 10)
        #expect(stranger.reports.isEmpty)
        stage.connect()
        #expect(stage.completions.count == 2)
        #expect(!stage.targets.isEmpty && stage.targets.allSatisfy { Self.isPrivate($0, of: Self.centralKey) })
        stage.world.hciTap = nil
    }

    @Test("6.1: private addresses change when their time is up, and the peer knows the device all the same")
    func renewal() throws {
        let stage = Stage()
        #expect(stage.peripheral.command(LESetResolvablePrivateAddressTimeout(timeout: 0)) == .invalidParameters)
        #expect(stage.peripheral.command(LESetResolvablePrivateAddressTimeout(timeout: 3601)) == .invalidParameters)
        #expect(stage.peripheral.command(LESetResolvablePrivateAddressTimeout(timeout: 1)) == .success)
        stage.advertise()
        stage.scan(stage.central, filters: true)
        stage.world.run(for: .seconds(30))
        #expect((29...32).contains(Set(stage.advertisers).count))
        #expect(stage.central.reports.count == 1)
    }

    @Test("7.8.38 to 7.8.44: the list fills up, knows each peer once, and is not changed while it is used")
    func list() throws {
        let world = World(seed: 1)
        let station = Station(world, "station", 0xC0_0000_0000_01)
        let size = Int(try station.ask(LEReadResolvingListSize()).size)
        for number in 0..<size {
            let peer = DeviceAddress(UInt64(number))
            #expect(
                station.command(LEAddDeviceToResolvingList(peer: peer, peerKey: UInt128(number), localKey: 1))
                    == .success)
        }
        let another = LEAddDeviceToResolvingList(peer: DeviceAddress(0xFFFF), peerKey: 1, localKey: 1)
        #expect(station.command(another) == .memoryCapacityExceeded)
        #expect(station.command(LERemoveDeviceFromResolvingList(peer: DeviceAddress(0xFFFF))) == .unknownConnection)
        #expect(station.command(LERemoveDeviceFromResolvingList(peer: DeviceAddress(3))) == .success)
        let known = LEAddDeviceToResolvingList(peer: DeviceAddress(4), peerKey: 9, localKey: 9)
        #expect(station.command(known) == .invalidParameters)
        #expect(station.command(LESetAddressResolutionEnable(true)) == .success)
        station.scan()
        #expect(station.command(another) == .commandDisallowed)
        #expect(station.command(LEClearResolvingList()) == .commandDisallowed)
        #expect(station.command(LESetAddressResolutionEnable(false)) == .commandDisallowed)
        #expect(station.command(LESetScanEnable(false)) == .success)
        #expect(station.command(LEClearResolvingList()) == .success)
    }
}
