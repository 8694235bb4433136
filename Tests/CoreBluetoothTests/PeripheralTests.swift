import BluetoothTypes
import CoreBluetooth
import HostInterface
import Testing

let phone = PeerID(DeviceAddress(0x00_A0_50_00_00_02))
let valueHandle = AttributeHandle(rawValue: 12)

@Suite("Peripheral")
struct PeripheralTests {
    let host = ScriptedHost()

    func poweredApp() -> PeripheralApp {
        let app = host.launch { PeripheralApp() }
        host.powerOn()
        _ = app.take()
        return app
    }

    func service(
        _ characteristics: [CBMutableCharacteristic] = [
            CBMutableCharacteristic(
                type: CBUUID(string: "FFF1"), properties: [.read, .write, .notify], value: nil,
                permissions: [.readable, .writeable])
        ]
    ) -> CBMutableService {
        let service = CBMutableService(type: CBUUID(string: "FFF0"), primary: true)
        service.characteristics = characteristics
        return service
    }

    /// An app with FFF1 in FFF0 published.
    func publishedApp() -> (PeripheralApp, CBMutableCharacteristic) {
        let app = poweredApp()
        let service = service()
        app.manager.add(service)
        host.answer(.published(PublishedService(handle: AttributeHandle(rawValue: 10), characteristics: [valueHandle])))
        _ = app.take()
        return (app, service.characteristics![0] as! CBMutableCharacteristic)
    }

    // MARK: Publishing

    @Test("B-H1: a service reaches the host as it was, and is answered once")
    func add() {
        let app = poweredApp()
        let description = CBMutableDescriptor(type: CBUUID(string: "2901"), value: "Door")
        let service = service()
        service.characteristics![0].setDescriptors([description])
        app.manager.add(service)
        service.characteristics = []
        host.expect(
            .addService(
                ServiceDefinition(
                    uuid: .uuid16(0xFFF0),
                    characteristics: [
                        CharacteristicDefinition(
                            uuid: .uuid16(0xFFF1), properties: 0x1A, permissions: [.readable, .writeable],
                            descriptors: [DescriptorDefinition(uuid: .uuid16(0x2901), value: Array("Door".utf8))])
                    ])),
            answer: .success(
                .published(PublishedService(handle: AttributeHandle(rawValue: 10), characteristics: [valueHandle]))))
        #expect(app.take() == ["didAdd FFF0"])
        app.manager.remove(service)
        host.expect(.removeService(AttributeHandle(rawValue: 10)))
    }

    @Test(
        "B-H2, B-H4, C3: what cannot be published is refused with the reason",
        arguments: [
            (CBMutableService(type: CBUUID(string: "1800"), primary: true), 8, "the system publishes"),
            (
                refused(
                    .init(
                        type: CBUUID(string: "FFF1"), properties: [.read, .write], value: Data([1]),
                        permissions: .readable)), 1,
                "Characteristics with cached values must be read-only"
            ),
            (
                refused(
                    .init(
                        type: CBUUID(string: "FFF1"), properties: [.read, .broadcast], value: nil,
                        permissions: .readable)), 1,
                "a property that a local characteristic cannot have"
            ),
            (
                refused(
                    .init(
                        type: CBUUID(string: "FFF1"), properties: .read, value: Data(count: 513), permissions: .readable
                    )), 1,
                "more than 512 octets"
            ),
        ])
    func refusal(service: CBMutableService, code: Int, reason: String) {
        let app = poweredApp()
        app.manager.add(service)
        host.expect()
        #expect(app.log.isEmpty)
        host.settle()
        #expect(app.take() == ["didAdd \(service.uuid.uuidString) CBError \(code)"])
        #expect(host.reports.count == 1 && host.reports[0].contains(reason))
    }

    @Test("B-H1: included services must be published before")
    func includedServices() {
        let (app, characteristic) = publishedApp()
        let first = characteristic.service!
        let outer = CBMutableService(type: CBUUID(string: "FFE0"), primary: true)
        outer.includedServices = [first]
        app.manager.add(outer)
        host.expect(
            .addService(ServiceDefinition(uuid: .uuid16(0xFFE0), includedServices: [AttributeHandle(rawValue: 10)])))
        let early = CBMutableService(type: CBUUID(string: "FFD0"), primary: true)
        early.includedServices = [outer]
        app.manager.add(early)
        host.settle()
        #expect(app.take() == ["didAdd FFD0 CBError 1"])
    }

