import EventLoop
import Glibc

/// An open descriptor on a loop, and who is told of what comes through it: what every transport has, whatever its
/// octets mean. On the loop only.
final class TransportDescriptor {
    let number: Int32
    private let loop: RealTimeLoop
    private(set) var isOpen = true
    private var deliver: ((TransportEvent) -> Void)?

    /// Takes over a descriptor that does not block.
    init(_ number: Int32, on loop: RealTimeLoop) {
        self.number = number
        self.loop = loop
    }

    deinit { if isOpen { _ = Glibc.close(number) } }

    /// Begins to watch it. The loop keeps `owner` until it closes.
    func open<Owner: LoopParticipant>(
        for owner: Owner, _ deliver: @escaping (TransportEvent) -> Void, flush: @escaping (Owner) -> Void,
        receive: @escaping (Owner) -> Void
    ) {
        precondition(self.deliver == nil, "A transport is opened once.")
        guard isOpen else { return }
        self.deliver = deliver
        loop.add(owner)
        loop.watch(number, for: .readable) { [weak self, weak owner] ready in
            guard let self, let owner else { return }
            if ready.contains(.writable), isOpen { flush(owner) }
            if ready.contains(.readable), isOpen { receive(owner) }
        }
    }

    func hand(over packets: [ArraySlice<UInt8>]) {
        if !packets.isEmpty { deliver?(.packets(packets)) }
    }

    /// Whether the loop comes back when the other side has made room.
    func waits(forRoom isWaiting: Bool) {
        guard isOpen else { return }
        loop.change(number, to: isWaiting ? [.readable, .writable] : .readable)
    }

    /// Quietly. Done once, however often it is called.
    func close(for owner: any LoopParticipant) {
        guard isOpen else { return }
        isOpen = false
        deliver = nil
        loop.unwatch(number)
        loop.remove(owner)
        _ = Glibc.close(number)
    }

    /// Closes what failed, and tells.
    func end(_ error: TransportError, for owner: any LoopParticipant) {
        let deliver = deliver
        close(for: owner)
        deliver?(.closed(error))
    }
}
