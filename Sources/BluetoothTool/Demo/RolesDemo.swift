import BluetoothTypes
import Foundation
import HostInterface
import Simulation
import TwoRoles

/// Rows B1 to B5: both sides of a link, in fourteen steps each.
struct RolesDemo {
    let stage: any Stage

    private static let wanted = DeviceAddress(0xC0DE_0000_0022)

    func play() -> [Check] {
        let sensor = (stage as? SimulatedStage).map(set)
        let central = playCentral(wanted: .address(Self.wanted.description), on: "phone")
        var checks = centralChecks(central, sensor)
        if let stage = stage as? SimulatedStage {
            checks += permissionChecks(stage) + playPeripheral(stage)
        }
        return checks.sorted { $0.row < $1.row }
    }

    private func set(_ stage: SimulatedStage) -> StagedDevice {
        stage.addPhone("phone", maximumLinks: 1)
        stage.addPhone("tablet", at: (1, 2))
        let strap = DeviceAddress(0xC0DE_0000_0001)
        stage.addDevice("Strap", strap, at: (2, 1), .heartRateSensor(name: "Strap", address: strap))
        let other = DeviceAddress(0xC0DE_0000_0021)
        stage.addDevice("sensor 1", other, at: (2, 0), .addressBeacon(name: "Sensor", address: other))
        stage.holdLink(to: strap, from: "phone", for: 2)
        let sensor = stage.addDevice(
            "sensor 2", Self.wanted, at: (3, 0), .addressBeacon(name: "Sensor", address: Self.wanted))
        // The other app has its link when ours asks.
        stage.run(for: .milliseconds(500)) { false }
        return sensor
    }

    private func playCentral(wanted: AgreedIdentifier, on actor: String) -> CentralRole {
        var isFinished = false
        let role = CentralRole(wanted: wanted, after: stage.after, say: stage.voice(of: actor)) { _ in
            isFinished = true
        }
        stage.asUser(of: actor) { role.start() }
        stage.run(for: .seconds(90)) { isFinished }
        return role
    }

    private func playPeripheral(_ stage: SimulatedStage) -> [Check] {
        stage.scene("phone", "the other half: the phone is the peripheral now, the tablet the central")
        var isFinished = (central: false, peripheral: false)
        let peripheral = PeripheralRole(name: "Phone", after: stage.after, say: stage.voice(of: "phone")) { _ in
            isFinished.peripheral = true
        }
        let central = CentralRole(wanted: .name("Phone"), after: stage.after, say: stage.voice(of: "tablet")) { _ in
            isFinished.central = true
        }
        central.valuesWanted = peripheral.burst
        stage.asUser(of: "phone") { peripheral.start() }
        stage.asUser(of: "tablet") { central.start() }
        stage.run(for: .seconds(90)) { isFinished == (true, true) }
        return peripheralChecks(peripheral, central)
    }

    /// A program that may not use Bluetooth.
    private func permissionChecks(_ stage: SimulatedStage) -> [Check] {
        stage.scene("phone", "a program that may not use Bluetooth")
        let role = CentralRole(
            wanted: .name("nobody"), after: stage.after, say: stage.voice(of: "phone"), onFinish: { _ in })
        stage.asUser(of: "phone", in: [.unauthorized(reason: "the user has not allowed it")]) { role.start() }
        stage.run(for: .milliseconds(1)) { false }
        let answer = role.failures.first
        return [
            Check(
                "B2", "a program without permission is told so", answer == "not allowed: authorization is denied",
                answer ?? "nothing was said")
        ]
    }

    private func centralChecks(_ central: CentralRole, _ sensor: StagedDevice?) -> [Check] {
        var expected = Set(CentralStep.allCases)
        // A connection that fails can be arranged in a simulated world only.
        if sensor == nil { expected.remove(.connectionFailure) }
        let missing = expected.subtracting(central.steps).map(\.rawValue).sorted()
        let readBack = central.valueReadBack.map { String(decoding: $0, as: UTF8.self) }
        var checks = [
            Check(
                "B3", "the central's steps, each with its result", missing.isEmpty && central.failures.isEmpty,
                missing.isEmpty && central.failures.isEmpty
                    ? "\(central.steps.count) steps"
                    : "missing \(missing) \(central.failures.joined(separator: "; "))"),
            Check(
                "B3", "the write without response has arrived", readBack == "without response",
                readBack.map { "read back \"\($0)\"" } ?? "nothing was read back"),
            Check(
                "B4", "the device is known by the address in its manufacturer data", central.steps.contains(.discover),
                "\(Self.wanted); others seen: \(central.strangers.count)"),
        ]
        guard let sensor else { return checks }
        let writes = sensor.peripheral.writes.map { String(decoding: $0.value, as: UTF8.self) }
        checks += [
            Check(
                "B1", "services, characteristics and descriptors are objects", central.userDescription == "a counter",
                "a descriptor says \"\(central.userDescription ?? "nothing")\""),
            Check(
                "B3", "the device got both writes", writes == ["with response", "without response"],
                writes.joined(separator: ", then ")),
        ]
        return checks
    }

    private func peripheralChecks(_ peripheral: PeripheralRole, _ central: CentralRole) -> [Check] {
        let missing = Set(PeripheralStep.allCases).subtracting(peripheral.steps).map(\.rawValue).sorted()
        let written = peripheral.written.map { String(decoding: $0, as: UTF8.self) }
        let numbers = central.values.compactMap(\.first).map(Int.init)
        let isWhole = numbers == Array(0..<peripheral.burst)
        return [
            Check(
                "B5", "the peripheral's steps, each with its result", missing.isEmpty && peripheral.failures.isEmpty,
                missing.isEmpty && peripheral.failures.isEmpty
                    ? "\(peripheral.steps.count) steps"
                    : "missing \(missing) \(peripheral.failures.joined(separator: "; "))"),
            Check(
                "B5", "the remote central wrote with and without response",
                written == ["with response", "without response"], written.joined(separator: ", then ")),
            Check(
                "B5", "every notification arrived, in order, through a full queue", isWhole,
                "\(numbers.count) of \(peripheral.burst)"),
            Check(
                "B5", "the remote central has no complaint", central.failures.isEmpty,
                central.failures.isEmpty ? "\(central.steps.count) steps" : central.failures.joined(separator: "; ")),
        ]
    }
}
