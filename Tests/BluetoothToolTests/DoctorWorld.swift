import Backends
import BluetoothSimulation
import BluetoothTool
import BluetoothToolkit
import CoreBluetooth
import Foundation
import HostInterface
import Synchronization
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
    }

    let world = BluetoothWorld(seed: 3)
    let phone: SimulatedDevice
    private(set) var sensors: [SimulatedDevice] = []
    /// What becomes of the phone's requests, in place of what the host says.
    var faults: (@Sendable (HostRequest) -> HostFailure?)?
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
        let (examination, faults) = (examination, faults)
        let doctor = phone.start {
            let place = SessionProvider.current
            let central = SessionProvider.with(FaultyRadio(place, faults ?? { _ in nil })) { Central(time: time) }
            return try await examination.run(with: central)
        }
        return try world.output(of: doctor, within: limit)
    }
}

/// A radio of which some requests fail: what no peer of ours would do.
private final class FaultyRadio: SessionFactory {
    private let radio: any SessionFactory
    private let fault: @Sendable (HostRequest) -> HostFailure?

    init(_ radio: any SessionFactory, _ fault: @escaping @Sendable (HostRequest) -> HostFailure?) {
        self.radio = radio
        self.fault = fault
    }

    func makeSession() -> any HostSession { FaultySession(radio.makeSession(), fault) }
    var permission: RadioPermission { radio.permission }
    func report(_ line: String) { radio.report(line) }
    var secondsSince2001: Double { radio.secondsSince2001 }
    func schedule(after delay: Duration, _ work: @escaping @Sendable () -> Void) {
        radio.schedule(after: delay, work)
    }
}

private final class FaultySession: HostSession {
    private let session: any HostSession
    private let fault: @Sendable (HostRequest) -> HostFailure?
    private let failures = Mutex<[RequestNumber: HostFailure]>([:])

    init(_ session: any HostSession, _ fault: @escaping @Sendable (HostRequest) -> HostFailure?) {
        self.session = session
        self.fault = fault
    }

    var defaultExecutor: (any CallbackExecutor)? { session.defaultExecutor }

    func open(on executor: any CallbackExecutor, _ deliver: @escaping @Sendable (HostEvent) -> Void) {
        session.open(on: executor) { [self] event in
            if case .answer(let number, _) = event, let failure = failures.withLock({ $0[number] }) {
                deliver(.answer(number, .failure(failure)))
            } else {
                deliver(event)
            }
        }
    }

    func submit(_ request: HostRequest, number: RequestNumber) {
        if let failure = fault(request) { failures.withLock { $0[number] = failure } }
        session.submit(request, number: number)
    }

    func close() { session.close() }
}
