import ATT
import ByteCodec

/// A procedure under way: each answer leads to the next request, or to the end.
protocol ClientProcedure: Sendable {
    mutating func start(mtu: Int) throws(GATTFailure) -> ProcedureStep

    /// - Parameter parameters: those of the response that belongs to the last request.
    mutating func proceed(_ parameters: ArraySlice<UInt8>, mtu: Int) throws(GATTFailure) -> ProcedureStep

    /// The peer refused the last request.
    mutating func proceed(refused code: ATTErrorCode) throws(GATTFailure) -> ProcedureStep
}

enum ProcedureStep {
    case request([UInt8])
    case finish(GATTAnswer)
}

extension ClientProcedure {
    mutating func proceed(refused code: ATTErrorCode) throws(GATTFailure) -> ProcedureStep {
        throw .refused(code)
    }

    func decode<Response: ATTParameters>(
        _ type: Response.Type, _ parameters: ArraySlice<UInt8>
    ) throws(GATTFailure) -> Response {
        do throws(PacketError) {
            return try Response(octets: parameters)
        } catch {
            throw .illegalAnswer("\(type): \(error.field): \(error.reason)")
        }
    }
}

/// How far a search through a range of handles has come. Every answer must lead forward, so that no peer can keep a
/// search going for ever.
struct SearchProgress: Sendable {
    /// Where the next request starts; `nil` once the range is searched.
    private(set) var next: UInt16?
    let end: UInt16

    init(_ range: ClosedRange<UInt16>) {
        next = range.lowerBound
        end = range.upperBound
    }

    /// - Parameter handle: the last one before the range, which is empty if that is its end already.
    init(behind handle: UInt16, through end: UInt16) {
        next = handle < end ? handle + 1 : nil
        self.end = end
    }

    /// Takes note of one attribute or group in an answer.
    mutating func pass(_ first: UInt16, through last: UInt16) throws(GATTFailure) {
        guard let next, first >= next else {
            throw .illegalAnswer("handle \(first) stands before where the search goes on")
        }
        guard last >= first else { throw .illegalAnswer("a group from handle \(first) to \(last)") }
        guard last <= end else { throw .illegalAnswer("handle \(last) lies behind \(end), where the search ends") }
        self.next = last == end ? nil : last + 1
    }
}
