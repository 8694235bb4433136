import EventLoop
import HCI
import LinkLayer

// Connection subrating: Core 6.0, Vol 4, Part E, 7.8.115, 7.8.123, 7.8.124 and 7.7.65.35.

extension VirtualController {
    /// `false` if the command is of another kind.
    func takeSubrateCommand(_ opcode: HCIOpcode, _ parameters: ArraySlice<UInt8>, at now: Instant) -> Bool {
        switch opcode {
        case .leSetHostFeature:
            run(LESetHostFeature.self, parameters) { command throws(HCIErrorCode) in
                let feature = LEFeatures(rawValue: 1 << UInt64(command.bit))
                guard Self.hostsFeatures.contains(feature) else { throw .unsupportedFeature }
                // A peer that knows the features would not learn of it.
                guard self.links.isEmpty else { throw .commandDisallowed }
                if command.isSet {
                    self.settings.hostFeatures.insert(feature)
                } else {
                    self.settings.hostFeatures.remove(feature)
                }
            }
        case .leSetDefaultSubrate:
            run(LESetDefaultSubrate.self, parameters) { command throws(HCIErrorCode) in
                self.settings.subrates = try Self.request(command.range)
            }
        case .leSubrateRequest:
            begin(LESubrateRequest.self, parameters) { command throws(HCIErrorCode) in
                let link = try self.checkedLink(command.handle)
                let request = try Self.request(command.range)
                guard request.holds(request.factorMax, interval: link.connection.timing.interval) else {
                    throw .invalidParameters
                }
                guard !link.connection.isUpdating else { throw .commandDisallowed }
                return { self.start(.subrate(request), on: link, at: now) }
            }
        default:
            return false
        }
        return true
    }

    /// What it is for the host to say. Vol 6, Part B, 4.6.
    private static let hostsFeatures: LEFeatures = [.connectionSubratingHost]

    private static func request(_ range: SubrateRange) throws(HCIErrorCode) -> SubrateRequest {
        guard range.factorMin <= range.factorMax else { throw .invalidParameters }
        let request = SubrateRequest(
            factors: range.factorMin...range.factorMax, maxLatency: range.maxLatency,
            continuation: range.continuation, timeout: range.supervisionTimeout)
        guard request.isValid else { throw .invalidParameters }
        return request
    }

    func emitSubrating(of link: Link, _ status: HCIErrorCode) {
        var event = LESubrateChange()
        event.status = status
        event.handle = link.handle
        event.factor = UInt16(link.connection.subrating.factor)
        event.latency = link.connection.timing.latency
        event.continuation = UInt16(link.connection.subrating.continuation)
        event.supervisionTimeout = link.connection.timing.timeout
        emit(event)
    }
}
