public import CoreBluetooth

/// What a stability test does, and what it lets pass.
public struct SoakPlan: Sendable {
    public var duration = Duration.seconds(30 * 60)
    /// From packet to packet.
    public var interval = Duration.milliseconds(100)
    /// Octets of a packet, 9...512; it is cut to what the link carries.
    public var packetLength = 20
    /// After that a packet without an echo is lost.
    public var patience = Duration.seconds(5)
    /// How often the signal strength is measured.
    public var rssiInterval = Duration.seconds(5)
    /// More than this part lost fails, 0...1.
    public var maximumLoss = 0.01
    /// More than so many disconnects fail.
    public var maximumDisconnects = 2
    /// How the link is kept.
    public var supervision = ConnectionSupervisor.Policy()

    public init() {}
}

/// The service by which a peer sends packets back.
public enum SoakService {
    public static var service: CBUUID { CBUUID(string: "8D2F1001-9C4B-4E6A-B1D3-5A7E10F0C2A4") }
    /// Packets to the peer: written without response.
    public static var ping: CBUUID { CBUUID(string: "8D2F1002-9C4B-4E6A-B1D3-5A7E10F0C2A4") }
    /// The same packets back: notified.
    public static var pong: CBUUID { CBUUID(string: "8D2F1003-9C4B-4E6A-B1D3-5A7E10F0C2A4") }

    static var definition: LocalService {
        LocalService(
            service,
            characteristics: [
                LocalCharacteristic(ping, [.writeWithoutResponse]), LocalCharacteristic(pong, [.notify]),
            ])
    }
}

/// The peer of a stability test: publishes the service, advertises it, and sends each packet back to who sent it.
public struct SoakPeer: Sendable {
    public var name: String
    /// A fault: which packets are not sent back, by their number. For tests of the test.
    public var loses: @Sendable (UInt32) -> Bool

    public init(name: String = "Soak peer", loses: @escaping @Sendable (UInt32) -> Bool = { _ in false }) {
        self.name = name
        self.loses = loses
    }

    /// Runs until it is cancelled, also over times without a radio. It reads all of ``LocalPeripheral/events``. When it
    /// ends, its service is taken back, and this device advertises no more.
    public func run(on peripheral: LocalPeripheral) async throws {
        try await peripheral.waitUntilOn(within: nil)
        var service = try await peripheral.publish(SoakService.definition)
        defer {
            peripheral.stopAdvertising()
            peripheral.withdraw(service)
        }
        try await peripheral.advertise(name: name, services: [SoakService.service])
        for try await event in peripheral.events {
            switch event {
            case .write(let request): await answer(request, as: service, on: peripheral)
            case .read(let request): request.refuse(.readNotPermitted)
            case .radioGone(let state):
                try await peripheral.waitUntilOn(within: nil)
                if state.clearsServices { service = try await peripheral.publish(SoakService.definition) }
                // It pauses while the radio is off; after worse it has stopped.
                if peripheral.isAdvertising { continue }
                try await peripheral.advertise(name: name, services: [SoakService.service])
            case .subscribed, .unsubscribed, .opened: break
            }
        }
    }

    private func answer(_ request: WriteRequest, as service: PublishedService, on peripheral: LocalPeripheral) async {
        guard let pong = service.characteristic(SoakService.pong) else { return request.refuse(.unlikelyError) }
        for part in request.parts {
            guard let packet = SoakPacket(part.value), !loses(packet.number) else { continue }
            // Who has left meanwhile gets nothing, and the others go on.
            try? await peripheral.notify(part.value, of: pong, to: [request.central])
        }
        request.accept()
    }
}

extension CBManagerState {
    /// Below "off" the system forgets what was published.
    var clearsServices: Bool { rawValue < CBManagerState.poweredOff.rawValue }
}

/// Number, time of sending in microseconds, and padding.
struct SoakPacket: Equatable {
    static let header = 9
    private static let mark: UInt8 = 0x53

    var number: UInt32
    var sentAt: UInt32

    init(number: UInt32, sentAt: UInt32) {
        self.number = number
        self.sentAt = sentAt
    }

    init?(_ data: Data) {
        var reader = ValueReader(data)
        guard reader.octet() == Self.mark, let number = reader.uint32(), let sentAt = reader.uint32() else {
            return nil
        }
        self.init(number: number, sentAt: sentAt)
    }

    func encoded(length: Int) -> Data {
        var data = Data([Self.mark])
        for value in [number, sentAt] {
            for shift in stride(from: UInt32(0), to: 32, by: 8) {
                data.append(UInt8(truncatingIfNeeded: value >> shift))
            }
        }
        data.append(contentsOf: repeatElement(0, count: max(0, length - data.count)))
        return data
    }
}
