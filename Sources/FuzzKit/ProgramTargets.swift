import Backends
import BluetoothToolkit
import BluetoothTypes
import CoreBluetooth
import Foundation
import Simulation

/// What programs read through Apple's API and the toolkit.
enum ProgramTargets {
    /// What managers are to find again, out of a store that somebody else may have written.
    static func restoration(_ input: [UInt8]) {
        let world = World(seed: 1)
        let hosted = HostedDevice(in: world, name: "fuzz", address: DeviceAddress(0x02_0000_0000_01))
        let radio = SimulatedRadio(device: hosted, runsOnTheWorldsLoop: true) { _ in }
        let isCentral = (input.first ?? 0) & 1 == 1
        let record = Array(input.dropFirst())
        let place = radio.program.restoration.claim(role: isCentral ? "central" : "peripheral", identifier: "fuzz")
        place?.keep(record)
        radio.endProgram()
        SessionProvider.with(radio) {
            if isCentral {
                let listener = CentralListener()
                let manager = CBCentralManager(
                    delegate: listener, queue: nil, options: [CBCentralManagerOptionRestoreIdentifierKey: "fuzz"])
                world.run(for: .milliseconds(100))
                _ = manager.isScanning
            } else {
                let listener = PeripheralListener()
                let manager = CBPeripheralManager(
                    delegate: listener, queue: nil, options: [CBPeripheralManagerOptionRestoreIdentifierKey: "fuzz"])
                world.run(for: .milliseconds(100))
                manager.removeAllServices()
            }
            world.run(for: .milliseconds(20))
        }
        radio.endProgram()
    }

    /// Values of well-known characteristics.
    static func values(_ input: [UInt8]) {
        let data = Data(input)
        _ = DeviceInformation.manufacturerName.decode(data)
        _ = DeviceInformation.systemID.decode(data)
        _ = DeviceInformation.plugAndPlay.decode(data)
        _ = Battery.level.decode(data)
        _ = Environment.temperature.decode(data)
        _ = Environment.humidity.decode(data)
        _ = Environment.pressure.decode(data)
        _ = CurrentTime.now.decode(data)
        _ = HeartRate.measurement.decode(data)
        _ = HeartRate.sensorLocation.decode(data)
        _ = Thermometer.measurement.decode(data)
        _ = Thermometer.intermediate.decode(data)
        _ = Thermometer.site.decode(data)
        _ = BloodPressure.measurement.decode(data)
        _ = Cycling.measurement.decode(data)
    }

    /// A transfer of which each end is sent the fuzzer's messages, whole ones with their checksums among them.
    static func transfer(_ script: Script) {
        let length: UInt32 = 200
        let offer = TransferOffer(identifier: 1, length: length, checksum: 0, name: "fuzz")
        var receiver = ReceiverMachine(window: 128, messageLength: 40)
        var sender = SenderMachine(offer, messageLength: 40, at: .zero)
        var assembler = FrameAssembler()
        var now = Duration.zero
        for (choice, octets) in script {
            let message = choice & 0x80 == 0 ? frame(choice, octets).messages(ofAtMost: 40) : [Data(octets)]
            for part in message {
                guard let frame = assembler.take(part) else { continue }
                sender.receive(frame, at: now)
                for effect in receiver.receive(frame, at: now) {
                    guard case .offered = effect else { continue }
                    _ = receiver.accept(from: UInt32(choice & 0x0F) * 100, checksum: Checksum())
                }
            }
            for _ in 0..<8 {
                guard let next = sender.next(at: now, read: { Data(count: $1) }) else { break }
                if choice & 0x40 != 0 { _ = receiver.receive(next, at: now) }
            }
            now += .milliseconds(Int(choice) * 4)
            sender.wake(at: now)
            _ = receiver.wake(at: now)
        }
    }

    private static func frame(_ choice: UInt8, _ octets: [UInt8]) -> TransferFrame {
        func number(_ place: Int) -> UInt32 {
            octets.dropFirst(place * 4).prefix(4).reversed().reduce(0) { $0 << 8 | UInt32($1) }
        }
        switch choice & 7 {
        case 0:
            return .offer(
                TransferOffer(
                    identifier: UInt64(number(0)), length: number(1), checksum: number(2),
                    name: String(decoding: octets.dropFirst(12), as: UTF8.self), isOneByOne: choice & 8 != 0))
        case 1: return .accept(identifier: UInt64(number(0)), offset: number(1), window: number(2))
        case 2: return .refuse(identifier: UInt64(number(0)), .damaged)
        case 3: return .acknowledge(next: number(0), ranges: [])
        case 4:
            let bounds = [number(1), number(2)].sorted()
            return .acknowledge(next: number(0), ranges: bounds[0] == bounds[1] ? [] : [bounds[0]..<bounds[1]])
        case 5: return .done(identifier: UInt64(number(0)))
        default: return .data(offset: number(0), Data(octets.dropFirst(4)))
        }
    }
}

/// Takes what it is restored with, as an app does that looks at all of it.
private final class CentralListener: NSObject, CBCentralManagerDelegate, @unchecked Sendable {
    // `@unchecked`: used on the thread that runs the world alone.
    private var kept: [CBPeripheral] = []

    func centralManagerDidUpdateState(_ central: CBCentralManager) {}

    func centralManager(_ central: CBCentralManager, willRestoreState state: [String: Any]) {
        kept = state[CBCentralManagerRestoredStatePeripheralsKey] as? [CBPeripheral] ?? []
        for characteristic in kept.flatMap({ $0.services ?? [] }).flatMap({ $0.characteristics ?? [] }) {
            _ = (characteristic.description, characteristic.isNotifying, characteristic.descriptors)
        }
    }
}

private final class PeripheralListener: NSObject, CBPeripheralManagerDelegate, @unchecked Sendable {
    // `@unchecked`: used on the thread that runs the world alone.
    private var kept: [CBMutableService] = []

    func peripheralManagerDidUpdateState(_ peripheral: CBPeripheralManager) {}

    func peripheralManager(_ peripheral: CBPeripheralManager, willRestoreState state: [String: Any]) {
        kept = state[CBPeripheralManagerRestoredStateServicesKey] as? [CBMutableService] ?? []
        for characteristic in kept.flatMap({ $0.characteristics ?? [] }) {
            guard let characteristic = characteristic as? CBMutableCharacteristic else { continue }
            for central in characteristic.subscribedCentrals ?? [] {
                _ = (central.description, central.maximumUpdateValueLength)
            }
        }
    }
}
