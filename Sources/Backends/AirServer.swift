package import BluetoothTypes
package import EventLoop
package import HCITransport
import Simulation
import Synchronization

/// One air for hosts in other processes: whoever connects gets a virtual controller of its own, and hears all others.
///
/// The world has a thread, in real time, and the sockets have one. What belongs to the world (devices) is touched on
/// the first only, what belongs to the sockets (lines) on the second; packets go from one to the other through the
/// two inboxes.
package final class AirServer: @unchecked Sendable {
    // `@unchecked`: see above. Listeners, lines and counts are the sockets', scripted peripherals the world's. The
    // constants are set before either thread starts.

    package struct Settings: Sendable {
        /// Of all chance in the world, and of the controllers' addresses.
        package var seed: UInt64 = 0
        /// The TCP port on the loopback address; 0 for any that is free, `nil` for none.
        package var port: UInt16?
        /// The path of a Unix socket that only its owner may open; `nil` for none.
        package var path: String?
        /// Octets of one ACL data packet, and how many of them a controller holds at once.
        package var aclLength: UInt16 = 251
        package var aclCount: UInt8 = 20
        /// Whether the ready scripted devices are on the air as well.
        package var hasDevices = false
        /// How many hosts may be connected at once; one more is sent away.
        package var maximumConnections = 64

        package init() {}
    }

    package enum Event: Equatable, Sendable {
        /// The first ones: where hosts can connect now.
        case listening(RadioAddress)
        /// A scripted device is on the air.
        case device(name: String, DeviceAddress)
        /// The connection, counted from 1, has got the controller with this address.
        case connected(Int, DeviceAddress)
        /// The connection has ended, and its controller is gone.
        case closed(Int, reason: String)
        /// Somebody wanted to connect while all places were taken.
        case refused
    }

    private let settings: Settings
    private let onEvent: @Sendable (Instant, Event) -> Void
    private let loop = RealTimeLoop()
    private let world: World
    private let worldThread: WorldThread

    // On the loop.
    private var listeners: [SocketListener] = []
    private var lines: [AirLine] = []
    private var connectionCount = 0

    // On the world's thread.
    private var peripherals: [ScriptedPeripheral] = []

    /// - Parameter onEvent: is told what happens and when, since the start, one event at a time.
    package init(_ settings: Settings, onEvent: @escaping @Sendable (Instant, Event) -> Void) {
        self.settings = settings
        self.onEvent = onEvent
        world = World(seed: settings.seed)
        worldThread = WorldThread(world, pace: .realTime)
    }

    /// Listens. Called once; ``stop()`` must follow, unless it throws.
    package func start() throws(TransportError) {
        let accept: (StreamTransport) -> Void = { [unowned self] in welcome($0) }
        var places: [RadioAddress] = []
        do throws(TransportError) {
            if let path = settings.path {
                listeners.append(try SocketListener(path: path, on: loop, accept: accept))
                places.append(.unix(path: path))
            }
            if let port = settings.port {
                let listener = try SocketListener(port: port, on: loop, accept: accept)
                listeners.append(listener)
                places.append(.tcp(host: "127.0.0.1", port: listener.port))
            }
        } catch {
            closeListeners()
            throw error
        }
        if settings.hasDevices { addDevices() }
        for place in places { tell(.listening(place)) }
        worldThread.start()
        loop.start()
    }

    /// Ends all connections, removes the sockets, and returns when both threads have ended.
    package func stop() {
        loop.enqueue { [self] _ in
            closeListeners()
            for line in lines { line.transport.close() }
        }
        loop.stop()
        worldThread.stop()
        // Both threads have ended, and all is ours.
        for line in lines { line.device = nil }
        lines = []
        // Device and script hold each other.
        for device in world.devices { device.onPowerChange = nil }
        peripherals = []
    }

    private func closeListeners() {
        for listener in listeners { listener.close() }
        listeners = []
    }

    private func tell(_ event: Event) { onEvent(loop.now, event) }

    private func addDevices() {
        for ready in ReadyDevice.neighbourhood {
            let device = HostedDevice(in: world, name: ready.name, address: ready.address, position: ready.position)
            let peripheral = ScriptedPeripheral(ready.script, on: device)
            peripheral.start()
            peripherals.append(peripheral)
            tell(.device(name: ready.name, ready.address))
        }
    }
}

// MARK: - Connections, on the loop

extension AirServer {
    /// Core 6.0, Vol 4, Part A, 2.
    private static let eventIndicator: UInt8 = 0x04

