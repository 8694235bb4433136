import BluetoothSimulation
import BluetoothTool
import BluetoothToolkit
import CoreBluetooth
import Foundation
import Simulation
import Testing

/// A phone with a doctor, and a sensor that is well: FFF0 with FFF1 (read, write, notify), FFF2 (write without
/// response), FFF3 (read). Faults are put in by the test.
final class DoctorWorld {
    /// What can be wrong with the sensor.
    struct Sensor: Sendable {
        var name = "Sensor"
        var definition = LocalService(
            CBUUID(string: "FFF0"),
            characteristics: [
                LocalCharacteristic(CBUUID(string: "FFF1"), [.read, .write, .notify]),
                LocalCharacteristic(CBUUID(string: "FFF2"), [.writeWithoutResponse]),
                LocalCharacteristic(CBUUID(string: "FFF3"), [.read]),
            ])
        /// Whether it notifies every second.
        var notifies = true
        /// Whether it answers reads and writes.
        var answers = true
        /// What it refuses reads and writes with.
        var refusal: CBATTError.Code?
        /// Whether FFF1 is for bonded devices only.
        var isProtected = false {
            didSet {
                definition.characteristics[0].properties = [.read, .write, .notifyEncryptionRequired]
                definition.characteristics[0].permissions = [.readEncryptionRequired, .writeEncryptionRequired]
            }
        }
    }

    let world = BluetoothWorld(seed: 3)
    let phone: SimulatedDevice
    private(set) var sensors: [SimulatedDevice] = []
    private var held: [RemotePeripheral]?
    var examination = Examination()

    init() {
        phone = world.addDevice("Phone")
        examination.device = DeviceChoice("Sensor")
        examination.service = .init("FFF0")
        examination.characteristic = .init("FFF1")
        examination.wantsNotifications = true
    }

    @discardableResult
    func addSensor(_ sensor: Sensor = Sensor(), at metres: Double = 2, mtu: Int = 185) -> SimulatedDevice {
        let device = world.addDevice(sensor.name, at: .init(x: metres), mtu: mtu)
        let time = Timekeeper(world.clock)
        _ = device.start { try await Self.run(sensor, time) }
        sensors.append(device)
        return device
    }

    /// Another program of the phone holds as many links as its controller can.
    func fillLinks() {
        let time = Timekeeper(world.clock)
        for number in 0..<8 {
            _ = world.addDevice("Other \(number)", at: .init(x: 1)).start {
                let peripheral = LocalPeripheral(time: time)
                try await peripheral.waitUntilOn()
                try await peripheral.advertise(services: [CBUUID(string: "FFE0")])
                for try await _ in peripheral.events {}
            }
        }
        let holder = phone.start {
            let central = Central(time: time)
            try await central.waitUntilOn()
            var held: [RemotePeripheral] = []
            while held.count < 8 {
                let other = try await central.first(
                    for: [CBUUID(string: "FFE0")],
                    where: { [held] seen in !held.contains { $0 === seen.peripheral } })
                try await other.peripheral.connect()
                held.append(other.peripheral)
            }
            return held
        }
        #expect(world.run(until: { holder.isFinished }, within: .seconds(60)))
        held = try? holder.result?.get()
    }

    /// The phone and the sensor pair: the phone reads what is for bonded devices only.
    func pair() {
        let time = Timekeeper(world.clock)
        let reader = phone.start {
            let central = Central(time: time)
            try await central.waitUntilOn()
            let sensor = try await central.first(for: [CBUUID(string: "FFF0")]).peripheral
            try await sensor.connect()
            let value = try await sensor.characteristic(CBUUID(string: "FFF1"), in: CBUUID(string: "FFF0"))
            _ = try await sensor.read(value)
            try await sensor.disconnect()
        }
        #expect(throws: Never.self) { try world.output(of: reader, within: .seconds(60)) }
    }

    /// A program of the phone finds FFF1, something happens, and then it reads.
    func read(behind event: () -> Void) {
        let time = Timekeeper(world.clock)
        let finder = phone.start {
            let central = Central(time: time)
            try await central.waitUntilOn()
            let sensor = try await central.first(for: [CBUUID(string: "FFF0")]).peripheral
            try await sensor.connect()
            return try await (sensor, sensor.characteristic(CBUUID(string: "FFF1"), in: CBUUID(string: "FFF0")))
        }
        guard let found = try? world.output(of: finder, within: .seconds(60)) else {
            Issue.record("The sensor was not found.")
            return
        }
        event()
        let reader = phone.start { try await found.0.read(found.1) }
        _ = try? world.output(of: reader, within: .seconds(60))
    }

    /// Its firmware refuses all writes with an error of its own, 0x80.
    func refuseWrites(of sensor: SimulatedDevice) {
        var handle: [UInt8] = [0, 0]
        sensor.simulated.hciFault = { direction, packet in
            // Of the attribute channel: a Write Request (0x12) and its response (0x13).
            guard packet.count >= 10, packet[0] == 2, packet[7] == 4, packet[8] == 0 else { return [packet] }
            if direction == .controllerToHost, packet[9] == 0x12, packet.count >= 12 { handle = Array(packet[10...11]) }
            guard direction == .hostToController, packet[9] == 0x13 else { return [packet] }
            return [Array(packet[0...2]) + [9, 0, 5, 0, 4, 0, 0x01, 0x12] + handle + [0x80]]
        }
    }

    private static func run(_ sensor: Sensor, _ time: Timekeeper) async throws {
        let peripheral = LocalPeripheral(time: time)
        try await peripheral.waitUntilOn()
        let service = try await peripheral.publish(sensor.definition)
        try await peripheral.advertise(name: sensor.name, services: [CBUUID(string: "FFF0")])
        try await withThrowingTaskGroup(of: Void.self) { group in
            if sensor.notifies, let value = service.characteristics.first {
                group.addTask {
                    while true {
                        try await time.sleep(for: .seconds(1))
                        try await peripheral.notify(Data([1]), of: value)
                    }
                }
            }
            group.addTask {
                var unanswered: [LocalRequest] = []
                for try await event in peripheral.events {
                    let request: LocalRequest
                    switch event {
                    case .read(let read): request = read
                    case .write(let write): request = write
                    case .subscribed, .unsubscribed, .opened, .radioGone: continue
                    }
                    if !sensor.answers {
                        unanswered.append(request)
                    } else if let refusal = sensor.refusal {
                        request.refuse(refusal)
                    } else if let read = request as? ReadRequest {
                        read.respond(with: Data([1]))
                    } else {
                        (request as? WriteRequest)?.accept()
                    }
                }
                _ = unanswered
            }
            try await group.waitForAll()
        }
    }

    /// What the doctor finds.
    func findings(within limit: Duration = .seconds(200)) throws -> [Cause] {
        try diagnosis(within: limit).map(\.cause)
    }

    func diagnosis(within limit: Duration = .seconds(200)) throws -> [Finding] {
        let time = Timekeeper(world.clock)
        let examination = examination
        let doctor = phone.start { try await examination.run(with: Central(time: time)) }
        return try world.output(of: doctor, within: limit)
    }
}
