package import Foundation

/// The sending end as a value: frames and the time in, frames out.
///
/// The carrier keeps messages in order; it may lose some. So a piece is lost as soon as one that was sent after it has
/// arrived, and is sent again at once. A timer is needed for the last ones of a silence only.
package struct SenderMachine {
    enum Phase: Equatable {
        case offering, sending, done
        case refused(TransferRefusal)
        /// The receiver has said nothing for too long.
        case silent
    }

    private struct Piece {
        var offset: UInt32
        var count: Int
        /// How many frames had been sent before it.
        var order: UInt64
    }

    let offer: TransferOffer
    private let pieceLength: Int
    private(set) var phase = Phase.offering
    /// The receiver has all before it.
    private(set) var acknowledged: UInt32 = 0
    private(set) var resumedFrom: UInt32?
    private(set) var repeated = 0
    private var window: UInt32 = 0
    private var nextOffset: UInt32 = 0
    /// Sent and not acknowledged, in the order of their offsets.
    private var open: [Piece] = []
    private var lost: [Piece] = []
    private var order: UInt64 = 0
    private var mustSpeak = true
    /// When something was last sent or heard.
    private var lastEvent: Duration
    private var lastHeard: Duration
    private var patience = Self.firstPatience

    static let firstPatience = Duration.milliseconds(500)
    static let longestPatience = Duration.seconds(4)
    /// After that the receiver is given up.
    static let longestSilence = Duration.seconds(30)

    /// - Parameter messageLength: how long a message of the carrier may be.
    package init(_ offer: TransferOffer, messageLength: Int, at now: Duration) {
        self.offer = offer
        pieceLength = max(1, messageLength - TransferFrame.dataOverhead)
        lastEvent = now
        lastHeard = now
    }

    var isOver: Bool { phase != .offering && phase != .sending }

    /// When ``wake(at:)`` must be called if nothing comes before.
    var deadline: Duration? { isOver ? nil : min(lastEvent + patience, lastHeard + Self.longestSilence) }

    package mutating func wake(at now: Duration) {
        guard let deadline, deadline <= now else { return }
        if now - lastHeard >= Self.longestSilence {
            phase = .silent
            return
        }
        patience = min(patience * 2, Self.longestPatience)
        lastEvent = now
        mustSpeak = true
        // The first open piece makes the receiver answer; its answer shows what else is missing.
        if !open.isEmpty { lost = [open.removeFirst()] + lost }
    }

    package mutating func receive(_ frame: TransferFrame, at now: Duration) {
        switch frame {
        case .accept(offer.identifier, let offset, let window):
            guard phase == .offering, offset <= offer.length else { return }
            phase = .sending
            acknowledged = offset
            nextOffset = offset
            resumedFrom = offset
            self.window = max(window, UInt32(pieceLength))
        case .refuse(offer.identifier, let refusal) where !isOver: phase = .refused(refusal)
        case .done(offer.identifier) where !isOver:
            acknowledged = offer.length
            phase = .done
        case .acknowledge(let next, let ranges) where phase == .sending: take(next, ranges)
        case .accept, .refuse, .done, .acknowledge, .offer, .data: return
        }
        lastHeard = now
        lastEvent = now
        patience = Self.firstPatience
    }

    private mutating func take(_ next: UInt32, _ ranges: [Range<UInt32>]) {
        guard next <= nextOffset else { return }
        acknowledged = max(acknowledged, next)
        func isThere(_ piece: Piece) -> Bool {
            let end = piece.offset + UInt32(piece.count)
            return end <= next || ranges.contains { $0.lowerBound <= piece.offset && end <= $0.upperBound }
        }
        let latest = open.lazy.filter(isThere).map(\.order).max()
        open.removeAll(where: isThere)
        lost.removeAll(where: isThere)
        guard let latest else { return }
        lost += open.filter { $0.order < latest }
        open.removeAll { $0.order < latest }
        lost.sort { $0.offset < $1.offset }
    }

    /// What to send now that there is room; `nil` if it is the receiver's turn.
    package mutating func next(at now: Duration, read: (UInt32, Int) throws -> Data) rethrows -> TransferFrame? {
        switch phase {
        case .offering:
            guard mustSpeak else { return nil }
            mustSpeak = false
            lastEvent = now
            return .offer(offer)
        case .sending:
            return try nextPiece(at: now, read)
        case .done, .refused, .silent: return nil
        }
    }

    private mutating func nextPiece(
        at now: Duration, _ read: (UInt32, Int) throws -> Data
    ) rethrows -> TransferFrame? {
        var piece: Piece
        let limit = offer.isOneByOne ? UInt32(pieceLength) : window
        if !lost.isEmpty {
            piece = lost.removeFirst()
            repeated += 1
        } else if nextOffset < offer.length {
            let count = min(pieceLength, Int(offer.length - nextOffset))
            // The receiver keeps what lies behind a gap, and has room for a window of it.
            guard UInt64(nextOffset) + UInt64(count) <= UInt64(acknowledged) + UInt64(limit) else { return nil }
            piece = Piece(offset: nextOffset, count: count, order: 0)
            nextOffset += UInt32(count)
        } else if mustSpeak, open.isEmpty {
            // All is acknowledged but its end: a piece of nothing asks for it.
            mustSpeak = false
            lastEvent = now
            return .data(offset: offer.length, Data())
        } else {
            return nil
        }
        order += 1
        piece.order = order
        lastEvent = now
        mustSpeak = false
        let place = open.firstIndex { $0.offset > piece.offset } ?? open.endIndex
        open.insert(piece, at: place)
        return .data(offset: piece.offset, try read(piece.offset, piece.count))
    }
}
