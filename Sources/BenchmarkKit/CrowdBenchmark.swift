import BluetoothTypes
import EventLoop
import HCI
import Simulation

/// Phones in one room, each of which wants a link to some devices of its own, one after the other: how long until all
/// of them have them.
package struct CrowdBenchmark {
    package var phones: Int
    /// For each phone.
    package var devices: Int
    /// Whether the phones scan actively besides.
    package var scans: Bool

    package init(phones: Int, devices: Int, scans: Bool) {
        self.phones = phones
        self.devices = devices
        self.scans = scans
    }

    /// When each link came that is there at the end, in s; sorted.
    package func run(seed: UInt64, for duration: Duration) -> [Double] {
        let world = World(seed: seed)
        let phones = (0..<phones).map { phone in
            Phone(in: world, number: phone, devices: devices, scans: scans)
        }
        world.run(for: duration)
        return phones.flatMap(\.served).sorted()
    }

    private final class Phone {
        private let host: EventHost
        private let devices: [EventHost]
        private var links: [UInt16: Int] = [:]
        private var times: [Int: Double] = [:]
        private var isConnecting = false

        var served: [Double] { Array(times.values) }

        init(in world: World, number: Int, devices count: Int, scans: Bool) {
            let centre = Position(x: Double(number) * 2)
            host = EventHost.add(to: world, 0xC0_00 + UInt64(number), at: centre)
            devices = (0..<count).map { index in
                let place = Position(x: centre.x + Double(index), y: 2)
                let device = EventHost.add(to: world, 0xD000_00 + UInt64(number * 256 + index), at: place)
                device.onEvent = { [unowned device] event, _ in
                    if case .disconnectionComplete(_) = event { device.send(LESetAdvertisingEnable(true)) }
                }
                world.schedule(after: .milliseconds(37 * index + 11 * number)) { device.advertise(interval: 0xA0) }
                return device
            }
            host.onEvent = { [unowned self] event, now in take(event, at: now) }
            if scans { host.scan(interval: 0x60, isActive: true) }
            world.schedule(after: .milliseconds(number)) { [unowned self] in connectNext() }
        }

        private func connectNext() {
            guard !isConnecting, let next = devices.indices.first(where: { times[$0] == nil }) else { return }
            isConnecting = true
            host.connect(to: devices[next].device.address, scanInterval: 0x60, interval: 24, timeout: 400)
        }

        private func take(_ event: ControllerEvent, at now: Instant) {
            switch event {
            case .connectionComplete(let complete) where complete.status == .success:
                isConnecting = false
                let index = devices.firstIndex { $0.device.address == complete.peer }!
                links[complete.handle] = index
                times[index] = now.sinceStart / .seconds(1)
            case .disconnectionComplete(let disconnection):
                if let index = links.removeValue(forKey: disconnection.handle) { times[index] = nil }
            default: return
            }
            connectNext()
        }
    }
}
