import BluetoothTypes
import EventLoop
import HostInterface

/// What a player knows, and may therefore ask about.
struct Surroundings {
    struct Channel {
        var open: OpenChannel
        /// What this player sends on it.
        var stream: StreamLedger.Stream
        /// Octets that came and have not been read.
        var unread = 0
    }

    var services: [RemoteService] = []
    var characteristics: [RemoteCharacteristic] = []
    var published: [PublishedService] = []
    /// Of characteristics that only encrypted links may use.
    var guarded: Set<AttributeHandle> = []
    /// Offered channels.
    var psms: [UInt16] = []
    var channels: [Channel] = []
    /// Of the host, as it last showed them.
    var bonds: [BondRecord] = []

    mutating func forgetLink() {
        services = []
        characteristics = []
    }
}

extension Player {
    /// Something legal to ask for; `nil` to do nothing this time.
    func nextRequest() -> HostRequest? {
        generator.isChosen(outOf100: 60) ? nextStep() ?? anyRequest() : anyRequest()
    }

    /// What leads on to a link with something to do on it, and then does it.
    private func nextStep() -> HostRequest? {
        if surroundings.published.isEmpty { return changeServices() }
        if surroundings.psms.isEmpty, generator.isChosen(outOf100: 30) {
            return .publishChannel(requiresEncryption: generator.isChosen(outOf100: 30))
        }
        guard isLinkUp else {
            // One of the two must be heard.
            return generator.isChosen(outOf100: 50)
                ? .connect(peer) : .startAdvertising(AdvertisementContent(localName: name))
        }
        if surroundings.services.isEmpty { return .discoverServices(peer, only: nil) }
        if surroundings.characteristics.isEmpty {
            let own = surroundings.services.filter { $0.uuid == .uuid16(0xFFF0) }
            return chosen(own.isEmpty ? surroundings.services : own).map { .discoverCharacteristics(peer, of: $0) }
        }
        return switch generator.next(below: 10) {
        case 0...1: notify()
        case 2...4: nextChannelRequest()
        default: chosen(surroundings.characteristics).map(use)
        }
    }

    private func anyRequest() -> HostRequest? {
        switch generator.next(below: 32) {
        case 0...2: .connect(peer)
        case 3: .disconnect(peer)
        case 4: generator.isChosen(outOf100: 50) ? .startScan(ScanFilter(allowDuplicates: true)) : .stopScan
        case 5, 6: .startAdvertising(AdvertisementContent(localName: name, services: [.uuid16(0xFFF0)]))
        case 7: generator.isChosen(outOf100: 30) ? .stopAdvertising : .readRSSI(peer)
        case 8, 9: changeServices()
        case 10, 11: .discoverServices(peer, only: nil)
        case 12: chosen(surroundings.services).map { .discoverCharacteristics(peer, of: $0) }
        case 13: changeParameters()
        case 14: notify()
        case 15...19: nextChannelRequest()
        case 20...22: nextSecurityRequest()
        case 30: advertisePeriodically()
        case 31:
            generator.isChosen(outOf100: 70)
                ? .synchronize(peer, SynchronizationPreference()) : .endSynchronization(peer)
        default: chosen(surroundings.characteristics).map(use)
        }
    }

    func chosen<Element>(_ elements: [Element]) -> Element? {
        elements.isEmpty ? nil : elements[generator.next(below: elements.count)]
    }

    private func changeServices() -> HostRequest? {
        if surroundings.published.count >= 3 || generator.isChosen(outOf100: 15) {
            guard let service = surroundings.published.popLast() else { return nil }
            return .removeService(service.handle)
        }
        let characteristics = (0..<1 + generator.next(below: 3)).map { _ in newCharacteristic() }
        return .addService(ServiceDefinition(uuid: .uuid16(0xFFF0), characteristics: characteristics))
    }

    /// One that answers for itself, one that anybody may use, or one for encrypted links.
    private func newCharacteristic() -> CharacteristicDefinition {
        switch generator.next(below: 4) {
        case 0:
            return CharacteristicDefinition(
                uuid: .uuid16(0xFFF2), properties: 0x02, permissions: .readable,
                value: Array(repeating: 0x2A, count: generator.next(below: 100)))
        case 1:
            return CharacteristicDefinition(
                uuid: Self.guardedType, properties: 0x3E,
                permissions: [.readable, .writeable, .readEncryptionRequired, .writeEncryptionRequired],
                subscriptionNeedsEncryption: true)
        default:
            // Also signed writes (Core 6.0, Vol 3, Part G, 3.3.1.1).
            return CharacteristicDefinition(
                uuid: .uuid16(0xFFF1), properties: 0x7E, permissions: [.readable, .writeable])
        }
    }

    static var guardedType: BluetoothUUID { .uuid16(0xFFF3) }
    private static var programTypes: Set<BluetoothUUID> { [.uuid16(0xFFF1), .uuid16(0xFFF2), guardedType] }

    private func advertisePeriodically() -> HostRequest {
        let length = generator.next(below: generator.isChosen(outOf100: 20) ? 251 : 20)
        let content = AdvertisementContent(
            serviceData: [.init(service: .uuid16(0xFFF4), data: Array(repeating: 3, count: length))],
            isConnectable: false)
        switch generator.next(below: 4) {
        case 0: return .stopExtendedAdvertising
        case 1: return .updatePeriodicAdvertising(content)
        default:
            let interval = UInt16(24 + generator.next(below: 200))
            return .startExtendedAdvertising(
                ExtendedAdvertisement(
                    AdvertisementContent(localName: name, isConnectable: false),
                    periodic: PeriodicAdvertisement(content, interval: interval)))
        }
    }

