import BluetoothTypes
import Foundation
import Simulation
import Smallest

/// Rows C1, C2, C5 and C9: the smallest programs that talk to each other.
struct SmallestDemo {
    let stage: any Stage

    func play() -> [Check] {
        guard let stage = stage as? SimulatedStage else { return playCentralAlone() }
        stage.addPhone("phone")
        // The MTU that iOS asks for.
        stage.addPhone("tablet", at: (2, 1), mtu: 185)
        return playBoth(stage) + playSmallMTU(stage) + playTooEarly(stage)
    }

    private func playCentralAlone() -> [Check] {
        var isFinished = false
        let central = SmallestCentral(after: stage.after, say: stage.voice(of: "phone")) { _ in isFinished = true }
        stage.asUser(of: "phone") { central.start() }
        stage.run(for: .seconds(60)) { isFinished }
        return [talkCheck(central)]
    }

    private func playBoth(_ stage: SimulatedStage) -> [Check] {
        var isFinished = (central: false, peripheral: false)
        let name = "Smallest peripheral on the air"
        let peripheral = SmallestPeripheral(name: name, after: stage.after, say: stage.voice(of: "tablet")) { _ in
            isFinished.peripheral = true
        }
        let central = SmallestCentral(after: stage.after, say: stage.voice(of: "phone")) { _ in
            isFinished.central = true
        }
        stage.asUser(of: "tablet") { peripheral.start() }
        stage.asUser(of: "phone") { central.start() }
        stage.run(for: .seconds(60)) { isFinished == (true, true) }
        let written = String(decoding: peripheral.value, as: UTF8.self)
        let longest = central.longestWrites
        return [
            talkCheck(central),
            Check(
                "C9", "the MTU is negotiated, here to the 185 that iOS asks for", longest.last == 182,
                "one write takes \(longest.last ?? 0) octets"),
            Check(
                "C1", "the peripheral got the write", written == "hello" && peripheral.problem == nil,
                peripheral.problem ?? "\"\(written)\""),
            Check(
                "C2", "added, then didAdd, then advertised",
                peripheral.order.starts(with: ["didAdd", "didStartAdvertising"]),
                peripheral.order.prefix(2).joined(separator: ", ")),
            advertisementCheck(stage),
        ]
    }

    /// A peripheral that grants no more than the 23 octets that everybody must.
    private func playSmallMTU(_ stage: SimulatedStage) -> [Check] {
        stage.scene("old sensor", "a peripheral that refuses a larger MTU is switched on")
        let address = DeviceAddress(0xC0DE_0000_0041)
        var script = PeripheralScript.addressBeacon(name: "Old", address: address)
        for index in script.series.indices { script.series[index].value = { Array("tick \($0)".utf8) } }
        stage.addDevice("old sensor", address, at: (1, 1), script, mtu: 23)
        var isFinished = false
        let central = SmallestCentral(after: stage.after, say: stage.voice(of: "phone")) { _ in isFinished = true }
        stage.asUser(of: "phone") { central.start() }
        stage.run(for: .seconds(60)) { isFinished }
        return [
            Check(
                "C9", "with a peer that refuses, 20 octets remain",
                central.longestWrites.last == 20 && central.problem == nil,
                central.problem ?? "one write takes \(central.longestWrites.last ?? 0) octets")
        ]
    }

    private func talkCheck(_ central: SmallestCentral) -> Check {
        let read = central.valueRead.map { String(decoding: $0, as: UTF8.self) }
        let notified = central.valueNotified.map { String(decoding: $0, as: UTF8.self) }
        return Check(
            "C1", "FFF1 is read, written and heard",
            central.problem == nil && read != nil && central.isWriteConfirmed && notified != nil,
            central.problem ?? "read \"\(read ?? "")\", wrote \"hello\", heard \"\(notified ?? "")\"")
    }

    /// The long name does not fit beside the service.
    private func advertisementCheck(_ stage: SimulatedStage) -> Check {
        let placed = stage.timeline.entries.filter { $0.actor == "tablet" && $0.peer == nil && $0.kind == .sent }
        let advertising = placed.first { $0.what == "advertising" }?.bytes ?? []
        let response = placed.first { $0.what == "scan response" }?.bytes ?? []
        let fits = (1...31).contains(advertising.count) && (1...31).contains(response.count)
        return Check(
            "C5", "what does not fit into 31 octets moves to the scan response", fits,
            "\(advertising.count) octets advertised, \(response.count) in the scan response")
    }

    /// A peripheral that advertises before its service is there.
    private func playTooEarly(_ stage: SimulatedStage) -> [Check] {
        stage.scene("tablet", "once more, in the wrong order: advertising first")
        let before = stage.timeline.entries.count
        let peripheral = SmallestPeripheral(after: stage.after, say: stage.voice(of: "tablet"), onFinish: { _ in })
        peripheral.advertisesTooEarly = true
        peripheral.timeLimit = 0.9
        stage.asUser(of: "tablet") { peripheral.start() }
        stage.run(for: .seconds(1)) { false }
        let warning = stage.timeline.entries[before...].first { $0.kind == .log }
        return [
            Check(
                "C2", "a peripheral that advertises first is told so", warning != nil,
                warning?.what ?? "nothing was said")
        ]
    }
}
