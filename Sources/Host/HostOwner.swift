package import EventLoop

/// Whoever gives a host its loop, its transport and its wake-ups: a device of a simulated world, or a real adapter.
package protocol HostOwner: AnyObject, Sendable {
    var loop: any AdapterLoop { get }

    /// Runs `body` with the host, then does what follows from it: sends, and looks at the deadline anew. On the
    /// loop only.
    func withHost(_ body: (Host) -> Void)
}