    private func welcome(_ transport: StreamTransport) {
        guard lines.count < settings.maximumConnections else {
            transport.close()
            return tell(.refused)
        }
        connectionCount += 1
        // A program that is started again finds the place free that it had, and so has the same address.
        let taken = Set(lines.map(\.place))
        let place = (1...).first { !taken.contains($0) } ?? connectionCount
        let line = AirLine(
            number: connectionCount, place: place, address: Self.address(place, seed: settings.seed),
            transport: transport)
        lines.append(line)
        tell(.connected(line.number, line.address))
        plugIn(line)
        transport.open { [unowned self, unowned line] event in receive(event, from: line) }
    }

    /// A public address that no maker owns, for its second bit says "locally administered" (IEEE 802c): 16 bits from
    /// the seed, and the place.
    private static func address(_ place: Int, seed: UInt64) -> DeviceAddress {
        var generator = SeededGenerator(seed: seed)
        let bits = generator.next() & 0xFFFF
        return DeviceAddress(0x02 << 40 | bits << 24 | UInt64(place) & 0xFF_FFFF)
    }

    private func receive(_ event: TransportEvent, from line: AirLine) {
        switch event {
        case .packets(let packets): forward(packets, of: line)
        case .closed(let error): end(line, reason: Self.reason(error))
        }
    }

    private func forward(_ packets: [ArraySlice<UInt8>], of line: AirLine) {
        var batch: [[UInt8]] = []
        batch.reserveCapacity(packets.count)
        for packet in packets {
            guard packet.first != Self.eventIndicator else {
                return end(line, reason: "It sent an HCI event, which only controllers send.")
            }
            batch.append(Array(packet))
        }
        guard line.begin(batch.count) else {
            return end(line, reason: "It sent more packets than a controller's credits allow.")
        }
        world.enqueue { [batch] _ in
            for packet in batch { line.device?.receive(packet) }
            line.finish(batch.count)
        }
    }

    private func end(_ line: AirLine, reason: String) {
        line.transport.close()
        lines.removeAll { $0 === line }
        world.enqueue { _ in
            line.device?.remove()
            line.device = nil
        }
        tell(.closed(line.number, reason: reason))
    }

    private static func reason(_ error: TransportError) -> String {
        switch error {
        case .ended: "The host closed the connection."
        case .endedInsidePacket: "The host closed the connection in the middle of a packet."
        case .framing(let failure): failure.description
        case .peerDoesNotRead: "The host does not read what it is sent."
        case .unknownHost, .nobodyListens, .noAnswer, .noSocket, .notPermitted, .addressInUse, .pathTaken, .pathTooLong,
            .noBluetooth, .noAdapter, .adapterSettling, .adapterInUse, .noCapability, .blocked, .noDevice, .notSerial,
            .unplugged,
            .system:
            error.description
        }
    }

    /// Puts the connection's controller into the world.
    private func plugIn(_ line: AirLine) {
        world.enqueue { [settings, world, loop] _ in
            // Side by side, a metre apart.
            let position = Position(x: Double(line.place % 8), y: Double(line.place / 8 % 8))
            line.device = ForeignDevice(
                in: world, name: "\(line.number)", address: line.address, position: position,
                aclLength: settings.aclLength, aclCount: settings.aclCount
            ) { packet in
                loop.enqueue { _ in line.transport.send(packet) }
            }
        }
    }
}

/// One connection: the transport to its host, and the device whose controller it got.
private final class AirLine: @unchecked Sendable {
    // `@unchecked`: the transport is touched on the loop alone, the device on the world's thread alone; what both count
    // is atomic, and the rest is constant.
    let number: Int
    /// From 1; no two lines have the same one at a time.
    let place: Int
    let address: DeviceAddress
    let transport: StreamTransport
    /// The two hold each other until the connection ends.
    var device: ForeignDevice?
    /// Packets that the world has not taken yet.
    private let waiting = Atomic(0)

    /// More than any host has credits for: a command, and the data packets of a controller's buffers.
    private static let waitingLimit = 512

    init(number: Int, place: Int, address: DeviceAddress, transport: StreamTransport) {
        self.number = number
        self.place = place
        self.address = address
        self.transport = transport
    }

    /// - Returns: whether there is room for so many packets more.
    func begin(_ count: Int) -> Bool {
        waiting.add(count, ordering: .relaxed).newValue <= Self.waitingLimit
    }

    func finish(_ count: Int) { waiting.subtract(count, ordering: .relaxed) }
}
