import BluetoothSimulation
import BluetoothToolkit
import CoreBluetooth
import Testing

extension CBUUID {
    static var service: CBUUID { CBUUID(string: "FFF0") }
    static var value: CBUUID { CBUUID(string: "FFF1") }
    static var command: CBUUID { CBUUID(string: "FFF2") }
    static var indicated: CBUUID { CBUUID(string: "FFF3") }
    static var constant: CBUUID { CBUUID(string: "FFF4") }
    static var silent: CBUUID { CBUUID(string: "FFF5") }
}

/// A phone and a sensor in one world; both run async code of the toolkit.
final class PairWorld {
    let world: BluetoothWorld
    let phone: SimulatedDevice
    let sensor: SimulatedDevice
    /// Keeps running what the sensor does.
    private let firmware: SimulatedProgram<Void>

    static let definition = LocalService(
        .service,
        characteristics: [
            LocalCharacteristic(.value, [.read, .write, .notify], userDescription: "a value"),
            LocalCharacteristic(.command, [.writeWithoutResponse]),
            LocalCharacteristic(.indicated, [.indicate]),
            LocalCharacteristic(.constant, [.read], value: Data("constant".utf8)),
            LocalCharacteristic(.silent, [.read, .write]),
        ])

    init(seed: UInt64 = 7, mtu: Int = 185, firmware: @escaping @Sendable (Timekeeper) async throws -> Void) {
        world = BluetoothWorld(seed: seed)
        phone = world.addDevice("Phone", mtu: mtu)
        sensor = world.addDevice("Sensor", at: .init(x: 2), mtu: mtu)
        let time = Timekeeper(world.clock)
        self.firmware = sensor.start { try await firmware(time) }
    }

    /// A sensor that keeps its value, notifies it when it is written, and every second a count; ``CBUUID/silent`` is
    /// never answered.
    convenience init(seed: UInt64 = 7, mtu: Int = 185) {
        self.init(seed: seed, mtu: mtu) { try await Self.sensor($0) }
    }

    var time: Timekeeper { Timekeeper(world.clock) }

    /// Runs async code on the phone to its end.
    @discardableResult
    func onPhone<Output: Sendable>(
        within limit: Duration = .seconds(60), _ body: @escaping @Sendable (Central) async throws -> Output
    ) throws -> Output {
        let time = time
        return try world.output(
            of: phone.start {
                let central = Central(time: time)
                try await central.waitUntilOn()
                return try await body(central)
            }, within: limit)
    }

    static func sensor(_ time: Timekeeper) async throws {
        let peripheral = LocalPeripheral(time: time)
        try await peripheral.waitUntilOn()
        let service = try await peripheral.publish(definition)
        try await peripheral.advertise(name: "Sensor", services: [.service])
        let value = try #require(service.characteristic(.value))
        let silent = service.characteristic(.silent)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                for count in 0... {
                    try await time.sleep(for: .seconds(1))
                    try await peripheral.notify(Data([UInt8(truncatingIfNeeded: count)]), of: value)
                }
            }
            group.addTask {
                var stored = Data("stored".utf8)
                var unanswered: [LocalRequest] = []
                for try await event in peripheral.events {
                    switch event {
                    case .read(let request) where request.characteristic == silent: unanswered.append(request)
                    case .read(let request): request.respond(with: stored)
                    case .write(let request) where request.parts.first?.characteristic == silent:
                        unanswered.append(request)
                    case .write(let request):
                        guard let written = request.values()?.last?.1 else {
                            request.refuse(.invalidOffset)
                            continue
                        }
                        stored = written
                        request.accept()
                        try await peripheral.notify(stored, of: value)
                    case .subscribed, .unsubscribed, .opened, .radioGone: break
                    }
                }
                _ = unanswered
            }
            try await group.waitForAll()
        }
    }
}

extension Central {
    /// Finds the sensor and connects to it.
    func sensor() async throws -> RemotePeripheral {
        let peripheral = try await first(for: [.service]).peripheral
        try await peripheral.connect()
        return peripheral
    }
}
