package import EventLoop

/// The client side of one ATT bearer: one request in flight, the others in line, thirty seconds to answer.
///
///              submit                 answer
///     idle ──────────────▶ waiting ──────────────▶ idle, or waiting for the next in line
///                             │ 30 s
///                             ▼
///                          expired, for good: the bearer must be dropped
///
/// Source: Core 6.0, Vol 3, Part F, 3.3.2 (one at a time) and 3.3.3 (thirty seconds).
package struct ATTClient: ProtocolMachine {
    package struct Request: Equatable, Sendable {
        package var id: UInt32
        package var pdu: [UInt8]

        package init(id: UInt32, pdu: [UInt8]) {
            self.id = id
            self.pdu = pdu
        }
    }

    package enum Input: Equatable, Sendable {
        case submit(Request)
        case receive([UInt8])
    }

    package enum Effect: Equatable, Sendable {
        /// Hand the PDU to the bearer.
        case send([UInt8])
        /// Tell whoever submitted the request.
        case finish(id: UInt32, Outcome)
        /// Log it: the peer answered a question that nobody asked.
        case reportStray([UInt8])
        /// Drop the bearer: nothing may be sent on it any more.
        case drop
    }

    package enum Outcome: Equatable, Sendable {
        /// The response, or the Error Response, as it came.
        case answered([UInt8])
        /// No answer came in time, or none can come any more.
        case expired
    }

    private enum State {
        case idle
        case waiting(Request, until: Instant)
        case expired
    }

    package static let transactionTimeout = Duration.seconds(30)

    private var state = State.idle
    private var line: [Request] = []

    package init() {}

    package var deadline: Instant? {
        if case .waiting(_, let deadline) = state { deadline } else { nil }
    }

    package mutating func handle(_ input: Input, at now: Instant) -> [Effect] {
        switch (state, input) {
        case (.idle, .submit(let request)):
            return start(request, at: now)
        case (.waiting, .submit(let request)):
            line.append(request)
            return []
        case (.expired, .submit(let request)):
            return [.finish(id: request.id, .expired)]

        case (.waiting(let request, _), .receive(let pdu)) where request.isAnswered(by: pdu):
            return [.finish(id: request.id, .answered(pdu))] + startNext(at: now)
        case (.idle, .receive(let pdu)), (.waiting, .receive(let pdu)):
            return [.reportStray(pdu)]
        case (.expired, .receive):
            return []
        }
    }

    package mutating func wake(at now: Instant) -> [Effect] {
        guard case .waiting(let request, let deadline) = state, deadline <= now else { return [] }
        let unanswered = [request] + line
        state = .expired
        line = []
        return unanswered.map { .finish(id: $0.id, .expired) } + [.drop]
    }

    private mutating func start(_ request: Request, at now: Instant) -> [Effect] {
        state = .waiting(request, until: now.advanced(by: Self.transactionTimeout))
        return [.send(request.pdu)]
    }

    private mutating func startNext(at now: Instant) -> [Effect] {
        state = .idle
        return line.isEmpty ? [] : start(line.removeFirst(), at: now)
    }
}

extension ATTClient.Request {
    /// Whether `pdu` is the response to this request, or the Error Response that names it.
    fileprivate func isAnswered(by pdu: [UInt8]) -> Bool {
        guard let asked = self.pdu.first, let answer = pdu.first else { return false }
        switch ATTOpcode(rawValue: answer) {
        case .errorResponse: return pdu.dropFirst().first == asked
        case let opcode: return opcode == ATTOpcode(rawValue: asked).response
        }
    }
}
