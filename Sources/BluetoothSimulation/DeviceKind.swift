import BluetoothTypes
import Simulation

/// Devices that need no program: they are there to be found, read, written and listened to.
///
///     let lock = world.addDevice(.smartLock, "KL940704079", at: .init(x: 3))
public enum DeviceKind: String, CaseIterable, Sendable {
    /// FFF0 with FFF6, which takes `unlock` and `lock` and refuses the rest, and FFF4, which notifies the battery.
    case smartLock
    /// 180D with 2A37, which notifies a rate each second.
    case heartRateStrap
    /// 1809 with 2A1C, which indicates a temperature every two seconds.
    case thermometer
    /// 180F with 2A19, which loses one percent every ten seconds.
    case battery
    /// FFF0 with FFF1, which counts twice a second, and is read and written; its address is in its manufacturer data.
    case counter
    /// FFD0, which takes a firmware and restarts with another attribute table and no word about it. FFD1 gets `01` and
    /// the length in 32 bits, least significant octet first; FFD2 the data; FFD1 `02`, answered by the notification
    /// `02 00` if all is there, and `03`, at which it restarts.
    case firmwareTarget
    /// A lock that tells its address in its System ID as the specification says: `DE BC 9A FE FF 56 34 12`.
    case systemIDLock
    /// The same with the octets the other way round: `12 34 56 FF FE 9A BC DE`.
    case systemIDLockReversed
    /// The same with zeros in the middle: `DE BC 9A 00 00 56 34 12`.
    case systemIDLockZeroFilled
    /// Apple's beacon, which cannot be connected to.
    case iBeacon
    /// Google's beacon with the address `https://example.org/`.
    case eddystone
    /// A lock that breaks every rule that a peer can break and still be found.
    case outlaw

    var simulated: ReadyKind {
        guard let kind = ReadyKind(rawValue: rawValue) else {
            preconditionFailure("The device \(rawValue) is declared, but nobody has made it.")
        }
        return kind
    }
}

extension BluetoothWorld {
    /// Adds a device that needs no program.
    ///
    /// - Parameters:
    ///   - kind: what it is.
    ///   - name: what it shows on the air, if it shows a name.
    ///   - position: where it stands, in metres.
    ///   - address: `AA:BB:CC:DD:EE:FF`; `nil` gives it one of its own.
    @discardableResult
    public func addDevice(
        _ kind: DeviceKind, _ name: String, at position: Position = Position(), address: String? = nil
    ) -> SimulatedDevice {
        let device = addDevice(name, at: position, address: address)
        let hosted = device.hosted
        let script = kind.simulated.script(name: name, address: hosted.device.address)
        play(ScriptedPeripheral(script, on: hosted) { [weak self] what, octets in self?.told(name, what, octets) })
        for (fault, probability) in kind.simulated.faults { hosted.faults.begin(fault, probability: probability) }
        return device
    }
}
