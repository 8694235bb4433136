import Backends
package import BluetoothTypes
import EventLoop
package import Foundation
import Host
package import HostInterface
import LocalSession
package import Simulation
import Synchronization

/// A simulated world: phones whose managers run the programs, and scripted devices.
package final class SimulatedStage: Stage {
    package let timeline: Timeline
    /// The world's own loop, on which the programs' callbacks run.
    package let executor: any CallbackExecutor
    private let world: World
    private var phones: [(name: String, device: HostedDevice, radio: SimulatedRadio, narrated: NarratedRadio)] = []
    private var devices: [StagedDevice] = []
    private let cast = Cast()
    /// Clients of phones that are not part of the story's programs.
    private var otherApps: [any HostSession] = []

    /// - Parameter onPacket: takes what passes between the phone and its controller, as records of a btsnoop file.
    package init(seed: UInt64, timeline: Timeline, onPacket: (([UInt8]) -> Void)? = nil) {
        self.timeline = timeline
        world = World(seed: seed)
        executor = LoopExecutor(loop: world)
        guard let onPacket else { return }
        world.hciTap = { now, device, direction, packet in
            guard device.name == "phone" else { return }
            onPacket(HCICapture.record(packet, direction, at: now))
        }
    }

    /// Records all of the air from now on.
    ///
    /// - Parameter onPacket: takes packets as records of a pcap file; see ``AirCapture``.
    package func recordAir(_ onPacket: @escaping ([UInt8]) -> Void) {
        var capture = AirCapture()
        world.addAirTap { onPacket(capture.record($0)) }
    }

    deinit {
        // Device and script hold each other.
        for device in devices { device.device.device.onPowerChange = nil }
    }

    package var now: Duration { world.now.sinceStart }

    package func after(_ seconds: TimeInterval, _ action: @escaping () -> Void) {
        world.schedule(after: .seconds(seconds), action)
    }

    package func asUser(of actor: String, _ body: () -> Void) {
        guard let phone = phones.first(where: { $0.name == actor }) else {
            preconditionFailure("\(actor) is not on the stage.")
        }
        SessionProvider.with(phone.narrated, body)
    }

    /// Runs `body` where `actor`'s radio goes through given states and can do nothing else.
    package func asUser(of actor: String, in states: [AdapterState], _ body: () -> Void) {
        let narrator = narrator(of: actor)
        SessionProvider.with(StateRadio(states, executor: executor, onLog: narrator.logged), body)
    }

    private func narrator(of actor: String) -> Narrator {
        Narrator(
            actor: actor, timeline: timeline, now: { [unowned world] in world.now.sinceStart },
            name: { [cast] in cast.names[$0] }, isNarrated: { [cast] in cast.phones.contains($0) })
    }

    package func run(for limit: Duration, until isDone: () -> Bool) {
        let end = now + limit
        // In short steps, so that a demo ends when it is done and not when its limit has come.
        while !isDone(), now < end {
            world.run(until: Instant(sinceStart: min(end, now + .milliseconds(10))))
        }
    }
}

/// A scripted device on the stage.
package struct StagedDevice {
    package var name: String
    package var device: HostedDevice
    package var peripheral: ScriptedPeripheral
}

/// Who is who on the air.
private final class Cast: @unchecked Sendable {
    // `@unchecked`: the thread that sets the stage runs the world too, and nobody else does either.
    var names: [PeerID: String] = [:]
    var phones: Set<PeerID> = []
}

// MARK: - Setting the stage

