import BluetoothTypes
import Host
import HostInterface
import Simulation
import Testing

/// Many devices in one room, and hosts that want several of them at once.
@Suite("Many peers at once")
struct ManyPeersTests {
    @Test("Ten phones are connected to three devices each within seconds", arguments: [1, 2, 3] as [UInt64])
    func tenPhones(seed: UInt64) {
        let scene = TestWorld(seed: seed)
        let devices = (0..<30).map { number in
            scene.device("device \(number)", at: Double(number % 6))
        }
        for device in devices { device.ask(.startAdvertising(AdvertisementContent(services: [.uuid16(0xFFF0)]))) }
        scene.run(.seconds(1))
        let phones = (0..<10).map { scene.device("phone \($0)", at: Double($0 % 6) + 0.5) }
        var open: [(phone: TestClient, number: RequestNumber)] = []
        for (index, phone) in phones.enumerated() {
            for device in devices[index * 3..<index * 3 + 3] { open.append((phone, phone.ask(.connect(device.peer)))) }
        }
        var seconds = 0
        while seconds < 20, open.contains(where: { $0.phone.answers($0.number).isEmpty }) {
            scene.run(.seconds(1))
            seconds += 1
        }
        for (phone, number) in open {
            #expect(phone.answers(number) == [.success(.connected(mtu: 517))])
        }
        #expect(seconds <= 5)
    }
}
