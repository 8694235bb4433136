package import EventLoop
package import HCITransport
package import Host
package import HostInterface
import LocalSession

/// One controller that is really there, behind a transport, with a host of ours on it and a thread of its own.
package final class AdapterRadio: SessionFactory, HostOwner, LoopParticipant, @unchecked Sendable {
    // `@unchecked`: the host and its transport are touched on the loop's thread alone; the rest does not change.
    private let realTimeLoop = RealTimeLoop()
    private let connect: (RealTimeLoop) throws(TransportError) -> any Transport
    private let place: String
    private var transport: (any Transport)?
    private var host: Host!

    package var loop: any AdapterLoop { realTimeLoop }

    /// Opens the radio; what becomes of it, its sessions are told.
    ///
    /// - Parameters:
    ///   - place: the radio's address, for messages.
    ///   - connect: makes the transport, on the loop's thread.
    package init(
        place: String, configuration: HostConfiguration,
        connect: @escaping (RealTimeLoop) throws(TransportError) -> any Transport
    ) {
        self.place = place
        self.connect = connect
        host = Host(configuration: configuration) { [unowned self] packet in transport?.send(packet) }
        realTimeLoop.add(self)
        realTimeLoop.start()
        realTimeLoop.enqueue { [self] _ in open() }
    }

    package func makeSession() -> any HostSession { LocalSession(owner: self) }

    /// Ends the radio's thread, and its transport with it. Called once, when its sessions are closed.
    package func close() {
        realTimeLoop.enqueue { [self] _ in transport?.close() }
        realTimeLoop.stop()
    }

    package func withHost(_ body: (Host) -> Void) { body(host) }

    package var deadline: Instant? { host.deadline }
    package func wake(at now: Instant) { host.wake(at: now) }
    package func endTurn() {}

    private func open() {
        do throws(TransportError) {
            let transport = try connect(realTimeLoop)
            self.transport = transport
            transport.open { [unowned self] event in receive(event) }
            host.powerOn(at: realTimeLoop.now)
        } catch {
            host.transportLost(reason: "The radio \(place) cannot be opened. \(error)", at: realTimeLoop.now)
        }
    }

    private func receive(_ event: TransportEvent) {
        let now = realTimeLoop.now
        switch event {
        case .packets(let packets): for packet in packets { host.receive(packet, at: now) }
        case .closed(let error):
            transport = nil
            host.transportLost(reason: "The radio \(place) is lost. \(error)", at: now)
        }
    }
}
