import EventLoop
import Host
import HostInterface
import Simulation

/// A benchmark's client of one of our hosts.
final class HostedEnd: @unchecked Sendable {
    // `@unchecked`: a benchmark makes it, runs the world and reads it on one thread; the closures that the host takes
    // are `@Sendable` for hosts that have threads.
    let device: HostedDevice
    /// Takes what the host tells by itself.
    var onEvent: (HostEvent) -> Void = { _ in }
    /// How many octets of the other end have come.
    var octets = 0
    private var client: ClientID?
    private var number: UInt64 = 0
    private var waiting: [RequestNumber: (HostAnswer) -> Void] = [:]

    var peer: PeerID { PeerID(device.device.address) }

    init(_ device: HostedDevice) { self.device = device }

    func start() {
        device.loop.enqueue { [self] now in
            device.withHost { host in client = host.attach({ [self] in handle($0) }, at: now) }
        }
    }

    private func handle(_ event: HostEvent) {
        switch event {
        case .answer(let number, .success(let answer)): waiting.removeValue(forKey: number)?(answer)
        case .answer(_, .failure(let failure)): preconditionFailure("A request of the benchmark failed: \(failure)")
        default: onEvent(event)
        }
    }

    /// Asks the host, so many times.
    func submit(_ request: HostRequest, times: Int = 1, then: @escaping (HostAnswer) -> Void = { _ in }) {
        let first = number + 1
        number += UInt64(times)
        for number in first...number { waiting[RequestNumber(number)] = then }
        device.loop.enqueue { [self, last = number] now in
            device.withHost { host in
                for number in first...last {
                    host.submit(request, number: RequestNumber(number), client: client!, at: now)
                }
            }
        }
    }
}
