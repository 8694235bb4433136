import BluetoothTypes
import EventLoop
import LinkLayer
import Testing

/// The peer of one connection, by hand: each event is one packet of its own and one of the connection.
struct PeerBench {
    var connection: Connection
    private(set) var now: Instant
    private(set) var reports: [ConnectionReport] = []
    private var sequence = false
    private var nextExpected = false

    /// - Parameter role: of the connection that is tested.
    init(role: ConnectionRole, hostAnswers: Bool = true, features: UInt64 = 0b10_1110) {
        var offer = ConnectIndication()
        offer.accessAddress = 0x5065_5DAB
        offer.timing = ConnectionTiming(interval: 24, latency: 0, timeout: 100)
        let end = Instant(sinceStart: .seconds(1))
        connection = Connection(
            ConnectionSetup(role: role, peer: DeviceAddress(1), offer: offer, usesAlgorithm2: true, end: end),
            capabilities: LinkCapabilities(
                features: features, version: VersionIndication(version: 0x0E, company: 0xFFFF, subversion: 1),
                maxOctets: 251, clockAccuracy: 50, hostAnswersParameterRequests: hostAnswers, completionBatch: 6))
        now = end
    }

    /// Plays one event with a well-behaved peer that sends `payload`, and returns what the connection sent.
    mutating func exchange(_ kind: DataHeader.Kind = .continuation, _ payload: [UInt8] = []) -> [UInt8] {
        guard let start = connection.nextStart else { return [] }
        now = start
        let order = handle(.granted(limit: nil))
        var answer: [UInt8] = []
        if connection.role == .central {
            answer = take(order)
            _ = handle(.sent)
            hear(frame(kind, payload))
            nextIfMore()
        } else {
            answer = take(hear(frame(kind, payload)))
            _ = handle(.sent)
            nextIfMore()
        }
        return answer
    }

    /// Whatever the connection wants beyond one exchange, it meets with silence.
    private mutating func nextIfMore() {
        while true {
            switch handle(.silence) {
            case .transmit: _ = handle(.sent)
            case .listen: continue
            case .release: return
            }
        }
    }

    /// Plays one event in which any packet may come.
    mutating func hearAnything(header: UInt16, payload: [UInt8], isIntact: Bool) {
        guard let start = connection.nextStart else { return }
        now = max(now, start)
        var order = handle(.granted(limit: nil))
        for _ in 0..<4 {
            switch order {
            case .transmit(let frame, let at):
                now = at.advanced(by: frame.duration)
                order = handle(.sent)
            case .listen:
                let frame = RadioFrame(
                    channel: 0, accessAddress: connection.accessAddress, header: header, payload: payload[...])
                order = hear(frame, isIntact: isIntact)
            case .release:
                return
            }
        }
        _ = handle(.revoked)
    }

    mutating func report() -> ConnectionReport? { reports.isEmpty ? nil : reports.removeFirst() }

    mutating func run(_ body: (inout Connection, Instant, inout [ConnectionReport]) -> Void) {
        body(&connection, now, &reports)
    }

    private mutating func handle(_ input: RadioInput) -> RadioOrder {
        connection.handle(input, at: now, reports: &reports)
    }

    @discardableResult
    private mutating func hear(_ frame: RadioFrame, isIntact: Bool = true) -> RadioOrder {
        let start = now
        now = now.advanced(by: frame.duration)
        return handle(.heard(Reception(frame: frame, start: start, rssi: -50, isIntact: isIntact)))
    }

    private mutating func frame(_ kind: DataHeader.Kind, _ payload: [UInt8]) -> RadioFrame {
        let header = DataHeader(
            kind, nextExpected: nextExpected, sequence: sequence, hasMoreData: false, payloadCount: payload.count)
        sequence.toggle()
        return RadioFrame(
            channel: 0, accessAddress: connection.accessAddress, header: header.rawValue, payload: payload[...])
    }

    private mutating func take(_ order: RadioOrder) -> [UInt8] {
        guard case .transmit(let frame, _) = order else { return [] }
        nextExpected.toggle()
        return Array(frame.payload)
    }
}
