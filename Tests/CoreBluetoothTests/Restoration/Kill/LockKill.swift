import BluetoothSimulation
import CoreBluetooth
import Testing

/// One run of the lock scenario in which one of the two apps is killed at one step.
final class LockKill {
    private let world: BluetoothWorld
    private let phone: Victim
    private let lock: Victim
    private var phoneApp: LockPhone?
    private var lockApp: LockFirmware?
    private var graveyard: [AnyObject?] = []
    private var hadAccident = false

    /// - Parameters:
    ///   - phoneStep: at which the phone's app is killed.
    ///   - lockStep: at which the lock's is.
    init(seed: UInt64, phoneStep: String? = nil, lockStep: String? = nil) {
        world = BluetoothWorld(seed: seed)
        // A radio that misses one packet in twenty, so that each seed takes another course.
        world.packetLoss = 0.05
        phone = Victim(world.addDevice("Lock"), in: world, killedAt: phoneStep)
        lock = Victim(world.addDevice("Lock", at: .init(x: 2)), in: world, killedAt: lockStep)
        phone.start = { [unowned self] in
            graveyard.append(phoneApp)
            phoneApp = phone.device.run { LockPhone(phone) }
        }
        lock.start = { [unowned self] in
            graveyard.append(lockApp)
            lockApp = lock.device.run { LockFirmware(lock) }
        }
    }

    /// Plays it to its end.
    ///
    /// - Returns: what the second life of who was killed was told by itself.
    func play(sourceLocation: SourceLocation) -> [String] {
        lock.start()
        phone.start()
        var hasEnded = isOver()
        while !hasEnded, world.now < .seconds(40) {
            world.run(for: .milliseconds(10))
            hasEnded = isOver()
        }
        world.run(for: .milliseconds(100))
        let story = "phone \(phone.lives), lock \(lock.lives)"
        #expect(hasEnded, "The scenario does not come to its end: \(story)", sourceLocation: sourceLocation)
        for victim in [phone, lock] {
            #expect(victim.wordsOfTheDead == [], "told after its death: \(story)", sourceLocation: sourceLocation)
            for life in victim.lives { check(life, story, sourceLocation) }
        }
        #expect(isAnswered(phone), "a question without its answer: \(story)", sourceLocation: sourceLocation)
        let misuses = world.reports.map(\.text).filter { $0.contains("MISUSE") }
        #expect(misuses == [], "\(story)", sourceLocation: sourceLocation)
        return phone.wasKilled ? phone.deliveredByItself : lock.deliveredByItself
    }

    /// The phone has left; and when all was done on its first link, an accident has come: the lock was out of reach
    /// for a while.
    private func isOver() -> Bool {
        let hasAllOfTheFirstLink =
            phone.links == 1 && phone.isUnlocked && phone.lives.joined().contains("didUpdateValue")
        if hasAllOfTheFirstLink, !hadAccident {
            hadAccident = true
            lock.device.position = .init(x: 10_000)
            world.schedule(at: world.now + .seconds(2.5)) { [self] in lock.device.position = .init(x: 2) }
        }
        return phone.isFinished && !phone.isDead && !lock.isDead
    }

    // MARK: Checks

    /// What each answer answers.
    private static let questions = [
        "didDiscoverServices": "> discoverServices", "didDiscoverCharacteristics": "> discoverCharacteristics",
        "didUpdateNotificationState": "> setNotifyValue", "didWriteValue": "> writeValue", "didAdd": "> add",
        "didStartAdvertising": "> startAdvertising",
    ]

    /// Nothing comes twice, nothing that was not asked for, and what is restored comes first.
    private func check(_ life: [String], _ story: String, _ sourceLocation: SourceLocation) {
        let restorations = life.indices.filter { life[$0].hasPrefix("willRestoreState") }
        #expect(restorations == [] || restorations == [0], "\(story)", sourceLocation: sourceLocation)
        #expect(life.count { $0 == "poweredOn" } <= 1, "\(story)", sourceLocation: sourceLocation)
        for (answer, question) in Self.questions.sorted(by: { $0.key < $1.key }) {
            // What an earlier life asked, and was not told, the system answers to the next one.
            let owed = restorations.isEmpty || !["didAdd", "didStartAdvertising"].contains(answer) ? 0 : 1
            let answers = life.count { $0 == answer }
            let asked = life.count { $0 == question } + owed
            #expect(answers <= asked, "\(answer) too often: \(story)", sourceLocation: sourceLocation)
        }
        let bad = life.filter { entry in
            ["didFailToConnect", "didModifyServices", "didStartAdvertising, "].contains { entry.hasPrefix($0) }
        }
        #expect(bad == [], "\(story)", sourceLocation: sourceLocation)
        // Links come and go in turn.
        let turns = life.filter { $0 == "didConnect" || $0.hasPrefix("didDisconnect") }
        for (index, turn) in turns.enumerated() {
            #expect((turn == "didConnect") == (index % 2 == 0), "\(story)", sourceLocation: sourceLocation)
        }
    }

    /// The last life has had an answer to each question, but those that the end of the link took with it.
    private func isAnswered(_ victim: Victim) -> Bool {
        guard let life = victim.lives.last else { return false }
        let accidents = life.count { $0 == "didDisconnect, with an error" }
        let missing = Self.questions.map { answer, question in
            life.count { $0 == question } - life.count { $0 == answer }
        }
        return missing.filter { $0 > 0 }.reduce(0, +) <= accidents
    }
}
