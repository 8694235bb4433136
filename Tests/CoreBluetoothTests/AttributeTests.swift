import BluetoothTypes
import CoreBluetooth
import HostInterface
import Testing

/// Service FFF0 with FFF1 (read, write, notify), FFF2 (write without response), FFF3 (indicate) and FFF4 (read).
let lockService = RemoteService(uuid: .uuid16(0xFFF0), handles: 10...30)
let valueCharacteristic = remote(0xFFF1, at: 11, end: 14, properties: 0x1A)
let commandCharacteristic = remote(0xFFF2, at: 15, end: 16, properties: 0x04)
let indicatedCharacteristic = remote(0xFFF3, at: 17, end: 19, properties: 0x20)
let fixedCharacteristic = remote(0xFFF4, at: 20, end: 30, properties: 0x02)

func remote(_ uuid: UInt16, at handle: UInt16, end: UInt16, properties: UInt8) -> RemoteCharacteristic {
    RemoteCharacteristic(
        uuid: .uuid16(uuid), declaration: AttributeHandle(rawValue: handle),
        value: AttributeHandle(rawValue: handle + 1), end: AttributeHandle(rawValue: end), properties: properties)
}

@Suite("Central: attributes")
struct AttributeTests {
    let host = ScriptedHost()

    func connectedApp() -> CentralApp {
        let app = host.launch { CentralApp() }
        host.powerOn()
        app.manager.scanForPeripherals(withServices: nil)
        host.answer(.done)
        host.tell(discovery())
        app.manager.connect(app.peripheral)
        host.answer(.connected(mtu: 23))
        _ = app.take()
        return app
    }

    func discoveredApp() -> CentralApp {
        let app = connectedApp()
        app.peripheral.discoverServices(nil)
        host.answer(.services([lockService]))
        app.peripheral.discoverCharacteristics(nil, for: app.peripheral.services![0])
        host.answer(
            .characteristics([
                valueCharacteristic, commandCharacteristic, indicatedCharacteristic, fixedCharacteristic,
            ]))
        _ = app.take()
        return app
    }

    // MARK: Discovery

    @Test("B-E1, B-E2, B-E3: discoveries add up, in the order of handles, without the system's own services")
    func services() throws {
        let app = connectedApp()
        let battery = RemoteService(uuid: .uuid16(0x180F), handles: 40...45)
        let system = [
            RemoteService(uuid: .uuid16(0x1800), handles: 1...5), RemoteService(uuid: .uuid16(0x1801), handles: 6...9),
        ]
        #expect(app.peripheral.services == nil)
        app.peripheral.discoverServices([CBUUID(string: "180F")])
        host.expect(.discoverServices(lockAddress, only: [.uuid16(0x180F)]), answer: .success(.services([battery])))
        let first = try #require(app.peripheral.services)
        app.peripheral.discoverServices([])
        host.expect(
            .discoverServices(lockAddress, only: nil), answer: .success(.services(system + [lockService, battery])))
        #expect(app.take() == ["didDiscoverServices [180F]", "didDiscoverServices [FFF0 180F]"])
        #expect(app.peripheral.services![1] === first[0])
        #expect(first[0].peripheral === app.peripheral && first[0].isPrimary)
        app.peripheral.discoverServices([CBUUID(string: "180A")])
        host.answer(.services([]))
        #expect(app.take() == ["didDiscoverServices [FFF0 180F]"], "one answer also if nothing matches")
    }