    private func notify() -> HostRequest? {
        chosen(surroundings.published.flatMap(\.characteristics)).map {
            .notify($0, value: Array(repeating: 1, count: generator.next(below: 30)), to: nil)
        }
    }

    private func changeParameters() -> HostRequest {
        if generator.isChosen(outOf100: 30) {
            let factor = UInt16(1 + generator.next(below: 6))
            return .subrate(peer, SubratePreference(factors: 1...factor, continuation: factor / 2))
        }
        let interval = UInt16(6 + generator.next(below: 40))
        return .updateConnectionParameters(
            peer, ConnectionPreference(intervalSlots: interval...interval, latency: 0, supervisionTimeout: 100))
    }

    private func use(_ characteristic: RemoteCharacteristic) -> HostRequest {
        // What belongs to the peer's host takes writes that no program hears of, as Client Supported Features does.
        guard Self.programTypes.contains(characteristic.uuid) else { return .read(peer, characteristic.value) }
        return switch generator.next(below: 9) {
        case 8: writeReliably()
        case 0, 1: .read(peer, characteristic.value)
        case 2: .write(peer, characteristic.value, value: commandLedger.newValue(length: 8).value, withResponse: false)
        case 3: .subscribe(peer, characteristic, .notifications)
        case 4: .subscribe(peer, characteristic, generator.isChosen(outOf100: 50) ? .indications : .none)
        case 5: .discoverDescriptors(peer, of: characteristic)
        default: .write(peer, characteristic.value, value: newWriteValue(), withResponse: true)
        }
    }

    /// Two or three values, with a number each.
    private func writeReliably() -> HostRequest {
        let own = surroundings.characteristics.filter { Self.programTypes.contains($0.uuid) }
        let writes = (0..<2 + generator.next(below: 2)).map { _ in
            AttributeWrite(own[generator.next(below: own.count)].value, newWriteValue())
        }
        return .writeReliably(peer, writes)
    }

    // MARK: Security

    private func nextSecurityRequest() -> HostRequest? {
        switch generator.next(below: 12) {
        case 0...2: return .security(.secure(peer, authenticated: generator.isChosen(outOf100: 25)))
        case 3, 4: return .security(.setPolicy(generator.isChosen(outOf100: 85) ? newPolicy() : nil))
        case 5: return .security(.removeBond(peer))
        case 6: return .security(.listBonds)
        case 7: return importBonds()
        case 8: return .security(.makeOutOfBandData)
        case 9: return board.shares[peer].map { .security(.setOutOfBandData(peer, $0)) }
        case 10: return .readLink(peer)
        default:
            return chosen(surroundings.characteristics.filter { Self.programTypes.contains($0.uuid) }).map {
                .security(.writeSigned(peer, $0.value, value: commandLedger.newValue(length: 8).value))
            }
        }
    }

    /// Takes back what the host once showed, some of it replaced or removed since.
    private func importBonds() -> HostRequest? {
        guard !surroundings.bonds.isEmpty else { return nil }
        return .security(.importBonds(surroundings.bonds))
    }

    // MARK: Channels

    private func nextChannelRequest() -> HostRequest? {
        switch generator.next(below: 10) {
        case 0: return .publishChannel(requiresEncryption: generator.isChosen(outOf100: 30))
        case 1:
            guard generator.isChosen(outOf100: 20), let psm = surroundings.psms.popLast() else { return nil }
            board.withdraw(psm, of: own)
            return .unpublishChannel(psm: psm)
        case 2, 3:
            guard surroundings.channels.count < 4 else { return nil }
            // Now and then one that nobody offers.
            let isThere = generator.isChosen(outOf100: 90)
            let isEnhanced = generator.isChosen(outOf100: 50)
            return (isThere ? chosen(board.offers(of: peer)) : 0x00F7).map {
                .openChannel(peer, psm: $0, isEnhanced: isEnhanced)
            }
        case 4:
            return chosen(surroundings.channels).map { channel in
                // Smaller than now is refused here, and so is any change of a channel of the older kind.
                generator.isChosen(outOf100: 30)
                    ? .closeChannel(channel.open.number)
                    : .enlargeChannel(channel.open.number, mtu: UInt16(3900 + generator.next(below: 3000)))
            }
        case 5: return readSome()
        default:
            guard let channel = chosen(surroundings.channels) else { return nil }
            let isLong = generator.isChosen(outOf100: 15)
            let count = 4 + generator.next(below: isLong ? 9000 : 300)
            return .send(channel.open.number, streams.next(count, of: channel.stream))
        }
    }

    /// Reads a part of what has come on a channel, so that the peer gets credits again.
    private func readSome() -> HostRequest? {
        let waiting = surroundings.channels.indices.filter { surroundings.channels[$0].unread > 0 }
        guard let index = chosen(waiting) else { return nil }
        let count = 1 + generator.next(below: surroundings.channels[index].unread)
        surroundings.channels[index].unread -= count
        return .received(surroundings.channels[index].open.number, count)
    }

    /// Reads all that has come, on all channels.
    func readAll() {
        for index in surroundings.channels.indices where surroundings.channels[index].unread > 0 {
            let count = surroundings.channels[index].unread
            surroundings.channels[index].unread = 0
            ask(.received(surroundings.channels[index].open.number, count))
        }
    }
}
