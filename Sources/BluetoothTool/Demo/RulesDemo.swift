import BluetoothTypes
import Foundation
import HostInterface
import SensorWatch
import Simulation
import Smallest

/// Rows B2, C6, C7 and C11: one program, and the rules that a phone puts it under.
struct RulesDemo {
    let stage: any Stage

    func play() -> [Check] {
        // Rules are a simulated phone's; on another radio there is nothing to set.
        guard let stage = stage as? SimulatedStage else { return [] }
        stage.addPhone("phone")
        stage.addPhone("simulator")
        stage.addPhone("tablet", at: (2, 1))
        stage.addDevice(
            "sensor", DeviceAddress(0xC0DE_0000_0051), at: (1, 0),
            .addressBeacon(name: "Sensor", address: DeviceAddress(0xC0DE_0000_0051)))
        let watch = watch(on: "phone", stage)
        return playPermission(watch, stage) + playSimulator(stage) + playScan(watch, stage)
            + playInterval(watch, stage) + playSuspension(watch, stage) + playPeripheral(watch, stage)
    }

    private func watch(on actor: String, _ stage: SimulatedStage) -> SensorWatch {
        SensorWatch(clock: { [unowned stage] in stage.now / .seconds(1) }, say: stage.voice(of: actor))
    }

    // MARK: B2, C11

    private func playPermission(_ watch: SensorWatch, _ stage: SimulatedStage) -> [Check] {
        stage.setRules(of: "phone", "the phone asks whether the app may use Bluetooth") {
            $0.permission = .notDetermined
        }
        stage.asUser(of: "phone") { watch.start() }
        stage.run(for: .seconds(2)) { false }
        let beforeAnswer = watch.states
        stage.setRules(of: "phone", "the person says no") { $0.permission = .denied }
        stage.run(for: .seconds(1)) { false }
        stage.setRules(of: "phone", "a company's profile forbids it") { $0.permission = .restricted }
        stage.run(for: .seconds(1)) { false }
        stage.setRules(of: "phone", "the profile is gone, and the person allows it") { $0.permission = .allowed }
        stage.run(for: .seconds(2)) { watch.states.last == "on" }
        return [
            Check(
                "B2", "while the question is on the screen nothing is told", beforeAnswer.isEmpty,
                beforeAnswer.isEmpty ? "silence" : beforeAnswer.joined(separator: ", ")),
            Check(
                "B2", "without permission the app is unauthorized, and is told why",
                watch.states == [
                    "forbidden: the person has said no", "forbidden: the device's manager does not allow it", "on",
                ],
                watch.states.joined(separator: "; ")),
        ]
    }

    private func playSimulator(_ stage: SimulatedStage) -> [Check] {
        stage.setRules(of: "simulator", "the same app, in the simulator on a desk") { $0.hasRadio = false }
        let watch = watch(on: "simulator", stage)
        stage.asUser(of: "simulator") { watch.start() }
        stage.run(for: .seconds(1)) { false }
        return [
            Check(
                "C11", "the simulator has no radio", watch.states == ["not there"], watch.states.joined(separator: ", ")
            )
        ]
    }

    // MARK: C7, a central

    private func playScan(_ watch: SensorWatch, _ stage: SimulatedStage) -> [Check] {
        watch.look()
        stage.run(for: .seconds(5)) { false }
        let foreground = watch.sightings
        stage.setRules(of: "phone", "home: the app is in the background, with bluetooth-central") {
            $0.backgroundModes = .central
            $0.isInBackground = true
        }
        watch.look()
        let start = stage.now
        stage.run(for: .seconds(120)) { watch.sightings > 0 }
        let delay = stage.now - start
        stage.run(for: .seconds(60)) { false }
        let background = watch.sightings
        watch.lookForAnything()
        stage.run(for: .seconds(60)) { false }
        return [
            Check(
                "C7", "in the foreground every packet is reported", foreground > 20, "\(foreground) reports in 5 s"),
            Check(
                "C7", "in the background a device is reported later, and never twice", (1...2).contains(background),
                "\(background) in a minute, the first after \(Int(delay / .milliseconds(1))) ms"),
            Check(
                "C7", "in the background a scan without services finds nothing", watch.sightings == 0,
                "\(watch.sightings) reports in a minute"),
        ]
    }

    // MARK: C6

    private func playInterval(_ watch: SensorWatch, _ stage: SimulatedStage) -> [Check] {
        func average() -> TimeInterval {
            var sum = 0.0
            for _ in 0..<10 {
                watch.ask()
                stage.run(for: .seconds(5)) { watch.answerTime != nil }
                sum += watch.answerTime ?? 5
            }
            return sum / 10
        }
        stage.setRules(of: "phone", "the app is on the screen again") { $0.isInBackground = false }
        watch.connects = true
        watch.look()
        stage.run(for: .seconds(20)) { watch.isListening }
        stage.run(for: .seconds(2)) { false }
        let foreground = average()
        stage.setRules(of: "phone", "home, with a link") { $0.isInBackground = true }
        stage.run(for: .seconds(3)) { false }
        let background = average()
        return [
            Check(
                "C6", "in the foreground the interval is 15 ms", foreground < 0.032,
                "an answer takes \(Int(foreground * 1000)) ms"),
            Check(
                "C6", "in the background it is 100 ms and more", background > foreground * 3,
                "an answer takes \(Int(background * 1000)) ms"),
        ]
    }

    // MARK: C7, suspension

    private func playSuspension(_ watch: SensorWatch, _ stage: SimulatedStage) -> [Check] {
        stage.setRules(of: "phone", "the same without the background mode") { $0.backgroundModes = [] }
        stage.run(for: .seconds(10)) { false }
        let before = watch.values
        stage.run(for: .seconds(30)) { false }
        let asleep = watch.values - before
        stage.setRules(of: "phone", "the app is on the screen again") { $0.isInBackground = false }
        stage.run(for: .milliseconds(20)) { false }
        let atOnce = watch.values - before
        return [
            Check(
                "C7", "without the mode the app sleeps, and hears it all when it wakes", asleep == 0 && atOnce > 50,
                "\(asleep) values while asleep, \(atOnce) at once")
        ]
    }

    // MARK: C7, a peripheral

    private func playPeripheral(_ watch: SensorWatch, _ stage: SimulatedStage) -> [Check] {
        stage.setRules(of: "tablet", "a peripheral in the background, with bluetooth-peripheral") {
            $0.backgroundModes = .peripheral
            $0.isInBackground = true
        }
        let peripheral = SmallestPeripheral(
            name: "Tablet", after: stage.after, say: stage.voice(of: "tablet"), onFinish: { _ in })
        peripheral.timeLimit = 1.9
        stage.asUser(of: "tablet") { peripheral.start() }
        stage.run(for: .seconds(2)) { false }
        watch.stop()
        stage.run(for: .seconds(1)) { false }
        let placed = stage.timeline.entries.last { $0.actor == "tablet" && $0.what == "advertising" }?.bytes ?? []
        let data = AdvertisingData(octets: placed)
        let area = data.manufacturerData.first?.octets ?? []
        return [
            Check(
                "C7", "a background peripheral shows neither name nor services, but its overflow area",
                data.localName == nil && data.services.isEmpty && area.starts(with: [0x4C, 0x00, 0x01]),
                "\(placed.count) octets, name \(data.localName ?? "none"), \(area.count) octets of overflow")
        ]
    }
}
