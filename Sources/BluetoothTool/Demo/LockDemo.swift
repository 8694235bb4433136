import Backends
import BluetoothTypes
import Foundation
import HostInterface
import Simulation
import SmartLock

/// Rows A1 to A8: the lock that a phone opens, loses and finds again.
package struct LockDemo {
    private let stage: any Stage
    private let isLockMute: Bool
    private let isLockAbsent: Bool

    private static let name = "KL940704079"

    private struct Cast {
        let lock: StagedDevice
        let twin: StagedDevice
    }

    /// - Parameters:
    ///   - isLockMute: for a test of this demo: the lock takes instructions and never answers.
    ///   - isLockAbsent: likewise: the lock and its twin are never switched on.
    package init(stage: any Stage, isLockMute: Bool = false, isLockAbsent: Bool = false) {
        self.stage = stage
        self.isLockMute = isLockMute
        self.isLockAbsent = isLockAbsent
    }

    package func play() -> [Check] {
        let cast = (stage as? SimulatedStage).map(set)
        let states = (stage as? SimulatedStage).map(hearAllStates)
        var finished: SmartLockReport?
        let app = SmartLock(name: Self.name, after: stage.after, say: stage.voice(of: "phone")) { finished = $0 }
        app.stayTime = cast == nil ? 20 : 36
        stage.asUser(of: "phone") { app.start() }
        stage.run(for: .seconds(90)) { finished != nil }
        var report = app.report
        if finished == nil { report.problem = "it was not done when the time was up" }
        // The lock's own time on the air ends too.
        if cast != nil { stage.run(for: .seconds(30)) { false } }
        return appChecks(report, states, finishedAlone: finished != nil) + (cast.map { worldChecks(report, $0) } ?? [])
    }

    // MARK: The world

    private func set(_ stage: SimulatedStage) -> Cast {
        stage.addPhone("phone", maximumLinks: 1)
        let strap = DeviceAddress(0xC0DE_0000_0001)
        stage.addDevice("Strap", strap, at: (2, 1), .heartRateSensor(name: "Strap", address: strap))
        let other = DeviceAddress(0xC0DE_0000_0002)
        stage.addDevice("KL940704080", other, at: (4, 2), .smartLock(name: "KL940704080", address: other))
        let address = DeviceAddress(0xC0DE_0000_0003)
        var script = PeripheralScript.smartLock(
            name: Self.name, address: address, advertisingTime: .seconds(40),
            batteryInterval: .seconds(4))
        if isLockMute { script.mute = [.lockInstruction] }
        let lock = stage.addDevice("lock", address, at: (3, 0), script, startAfter: isLockAbsent ? nil : 0)
        let twinAddress = DeviceAddress(0xC0DE_0000_0004)
        let twin = stage.addDevice(
            "twin", twinAddress, at: (5, 0), .smartLock(name: Self.name, address: twinAddress),
            startAfter: isLockAbsent ? nil : 6)
        stage.holdLink(to: strap, from: "phone", for: 1.5)
        stage.after(6) { stage.scene("twin", "a second lock of the same name is switched on") }
        stage.after(12) {
            stage.scene("lock", "the battery falls out")
            lock.device.device.removeFromAir()
        }
        stage.after(24) {
            stage.scene("lock", "the battery is back")
            lock.device.device.returnToAir()
        }
        return Cast(lock: lock, twin: twin)
    }

    /// What the app says of each state that a radio can be in.
    private func hearAllStates(_ stage: SimulatedStage) -> [String] {
        let radios: [[AdapterState]] = [
            [.unknown, .resetting, .poweredOff, .unauthorized(reason: "the demo says so")],
            [.unsupported(reason: "the demo says so")],
        ]
        stage.scene("phone", "before the radio is on, the app hears of every other state")
        var apps: [SmartLock] = []
        for states in radios {
            let app = SmartLock(name: Self.name, after: stage.after, say: stage.voice(of: "phone"), onFinish: { _ in })
            stage.asUser(of: "phone", in: states) { app.start() }
            apps.append(app)
        }
        stage.run(for: .milliseconds(1)) { false }
        return apps.flatMap(\.report.stateWords)
    }

    // MARK: What became of it

    private func appChecks(_ report: SmartLockReport, _ otherStates: [String]?, finishedAlone: Bool) -> [Check] {
        let words = Set(report.stateWords + (otherStates ?? []))
        let isOn = report.stateWords.last == "Bluetooth: on"
        let values = report.batteryValues.map { hex([UInt8]($0)) }
        let found = report.foundByLongSpelling.sorted()
        return [
            Check(
                "A1", "the radio's state comes by callback, in words", isOn && (otherStates == nil || words.count == 6),
                "\(report.stateWords.last ?? "nothing came")"
                    + (otherStates == nil ? "" : "; \(words.count) of 6 states told apart")),
            Check(
                "A2", "the scan ends by itself", report.connections > 0 || finishedAlone,
                report.problem ?? "it ended with the connection, before its 10 s"),
            Check(
                "A3", "the lock is picked by its name and connected", report.connections > 0,
                "\(report.connections) \(report.connections == 1 ? "connection" : "connections") to \(Self.name)"),
            Check(
                "A4", "all services and characteristics are discovered", !found.isEmpty,
                found.isEmpty ? "none" : "among them \(found.joined(separator: " and "))"),
            Check(
                "A5", "128-bit spellings find 16-bit characteristics", found == ["FFF4", "FFF6"],
                found.isEmpty ? "none" : found.joined(separator: ", ")),
            Check(
                "A6", "unlock and lock are written and confirmed", report.confirmed == ["unlock", "lock"],
                report.confirmed.isEmpty ? "nothing was confirmed" : report.confirmed.joined(separator: ", then ")),
            Check(
                "A7", "the battery is notified, and the signal read each time",
                // A link may end between a value and the answer about its signal, by accident or as the program leaves.
                !values.isEmpty && report.signalStrengths.count + report.accidents.count + 1 >= values.count,
                "\(values.count) values (\(values.last ?? "-")), \(report.signalStrengths.count) signal strengths"),
            Check(
                "all", "the program ends as planned", report.isSuccess,
                report.problem ?? (report.errors.isEmpty ? "without an error" : report.errors.joined(separator: "; "))),
        ]
    }

    private func worldChecks(_ report: SmartLockReport, _ cast: Cast) -> [Check] {
        let lock = cast.lock.peripheral
        let instructions = lock.writes.filter { $0.characteristic == .lockInstruction }.map {
            String(decoding: $0.value, as: UTF8.self)
        }
        let values = report.valuesOnThisLink
        return [
            Check(
                "A2", "the lock's advertising ends by itself", lock.hasStoppedAdvertising,
                lock.hasStoppedAdvertising ? "40 s after the power came" : "it is still on the air"),
            Check(
                "A3", "a second lock of that name does not mix in", cast.twin.peripheral.centrals.isEmpty,
                "\(cast.twin.peripheral.centrals.count) centrals came to it"),
            Check(
                "A6", "the lock has turned its bolt twice", instructions == ["unlock", "lock"],
                instructions.joined(separator: ", then ")),
            Check(
                "A8", "an accidental disconnect is reported as CBError 6", report.accidents == [6],
                report.accidents.map { "CBError \($0)" }.joined(separator: ", ")),
            Check(
                "A8", "the lock is connected again, its subscription restored",
                report.connections == 2 && lock.subscriptions[.lockBattery] == 2 && values[2, default: 0] > 0,
                "\(values[1, default: 0]) battery values before, \(values[2, default: 0]) after"),
            Check(
                "A8", "a failed connect is reported", report.failedConnects > 0,
                "\(report.failedConnects) times, while another app held the phone's only link"),
        ]
    }
}
