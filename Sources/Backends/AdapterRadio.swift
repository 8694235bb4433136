package import EventLoop
package import HCITransport
package import Host
package import HostInterface
import LocalSession
import Synchronization

/// One controller that is really there, behind a transport, with a host of ours on it and a thread of its own.
package final class AdapterRadio: SessionFactory, HostOwner, LoopParticipant, @unchecked Sendable {
    // `@unchecked`: the host, its transport, its life and the count of openings are touched on the loop alone. Which
    // thread has the loop may change (Decision 0075); it is handed on under the loop's mutex, so one sees what the
    // other wrote. Of the rest, `isForbidden` has its lock, and nothing else changes.
    private let realTimeLoop = RealTimeLoop()
    private let connect: (RealTimeLoop) throws(TransportError) -> any Transport
    private var life: AdapterLife
    package let program: ProgramRun
    private var transport: (any Transport)?
    private var host: Host!
    private let isForbidden: Mutex<Bool>
    private let capture: String?
    private var openings = 0

    package var loop: any AdapterLoop { realTimeLoop }

    /// Opens the radio; what becomes of it, its sessions are told.
    ///
    /// - Parameters:
    ///   - place: the radio's address, for messages.
    ///   - bonds: where bonds are kept. It is used on the loop's thread alone.
    ///   - isForbidden: whether it is clear already that this process may not open it.
    ///   - capture: a file to record the traffic in, as Wireshark and btmon read it. A radio that is opened again goes
    ///     on in the file with ".2" behind its name, and so on.
    ///   - program: whose managers use it.
    ///   - connect: makes the transport, on the loop's thread. For a device, it is called again when one is lost.
    package init(
        place: String, kind: AdapterLife.Kind, configuration: HostConfiguration,
        bonds: any BondStorage = MemoryBondStorage(), isForbidden: Bool = false, capture: String? = nil,
        program: ProgramRun = .ofThisProcess(),
        connect: @escaping (RealTimeLoop) throws(TransportError) -> any Transport
    ) {
        self.connect = connect
        self.isForbidden = Mutex(isForbidden)
        self.capture = capture
        life = AdapterLife(place: place, kind: kind)
        self.program = program
        host = Host(configuration: configuration, bonds: bonds) { [unowned self] packet in transport?.send(packet) }
        // Later: a host is not called from inside its own call.
        host.onTrouble = { [unowned self] trouble in realTimeLoop.enqueue { [self] _ in feed(.trouble(trouble)) } }
        realTimeLoop.add(self)
        realTimeLoop.start()
        realTimeLoop.enqueue { [self] _ in feed(.begin) }
    }

    package func makeSession() -> any HostSession { LocalSession(owner: self) }

    package var permission: RadioPermission { isForbidden.withLock { $0 } ? .denied : .allowed }

    /// Ends the radio's thread, and its transport with it. Called once, when its sessions are closed.
    package func close() {
        realTimeLoop.enqueue { [self] _ in transport?.close() }
        realTimeLoop.stop()
    }

    package func withHost(_ body: (Host) -> Void) { body(host) }

    package var deadline: Instant? {
        guard let life = life.deadline else { return host.deadline }
        return min(host.deadline ?? life, life)
    }

    package func wake(at now: Instant) {
        host.wake(at: now)
        perform(life.wake(at: now))
    }

    package func endTurn() {
        if case .poweredOn = host.state { _ = life.handle(.ready, at: realTimeLoop.now) }
    }
}

extension AdapterRadio {
    private func feed(_ input: AdapterLife.Input) { perform(life.handle(input, at: realTimeLoop.now)) }

    private func perform(_ effects: [AdapterLife.Effect]) {
        for effect in effects {
            switch effect {
            case .open: open()
            case .close:
                transport?.close()
                transport = nil
            case .powerOn: host.powerOn(at: realTimeLoop.now)
            case .show(let state):
                if case .unauthorized = state { isForbidden.withLock { $0 = true } }
                host.lose(showing: state, at: realTimeLoop.now)
            case .note(let text): report(text)
            }
        }
    }

    private func open() {
        do throws(TransportError) {
            let transport = recorded(try connect(realTimeLoop))
            self.transport = transport
            transport.open { [unowned self] event in receive(event) }
            feed(.opened)
        } catch {
            feed(.refused(error))
        }
    }

    /// A record that cannot be written is told, and keeps nobody from using the radio.
    private func recorded(_ transport: any Transport) -> any Transport {
        guard let capture else { return transport }
        openings += 1
        let path = openings == 1 ? capture : "\(capture).\(openings)"
        do throws(TransportError) {
            return try RecordingTransport(transport, path: path, on: realTimeLoop)
        } catch {
            report("\(error)")
            return transport
        }
    }

    private func receive(_ event: TransportEvent) {
        switch event {
        case .packets(let packets):
            let now = realTimeLoop.now
            for packet in packets { host.receive(packet, at: now) }
        case .closed(let error):
            transport = nil
            feed(.closed(error))
        }
    }
}
