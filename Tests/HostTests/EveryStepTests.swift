import BluetoothTypes
import Host
import HostInterface
import Simulation
import Testing

/// The story of a lock, cut short at each of its steps.
@Suite("Whatever ends a link, at any step, ends all that was asked, once")
struct EveryStepTests {
    enum Ending: CaseIterable {
        case centralSwitchedOff, peripheralSwitchedOff, centralOutOfPower, peripheralOutOfPower, outOfReach
        case cancelled, serviceRemoved, centralClientLeaves, peripheralClientLeaves, offAndOn
    }

    /// The story takes less than a second.
    @Test(arguments: Ending.allCases)
    func cutShort(by ending: Ending) throws {
        var reached: Set<String> = []
        for step in 0..<50 {
            let story = LockStory(seed: UInt64(step))
            story.world.run(.milliseconds(20 * step))
            reached.insert(story.step)
            story.end(by: ending)
            story.world.run(.seconds(8))
            story.check("\(ending) after \(20 * step) ms, when the central wanted to \(story.step)")
        }
        // Each step of the story was cut at least once.
        #expect(
            reached.isSuperset(of: ["connect", "discover", "characteristics", "read", "write", "subscribe", "wait"]))
    }
}

/// A central that connects, discovers, reads, writes and subscribes by itself, and a lock that notifies.
private final class LockStory {
    let world: TestWorld
    let lock: TestClient
    let phone: TestClient
    private var lockHandle = AttributeHandle(rawValue: 0)
    private var serviceHandle = AttributeHandle(rawValue: 0)
    private(set) var step = "connect"
    private var ending: EveryStepTests.Ending?

    init(seed: UInt64) {
        world = TestWorld(seed: seed)
        lock = world.device("lock", at: 2)
        phone = world.device("phone")
        let characteristic = CharacteristicDefinition(
            uuid: .uuid16(0xFFF1), properties: 0x3E, permissions: [.readable, .writeable])
        let definition = ServiceDefinition(uuid: .uuid16(0xFFF0), characteristics: [characteristic])
        if case .success(.published(let service)) = lock.answer(.addService(definition)) {
            serviceHandle = service.handle
            lockHandle = service.characteristics[0]
        }
        _ = lock.answer(.startAdvertising(AdvertisementContent(localName: "Lock")))
        lock.onQuestion = { [unowned self] in lockAnswers($0) }
        phone.onQuestion = { [unowned self] in phoneGoesOn($0) }
        phone.ask(.connect(lock.peer))
    }

    private func lockAnswers(_ event: HostEvent) -> HostRequest? {
        switch event {
        case .readRequested(let request): .respond(request.id, errorCode: 0, value: Array(repeating: 7, count: 22))
        case .writeRequested(let request) where request.needsResponse:
            .respond(request.id, errorCode: 0, value: [])
        case .subscribed: .notify(lockHandle, value: [1, 2, 3], to: nil)
        default: nil
        }
    }

    private func phoneGoesOn(_ event: HostEvent) -> HostRequest? {
        guard ending == nil, case .answer(_, .success(let answer)) = event else { return nil }
        switch answer {
        case .connected:
            step = "discover"
            return .discoverServices(lock.peer, only: nil)
        case .services(let services):
            guard let service = services.first(where: { $0.uuid == .uuid16(0xFFF0) }) else { return nil }
            step = "characteristics"
            return .discoverCharacteristics(lock.peer, of: service)
        case .characteristics(let characteristics):
            characteristic = characteristics.first
            step = "read"
            return .read(lock.peer, lockHandle)
        case .value:
            step = "write"
            return .write(lock.peer, lockHandle, value: Array(repeating: 9, count: 300), withResponse: true)
        case .done where step == "write":
            guard let characteristic else { return nil }
            step = "subscribe"
            return .subscribe(lock.peer, characteristic, .notifications)
        case .done where step == "subscribe":
            step = "wait"
            return nil
        default: return nil
        }
    }

    private var characteristic: RemoteCharacteristic?

    func end(by ending: EveryStepTests.Ending) {
        self.ending = ending
        switch ending {
        case .centralSwitchedOff: phone.device.setPowered(false)
        case .peripheralSwitchedOff: lock.device.setPowered(false)
        case .centralOutOfPower: phone.device.device.removeFromAir()
        case .peripheralOutOfPower: lock.device.device.removeFromAir()
        case .outOfReach: lock.device.device.move(to: Position(x: 100_000, y: 0))
        case .cancelled: phone.ask(.disconnect(lock.peer))
        case .serviceRemoved: lock.ask(.removeService(serviceHandle))
        case .centralClientLeaves: phone.close()
        case .peripheralClientLeaves: lock.close()
        case .offAndOn:
            phone.device.setPowered(false)
            phone.device.setPowered(true)
        }
    }

    func check(_ what: String) {
        let hasPhone = ending != .centralOutOfPower && ending != .centralClientLeaves
        if hasPhone { _ = phone.answer(.disconnect(lock.peer)) }
        world.run(.seconds(2))
        if hasPhone { checkAnswers(phone, "phone: \(what)") }
        if ending != .peripheralOutOfPower && ending != .peripheralClientLeaves { checkAnswers(lock, "lock: \(what)") }
        for client in [phone, lock] where client.device.device.isOnAir {
            var hasLinks = true
            client.device.withHost { hasLinks = $0.hasLinks }
            #expect(!hasLinks, "\(what): a link is left")
        }
    }

    private func checkAnswers(_ client: TestClient, _ what: String) {
        #expect(client.openRequests.map(\.request) == [], "\(what)")
        for number in 1...client.requestCount {
            let answers = client.answers(RequestNumber(number))
            #expect(answers.count == 1, "\(what): request \(number) was answered \(answers)")
        }
    }
}
