import ByteCodec
package import EventLoop

/// The signalling channel of one LE link: answers the peer's commands, and asks for other connection parameters.
///
///              request               the response, Command Reject, or thirty seconds
///     idle ─────────────▶ waiting ────────────────────────────────────────────────────▶ finished, next in line
///
/// No credit-based channel is offered, so requests for one are refused. An answer that answers nothing is ignored,
/// and so is a command with the identifier 0.
///
/// Source: Core 6.0, Vol 3, Part A, 4 and 6.2.1 (RTX timer: one second to sixty).
package struct Signalling: ProtocolMachine {
    package enum Role: Equatable, Sendable {
        case central
        case peripheral
    }

    package enum Input: Equatable, Sendable {
        /// The payload of one PDU on channel 0x0005.
        case receive(ArraySlice<UInt8>)
        /// Ask the central for these parameters. For the peripheral only.
        case requestUpdate(ParameterUpdateRequest)
    }

    package enum Effect: Equatable, Sendable {
        /// Send the payload on channel 0x0005.
        case send([UInt8])
        /// The peripheral asks for these valid parameters, and was told yes: have the controller change the link.
        case update(ParameterUpdateRequest)
        /// A request ended. They end in the order in which they came.
        case updateFinished(Outcome)
    }

    package enum Outcome: Equatable, Sendable {
        case accepted
        case rejected
        case timedOut
        /// Nothing was sent: a central does not ask, and nobody asks for invalid parameters.
        case notPermitted
    }

    /// The longest command that is understood: the least that 4 demands of an LE device.
    static let maximumLength: UInt16 = 23
    package static let responseTimeout = Duration.seconds(30)

    private let role: Role
    private var lastIdentifier: UInt8 = 0
    private var waiting: (identifier: UInt8, until: Instant)?
    private var line: [ParameterUpdateRequest] = []

    package init(role: Role) { self.role = role }

    package var deadline: Instant? { waiting?.until }

    package mutating func handle(_ input: Input, at now: Instant) -> [Effect] {
        switch input {
        case .receive(let payload):
            return receive(payload, at: now)
        case .requestUpdate(let request):
            guard role == .peripheral, request.isValid else { return [.updateFinished(.notPermitted)] }
            line.append(request)
            return sendNext(at: now)
        }
    }

    package mutating func wake(at now: Instant) -> [Effect] {
        guard let waiting, waiting.until <= now else { return [] }
        return finish(.timedOut, at: now)
    }

    private mutating func sendNext(at now: Instant) -> [Effect] {
        guard waiting == nil, !line.isEmpty else { return [] }
        lastIdentifier = lastIdentifier == 255 ? 1 : lastIdentifier + 1
        waiting = (lastIdentifier, now.advanced(by: Self.responseTimeout))
        return [.send(line.removeFirst().payload(identifier: lastIdentifier))]
    }

    private mutating func finish(_ outcome: Outcome, at now: Instant) -> [Effect] {
        waiting = nil
        return [.updateFinished(outcome)] + sendNext(at: now)
    }
}

// MARK: - The peer's commands

extension Signalling {
    private mutating func receive(_ payload: ArraySlice<UInt8>, at now: Instant) -> [Effect] {
        let start = payload.startIndex
        guard payload.count >= 4, payload[start + 1] != 0 else { return [] }
        let code = SignallingCode(rawValue: payload[start])
        let identifier = payload[start + 1]
        let length = Int(payload[start + 2]) | Int(payload[start + 3]) << 8
        if payload.count > Self.maximumLength, !code.isAnswer {
            let mtu = [UInt8(truncatingIfNeeded: Self.maximumLength), 0]
            return [.send(CommandReject(.signallingMTUExceeded, data: mtu).payload(identifier: identifier))]
        }
        // One command is all that an LE frame may hold (4); what stands behind it is not read.
        let data = payload.dropFirst(4).prefix(length)
        do throws(PacketError) {
            guard data.count == length else { throw PacketError(.truncated, field: "Data") }
            return try answer(code, identifier, data, at: now)
        } catch {
            return code.isAnswer ? [] : [.send(CommandReject(.notUnderstood).payload(identifier: identifier))]
        }
    }

    private mutating func answer(
        _ code: SignallingCode, _ identifier: UInt8, _ data: ArraySlice<UInt8>, at now: Instant
    ) throws(PacketError) -> [Effect] {
        switch code {
        case .parameterUpdateRequest:
            // Only a central is asked (4.20).
            guard role == .central else { return [.send(CommandReject().payload(identifier: identifier))] }
            let request = try ParameterUpdateRequest(octets: data)
            let response = ParameterUpdateResponse(isAccepted: request.isValid).payload(identifier: identifier)
            return [.send(response)] + (request.isValid ? [.update(request)] : [])
        case .parameterUpdateResponse:
            guard waiting?.identifier == identifier else { return [] }
            let response = try ParameterUpdateResponse(octets: data)
            return finish(response.result == 0 ? .accepted : .rejected, at: now)
        case .commandReject:
            return waiting?.identifier == identifier ? finish(.rejected, at: now) : []
        case .disconnectionRequest:
            let request = try DisconnectionRequest(octets: data)
            return [.send(CommandReject(.invalidChannel, data: request.octets).payload(identifier: identifier))]
        case .leCreditBasedConnectionRequest:
            guard data.count == 10 else { throw PacketError(.truncated, field: "Data") }
            var response = LECreditBasedConnectionResponse()
            response.result = LECreditBasedConnectionResponse.spsmNotSupported
            return [.send(response.payload(identifier: identifier))]
        case .creditBasedConnectionRequest:
            let request = try CreditBasedConnectionRequest(octets: data)
            var response = CreditBasedConnectionResponse()
            response.result = CreditBasedConnectionResponse.spsmNotSupported
            response.destinations = request.sources.map { _ in 0 }
            return [.send(response.payload(identifier: identifier))]
        case .reconfigureRequest:
            var response = ReconfigureResponse()
            response.result = ReconfigureResponse.invalidChannel
            return [.send(response.payload(identifier: identifier))]
        case .flowControlCredit:
            return []
        default:
            return code.isAnswer ? [] : [.send(CommandReject().payload(identifier: identifier))]
        }
    }
}

extension SignallingCode {
    /// Whether it ends something; such a command is not answered, whatever is wrong with it.
    fileprivate var isAnswer: Bool {
        switch self {
        case .commandReject, .connectionResponse, .configurationResponse, .disconnectionResponse, .echoResponse,
            .informationResponse, .parameterUpdateResponse, .leCreditBasedConnectionResponse, .flowControlCredit,
            .creditBasedConnectionResponse, .reconfigureResponse:
            true
        default: false
        }
    }
}
