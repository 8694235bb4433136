import BluetoothSimulation
import CoreBluetooth
import Testing

@Suite("Over the air: services that come and go before the radio has answered")
struct PublishingOrderTests {
    let scene = LockWorld(advertises: false)

    private func service(_ uuid: String, _ characteristics: [CBMutableCharacteristic] = []) -> CBMutableService {
        let service = CBMutableService(type: CBUUID(string: uuid), primary: true)
        service.characteristics = characteristics
        return service
    }

    private func characteristic(_ uuid: String) -> CBMutableCharacteristic {
        CBMutableCharacteristic(
            type: CBUUID(string: uuid), properties: [.read, .notify], value: nil, permissions: .readable)
    }

    /// What a phone finds.
    private func found() throws -> [String] {
        scene.advertise()
        try scene.connect()
        scene.app.peripheral.discoverServices(nil)
        try #require(scene.wait { $0.app.peripheral.services != nil })
        return (scene.app.peripheral.services ?? []).map(\.uuid.uuidString)
    }

    @Test("B-H1: what is added after all were removed stays, though the removed one was still being added")
    func removeAllWhileAdding() throws {
        let manager = scene.lockApp.manager!
        manager.removeAllServices()
        manager.add(service("AA00"))
        manager.removeAllServices()
        manager.add(service("BB00"))
        scene.world.run(for: .seconds(1))
        #expect(try found() == ["BB00"])
    }

    @Test("B-H1: one removed while it is added is gone, and may be added again at once")
    func removeWhileAdding() throws {
        let manager = scene.lockApp.manager!
        manager.removeAllServices()
        let again = service("AA00", [characteristic("AA01")])
        manager.add(again)
        manager.remove(again)
        again.characteristics = [characteristic("AA02"), characteristic("AA03")]
        manager.add(again)
        let gone = service("BB00")
        manager.add(gone)
        manager.remove(gone)
        scene.world.run(for: .seconds(1))
        #expect(try found() == ["AA00"])
        let remote = try #require(scene.app.peripheral.services?.first)
        scene.app.peripheral.discoverCharacteristics(nil, for: remote)
        try #require(scene.wait { _ in remote.characteristics != nil })
        #expect(remote.characteristics?.map(\.uuid.uuidString) == ["AA02", "AA03"])
        _ = scene.lockApp.take()
        scene.app.peripheral.readValue(for: try #require(remote.characteristics?.last))
        #expect(scene.wait { $0.lockApp.log.contains("didReceiveRead AA03 0") })
    }

    @Test("A characteristic object stands in one place: a second service with it is refused, and the first goes on")
    func sharedCharacteristic() throws {
        _ = scene.lockApp.take()
        let shared = characteristic("AB01")
        let first = service("AB00", [shared])
        scene.lockApp.manager.add(first)
        scene.lockApp.manager.add(service("AC00", [shared]))
        let twice = characteristic("AD01")
        scene.lockApp.manager.add(service("AD00", [twice, twice]))
        scene.world.run(for: .seconds(1))
        let answers = scene.lockApp.take().sorted()
        #expect(answers == ["didAdd AB00", "didAdd AC00 CBError 1", "didAdd AD00 CBError 1"])
        #expect(scene.world.reports.count { $0.text.contains("stands in a published service already") } == 2)
        scene.lockApp.manager.remove(first)
        scene.lockApp.manager.add(service("AC00", [shared]))
        scene.world.run(for: .seconds(1))
        #expect(scene.lockApp.take() == ["didAdd AC00"])
    }

    @Test("A description of more than 512 octets is refused, with a reason in the log")
    func longDescription() {
        let described = characteristic("AB01")
        described.descriptors = [
            CBMutableDescriptor(type: CBUUID(string: "2901"), value: String(repeating: "x", count: 513))
        ]
        scene.lockApp.manager.add(service("AB00", [described]))
        scene.world.run(for: .seconds(1))
        #expect(scene.lockApp.take().last == "didAdd AB00 CBError 1")
        #expect(scene.world.reports.last?.text.contains("more than 512 octets") == true)
    }
}
