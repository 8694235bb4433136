import BluetoothTypes
import EventLoop
import HostInterface

/// What a player knows, and may therefore ask about.
struct Surroundings {
    var services: [RemoteService] = []
    var characteristics: [RemoteCharacteristic] = []
    var published: [PublishedService] = []

    mutating func learn(from event: HostEvent) {
        switch event {
        case .answer(_, .success(.services(let found))): services = found
        case .answer(_, .success(.characteristics(let found))): characteristics = found
        case .answer(_, .success(.published(let service))): published.append(service)
        case .disconnected:
            services = []
            characteristics = []
        default: break
        }
    }
}

extension Player {
    /// Something legal to ask for; `nil` to do nothing this time.
    func nextRequest() -> HostRequest? {
        switch generator.next(below: 20) {
        case 0...2: .connect(peer)
        case 3: .disconnect(peer)
        case 4: generator.isChosen(outOf100: 50) ? .startScan(ScanFilter(allowDuplicates: true)) : .stopScan
        case 5, 6: .startAdvertising(AdvertisementContent(localName: name, services: [.uuid16(0xFFF0)]))
        case 7: generator.isChosen(outOf100: 30) ? .stopAdvertising : .readRSSI(peer)
        case 8, 9: changeServices()
        case 10, 11: .discoverServices(peer, only: nil)
        case 12: chosen(surroundings.services).map { .discoverCharacteristics(peer, of: $0) }
        case 13: changeParameters()
        case 14:
            chosen(surroundings.published.flatMap(\.characteristics)).map {
                .notify($0, value: Array(repeating: 1, count: generator.next(below: 30)), to: nil)
            }
        default: chosen(surroundings.characteristics).map(use)
        }
    }

    private func changeServices() -> HostRequest? {
        if surroundings.published.count >= 3 || generator.isChosen(outOf100: 15) {
            guard let service = surroundings.published.popLast() else { return nil }
            return .removeService(service.handle)
        }
        let characteristic = CharacteristicDefinition(
            uuid: .uuid16(0xFFF1), properties: 0x3E, permissions: [.readable, .writeable])
        return .addService(ServiceDefinition(uuid: .uuid16(0xFFF0), characteristics: [characteristic]))
    }

    private func changeParameters() -> HostRequest {
        let interval = UInt16(6 + generator.next(below: 40))
        return .updateConnectionParameters(
            peer, ConnectionPreference(intervalSlots: interval...interval, latency: 0, supervisionTimeout: 100))
    }

    private func use(_ characteristic: RemoteCharacteristic) -> HostRequest {
        switch generator.next(below: 6) {
        case 0: .read(peer, characteristic.value)
        case 1: .write(peer, characteristic.value, value: [1, 2, 3], withResponse: false)
        case 2: .subscribe(peer, characteristic, .notifications)
        case 3: .subscribe(peer, characteristic, generator.isChosen(outOf100: 50) ? .indications : .none)
        case 4: .discoverDescriptors(peer, of: characteristic)
        default: .write(peer, characteristic.value, value: newWriteValue(), withResponse: true)
        }
    }

    private func chosen<Element>(_ elements: [Element]) -> Element? {
        elements.isEmpty ? nil : elements[generator.next(below: elements.count)]
    }
}
