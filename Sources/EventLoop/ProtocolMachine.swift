/// A protocol's state, without the I/O: inputs go in, effects come out.
///
/// A machine is a value. It does not send, sleep, call back or read a clock, so whatever it does can be written down
/// as a list of inputs and effects: as a test, as a trace, as a replay of somebody's bug.
package protocol ProtocolMachine {
    associatedtype Input
    associatedtype Effect

    /// When the owner must call ``wake(at:)`` unless an input comes first; `nil` while the machine waits for nothing.
    ///
    /// It is computed from the state. No timer is armed or cancelled, so none can be forgotten.
    var deadline: Instant? { get }

    /// Takes one input to its end, and returns what the owner must now do, in order.
    mutating func handle(_ input: Input, at now: Instant) -> [Effect]

    /// Lets the machine act on the time. Coming early, or once too often, does no harm.
    mutating func wake(at now: Instant) -> [Effect]
}
