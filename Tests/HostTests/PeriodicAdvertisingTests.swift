import BluetoothTypes
import EventLoop
import Host
import HostInterface
import Simulation
import Testing

/// Hosts that say something at fixed times, and hosts that follow it. Sections are those of Core 6.0, Vol 4, Part E.
@Suite("Periodic advertising by hosts")
struct PeriodicAdvertisingTests {
    private static func content(_ value: UInt8, count: Int = 4) -> AdvertisementContent {
        AdvertisementContent(
            serviceData: stride(from: 0, to: count, by: 200).map { start in
                .init(service: .uuid16(0xFFF1), data: [UInt8](repeating: value, count: min(200, count - start)))
            }, isConnectable: false)
    }

    private static func advertisement(_ value: UInt8, count: Int = 4, interval: UInt16 = 80) -> HostRequest {
        .startExtendedAdvertising(
            ExtendedAdvertisement(
                AdvertisementContent(localName: "Clock", isConnectable: false),
                periodic: PeriodicAdvertisement(content(value, count: count), interval: interval)))
    }

    private final class Stage {
        let world = TestWorld()
        let clock: TestClient
        let listener: TestClient

        init() {
            clock = world.device("clock", at: 2)
            listener = world.device("listener")
        }

        func reports(_ client: TestClient) -> [PeriodicReport] {
            client.events.compactMap {
                if case .periodicReport(clock.peer, let report) = $0.event { report } else { nil }
            }
        }

        func losses(_ client: TestClient) -> Int {
            client.events.filter { $0.event == .synchronizationLost(clock.peer) }.count
        }

        var follow: HostRequest { .synchronize(clock.peer, SynchronizationPreference()) }

        func holdings(of client: TestClient) -> HostHoldings {
            var holdings = HostHoldings()
            client.device.withHost { holdings = $0.holdings }
            return holdings
        }
    }

    private static let found = Result<HostAnswer, HostFailure>.success(.synchronized(TrainStatus(interval: 80, phy: 1)))

    private func isOnTheAir(_ answer: Result<HostAnswer, HostFailure>?) -> Bool {
        if case .success(.advertising) = answer { true } else { false }
    }

    @Test("7.7.65.15: each packet is told, whatever its length, and the radio sleeps in between", arguments: [4, 600])
    func follows(count: Int) {
        let stage = Stage()
        #expect(isOnTheAir(stage.clock.answer(Self.advertisement(7, count: count))))
        #expect(stage.listener.answer(stage.follow) == Self.found)
        stage.world.run(.seconds(10))
        let reports = stage.reports(stage.listener)
        #expect((98...101).contains(reports.count))
        // Service data of a 16-bit UUID: Core Supplement, Part A, 1.11. No flags.
        let parts = stride(from: 0, to: count, by: 200).flatMap { start -> [UInt8] in
            let length = min(200, count - start)
            return [UInt8(length + 3), 0x16, 0xF1, 0xFF] + [UInt8](repeating: 7, count: length)
        }
        #expect(reports.allSatisfy { $0.data == parts && $0.rssi < 0 && $0.transmitPower == 127 })
        #expect(stage.losses(stage.listener) == 0)
        // What advertises is heard only by who scans.
        #expect(!stage.listener.events.contains { if case .discovered = $0.event { true } else { false } })
    }

