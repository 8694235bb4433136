/// Streams of octets in channels, as both ends saw them: what arrives is what was sent, from its beginning, in order.
///
/// Each stream begins with its number, and each octet behind it follows from the number and its place.
final class StreamLedger {
    typealias Stream = UInt32

    /// Where a stream arrives: a player's life, and the channel there.
    struct Place: Hashable {
        var player: String
        var life: Int
        var channel: UInt64
    }

    private struct Arrival {
        var head: [UInt8] = []
        var stream: Stream?
        var count = 0
    }

    private static let headLength = 4

    private var sent: [Stream: Int] = [:]
    private var arrivals: [Place: Arrival] = [:]
    private var places: [Stream: Place] = [:]
    private var last: Stream = 0

    func begin() -> Stream {
        last += 1
        sent[last] = 0
        return last
    }

    private static func octet(_ place: Int, of stream: Stream) -> UInt8 {
        place < headLength
            ? UInt8(truncatingIfNeeded: stream >> (8 * place)) : UInt8(truncatingIfNeeded: place &* 31 &+ Int(stream))
    }

    /// The next octets of a stream, which are on their way from now on.
    func next(_ count: Int, of stream: Stream) -> [UInt8] {
        let first = sent[stream] ?? 0
        sent[stream] = first + count
        return (first..<first + count).map { Self.octet($0, of: stream) }
    }

    /// - Returns: what is wrong with what has arrived.
    func arrived(_ octets: [UInt8], at place: Place) -> String? {
        var arrival = arrivals[place] ?? Arrival()
        defer { arrivals[place] = arrival }
        for octet in octets {
            guard let stream = arrival.stream else {
                arrival.head.append(octet)
                arrival.count += 1
                if arrival.head.count == Self.headLength {
                    let stream = arrival.head.enumerated().reduce(0) { $0 | Stream($1.element) << (8 * $1.offset) }
                    guard sent[stream] != nil else { return "a stream arrives that nobody has sent" }
                    guard places.updateValue(place, forKey: stream) == nil else {
                        return "stream \(stream) arrives twice"
                    }
                    arrival.stream = stream
                }
                continue
            }
            guard arrival.count < sent[stream] ?? 0 else { return "stream \(stream) brings more than was sent" }
            guard octet == Self.octet(arrival.count, of: stream) else {
                return "octet \(arrival.count) of stream \(stream) is lost, doubled or damaged"
            }
            arrival.count += 1
        }
        return nil
    }
}