extension SimulatedStage {
    /// Adds a phone (or whatever runs programs).
    ///
    /// - Parameters:
    ///   - position: in metres.
    ///   - maximumLinks: how many links it can hold.
    ///   - mtu: the ATT_MTU that it asks for and accepts.
    package func addPhone(
        _ name: String, at position: (Double, Double) = (0, 0), maximumLinks: Int = 8, mtu: UInt16 = 517
    ) {
        var configuration = HostConfiguration()
        configuration.readsOverflowArea = true
        configuration.deviceName = name
        configuration.maximumLinks = maximumLinks
        configuration.preferredMTU = mtu
        let address = DeviceAddress(0xC0DE_0000_00F0 + UInt64(phones.count))
        let device = HostedDevice(
            in: world, name: name, address: address, position: Position(x: position.0, y: position.1),
            host: configuration)
        let peer = PeerID(address)
        cast.names[peer] = name
        cast.phones.insert(peer)
        device.onAdvice = { [narrator = narrator(of: name)] text in narrator.logged(text) }
        let radio = SimulatedRadio(device: device, runsOnTheWorldsLoop: true)
        phones.append((name, device, radio, NarratedRadio(radio, narrator(of: name))))
    }

    /// Puts the programs on `phone` under other rules.
    package func setRules(of phone: String, _ what: String, _ change: (inout ProgramPolicy) -> Void) {
        guard let device = phones.first(where: { $0.name == phone })?.device else {
            preconditionFailure("\(phone) is not on the stage.")
        }
        scene(phone, what)
        var policy = device.policy
        change(&policy)
        device.policy = policy
    }

    /// Ends the program on `phone` in the middle of whatever it does. What outlives it is there for the next one.
    package func killApp(of phone: String, _ what: String) {
        guard let phone = phones.first(where: { $0.name == phone }) else {
            preconditionFailure("\(phone) is not on the stage.")
        }
        scene(phone.name, what)
        phone.radio.endProgram()
        // With the process ends the host that served it.
        phone.device.device.removeFromAir()
        phone.device.device.returnToAir()
    }

    /// Adds a scripted device, and switches it on after so many seconds; never if `startAfter` is `nil`.
    @discardableResult
    package func addDevice(
        _ name: String, _ address: DeviceAddress, at position: (Double, Double), _ script: PeripheralScript,
        startAfter: TimeInterval? = 0, mtu: UInt16 = 517
    ) -> StagedDevice {
        cast.names[PeerID(address)] = name
        var configuration = HostConfiguration()
        configuration.deviceName = script.advertisement.localName ?? name
        configuration.preferredMTU = mtu
        let device = HostedDevice(
            in: world, name: name, address: address, position: Position(x: position.0, y: position.1),
            host: configuration)
        let peripheral = ScriptedPeripheral(script, on: device) { [timeline, unowned world] what, bytes in
            timeline.add(
                TimelineEntry(
                    time: world.now.sinceStart, kind: .device, actor: name, what: what, bytes: bytes,
                    meaning: bytes.flatMap(readable)))
        }
        if let startAfter { after(startAfter) { peripheral.start() } }
        let staged = StagedDevice(name: name, device: device, peripheral: peripheral)
        devices.append(staged)
        return staged
    }

    /// Lets another program on `phone` hold a link, for so many seconds; returns when it has it.
    package func holdLink(to address: DeviceAddress, from phone: String, for seconds: TimeInterval) {
        guard let owner = phones.first(where: { $0.name == phone })?.device else {
            preconditionFailure("\(phone) is not on the stage.")
        }
        let session = LocalSession(owner: owner, defaultExecutor: executor)
        otherApps.append(session)
        let peer = PeerID(address)
        let hasLink = Mutex(false)
        session.open(on: executor) { [weak session] event in
            switch event {
            case .state(.poweredOn): session?.submit(.connect(peer), number: RequestNumber(1))
            case .answer(RequestNumber(1), .success): hasLink.withLock { $0 = true }
            default: break
            }
        }
        scene(phone, "another app wants a link to \(cast.names[peer] ?? "a device"), the only one this phone can hold")
        run(for: .seconds(30)) { hasLink.withLock { $0 } }
        after(seconds) { [weak self] in
            session.close()
            self?.scene(phone, "the other app lets its link go")
        }
    }

    /// A small world to scan in: devices at several distances, and a phone to scan with.
    package func addNeighbourhood() {
        addPhone("phone")
        for device in ReadyDevice.neighbourhood {
            addDevice(device.name, device.address, at: (device.position.x, device.position.y), device.script)
        }
    }
}
