/// Why some octets are not the packet they were taken for.
///
/// It is an answer about the peer's input, never about this program: whoever decodes decides what the protocol
/// says to do, such as an ATT Error Response with *Invalid PDU*.
@usableFromInline
package struct PacketError: Error, Equatable {
    @usableFromInline
    package enum Reason: Equatable, Sendable {
        /// The packet ends inside the field.
        case truncated
        /// Octets are left over behind the last field.
        case trailing(octets: Int)
        /// The field has a value that the specification reserves.
        case valueNotAllowed(Int)
    }

    @usableFromInline
    package let reason: Reason
    /// The field's name in the specification.
    @usableFromInline
    package let field: String

    @inlinable
    package init(_ reason: Reason, field: StaticString) {
        self.reason = reason
        self.field = field.description
    }
}
