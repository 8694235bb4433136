package import BluetoothTypes
package import EventLoop
package import Host
package import HostInterface
import Synchronization
package import VirtualController

extension Host: HCIHost {}

/// A device of a world with a host of ours on its controller.
///
/// It lives on the world's loop. When its battery has been out, its host starts anew and knows nothing, as after any
/// loss of power; sessions of the host before are dead.
package final class HostedDevice: HostOwner, @unchecked Sendable {
    // `@unchecked`: all but the constants is touched by the thread that runs the world alone.
    package let device: Device
    package let world: World
    private var host: Host?
    /// What its memory keeps while the battery is out.
    private let bonds: any BondStorage
    private var keyGenerator: SeededGenerator
    /// Read by the programs' threads too.
    private let currentPolicy = Mutex(ProgramPolicy())
    /// Takes a sentence for the programs' developer; see ``Host/onAdvice``.
    package var onAdvice: ((String) -> Void)?
    /// What is wrong with it. From the first use on its system repairs what it can.
    package private(set) lazy var faults: FaultyLine = {
        isRepaired = true
        host?.onTrouble = { [unowned self] trouble in repair(trouble) }
        return FaultyLine(self)
    }()
    private var isRepaired = false

    package var loop: any AdapterLoop { world }

    /// Adds a device to a world that does not run yet, or from its loop.
    ///
    /// - Parameter bonds: where its bonds are kept; `nil` keeps them as long as the device.
    package init(
        in world: World, name: String, address: DeviceAddress, position: Position = Position(),
        controller: ControllerConfiguration? = nil, host configuration: HostConfiguration? = nil,
        bonds: (any BondStorage)? = nil
    ) {
        self.world = world
        self.bonds = bonds ?? MemoryBondStorage()
        // Not drawn from the world's chance: what happens on the air does not depend on who has a host.
        keyGenerator = SeededGenerator(seed: world.seed ^ address.value << 8)
        device = world.addDevice(name: name, address: address, position: position, configuration: controller)
        var configuration = configuration ?? HostConfiguration()
        if configuration.deviceName == HostConfiguration().deviceName { configuration.deviceName = name }
        device.attach { [unowned self, unowned world] send in
            let randomness = Randomness { [unowned self] in keyGenerator.split() }
            let host = Host(configuration: configuration, bonds: self.bonds, randomness: randomness, send: send)
            self.host = host
            host.onAdvice = { [unowned self] text in onAdvice?(text) }
            if isRepaired { host.onTrouble = { [unowned self] trouble in repair(trouble) } }
            host.impose(policy, at: world.now)
            host.powerOn(at: world.now)
            return host
        }
    }

    /// As a system does: a controller that reports an error of its own is reset, one that does not answer is given up.
    private func repair(_ trouble: AdapterTrouble) {
        world.schedule(after: .milliseconds(100)) { [weak self] in
            guard let self else { return }
            withHost { [now = world.now] host in
                switch trouble {
                case .hardwareError: host.powerOn(at: now)
                case .hangs, .unusable: host.lose(showing: .unsupported(reason: "\(trouble)"), at: now)
                }
            }
        }
    }

    /// What its host waits for, and what its radio is asked to do; in words, for tests.
    package var business: [String] {
        (host?.openWork(at: world.now).map(\.what) ?? []) + device.controller.activities
    }

    /// Its bonds, as they are kept now.
    package var keptBonds: [BondRecord] {
        do throws(BondStorageError) { return try bonds.bonds(of: device.address) } catch { return [] }
    }

    package func withHost(_ body: (Host) -> Void) {
        guard device.isOnAir, let host else { return }
        body(host)
        world.noteHost(device)
    }

    /// Switches the adapter on or off, as a person does in the settings.
    package func setPowered(_ isOn: Bool) {
        let now = world.now
        withHost { isOn ? $0.powerOn(at: now) : $0.powerOff(at: now) }
    }

    /// What the system decides about the programs on this device. Set by the thread that runs the world; it outlives
    /// a loss of power.
    package var policy: ProgramPolicy {
        get { currentPolicy.withLock { $0 } }
        set {
            currentPolicy.withLock { $0 = newValue }
            let now = world.now
            withHost { $0.impose(newValue, at: now) }
        }
    }

    /// The system's Bluetooth service dies, and is back after `delay`.
    package func crashBluetooth(for delay: Duration) {
        let now = world.now
        withHost { $0.crash(at: now) }
        world.schedule(after: delay) { [weak self] in
            guard let self else { return }
            withHost { [now = world.now] in $0.recover(at: now) }
        }
    }

    /// The system ends the programs on this device.
    package func endPrograms() {
        let now = world.now
        withHost { $0.endPrograms(at: now) }
    }
}
