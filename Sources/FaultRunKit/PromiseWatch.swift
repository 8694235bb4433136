import HostInterface

/// What a host promises one client: each request ends once, and nothing is told of a link that is not up.
final class PromiseWatch {
    private var waiting: [RequestNumber: HostRequest] = [:]
    private(set) var isLinkUp = false
    private var subscriptions: Set<Subscription> = []
    private var channels: Set<ChannelNumber> = []
    private var closing: [RequestNumber: ChannelNumber] = [:]
    /// Whose periodic advertising is followed.
    private var trains: Set<PeerID> = []
    private var asked: [PairingQuestionID: PairingQuestion] = [:]

    private struct Subscription: Hashable {
        let central: PeerID
        let characteristic: AttributeHandle
    }

    /// What waits, in the order of the numbers.
    var open: [(RequestNumber, HostRequest)] {
        waiting.sorted { $0.key.rawValue < $1.key.rawValue }.map { ($0.key, $0.value) }
    }

    /// What the person has been asked and needs to answer still.
    var questions: [PairingQuestion] { asked.values.sorted { $0.id.rawValue < $1.id.rawValue } }

    /// The channel that a request has closed, now that it was answered.
    func closed(by number: RequestNumber) -> ChannelNumber? { closing.removeValue(forKey: number) }

    func began(_ number: RequestNumber, _ request: HostRequest) { waiting[number] = request }

    /// What is wrong with the event.
    func heard(_ event: HostEvent) -> [String] {
        switch event {
        case .answer(let number, let result): return heard(result, to: number)
        case .state(let state):
            if case .poweredOn = state { return [] }
            isLinkUp = false
            let left = channels.count + asked.count + trains.count
            return left == 0 ? [] : ["the radio is off, and \(left) channels, questions or trains are still there"]
        case .disconnected:
            defer { isLinkUp = false }
            return isLinkUp ? [] : ["a link ended that was not up"]
        case .notified, .mtuChanged, .nameChanged, .servicesChanged:
            return isLinkUp ? [] : ["there is no link, but \(event)"]
        case .subscribed(let central, let characteristic, mtu: _):
            let isNew = subscriptions.insert(Subscription(central: central, characteristic: characteristic)).inserted
            return isNew ? [] : ["subscribed twice: \(event)"]
        case .unsubscribed(let central, let characteristic):
            let subscription = Subscription(central: central, characteristic: characteristic)
            return subscriptions.remove(subscription) == nil ? ["was not subscribed: \(event)"] : []
        case .channelOpened(let channel):
            return channels.insert(channel.number).inserted ? [] : ["opened twice: \(event)"]
        case .channelReceived(let number, _): return channels.contains(number) ? [] : ["no channel, but \(event)"]
        case .channelClosed(let number, _): return channels.remove(number) == nil ? ["no channel, but \(event)"] : []
        case .periodicReport(let peer, _): return trains.contains(peer) ? [] : ["not followed, but \(event)"]
        case .synchronizationLost(let peer): return trains.remove(peer) == nil ? ["not followed, but \(event)"] : []
        case .security(let event): return heard(event)
        case .peerKnown, .discovered, .readRequested, .writeRequested, .centralMTUChanged: return []
        }
    }

    private func heard(_ event: SecurityEvent) -> [String] {
        switch event {
        case .asked(let question): return asked.updateValue(question, forKey: question.id) == nil ? [] : ["asked twice"]
        case .questionEnded(let id): return asked.removeValue(forKey: id) == nil ? ["no question, but \(event)"] : []
        case .secured, .failed, .bonded, .bondRemoved, .storeFailed: return []
        }
    }

    private func heard(_ result: Result<HostAnswer, HostFailure>, to number: RequestNumber) -> [String] {
        guard let request = waiting.removeValue(forKey: number) else {
            return ["request \(number.rawValue) was answered twice: \(result)"]
        }
        switch (request, result) {
        case (.connect, .success): isLinkUp = true
        case (.disconnect, .success): isLinkUp = false
        case (.openChannel, .success(.channel(let channel))): channels.insert(channel.number)
        case (.synchronize(let peer, _), .success): trains.insert(peer)
        case (.endSynchronization(let peer), .success): trains.remove(peer)
        case (.closeChannel(let channel), _):
            channels.remove(channel)
            closing[number] = channel
        default: break
        }
        return []
    }
}