    @Test("B-E1, B-E6: characteristics are told apart by handle, not by UUID")
    func characteristics() throws {
        let app = connectedApp()
        app.peripheral.discoverServices(nil)
        host.answer(.services([lockService]))
        let service = app.peripheral.services![0]
        let twin = remote(0xFFF1, at: 20, end: 30, properties: 0x02)
        app.peripheral.discoverCharacteristics([CBUUID(string: "0000fff1-0000-1000-8000-00805f9b34fb")], for: service)
        host.answer(.characteristics([valueCharacteristic, commandCharacteristic, twin]))
        app.peripheral.discoverCharacteristics(nil, for: service)
        host.answer(.characteristics([valueCharacteristic, commandCharacteristic, twin]))
        #expect(
            app.take().suffix(2) == [
                "didDiscoverCharacteristics [FFF1 FFF1]", "didDiscoverCharacteristics [FFF1 FFF2 FFF1]",
            ])
        let found = try #require(service.characteristics)
        #expect(found[0] !== found[2] && found[0].service === service)
        #expect(found[0].properties == [.read, .write, .notify])
    }

    @Test("Included services are found, and are the same objects")
    func includedServices() {
        let app = connectedApp()
        app.peripheral.discoverServices(nil)
        let battery = RemoteService(uuid: .uuid16(0x180F), handles: 40...45)
        host.answer(.services([lockService, battery]))
        let service = app.peripheral.services![0]
        #expect(service.includedServices == nil)
        app.peripheral.discoverIncludedServices(nil, for: service)
        host.expect(
            .discoverIncludedServices(lockAddress, of: lockService), answer: .success(.includedServices([battery])))
        #expect(service.includedServices == [app.peripheral.services![1]])
    }

    @Test("B-E4: changed services are void; others stay")
    func changedServices() {
        let app = discoveredApp()
        let service = app.peripheral.services![0]
        let characteristic = app.characteristic("FFF1")
        host.tell(.servicesChanged(lockAddress, handles: 40...50))
        #expect(app.take() == ["didModifyServices []"] && app.peripheral.services == [service])
        host.tell(.servicesChanged(lockAddress, handles: 1...0xFFFF))
        #expect(app.take() == ["didModifyServices [FFF0]"] && app.peripheral.services == [])
        app.peripheral.readValue(for: characteristic)
        app.peripheral.discoverCharacteristics(nil, for: service)
        host.expect()
        host.settle()
        #expect(
            app.take() == [
                "didUpdateValue FFF1 - CBError 2", "didDiscoverCharacteristics [FFF1 FFF2 FFF3 FFF4] CBError 2",
            ])
        #expect(host.reports.count == 2)
    }

    @Test("B-E4: a delegate that does not want to know is warned")
    func changedServicesUnnoticed() {
        final class Delegate: NSObject, CBPeripheralDelegate {}
        let app = discoveredApp()
        let delegate = Delegate()
        app.peripheral.delegate = delegate
        host.tell(.servicesChanged(lockAddress, handles: 1...0xFFFF))
        #expect(host.reports.count == 1)
        #expect(host.reports[0].hasPrefix("[CoreBluetooth] WARNING: The delegate for <CBPeripheral: 0x"))
        #expect(host.reports[0].contains("> does not implement -[peripheral:didModifyServices:]"))
    }

    @Test("B-D8: after a reconnection everything is found anew")
    func reconnection() {
        let app = discoveredApp()
        let old = app.peripheral.services![0]
        host.tell(.disconnected(lockAddress, .disconnected(reason: 0x08)))
        app.manager.connect(app.peripheral)
        host.answer(.connected(mtu: 23))
        #expect(app.peripheral.services == nil)
        app.peripheral.discoverServices(nil)
        host.answer(.services([lockService]))
        #expect(app.peripheral.services![0] !== old)
    }

    // MARK: Reading and writing

    @Test("B-F1, B-F3: a value is stored before the call, and kept at an error")
    func read() {
        let app = discoveredApp()
        let characteristic = app.characteristic("FFF1")
        app.peripheral.readValue(for: characteristic)
        host.expect(.read(lockAddress, valueCharacteristic.value), answer: .success(.value([1, 2])))
        app.peripheral.readValue(for: characteristic)
        host.answer(.failure(.attribute(errorCode: 0x02)))
        app.peripheral.readValue(for: characteristic)
        host.answer(.failure(.attribute(errorCode: 0x80)))
        #expect(
            app.take() == [
                "didUpdateValue FFF1 0102", "didUpdateValue FFF1 0102 CBATTError 2",
                "didUpdateValue FFF1 0102 CBATTError 128",
            ])
    }

    @Test("B-F4, B-F5, B-F6: a write with response is answered once and changes no value")
    func writeWithResponse() {
        let app = discoveredApp()
        let characteristic = app.characteristic("FFF1")
        let long = Data(repeating: 7, count: 512)
        app.peripheral.writeValue(long, for: characteristic, type: .withResponse)
        host.expect(
            .write(lockAddress, valueCharacteristic.value, value: Array(long), withResponse: true),
            answer: .success(.done))
        app.peripheral.writeValue(Data([1]), for: characteristic, type: .withResponse)
        host.answer(.failure(.attribute(errorCode: 0x03)))
        app.peripheral.writeValue(long + [8], for: characteristic, type: .withResponse)
        host.settle()
        #expect(
            app.take() == [
                "didWriteValue FFF1", "didWriteValue FFF1 CBATTError 3", "didWriteValue FFF1 CBATTError 13",
            ])
        #expect(characteristic.value == nil)
    }

    @Test("B-F7, C3: a write that the properties do not allow is warned about")
    func writeWithoutProperty() {
        let app = discoveredApp()
        app.peripheral.writeValue(Data([1]), for: app.characteristic("FFF1"), type: .withoutResponse)
        host.expect()
        #expect(host.reports.count == 1)
        #expect(host.reports[0].hasPrefix("[CoreBluetooth] WARNING: Characteristic <CBCharacteristic: 0x"))
        #expect(
            host.reports[0].hasSuffix(
                "UUID = FFF1, properties = 0x1A, value = (null), notifying = NO> does not specify the "
                    + "\"Write Without Response\" property - ignoring response-less write"))
    }

    @Test("B-G3: 20 writes fit; then the app is told when there is room again")
    func backPressure() {
        let app = discoveredApp()
        let characteristic = app.characteristic("FFF2")
        for count in 0..<20 {
            #expect(app.peripheral.canSendWriteWithoutResponse)
            app.peripheral.writeValue(Data([UInt8(count)]), for: characteristic, type: .withoutResponse)
        }
        #expect(!app.peripheral.canSendWriteWithoutResponse)
        app.peripheral.writeValue(Data([20]), for: characteristic, type: .withoutResponse)
        #expect(host.asked.count == 20 && host.reports.count == 1, "dropped, and said so")
        for _ in 0..<9 { host.answer(.done) }
        #expect(app.take().isEmpty && !app.peripheral.canSendWriteWithoutResponse)
        host.answer(.done)
        #expect(app.take() == ["isReady"] && app.peripheral.canSendWriteWithoutResponse)
        for _ in 0..<10 { host.answer(.done) }
        #expect(app.take().isEmpty)
    }

    @Test("B-G5: what does not fit is cut, and the log says so")
    func cut() {
        let app = discoveredApp()
        let data = Data(0..<30)
        app.peripheral.writeValue(data, for: app.characteristic("FFF2"), type: .withoutResponse)
        host.expect(.write(lockAddress, commandCharacteristic.value, value: Array(0..<20), withResponse: false))
        #expect(host.reports.count == 1)
    }

    // MARK: Subscribing

    @Test("B-F8: notifications if there are any, else indications")
    func subscribe() {
        let app = discoveredApp()
        let characteristic = app.characteristic("FFF1")
        app.peripheral.setNotifyValue(true, for: characteristic)
        host.expect(.subscribe(lockAddress, valueCharacteristic, .notifications), answer: .success(.done))
        app.peripheral.setNotifyValue(true, for: app.characteristic("FFF3"))
        host.expect(.subscribe(lockAddress, indicatedCharacteristic, .indications), answer: .success(.done))
        host.tell(.notified(lockAddress, valueCharacteristic.value, value: [0x64]))
        app.peripheral.setNotifyValue(false, for: characteristic)
        host.expect(.subscribe(lockAddress, valueCharacteristic, .none), answer: .success(.done))
        #expect(
            app.take() == [
                "didUpdateNotificationState FFF1 true", "didUpdateNotificationState FFF3 true",
                "didUpdateValue FFF1 64", "didUpdateNotificationState FFF1 false",
            ])
    }

    @Test("B-F9: no change is answered at once, without radio traffic")
    func subscribeTwice() {
        let app = discoveredApp()
        app.peripheral.setNotifyValue(false, for: app.characteristic("FFF1"))
        #expect(app.take() == ["didUpdateNotificationState FFF1 false"])
        host.expect()
    }

    @Test("B-F10: what cannot be subscribed to")
    func subscribeFailures() {
        let app = discoveredApp()
        app.peripheral.setNotifyValue(true, for: app.characteristic("FFF4"))
        host.expect()
        #expect(app.log.isEmpty, "later, not from inside the call")
        host.settle()
        app.peripheral.setNotifyValue(true, for: app.characteristic("FFF1"))
        host.answer(.failure(.noConfigurationDescriptor))
        #expect(
            app.take() == [
                "didUpdateNotificationState FFF4 false CBATTError 6", "didUpdateNotificationState FFF1 false CBError 1",
            ])
    }

    @Test("B-D7: on a lost link nothing is answered any more")
    func lostLink() {
        let app = discoveredApp()
        app.peripheral.readValue(for: app.characteristic("FFF1"))
        app.peripheral.setNotifyValue(true, for: app.characteristic("FFF4"))
        host.answer(.failure(.disconnected(reason: 0x08)))
        host.tell(.disconnected(lockAddress, .disconnected(reason: 0x08)))
        host.tell(.notified(lockAddress, valueCharacteristic.value, value: [1]))
        #expect(
            app.take() == [
                "didUpdateNotificationState FFF4 false CBATTError 6", "didDisconnect disconnected CBError 6",
            ])
    }

    // MARK: Descriptors

    @Test("B-F13, B-F14: descriptors have values of their kind")
    func descriptors() {
        let app = discoveredApp()
        let characteristic = app.characteristic("FFF1")
        let found = [0x2901, 0x2902, 0x2904].enumerated().map { index, uuid in
            RemoteDescriptor(uuid: .uuid16(UInt16(uuid)), handle: AttributeHandle(rawValue: UInt16(12 + index)))
        }
        app.peripheral.discoverDescriptors(for: characteristic)
        host.expect(.discoverDescriptors(lockAddress, of: valueCharacteristic), answer: .success(.descriptors(found)))
        #expect(app.take() == ["didDiscoverDescriptors [2901 2902 2904]"])
        let descriptors = characteristic.descriptors!
        #expect(descriptors[0].characteristic === characteristic)
        for (descriptor, octets) in zip(descriptors, [Array("Door".utf8), [1, 0], [4, 0, 0, 0x27, 1, 0, 0]]) {
            app.peripheral.readValue(for: descriptor)
            host.answer(.value(octets))
        }
        #expect(descriptors[0].value as? String == "Door")
        #expect(descriptors[1].value as? NSNumber == 1)
        #expect(descriptors[2].value as? Data == Data([4, 0, 0, 0x27, 1, 0, 0]))
        app.peripheral.writeValue(Data("Gate".utf8), for: descriptors[0])
        host.expect(
            .write(lockAddress, found[0].handle, value: Array("Gate".utf8), withResponse: true),
            answer: .failure(.attribute(errorCode: 0x03)))
        #expect(app.log.last == "didWriteDescriptor 2901 CBATTError 3")
    }

    @Test("B-F16: signal strength")
    func signalStrength() {
        let app = connectedApp()
        app.peripheral.readRSSI()
        host.expect(.readRSSI(lockAddress), answer: .success(.rssi(-71)))
        #expect(app.take() == ["didReadRSSI -71"])
        #expect(app.peripheral.rssi == -71)
    }
}
