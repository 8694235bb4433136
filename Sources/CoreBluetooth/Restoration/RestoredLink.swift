import HostInterface

/// The state of a link that stands for one of an earlier run of the program. The objects of that link's services are
/// there; whether the device still has what they stand for is asked before the app hears of the link.
struct RestoredLink {
    /// Questions that are not answered yet; 0 while the link is still to come.
    var openQuestions = 0
    var isConfirmed = true
    /// What came before the app knew of the link.
    var notifications: [(handle: AttributeHandle, value: [UInt8])] = []

    /// A device that notifies a program that is not listening yet fills no memory.
    static let mostNotifications = 256
}

extension CBPeripheral {
    /// Tries to connect as the last run did. Called with the lock held.
    func resumeRestored() {
        guard isAwaitingRadio else { return }
        isAwaitingRadio = false
        guard linkState == .connecting else { return }
        linkNumber += 1
        attempt(linkNumber)
    }

    /// The link that was to come is there: asks whether the device has what was restored. Called with the lock held.
    func confirmRestored(_ number: Int, mtu: Int) {
        self.mtu = mtu
        let questions = restoredQuestions
        restoredLink = RestoredLink(openQuestions: questions.count)
        for question in questions {
            line.ask(question.request) { [weak self] answer in
                self?.restoredAnswered(number, answer, isConfirmed: question.isConfirmed(by: answer))
            }
        }
    }

    private func restoredAnswered(_ number: Int, _ answer: HostLine.Answer, isConfirmed: Bool) {
        // The end of the link comes by itself.
        if case .failure(let failure) = answer, failure.endsLink { return }
        let outcome: RestoredLink? = line.lock.withLock {
            guard linkNumber == number, linkState == .connecting, restoredLink != nil else { return nil }
            restoredLink?.openQuestions -= 1
            if !isConfirmed { restoredLink?.isConfirmed = false }
            return restoredLink?.openQuestions == 0 ? restoredLink : nil
        }
        if let outcome { restoredIsUp(outcome) }
    }

    private func restoredIsUp(_ link: RestoredLink) {
        let invalidated: [CBService] = line.lock.withLock {
            restoredLink = nil
            linkState = .connected
            writes = SendQueue()
            guard !link.isConfirmed else {
                resubscribe()
                return []
            }
            defer { forgetAttributes() }
            return foundServices ?? []
        }
        guard let manager else { return }
        manager.delegate?.centralManager(manager, didConnect: self)
        if !link.isConfirmed { delegate?.peripheral(self, didModifyServices: invalidated) }
        for (handle, value) in link.notifications { notified(handle, value) }
    }

    /// Switches on again what the app believes to be on. Called with the lock held.
    private func resubscribe() {
        let number = linkNumber
        for (_, characteristic) in knownCharacteristics.sorted(by: { $0.key < $1.key })
        where characteristic.isSubscribed {
            guard let remote = characteristic.remote else { continue }
            let kind: SubscriptionKind =
                characteristic.currentProperties.contains(.notify) ? .notifications : .indications
            line.ask(.subscribe(peer, remote, kind)) { [weak self] answer in
                guard let self, case .failure(let failure) = answer, !failure.endsLink else { return }
                let isCurrent = line.lock.withLock {
                    guard self.linkNumber == number, self.linkState == .connected else { return false }
                    characteristic.isSubscribed = false
                    return true
                }
                guard isCurrent else { return }
                delegate?.peripheral(self, didUpdateNotificationStateFor: characteristic, error: failure.error)
            }
        }
    }

    /// Keeps a notification for when the app knows of the link; true if this is the time for that. Called with the
    /// lock held.
    func holdsBack(_ handle: AttributeHandle, _ value: [UInt8]) -> Bool {
        guard linkState == .connecting, let link = restoredLink, link.openQuestions > 0 else { return false }
        if link.notifications.count < RestoredLink.mostNotifications {
            restoredLink?.notifications.append((handle, value))
        }
        return true
    }

    /// The link ended while the device was asked what it has: true, and it is tried again. Called with the lock held.
    func retriesRestored() -> Bool {
        guard linkState == .connecting, let link = restoredLink, link.openQuestions > 0 else { return false }
        restoredLink = RestoredLink()
        linkNumber += 1
        attempt(linkNumber)
        return true
    }

    // MARK: Questions

    private var restoredQuestions: [RestoredQuestion] {
        let services = knownServices.sorted { $0.key < $1.key }.map(\.value)
        // Those that were found only as parts of others are found there.
        let listed = Set((foundServices ?? []).compactMap(\.remote))
        var questions: [RestoredQuestion] = [.services(peer, listed)]
        for service in services {
            guard let remote = service.remote else { continue }
            if let included = service.discoveredIncludedServices {
                questions.append(.included(peer, remote, Set(included.compactMap(\.remote))))
            }
            guard let characteristics = service.discoveredCharacteristics else { continue }
            questions.append(.characteristics(peer, remote, Set(characteristics.compactMap(\.remote))))
            for characteristic in characteristics {
                guard let remote = characteristic.remote, let descriptors = characteristic.currentDescriptors else {
                    continue
                }
                questions.append(.descriptors(peer, remote, Set(descriptors.compactMap(\.remote))))
            }
        }
        return questions
    }
}

/// Does the device still have this?
private enum RestoredQuestion {
    case services(PeerID, Set<RemoteService>)
    case included(PeerID, RemoteService, Set<RemoteService>)
    case characteristics(PeerID, RemoteService, Set<RemoteCharacteristic>)
    case descriptors(PeerID, RemoteCharacteristic, Set<RemoteDescriptor>)

    var request: HostRequest {
        switch self {
        case .services(let peer, _): .discoverServices(peer, only: nil)
        case .included(let peer, let service, _): .discoverIncludedServices(peer, of: service)
        case .characteristics(let peer, let service, _): .discoverCharacteristics(peer, of: service)
        case .descriptors(let peer, let characteristic, _): .discoverDescriptors(peer, of: characteristic)
        }
    }

    func isConfirmed(by answer: HostLine.Answer) -> Bool {
        switch (self, answer) {
        case (.services(_, let known), .success(.services(let found))): known.isSubset(of: found)
        case (.included(_, _, let known), .success(.includedServices(let found))): known.isSubset(of: found)
        case (.characteristics(_, _, let known), .success(.characteristics(let found))): known.isSubset(of: found)
        case (.descriptors(_, _, let known), .success(.descriptors(let found))): known.isSubset(of: found)
        default: false
        }
    }
}
