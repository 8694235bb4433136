import BluetoothTypes
import ByteCodec
import EventLoop
import HCI
import Simulation
import Testing
import VirtualController

/// A host that does nothing by itself but keep its controller's ACL buffers filled, and answer requests for keys, if
/// it is told to.
final class RawHost: HCIHost {
    let send: ([UInt8]) -> Void
    var deadline: Instant? { nil }
    private(set) var events: [(at: Instant, event: ControllerEvent)] = []
    private(set) var data: [(at: Instant, header: ACLHeader, payload: [UInt8])] = []
    var keepsData = true
    private(set) var receivedOctets = 0
    /// What it answers when it is asked for a long term key; `nil` for silence, ``noKey`` for a refusal.
    var longTermKey: UInt128?
    static let noKey: UInt128 = 0

    /// Packets of this link that go out as buffers become free.
    private var supply: (handle: UInt16, next: () -> [UInt8]?)?
    private var freeBuffers = 0

    init(send: @escaping ([UInt8]) -> Void) { self.send = send }

    func wake(at now: Instant) {}

    func receive(_ packet: [UInt8], at now: Instant) {
        do {
            switch try HCIPacket(packet) {
            case .acl(let header, let payload):
                receivedOctets += payload.count
                if keepsData { data.append((now, header, Array(payload))) }
            case .event(let code, let parameters):
                take(try ControllerEvent(code: code, parameters: parameters), at: now)
            case .leEvent(let code, let parameters):
                take(try ControllerEvent(subevent: code, parameters: parameters), at: now)
            case .command, .otherData:
                Issue.record("not for a host: \(packet)")
            }
        } catch {
            Issue.record("\(error)")
        }
    }

    private func take(_ event: ControllerEvent, at now: Instant) {
        if case .numberOfCompletedPackets(let completed) = event, supply != nil {
            freeBuffers += completed.entries.reduce(0) { $0 + Int($1.count) }
            fill()
            return
        }
        events.append((now, event))
        if case .longTermKeyRequest(let request) = event, let longTermKey {
            send(
                longTermKey == Self.noKey
                    ? LELongTermKeyRequestNegativeReply(handle: request.handle).packet
                    : LELongTermKeyRequestReply(handle: request.handle, longTermKey: longTermKey).packet)
        }
    }

    /// Sends what `next` makes, as fast as `buffers` allow.
    func supply(_ handle: UInt16, buffers: Int, _ next: @escaping () -> [UInt8]?) {
        supply = (handle, next)
        freeBuffers = buffers
        fill()
    }

    private func fill() {
        guard let supply else { return }
        while freeBuffers > 0, let payload = supply.next() {
            freeBuffers -= 1
            send(aclPacket(handle: supply.handle, boundary: .firstNonFlushable, payload: payload))
        }
    }

    func forgetEvents() { events.removeAll() }
}

/// A device with a raw host, and what tests do with it.
struct Station {
    let world: World
    let device: Device
    let hostBox: Box

    final class Box { var host: RawHost! }
    var host: RawHost { hostBox.host }

    init(
        _ world: World, _ name: String, _ address: UInt64, at position: Position = Position(),
        configuration: ControllerConfiguration? = nil
    ) {
        self.world = world
        device = world.addDevice(
            name: name, address: DeviceAddress(address), position: position, configuration: configuration)
        let box = Box()
        hostBox = box
        device.attach { send in
            box.host = RawHost(send: send)
            return box.host
        }
        command(Reset())
        command(SetEventMask(mask: 0x3FFF_FFFF_FFFF_FFFF))
        // All of the subevents but Enhanced Connection Complete.
        command(LESetEventMask(mask: ~(1 << 9)))
    }

