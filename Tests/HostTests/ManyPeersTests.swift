import BluetoothTypes
import Host
import HostInterface
import Simulation
import Testing

/// Many devices in one room, and hosts that want several of them at once.
@Suite("Many peers at once")
struct ManyPeersTests {
    private let scene: TestWorld
    private let devices: [TestClient]

    init() {
        scene = TestWorld(seed: 1)
        devices = (0..<30).map { [scene] in scene.device("device \($0)", at: Double($0 % 6)) }
        for device in devices { device.ask(.startAdvertising(AdvertisementContent(services: [.uuid16(0xFFF0)]))) }
        scene.run(.seconds(1))
    }

    private func connect(_ phone: TestClient, to devices: some Sequence<TestClient>) -> [RequestNumber] {
        devices.map { phone.ask(.connect($0.peer)) }
    }

    @Test("Ten phones are connected to three devices each within seconds")
    func tenPhones() {
        let phones = (0..<10).map { scene.device("phone \($0)", at: Double($0 % 6) + 0.5) }
        let open = phones.indices.map { connect(phones[$0], to: devices[$0 * 3..<$0 * 3 + 3]) }
        scene.run(.seconds(5))
        for (phone, numbers) in zip(phones, open) {
            for number in numbers { #expect(phone.answers(number) == [.success(.connected(mtu: 517))]) }
        }
    }

    @Test(
        "One phone serves thirty devices, more than it may have links with, than its controller has, or its list holds",
        arguments: [4, 16])
    func oneAfterTheOther(maximumLinks: Int) {
        let phone = scene.device("phone") { $0.maximumLinks = maximumLinks }
        let open = connect(phone, to: devices)
        var left: Set<Int> = []
        for _ in 0..<200 where left.count < 30 {
            scene.run(.milliseconds(100))
            // Each is left as soon as it is connected, and the next takes its place.
            for (index, number) in open.enumerated() where phone.answers(number) == [.success(.connected(mtu: 517))] {
                guard left.insert(index).inserted else { continue }
                phone.ask(.disconnect(devices[index].peer))
            }
        }
        #expect(open.allSatisfy { phone.answers($0) == [.success(.connected(mtu: 517))] })
    }

    @Test("At the limit a new connect fails, and a pending one waits for the end of a link")
    func limit() {
        let phone = scene.device("phone") { $0.maximumLinks = 2 }
        let far = scene.device("far", at: 100_000)
        let pending = phone.ask(.connect(far.peer))
        for device in devices.prefix(2) {
            #expect(phone.answer(.connect(device.peer)) == .success(.connected(mtu: 517)))
        }
        #expect(phone.answer(.connect(devices[2].peer)) == .failure(.connectionLimitReached))
        far.ask(.startAdvertising(AdvertisementContent(localName: "far")))
        far.device.device.move(to: Position(x: 1))
        scene.run(.seconds(5))
        #expect(phone.answers(pending).isEmpty)
        _ = phone.answer(.disconnect(devices[0].peer))
        scene.run(.seconds(2))
        #expect(phone.answers(pending) == [.success(.connected(mtu: 517))])
    }
}
