import ByteCodec
package import EventLoop

/// What one side of an ATT bearer asks and waits for: one PDU in flight, the others in line, thirty seconds to answer.
///
///              submit                 answer
///     idle ──────────────▶ waiting ──────────────▶ idle, or waiting for the next in line
///                             │ 30 s
///                             ▼
///                          expired, for good: the bearer must be dropped
///
/// The rule is the same for a client's requests and for a server's indications, so a bearer has two of these.
///
/// Source: Core 6.0, Vol 3, Part F, 3.3.2 (one at a time) and 3.3.3 (thirty seconds).
package struct ATTTransactions: ProtocolMachine, Sendable {
    package struct Request: Equatable, Sendable {
        package var id: UInt64
        package var pdu: [UInt8]

        package init(id: UInt64, pdu: [UInt8]) {
            self.id = id
            self.pdu = pdu
        }
    }

    package enum Input: Equatable, Sendable {
        case submit(Request)
        /// A response or a confirmation.
        case receive(ArraySlice<UInt8>)
        /// The link is gone, or the other side of this bearer has expired: nothing can be answered any more.
        case abandon
    }

    package enum Effect: Equatable, Sendable {
        /// Hand the PDU to the bearer.
        case send([UInt8])
        /// Tell whoever submitted the request.
        case finish(id: UInt64, Outcome)
        /// Log it: the peer's answer breaks the protocol, or nobody asked for it.
        case reportViolation([UInt8])
        /// Drop the bearer: nothing may be sent on it any more.
        case drop
    }

    package enum Outcome: Equatable, Sendable {
        /// The parameters of the response that belongs to the request.
        case answered(ArraySlice<UInt8>)
        case refused(ErrorResponse)
        /// The peer answered with what no answer to this request can be. The bearer lives on: with one request in
        /// flight, the answer can have belonged to no other.
        case illegal(String)
        /// No answer came in time.
        case expired
        /// None can come any more.
        case abandoned
    }

    private enum State {
        case idle
        case waiting(Request, until: Instant)
        case expired
        case abandoned
    }

    package static let timeout = Duration.seconds(30)

    private var state = State.idle
    private var line: [Request] = []

    package init() {}

    /// What is on its way to the peer, and since when.
    package var open: (opcode: ATTOpcode, since: Instant)? {
        guard case .waiting(let request, let deadline) = state, let opcode = request.pdu.first else { return nil }
        return (ATTOpcode(rawValue: opcode), deadline.advanced(by: .zero - Self.timeout))
    }

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
        case (.abandoned, .submit(let request)):
            return [.finish(id: request.id, .abandoned)]

        case (.waiting(let request, _), .receive(let pdu)):
            return finish(request, answeredBy: pdu) + startNext(at: now)
        case (.idle, .receive(let pdu)):
            return [.reportViolation(Array(pdu))]
        case (.expired, .receive), (.abandoned, .receive):
            return []

        case (.idle, .abandon), (.waiting, .abandon):
            return end(.abandoned, .abandoned)
        case (.expired, .abandon), (.abandoned, .abandon):
            return []
        }
    }

    package mutating func wake(at now: Instant) -> [Effect] {
        guard case .waiting(_, let deadline) = state, deadline <= now else { return [] }
        return end(.expired, .expired) + [.drop]
    }

    private mutating func start(_ request: Request, at now: Instant) -> [Effect] {
        state = .waiting(request, until: now.advanced(by: Self.timeout))
        return [.send(request.pdu)]
    }

    private mutating func startNext(at now: Instant) -> [Effect] {
        state = .idle
        return line.isEmpty ? [] : start(line.removeFirst(), at: now)
    }

    private mutating func end(_ state: State, _ outcome: Outcome) -> [Effect] {
        var unanswered = line
        if case .waiting(let request, _) = self.state { unanswered.insert(request, at: 0) }
        self.state = state
        line = []
        return unanswered.map { .finish(id: $0.id, outcome) }
    }

    /// Peers are known that name the wrong request, handle 0 or error 0 in an Error Response. It ends the request in
    /// flight all the same, and the violation is reported.
    private func finish(_ request: Request, answeredBy pdu: ArraySlice<UInt8>) -> [Effect] {
        guard let asked = request.pdu.first.map(ATTOpcode.init), let answer = pdu.first.map(ATTOpcode.init) else {
            return [.reportViolation([]), .finish(id: request.id, .illegal("a PDU without an opcode"))]
        }
        if answer == asked.response { return [.finish(id: request.id, .answered(pdu.dropFirst()))] }
        let violation = Effect.reportViolation(Array(pdu))
        guard answer == .errorResponse else {
            let text = "opcode \(answer.rawValue) does not answer opcode \(asked.rawValue)"
            return [violation, .finish(id: request.id, .illegal(text))]
        }
        do throws(PacketError) {
            let error = try ErrorResponse(octets: pdu.dropFirst())
            guard error.code.rawValue != 0 else {
                return [violation, .finish(id: request.id, .illegal("Error Response without an error"))]
            }
            return (error.request == asked ? [] : [violation]) + [.finish(id: request.id, .refused(error))]
        } catch {
            return [violation, .finish(id: request.id, .illegal("Error Response: \(error)"))]
        }
    }
}