    /// Sends the command and returns its completion or status.
    @discardableResult
    func command(_ command: some HCICommand, sourceLocation: SourceLocation = #_sourceLocation) -> HCIErrorCode {
        let opcode = type(of: command).opcode
        let before = host.events.count
        host.send(command.packet)
        world.run(for: .zero)
        for (_, event) in host.events[before...] {
            if case .commandComplete(let complete) = event, complete.opcode == opcode {
                return HCIErrorCode(rawValue: complete.returnParameters.first ?? 0)
            }
            if case .commandStatus(let status) = event, status.opcode == opcode { return status.status }
        }
        Issue.record("\(opcode) was not answered", sourceLocation: sourceLocation)
        return .unspecified
    }

    /// Sends the command and returns what it answers.
    func ask<Command: HCICommand>(_ command: Command) throws -> Command.ReturnParameters {
        let before = host.events.count
        host.send(command.packet)
        world.run(for: .zero)
        for (_, event) in host.events[before...] {
            if case .commandComplete(let complete) = event, complete.opcode == Command.opcode {
                return try Command.ReturnParameters(octets: complete.returnParameters)
            }
        }
        throw HCIErrorCode.unspecified
    }

    func advertise(interval: UInt16 = 0x0020, data: [UInt8] = [2, 1, 6], scanResponse: [UInt8] = []) {
        var parameters = LESetAdvertisingParameters()
        parameters.intervalMin = interval
        parameters.intervalMax = interval
        #expect(command(parameters) == .success)
        #expect(command(LESetAdvertisingData(data: data)) == .success)
        #expect(command(LESetScanResponseData(data: scanResponse)) == .success)
        #expect(command(LESetAdvertisingEnable(true)) == .success)
    }

    func scan(active: Bool = false, filtersDuplicates: Bool = false) {
        var parameters = LESetScanParameters()
        parameters.isActive = active
        #expect(command(parameters) == .success)
        #expect(command(LESetScanEnable(true, filtersDuplicates: filtersDuplicates)) == .success)
    }

    func connect(
        to peer: Station, interval: UInt16 = 6, latency: UInt16 = 0, timeout: UInt16 = 100
    ) {
        var create = LECreateConnection()
        create.scanInterval = 0x10
        create.scanWindow = 0x10
        create.peer = peer.device.address
        create.parameters = ConnectionParameterRange(
            intervalMin: interval, intervalMax: interval, latency: latency, supervisionTimeout: timeout)
        #expect(command(create) == .success)
    }

    var connections: [LEConnectionComplete] {
        host.events.compactMap { if case .connectionComplete(let event) = $0.event { event } else { nil } }
    }

    var reports: [(at: Instant, report: AdvertisingReport)] {
        host.events.flatMap { at, event -> [(at: Instant, report: AdvertisingReport)] in
            guard case .advertisingReports(let reports) = event else { return [] }
            return reports.map { (at, $0) }
        }
    }

    var disconnections: [(at: Instant, event: DisconnectionComplete)] {
        host.events.compactMap { at, event in
            if case .disconnectionComplete(let event) = event { (at, event) } else { nil }
        }
    }
}

/// Two stations with a link between them.
struct Pair {
    let world: World
    let central: Station
    let peripheral: Station
    let centralHandle: UInt16
    let peripheralHandle: UInt16

    init(
        seed: UInt64 = 1, interval: UInt16 = 6, latency: UInt16 = 0, timeout: UInt16 = 100, distance: Double = 1,
        configuration: ControllerConfiguration? = nil, subrating: Bool = false
    ) throws {
        world = World(seed: seed)
        central = Station(world, "central", 0xC0_0000_0000_01, configuration: configuration)
        peripheral = Station(
            world, "peripheral", 0xA0_0000_0000_02, at: Position(x: distance), configuration: configuration)
        if subrating {
            for station in [central, peripheral] {
                #expect(station.command(LESetHostFeature(bit: 38, isSet: true)) == .success)
            }
        }
        peripheral.advertise()
        central.connect(to: peripheral, interval: interval, latency: latency, timeout: timeout)
        world.run(for: .milliseconds(500))
        centralHandle = try #require(central.connections.last).handle
        peripheralHandle = try #require(peripheral.connections.last).handle
    }
}