    @Test("7.8.62: what is said changes while it is followed; more than one command holds begins anew")
    func updates() {
        let stage = Stage()
        #expect(
            stage.clock.answer(.updatePeriodicAdvertising(Self.content(1)))
                == .failure(.invalidParameters("Nothing is advertised periodically.")))
        #expect(isOnTheAir(stage.clock.answer(Self.advertisement(1))))
        #expect(stage.listener.answer(stage.follow) == Self.found)
        for value: UInt8 in 2...5 {
            #expect(stage.clock.answer(.updatePeriodicAdvertising(Self.content(value))) == .success(.done))
            stage.world.run(.seconds(1))
        }
        let values = stage.reports(stage.listener).compactMap(\.data.last)
        #expect(Set(values).isSuperset(of: [2, 3, 4, 5]) && values == values.sorted())
        #expect(stage.losses(stage.listener) == 0)
        #expect(stage.clock.answer(.updatePeriodicAdvertising(Self.content(6, count: 600))) == .success(.done))
        stage.world.run(.seconds(3))
        #expect(stage.losses(stage.listener) == 1)
        #expect(stage.listener.answer(stage.follow) == Self.found)
        let long = stage.clock.answer(.updatePeriodicAdvertising(Self.content(6, count: 1700)))
        if case .failure(.invalidParameters) = long {} else { Issue.record("Too long, and not refused.") }
    }

    @Test("7.7.65.16: its end is told once, and it can be followed anew; the set is free for other advertisements")
    func lost() {
        let stage = Stage()
        for _ in 0..<2 {
            #expect(isOnTheAir(stage.clock.answer(Self.advertisement(1))))
            #expect(stage.listener.answer(stage.follow) == Self.found)
            #expect(stage.clock.answer(.stopExtendedAdvertising) == .success(.done))
            stage.world.run(.seconds(3))
        }
        #expect(stage.losses(stage.listener) == 2)
        #expect(stage.holdings(of: stage.listener).trains == 0)
        // A set that was periodic could not become connectable: 7.8.53.
        let connectable = ExtendedAdvertisement(AdvertisementContent(localName: "Clock"))
        #expect(isOnTheAir(stage.clock.answer(.startExtendedAdvertising(connectable))))
        // The program leaves, and another one takes the set.
        #expect(stage.clock.answer(.stopExtendedAdvertising) == .success(.done))
        #expect(isOnTheAir(stage.clock.answer(Self.advertisement(1))))
        stage.clock.close()
        let next = stage.world.client(of: stage.clock.device)
        #expect(isOnTheAir(next.answer(.startExtendedAdvertising(connectable))))
    }

    @Test("7.8.68: a search is taken back, and a search of the same device ends with what is found")
    func cancelled() {
        let stage = Stage()
        let numbers = [stage.listener.ask(stage.follow), stage.listener.ask(stage.follow)]
        stage.world.run(.seconds(20))
        #expect(stage.listener.openRequests.count == 2)
        #expect(stage.listener.answer(.endSynchronization(stage.clock.peer)) == .success(.done))
        for number in numbers { #expect(stage.listener.answers(number) == [.failure(.cancelled)]) }
        let again = [stage.listener.ask(stage.follow), stage.listener.ask(stage.follow)]
        stage.world.run(.seconds(1))
        #expect(isOnTheAir(stage.clock.answer(Self.advertisement(1))))
        stage.world.run(.seconds(3))
        for number in again { #expect(stage.listener.answers(number) == [Self.found]) }
        #expect(stage.listener.answer(.endSynchronization(stage.clock.peer)) == .success(.done))
        stage.listener.clear()
        stage.world.run(.seconds(3))
        #expect(stage.listener.events.isEmpty && stage.holdings(of: stage.listener) == .none)
    }

    @Test("Programs on one radio follow the same device; it ends with the last of them")
    func shared() {
        let stage = Stage()
        #expect(isOnTheAir(stage.clock.answer(Self.advertisement(1))))
        let other = stage.world.client(of: stage.listener.device)
        #expect(stage.listener.answer(stage.follow) == Self.found)
        #expect(other.answer(stage.follow) == Self.found)
        stage.world.run(.seconds(1))
        #expect(stage.reports(other).count >= 9 && stage.reports(stage.listener).count >= 9)
        #expect(stage.listener.answer(.endSynchronization(stage.clock.peer)) == .success(.done))
        other.clear()
        stage.listener.clear()
        stage.world.run(.seconds(1))
        #expect(stage.reports(other).count >= 9 && stage.listener.events.isEmpty)
        other.close()
        stage.world.run(.seconds(1))
        #expect(stage.holdings(of: stage.listener) == .none)
        // The controller has let go of it too, or it would refuse.
        #expect(stage.listener.answer(stage.follow) == Self.found)
    }

    @Test("With the radio, a search fails and what is followed is lost, each once; it does not come back by itself")
    func power() {
        let stage = Stage()
        #expect(isOnTheAir(stage.clock.answer(Self.advertisement(1))))
        #expect(stage.listener.answer(stage.follow) == Self.found)
        let absent = stage.listener.ask(.synchronize(PeerID(DeviceAddress(9)), SynchronizationPreference()))
        stage.world.run(.seconds(1))
        stage.listener.device.setPowered(false)
        #expect(stage.listener.answers(absent) == [.failure(.notPowered)])
        #expect(stage.losses(stage.listener) == 1)
        stage.listener.device.setPowered(true)
        stage.listener.clear()
        stage.world.run(.seconds(3))
        #expect(stage.reports(stage.listener).isEmpty && stage.losses(stage.listener) == 0)
        #expect(stage.listener.answer(stage.follow) == Self.found)
    }

    @Test("Several devices are followed at once, whichever is heard first, beside a search for one that is not there")
    func several() {
        let stage = Stage()
        let clocks = (0..<4).map { stage.world.device("clock \($0)", at: Double($0 + 3)) }
        for (index, clock) in clocks.enumerated() {
            #expect(isOnTheAir(clock.answer(Self.advertisement(UInt8(index)))))
        }
        let absent = stage.listener.ask(.synchronize(PeerID(DeviceAddress(9)), SynchronizationPreference()))
        let numbers = clocks.map { stage.listener.ask(.synchronize($0.peer, SynchronizationPreference())) }
        stage.world.run(.seconds(20))
        for number in numbers { #expect(stage.listener.answers(number) == [Self.found]) }
        #expect(stage.listener.answers(absent).isEmpty)
    }

    @Test("What the radio does not have, or the specification does not admit, is refused")
    func refused() {
        let stage = Stage()
        func isInvalid(_ answer: Result<HostAnswer, HostFailure>?) -> Bool {
            if case .failure(.invalidParameters) = answer { true } else { false }
        }
        #expect(isInvalid(stage.clock.answer(Self.advertisement(1, interval: 5))))
        #expect(isInvalid(stage.clock.answer(Self.advertisement(1, count: 1700))))
        let periodic = PeriodicAdvertisement(Self.content(1), interval: 80)
        let connectable = ExtendedAdvertisement(AdvertisementContent(localName: "Clock"), periodic: periodic)
        #expect(isInvalid(stage.clock.answer(.startExtendedAdvertising(connectable))))
        for preference in [
            SynchronizationPreference(skip: 500), SynchronizationPreference(timeout: 9),
            SynchronizationPreference(timeout: 0x4001),
        ] {
            #expect(isInvalid(stage.listener.answer(.synchronize(stage.clock.peer, preference))))
        }
        let old = stage.world.device("old") { $0.usesExtendedCommands = false }
        #expect(old.answer(stage.follow) == .failure(.controller(status: 0x11)))
    }
}
