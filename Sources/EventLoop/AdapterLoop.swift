/// The one loop on which an adapter's host runs, as seen from other threads.
///
/// Two exist: the simulated world, whose time moves when nobody has anything to do, and the real-time loop, which is
/// one thread. Each guards its inbox, so that anybody may ``enqueue(_:)``; whatever lives on the loop (host, transport,
/// timers) belongs to the loop's thread alone, and needs no lock.
package protocol AdapterLoop: AnyObject, Sendable {
    /// Runs `work` on the loop, behind what came before it. Any thread may call it, the loop's own too; it never
    /// runs `work` inline.
    func enqueue(_ work: @escaping @Sendable (Instant) -> Void)

    /// Asks that `settle` be called before simulated time moves: it returns when whoever was told something has
    /// had their say, and says whether it wants to be called again. A loop on real time never calls it.
    func beforeTimeMoves(_ settle: @escaping @Sendable () -> Bool)

    /// Sends the loop's own thread on an errand outside of the loop, when the turn is over. On the loop only.
    ///
    /// - Returns: false if this loop has no thread for that; then the errand is the caller's affair.
    func send(on errand: any LoopErrand) -> Bool
}

extension AdapterLoop {
    package func send(on errand: any LoopErrand) -> Bool { false }
}

/// Other people's code, for which the thread of a loop leaves it: it may take its time and may wait for anything, for
/// the loop goes on without it then.
package protocol LoopErrand: AnyObject, Sendable {
    /// - Returns: whether there is more to do, which is another errand.
    func run() -> Bool

    /// It has ended.
    ///
    /// - Parameter inTime: false if it took so long that another thread had to take the loop over.
    func ended(inTime: Bool)
}
