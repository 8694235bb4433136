package import Foundation

/// The receiving end as a value: frames and the time in, frames and what to store out.
package struct ReceiverMachine {
    package enum Effect: Equatable {
        case send(TransferFrame)
        /// Somebody offers something; ``ReceiverMachine/accept(from:checksum:at:)`` or ``ReceiverMachine/refuse(_:)``
        /// answers.
        case offered(TransferOffer)
        /// What follows what is stored already.
        case store(Data)
        /// All is stored, and intact or not.
        case complete(TransferOffer, isIntact: Bool)
    }

    private let window: UInt32
    private let messageLength: Int
    private(set) var offer: TransferOffer?
    /// All before it is stored.
    private(set) var next: UInt32 = 0
    private var checksum = Checksum()
    /// What came behind a gap, in the order of the offsets; at most a window of it.
    private var early: [(offset: UInt32, data: Data)] = []
    private var earlyOctets = 0
    private var isAsked = false
    private var hasEnded = false
    private var unacknowledged = 0
    private var acknowledgeBy: Duration?
    /// How many pieces have come since a gap was first told.
    private var sinceGap = 0

    /// So many pieces are acknowledged together, unless a pause comes first.
    private static let together = 8
    private static let pause = Duration.milliseconds(60)

    /// - Parameters:
    ///   - window: how many octets may be under way.
    ///   - messageLength: how long a message of the carrier may be.
    package init(window: UInt32, messageLength: Int) {
        self.window = window
        self.messageLength = messageLength
    }

    var deadline: Duration? { acknowledgeBy }

    package mutating func wake(at now: Duration) -> [Effect] {
        guard let due = acknowledgeBy, due <= now else { return [] }
        return [acknowledgement()]
    }

    package mutating func receive(_ frame: TransferFrame, at now: Duration) -> [Effect] {
        switch frame {
        case .offer(let new): return offered(new)
        case .data(let offset, let data): return offer == nil ? [] : take(offset, data, at: now)
        case .accept, .refuse, .acknowledge, .done: return []
        }
    }

    private mutating func offered(_ new: TransferOffer) -> [Effect] {
        if new == offer {
            if isAsked { return [] }
            if hasEnded { return [.send(.done(identifier: new.identifier))] }
            // The acceptance was lost, or the sender has begun anew.
            return [accepted(new)]
        }
        self = ReceiverMachine(window: window, messageLength: messageLength)
        offer = new
        isAsked = true
        return [.offered(new)]
    }

    /// - Parameters:
    ///   - offset: how much of it is stored already.
    ///   - checksum: of what is stored.
    package mutating func accept(from offset: UInt32, checksum: Checksum) -> [Effect] {
        guard let offer, isAsked else { return [] }
        isAsked = false
        next = min(offset, offer.length)
        self.checksum = checksum
        return [accepted(offer)] + completion()
    }

    mutating func refuse(_ refusal: TransferRefusal) -> [Effect] {
        guard let offer else { return [] }
        self.offer = nil
        return [.send(.refuse(identifier: offer.identifier, refusal))]
    }

    private func accepted(_ offer: TransferOffer) -> Effect {
        .send(.accept(identifier: offer.identifier, offset: next, window: window))
    }

    private mutating func take(_ offset: UInt32, _ data: Data, at now: Duration) -> [Effect] {
        guard let offer, !isAsked else { return [] }
        if hasEnded { return [.send(.done(identifier: offer.identifier))] }
        let end = UInt64(offset) + UInt64(data.count)
        // More than was offered or than there is room for is no piece of this transfer.
        guard end <= UInt64(offer.length), end <= UInt64(next) + UInt64(window) else { return [] }
        var effects: [Effect] = []
        if data.isEmpty || end <= UInt64(next) {
            // A question, or what is there already: the sender does not know how far we are.
            return [acknowledgement()]
        } else if offset <= next {
            effects += store(data.dropFirst(Int(next - offset)))
            drainEarly(&effects)
            unacknowledged += 1
        } else {
            keepEarly(offset, data)
            sinceGap += 1
        }
        effects += completion()
        if hasEnded { return effects }
        let hasGap = !early.isEmpty
        if !hasGap { sinceGap = 0 }
        let isDue = offer.isOneByOne || unacknowledged >= Self.together || hasGap && sinceGap % 4 == 1
        if isDue {
            effects.append(acknowledgement())
        } else if acknowledgeBy == nil {
            acknowledgeBy = now + Self.pause
        }
        return effects
    }

    private mutating func store(_ data: Data) -> [Effect] {
        next += UInt32(data.count)
        checksum.add(data)
        return [.store(Data(data))]
    }

    private mutating func keepEarly(_ offset: UInt32, _ data: Data) {
        let place = early.firstIndex { $0.offset >= offset } ?? early.endIndex
        if place < early.endIndex, early[place].offset == offset, early[place].data.count >= data.count { return }
        // Pieces that overlap, which no honest sender sends, could be more than a window.
        guard earlyOctets + data.count <= 2 * Int(window) else { return }
        earlyOctets += data.count
        early.insert((offset, data), at: place)
    }

    private mutating func drainEarly(_ effects: inout [Effect]) {
        while let first = early.first, first.offset <= next {
            early.removeFirst()
            earlyOctets -= first.data.count
            let end = UInt64(first.offset) + UInt64(first.data.count)
            if end > UInt64(next) { effects += store(first.data.dropFirst(Int(next - first.offset))) }
        }
    }

    private mutating func completion() -> [Effect] {
        guard let offer, next == offer.length, !hasEnded else { return [] }
        acknowledgeBy = nil
        let isIntact = checksum.value == offer.checksum
        if isIntact {
            hasEnded = true
            return [.complete(offer, isIntact: true), .send(.done(identifier: offer.identifier))]
        }
        self.offer = nil
        return [
            .complete(offer, isIntact: false), .send(.refuse(identifier: offer.identifier, .damaged)),
        ]
    }

    private mutating func acknowledgement() -> Effect {
        unacknowledged = 0
        acknowledgeBy = nil
        var ranges: [Range<UInt32>] = []
        for piece in early {
            let end = piece.offset + UInt32(piece.data.count)
            if let last = ranges.last, last.upperBound >= piece.offset {
                ranges[ranges.count - 1] = last.lowerBound..<max(last.upperBound, end)
            } else {
                ranges.append(piece.offset..<end)
            }
        }
        let room = TransferFrame.rangeCount(in: messageLength)
        return .send(.acknowledge(next: next, ranges: Array(ranges.prefix(room))))
    }
}