    @Test("B-H3: other descriptors cannot be made")
    func descriptors() async {
        await #expect(processExitsWith: .failure) {
            _ = CBMutableDescriptor(type: CBUUID(string: "2902"), value: Data([0, 0]))
        }
    }

    @Test("C3: properties and permissions that contradict each other are warned about")
    func contradictions() {
        let app = poweredApp()
        app.manager.add(
            service([
                .init(type: CBUUID(string: "FFF1"), properties: [.read, .write], value: nil, permissions: []),
                .init(
                    type: CBUUID(string: "FFF2"), properties: .notify, value: nil,
                    permissions: [.readable, .writeable]),
            ]))
        #expect(host.reports.count == 4 && host.reports.allSatisfy { $0.hasPrefix("[CoreBluetooth] WARNING: ") })
        #expect(host.asked.count == 1, "warned, not refused")
    }

    @Test("B-H15: services outlive off and on, and go with a reset")
    func powerCycle() {
        let (app, characteristic) = publishedApp()
        host.tell(.subscribed(phone, valueHandle, mtu: 185))
        host.tell(.state(.poweredOff))
        #expect(characteristic.subscribedCentrals == [])
        host.powerOn()
        host.expect()
        host.tell(.subscribed(phone, valueHandle, mtu: 185))
        #expect(app.take().last == "didSubscribe FFF1 182")
        host.tell(.state(.resetting))
        host.powerOn()
        host.expect(.removeAllServices, answer: .success(.done))
        host.tell(.subscribed(phone, valueHandle, mtu: 185))
        #expect(app.take().last == "state poweredOn")
    }

    // MARK: Requests

    @Test("B-H7: a read is answered with the app's value")
    func read() {
        let (app, _) = publishedApp()
        app.onRead = { app, request in
            request.value = Data([0x64])
            app.manager.respond(to: request, withResult: .success)
            app.manager.respond(to: request, withResult: .success)
        }
        host.tell(
            .readRequested(
                ServerReadRequest(
                    id: ServerRequestID(1), central: phone, characteristic: valueHandle, offset: 0, mtu: 185)))
        host.expect(.respond(ServerRequestID(1), errorCode: 0, value: [0x64]), answer: .success(.done))
        #expect(app.take() == ["didReceiveRead FFF1 0"])
        #expect(host.takeReports().count == 1, "the second answer is a mistake")
        app.onRead = { app, request in app.manager.respond(to: request, withResult: .invalidOffset) }
        host.tell(
            .readRequested(
                ServerReadRequest(
                    id: ServerRequestID(2), central: phone, characteristic: valueHandle, offset: 9, mtu: 185)))
        host.expect(.respond(ServerRequestID(2), errorCode: 7, value: []))
        #expect(host.reports.isEmpty)
    }

    @Test("B-H9, B-H13: all parts of a write come together and are answered once")
    func write() {
        let (app, _) = publishedApp()
        app.onWrite = { app, requests in
            app.manager.respond(to: requests[1], withResult: CBATTError.Code(rawValue: 0x80)!)
        }
        host.tell(
            .writeRequested(
                ServerWriteRequest(
                    id: ServerRequestID(1), central: phone,
                    parts: [
                        .init(characteristic: valueHandle, offset: 0, value: [1, 2]),
                        .init(characteristic: valueHandle, offset: 2, value: [3]),
                    ], needsResponse: true, mtu: 23)))
        host.expect(.respond(ServerRequestID(1), errorCode: 0x80, value: []))
        #expect(app.take() == ["didReceiveWrite FFF1 0 0102, FFF1 2 03"])
        #expect(host.reports.isEmpty)
    }

    @Test("B-H10: an answer to a write without response does nothing")
    func writeCommand() {
        let (app, _) = publishedApp()
        host.tell(
            .writeRequested(
                ServerWriteRequest(
                    id: ServerRequestID(1), central: phone,
                    parts: [.init(characteristic: valueHandle, offset: 0, value: [1])], needsResponse: false, mtu: 23)))
        #expect(app.take() == ["didReceiveWrite FFF1 0 01"])
        host.expect()
        #expect(host.reports.isEmpty)
    }

    @Test("C4: an app that forgets to answer is warned")
    func forgotten() {
        let (app, _) = publishedApp()
        app.onRead = { _, _ in }
        host.tell(
            .readRequested(
                ServerReadRequest(
                    id: ServerRequestID(1), central: phone, characteristic: valueHandle, offset: 0, mtu: 23)))
        host.expect()
        #expect(host.reports.count == 1 && host.reports[0].contains("was never answered"))
    }

    @Test("A delegate without the methods answers that it cannot")
    func missingMethods() {
        final class Delegate: NSObject, CBPeripheralManagerDelegate {
            func peripheralManagerDidUpdateState(_ peripheral: CBPeripheralManager) {}
        }
        let (app, _) = publishedApp()
        let delegate = Delegate()
        app.manager.delegate = delegate
        host.tell(
            .readRequested(
                ServerReadRequest(
                    id: ServerRequestID(1), central: phone, characteristic: valueHandle, offset: 0, mtu: 23)))
        host.expect(.respond(ServerRequestID(1), errorCode: 6, value: []), answer: .success(.done))
        #expect(host.reports.count == 1)
    }

    // MARK: Subscriptions and updates

    @Test("B-H5, B-H6, B-G6: who comes and goes")
    func subscriptions() {
        let (app, characteristic) = publishedApp()
        host.tell(.subscribed(phone, valueHandle, mtu: 185))
        let central = characteristic.subscribedCentrals![0]
        #expect(central.maximumUpdateValueLength == 182)
        host.tell(.centralMTUChanged(phone, mtu: 247))
        #expect(central.maximumUpdateValueLength == 244)
        host.tell(.unsubscribed(phone, valueHandle))
        #expect(characteristic.subscribedCentrals == [])
        #expect(app.take() == ["didSubscribe FFF1 182", "didUnsubscribe FFF1"])
    }

    @Test("B-H12: updates go to the subscribers until the queue is full, then wait")
    func updates() {
        let (app, characteristic) = publishedApp()
        #expect(app.manager.updateValue(Data([1]), for: characteristic, onSubscribedCentrals: nil))
        host.expect()
        host.tell(.subscribed(phone, valueHandle, mtu: 23))
        _ = app.take()
        var sent = 0
        while app.manager.updateValue(Data([1]), for: characteristic, onSubscribedCentrals: nil) { sent += 1 }
        #expect(sent == 20 && host.asked.count == 20)
        #expect(host.asked[0].request == .notify(valueHandle, value: [1], to: nil))
        for _ in 0..<20 { host.answer(.done) }
        #expect(app.take() == ["isReady"])
        let central = characteristic.subscribedCentrals![0]
        app.manager.updateValue(Data([2]), for: characteristic, onSubscribedCentrals: [central])
        host.expect(.notify(valueHandle, value: [2], to: [phone]))
        #expect(characteristic.value == nil)
    }

    @Test("B-H14: the pace of a link")
    func latency() {
        let (app, characteristic) = publishedApp()
        host.tell(.subscribed(phone, valueHandle, mtu: 23))
        app.manager.setDesiredConnectionLatency(.low, for: characteristic.subscribedCentrals![0])
        host.expect(
            .updateConnectionParameters(
                phone, ConnectionPreference(intervalSlots: 12...12, latency: 0, supervisionTimeout: 400)))
    }

    // MARK: Advertising

    @Test("B-I1, B-I4: name and services; the second start is refused")
    func advertise() {
        let (app, _) = publishedApp()
        app.manager.startAdvertising([
            CBAdvertisementDataLocalNameKey: "Lock", CBAdvertisementDataServiceUUIDsKey: [CBUUID(string: "FFF0")],
            CBAdvertisementDataManufacturerDataKey: Data([1, 2, 3]),
        ])
        #expect(host.takeReports().count == 1, "the manufacturer data is ignored, and said so")
        #expect(!app.manager.isAdvertising)
        let placement = AdvertisementPlacement(
            advertisingData: [], scanResponseData: [], omittedServices: [], isNameShortened: false)
        host.expect(
            .startAdvertising(AdvertisementContent(localName: "Lock", services: [.uuid16(0xFFF0)])),
            answer: .success(.advertising(placement)))
        #expect(app.manager.isAdvertising)
        app.manager.startAdvertising(nil)
        host.settle()
        #expect(app.take() == ["didStartAdvertising", "didStartAdvertising CBError 9"])
        app.manager.stopAdvertising()
        #expect(!app.manager.isAdvertising)
        host.expect(.stopAdvertising)
    }

    @Test("B-I2: wrong types are refused")
    func wrongTypes() {
        let app = poweredApp()
        app.manager.startAdvertising([CBAdvertisementDataServiceUUIDsKey: ["FFF0"]])
        host.expect()
        host.settle()
        #expect(app.take() == ["didStartAdvertising CBError 1"])
    }

    @Test("C2: who advertises before the services are there is told so")
    func order() {
        let app = poweredApp()
        app.manager.add(service())
        app.manager.startAdvertising([CBAdvertisementDataServiceUUIDsKey: [CBUUID(string: "FFF0")]])
        #expect(host.reports.count == 1 && host.reports[0].contains("while services are still being added: FFF0"))
        _ = host.takeReports()
        app.manager.stopAdvertising()
        app.manager.startAdvertising([CBAdvertisementDataServiceUUIDsKey: [CBUUID(string: "FFE0")]])
        #expect(host.reports.count == 2 && host.reports[1].contains("that have not been added: FFE0"))
    }

    @Test("C5: what does not fit is named")
    func cuts() {
        let app = poweredApp()
        app.manager.startAdvertising(nil)
        host.answer(
            .advertising(
                AdvertisementPlacement(
                    advertisingData: [], scanResponseData: [], omittedServices: [.uuid16(0xFFF0)],
                    isNameShortened: true)))
        #expect(host.reports.count == 2 && host.reports[1].hasSuffix("FFF0"))
        #expect(app.take() == ["didStartAdvertising"])
    }

    @Test("Radio off: advertising has stopped")
    func powerOff() {
        let app = poweredApp()
        app.manager.startAdvertising(nil)
        host.tell(.state(.poweredOff))
        #expect(!app.manager.isAdvertising)
        app.manager.startAdvertising(nil)
        #expect(host.reports.last?.contains("API MISUSE: <CBPeripheralManager: 0x") == true)
    }
}

private func refused(_ characteristic: CBMutableCharacteristic) -> CBMutableService {
    let service = CBMutableService(type: CBUUID(string: "FFF0"), primary: true)
    service.characteristics = [characteristic]
    return service
}

extension CBCharacteristic {
    fileprivate func setDescriptors(_ descriptors: [CBDescriptor]) {
        (self as? CBMutableCharacteristic)?.descriptors = descriptors
    }
}
