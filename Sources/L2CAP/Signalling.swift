import ByteCodec
package import EventLoop

/// The signalling channel of one LE link, and the credit-based channels that are opened, closed and reconfigured
/// over it.
///
///              request               the response, Command Reject, or the time is up
///     idle ─────────────▶ waiting ─────────────────────────────────────────────────────▶ finished
///
/// Requests about channels may wait side by side; connection parameters are asked for one at a time. An answer that
/// answers nothing is ignored, and so is a command with the identifier 0.
///
/// Source: Core 6.0, Vol 3, Part A, 4 and 6.2 (RTX timer: one second to sixty; ERTX: sixty to three hundred).
package struct Signalling: ProtocolMachine {
    package enum Role: Equatable, Sendable {
        case central
        case peripheral
    }

    package enum Input: Equatable, Sendable {
        /// The payload of one PDU on channel 0x0005.
        case receive(ArraySlice<UInt8>)
        /// The payload of one PDU on a dynamic channel.
        case receiveFrame(ChannelID, ArraySlice<UInt8>)
        /// Ask the central for these parameters. For the peripheral only.
        case requestUpdate(ParameterUpdateRequest)
        /// Open channels of what the peer offers under `spsm`: one, or up to five enhanced ones. `capacity` is what
        /// this side takes on them; `nil`: as on others.
        case open(id: UInt64, spsm: UInt16, mode: ChannelMode, count: Int, capacity: ChannelCapacity? = nil)
        /// Send an SDU, no longer than the peer's MTU. On a channel that is not open it is lost, and so is its token.
        case send(ChannelID, [UInt8], token: UInt64?)
        /// So many octets of what came on the channel have been read: the peer may send more.
        case read(ChannelID, Int)
        case close(ChannelID)
        /// Take more on these enhanced channels from now on.
        case reconfigure(id: UInt64, [ChannelID], mtu: UInt16, mps: UInt16)
    }

    package enum Effect: Equatable, Sendable {
        /// Send the payload on channel 0x0005.
        case send([UInt8])
        /// The peripheral asks for these valid parameters, and was told yes: have the controller change the link.
        case update(ParameterUpdateRequest)
        /// A request ended. They end in the order in which they came.
        case updateFinished(Outcome)
        /// Send this PDU, whose header is there already. The token is that of the SDU which it ends.
        case sendFrame([UInt8], token: UInt64?)
        /// `open` ended: with these channels, one at least.
        case opened(id: UInt64, [ChannelID])
        case openFailed(id: UInt64, ChannelFailure)
        /// The peer opened a channel of an offer.
        case accepted(ChannelID)
        /// An SDU.
        case received(ChannelID, ArraySlice<UInt8>)
        /// An open channel ended, and with it what had not been sent.
        case closed(ChannelID, ChannelEnd, unsent: [UInt64])
        case reconfigured(id: UInt64, ChannelFailure?)
        /// The peer takes longer SDUs on a channel than before.
        case peerTakesMore(ChannelID)
    }

    package enum Outcome: Equatable, Sendable {
        case accepted
        case rejected
        case timedOut
        /// Nothing was sent: a central does not ask, and nobody asks for invalid parameters.
        case notPermitted
    }

    /// A request of this side, without an answer so far.
    struct Pending: Sendable {
        enum Kind: Equatable, Sendable {
            case update
            case open(id: UInt64, mode: ChannelMode, [ChannelID])
            case close(ChannelID)
            case reconfigure(id: UInt64, [ChannelID], mtu: UInt16, mps: UInt16)
        }

        var identifier: UInt8
        var since: Instant
        var until: Instant
        var kind: Kind
    }

    /// The longest command that is understood: the least that 4 demands of an LE device. Five channels at once fit.
    static let maximumLength: UInt16 = 23
    package static let responseTimeout = Duration.seconds(30)
    /// Once the peer has said that it will take its time.
    package static let extendedTimeout = Duration.seconds(120)

    private let role: Role
    /// What a peer may open.
    package var offers: [ChannelOffer] = []
    package var protection = LinkProtection()
    let capacity: ChannelCapacity
    private var lastIdentifier: UInt8 = 0
    var pending: [Pending] = []
    private var line: [ParameterUpdateRequest] = []
    /// In the order of their numbers.
    var channels: [CreditBasedChannel] = []

    /// - Parameter capacity: what this side takes on each channel.
    package init(role: Role, capacity: ChannelCapacity = ChannelCapacity()) {
        self.role = role
        self.capacity = capacity
    }

    package var deadline: Instant? { pending.map(\.until).min() }

    /// The requests that the peer has not answered yet: what of, for a person, and since when.
    package var open: [(what: String, since: Instant)] {
        pending.map { request in
            let what =
                switch request.kind {
                case .update: "the answer about connection parameters"
                case .open: "the answer to the opening of a channel"
                case .close: "the answer to the closing of a channel"
                case .reconfigure: "the answer about a channel's sizes"
                }
            return (what, request.since)
        }
    }

    package mutating func handle(_ input: Input, at now: Instant) -> [Effect] {
        switch input {
        case .receive(let payload): return receive(payload, at: now)
        case .receiveFrame(let channel, let payload): return receiveFrame(payload, on: channel, at: now)
        case .requestUpdate(let request):
            guard role == .peripheral, request.isValid else { return [.updateFinished(.notPermitted)] }
            line.append(request)
            return sendNextUpdate(at: now)
        case .open(let id, let spsm, let mode, let count, let capacity):
            return open(
                id: id, spsm: spsm, mode: mode, count: count, capacity: capacity ?? self.capacity, at: now)
        case .send(let channel, let octets, let token): return send(octets, on: channel, token: token)
        case .read(let channel, let count): return read(count, on: channel)
        case .close(let channel): return close(channel, at: now)
        case .reconfigure(let id, let channels, let mtu, let mps):
            return reconfigure(id: id, channels, mtu: mtu, mps: mps, at: now)
        }
    }

    package mutating func wake(at now: Instant) -> [Effect] {
        var effects: [Effect] = []
        while let index = pending.firstIndex(where: { $0.until <= now }) {
            effects += failed(pending.remove(at: index).kind, .timedOut, at: now)
        }
        return effects
    }

    // MARK: Requests

    /// Sends a request, and waits for its answer.
    mutating func ask(_ kind: Pending.Kind, _ command: some SignallingCommand, at now: Instant) -> Effect {
        let identifier = nextIdentifier()
        pending.append(
            Pending(
                identifier: identifier, since: now, until: now.advanced(by: Self.responseTimeout), kind: kind))
        return .send(command.payload(identifier: identifier))
    }

    /// One that no open request has: each channel has one at most, and there are fewer of them than identifiers.
    mutating func nextIdentifier() -> UInt8 {
        repeat {
            lastIdentifier = lastIdentifier == 255 ? 1 : lastIdentifier + 1
        } while pending.contains { $0.identifier == lastIdentifier }
        return lastIdentifier
    }

    private mutating func sendNextUpdate(at now: Instant) -> [Effect] {
        guard !line.isEmpty, !pending.contains(where: { $0.kind == .update }) else { return [] }
        return [ask(.update, line.removeFirst(), at: now)]
    }

    private mutating func updateEnded(_ outcome: Outcome, at now: Instant) -> [Effect] {
        [.updateFinished(outcome)] + sendNextUpdate(at: now)
    }

    /// A request ended without an answer of its kind.
    private mutating func failed(_ kind: Pending.Kind, _ failure: ChannelFailure, at now: Instant) -> [Effect] {
        switch kind {
        case .update: return updateEnded(failure == .timedOut ? .timedOut : .rejected, at: now)
        case .open(let id, _, let opening):
            channels.removeAll { opening.contains($0.local) }
            return [.openFailed(id: id, failure)]
        case .close(let channel): return disconnected(channel)
        case .reconfigure(let id, _, _, _): return [.reconfigured(id: id, failure)]
        }
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
            return try code.isAnswer
                ? take(code, identifier, data, at: now) : answer(code, identifier, data, at: now)
        } catch {
            return code.isAnswer ? [] : [.send(CommandReject(.notUnderstood).payload(identifier: identifier))]
        }
    }

    /// A request.
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
        case .disconnectionRequest:
            return disconnect(try DisconnectionRequest(octets: data), identifier, at: now)
        case .leCreditBasedConnectionRequest:
            return accept(try LECreditBasedConnectionRequest(octets: data), identifier)
        case .creditBasedConnectionRequest:
            return accept(try CreditBasedConnectionRequest(octets: data), identifier)
        case .reconfigureRequest:
            return reconfigure(try ReconfigureRequest(octets: data), identifier)
        default:
            return [.send(CommandReject().payload(identifier: identifier))]
        }
    }

    /// An answer, or what is not answered.
    private mutating func take(
        _ code: SignallingCode, _ identifier: UInt8, _ data: ArraySlice<UInt8>, at now: Instant
    ) throws(PacketError) -> [Effect] {
        if code == .flowControlCredit { return takeCredits(try FlowControlCredit(octets: data), at: now) }
        guard let index = pending.firstIndex(where: { $0.identifier == identifier }) else { return [] }
        switch (code, pending[index].kind) {
        case (.commandReject, let kind):
            pending.remove(at: index)
            return failed(kind, .rejected, at: now)
        case (.parameterUpdateResponse, .update):
            let response = try ParameterUpdateResponse(octets: data)
            pending.remove(at: index)
            return updateEnded(response.result == 0 ? .accepted : .rejected, at: now)
        case (.leCreditBasedConnectionResponse, .open(let id, .leCreditBased, let opening)):
            let response = try LECreditBasedConnectionResponse(octets: data)
            pending.remove(at: index)
            return opened(id, opening, response, at: now)
        case (.creditBasedConnectionResponse, .open(let id, .enhanced, let opening)):
            let response = try CreditBasedConnectionResponse(octets: data)
            if ChannelResult(rawValue: response.result).isPending {
                pending[index].until = now.advanced(by: Self.extendedTimeout)
                return []
            }
            pending.remove(at: index)
            return opened(id, opening, response, at: now)
        case (.disconnectionResponse, .close(let channel)):
            let response = try DisconnectionResponse(octets: data)
            // One that names other channels answers something else (4.7).
            guard response.source == channel.rawValue else { return [] }
            pending.remove(at: index)
            return disconnected(channel)
        case (.reconfigureResponse, .reconfigure(let id, let channels, let mtu, let mps)):
            let response = try ReconfigureResponse(octets: data)
            pending.remove(at: index)
            return reconfigured(id, channels, mtu, mps, ReconfigureResult(rawValue: response.result))
        default:
            return []
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
