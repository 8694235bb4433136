import BluetoothTypes
import HostInterface

/// Whether a peripheral manager advertises.
enum Advertising {
    case off
    case starting
    case on
}

extension CBPeripheralManager {
    func beginAdvertising(_ data: [String: Any]) {
        do throws(Refusal) {
            let content = try advertisementContent(data)
            let isFirst = line.lock.withLock {
                guard advertising == .off else { return false }
                advertising = .starting
                advertisement = content
                advertisingNumber += 1
                return true
            }
            guard isFirst else { throw Refusal("it does so already", .alreadyAdvertising) }
            warnOfOrder(content)
            line.lock.withLock { askToAdvertise(content) }
        } catch {
            line.misuse("\(self) cannot start advertising: \(error.reason)")
            later { $0.delegate?.peripheralManagerDidStartAdvertising($0, error: CBError(error.code)) }
        }
    }

    /// Called with the lock held.
    func askToAdvertise(_ content: AdvertisementContent) {
        let number = advertisingNumber
        line.ask(.startAdvertising(content)) { [weak self] answer in self?.advertisingAnswered(number, answer) }
    }

    private func advertisingAnswered(_ number: Int, _ answer: HostLine.Answer) {
        let wasAnnounced = line.lock.withLock {
            // The app may have stopped it meanwhile, or the radio gone off.
            if advertising != .off { advertising = if case .success = answer { .on } else { .off } }
            return announcedAdvertising == number
        }
        if case .failure(.notPowered) = answer { return }  // The state's update tells it.
        if case .success(.advertising(let placement)) = answer { warnOfCuts(placement) }
        // Of what it was told in an earlier run the app hears only what has gone wrong.
        if case .success = answer, wasAnnounced { return }
        delegate?.peripheralManagerDidStartAdvertising(self, error: answer.error)
        line.lock.withLock { announcedAdvertising = max(announcedAdvertising, number) }
    }

    private func advertisementContent(_ data: [String: Any]) throws(Refusal) -> AdvertisementContent {
        var content = AdvertisementContent()
        for (key, value) in data.sorted(by: { $0.key < $1.key }) {
            switch key {
            case CBAdvertisementDataLocalNameKey:
                guard let name = value as? String else { throw Refusal("the local name must be a String") }
                content.localName = name
            case CBAdvertisementDataServiceUUIDsKey:
                guard let uuids = value as? [CBUUID] else { throw Refusal("the service UUIDs must be [CBUUID]") }
                content.services = uuids.map(\.bluetoothUUID)
            default: line.warn("\(self) ignores the advertisement's key \(key); it is not allowed")
            }
        }
        return content
    }

    /// Who advertises first is found before there is something to find.
    private func warnOfOrder(_ content: AdvertisementContent) {
        let (unfinished, known) = line.lock.withLock {
            (localServices.filter { $0.handle == nil && !$0.isRestored }.map(\.service), localServices.map(\.service))
        }
        let remedy = "Add the services, wait for peripheralManager:didAddService:error:, then start advertising"
        if !unfinished.isEmpty {
            let list = unfinished.map(\.uuid.uuidString).joined(separator: ", ")
            line.warn("\(self) starts advertising while services are still being added: \(list). \(remedy)")
        }
        let missing = content.services.filter { uuid in !known.contains { $0.uuid.bluetoothUUID == uuid } }
        if !missing.isEmpty {
            let list = missing.map(\.description).joined(separator: ", ")
            // A program may want no more than to be seen, so this is no mistake in itself.
            line.note("\(self) advertises services that have not been added: \(list). \(remedy)")
        }
    }

    private func warnOfCuts(_ placement: AdvertisementPlacement) {
        if placement.isNameShortened { line.note("\(self) advertises a shortened name; the whole does not fit") }
        guard !placement.omittedServices.isEmpty else { return }
        let list = placement.omittedServices.map(\.description).joined(separator: ", ")
        line.note("\(self) advertises without these services, which do not fit: \(list)")
    }
}
