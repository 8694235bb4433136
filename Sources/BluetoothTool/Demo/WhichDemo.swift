import BluetoothTypes
import Foundation
import Simulation
import WhichLock

/// Rows D1 to D3: four locks of one name, and the one with the right address.
struct WhichDemo {
    let stage: any Stage

    private static let addresses = [0xC0DE_0000_0011, 0xC0DE_0000_0012, 0xC0DE_0000_0013, 0xC0DE_0000_0014].map {
        DeviceAddress($0)
    }
    private static let wanted = addresses[2]

    func play() -> [Check] {
        let devices = (stage as? SimulatedStage).map(set)
        var finished: WhichLockReport?
        let app = WhichLock(
            wantedAddress: Self.wanted.description, after: stage.after, say: stage.voice(of: "phone")
        ) { finished = $0 }
        stage.asUser(of: "phone") { app.start() }
        stage.run(for: .seconds(90)) { finished != nil }
        return checks(finished ?? app.report, devices)
    }

    private func set(_ stage: SimulatedStage) -> [StagedDevice] {
        stage.addPhone("phone")
        let strap = DeviceAddress(0xC0DE_0000_0001)
        stage.addDevice("Strap", strap, at: (2, 1), .heartRateSensor(name: "Strap", address: strap))
        return Self.addresses.enumerated().map { number, address in
            stage.addDevice(
                "lock \(number + 1)", address, at: (Double(2 + number), 1),
                .smartLock(name: "KL-940", address: address, advertisedServices: [.lockService]))
        }
    }

    private func checks(_ report: WhichLockReport, _ devices: [StagedDevice]?) -> [Check] {
        let wanted = Self.wanted.description
        let expected = (devices?.count).map { $0 - 1 } ?? report.addresses.count - 1
        var checks = [
            Check(
                "D1", "a scan by service UUID finds the locks, with and without duplicates",
                report.reportsWithoutDuplicates > 0
                    && report.reportsWithDuplicates > report.reportsWithoutDuplicates,
                "\(report.reportsWithoutDuplicates) reports without duplicates, "
                    + "\(report.reportsWithDuplicates) with them"),
            Check(
                "D2", "the wanted lock is known by its System ID",
                report.kept != nil && report.addresses.contains(wanted),
                report.addresses.joined(separator: " ")),
            Check(
                "D2", "the others are left", report.left == expected, "\(report.left) of \(max(0, expected)) left"),
            Check(
                "D3", "fixed values are read, changing values are subscribed",
                !report.models.isEmpty && report.changedValues.count >= 3,
                "model \(report.models.sorted().joined(separator: ", ")), "
                    + "\(report.changedValues.count) battery values"),
        ]
        if let devices {
            let subscribed = devices.filter { $0.peripheral.subscriptions[.lockBattery, default: 0] > 0 }
            checks += [
                Check(
                    "D2", "all locks have one name", report.names == ["KL-940"],
                    report.names.sorted().joined(separator: ", ")),
                Check(
                    "D3", "only the wanted lock is listened to", subscribed.map(\.name) == ["lock 3"],
                    subscribed.map(\.name).joined(separator: ", ")),
            ]
        }
        if let problem = report.problem { checks.append(Check("all", "the program ends as planned", false, problem)) }
        return checks
    }
}
