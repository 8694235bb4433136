/// A host as its controller sees it: HCI packets in, and a clock.
///
/// Its packets out go to the closure that it is made with. It may send from inside a call, and is never called back
/// from inside its sending.
package protocol HCIHost: AnyObject {
    /// When ``wake(at:)`` must be called; `nil` while it waits for nothing.
    var deadline: Instant? { get }

    /// Takes one packet from the controller, in its H4 form (Core 6.0, Vol 4, Part A, 2).
    func receive(_ packet: [UInt8], at now: Instant)

    func wake(at now: Instant)
}
