import ATT
import EventLoop
import GATT
import ProtocolTestKit
import Testing

/// A bearer and the database that it serves, as one machine for ``Scene``.
struct ServedBearer: ProtocolMachine {
    var bearer: GATTConnection
    var database: AttributeDatabase

    init(_ database: AttributeDatabase = AttributeDatabase(), ownRxMTU: Int = 517) {
        bearer = GATTConnection(ownRxMTU: ownRxMTU)
        self.database = database
    }

    var deadline: Instant? { bearer.deadline }

    mutating func handle(_ input: GATTConnection.Input, at now: Instant) -> [GATTEffect] {
        bearer.handle(input, database: &database, at: now)
    }

    mutating func wake(at now: Instant) -> [GATTEffect] { bearer.wake(at: now) }
}

extension Scene<ServedBearer> {
    mutating func submit(_ id: UInt64, _ procedure: GATTProcedure, at location: SourceLocation = #_sourceLocation) {
        input(.submit(id: id, procedure), location)
    }

    mutating func receive(_ pdu: String, at location: SourceLocation = #_sourceLocation) {
        input(.receive(hex(pdu)[...]), location)
    }

    mutating func expectSent(_ pdu: String, at location: SourceLocation = #_sourceLocation) {
        expect(.send(hex(pdu)), sourceLocation: location)
    }

    /// The peer asks and is answered at once.
    mutating func exchange(_ request: String, _ answer: String, at location: SourceLocation = #_sourceLocation) {
        receive(request, at: location)
        expectSent(answer, at: location)
    }

    mutating func finish(
        _ id: UInt64, _ answer: GATTAnswer, at location: SourceLocation = #_sourceLocation
    ) {
        expect(.finish(id: id, .success(answer)), sourceLocation: location)
    }

    mutating func fail(
        _ id: UInt64, _ failure: GATTFailure, at location: SourceLocation = #_sourceLocation
    ) {
        expect(.finish(id: id, .failure(failure)), sourceLocation: location)
    }
}
