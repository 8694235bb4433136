import Backends
import BluetoothTypes
import HostInterface

/// A manager does not keep its peripherals alive: the app does.
struct WeakPeripheral {
    weak var object: CBPeripheral?
}

/// What the longer form of `didDisconnectPeripheral` is told besides.
struct DisconnectionDetail {
    var timestamp: CFAbsoluteTime
    var isReconnecting: Bool
}

struct ConnectOptions {
    var startDelay: Duration
    var reconnects: Bool
}

struct ConnectionEventFilter {
    var services: Set<BluetoothUUID>
    var identifiers: Set<UUID>

    func admits(_ identifier: UUID, services offered: [BluetoothUUID]) -> Bool {
        if services.isEmpty && identifiers.isEmpty { return true }
        return identifiers.contains(identifier) || !services.isDisjoint(with: offered)
    }
}

extension CBCentralManager {
    /// The detail of the disconnection that the delegate is being told of.
    var disconnectionDetail: DisconnectionDetail { line.lock.withLock { currentDisconnection } }

    /// The one object that stands for `peer` in this manager. Called with the lock held.
    func peripheral(for peer: PeerID) -> CBPeripheral {
        if let known = peripherals[peer]?.object { return known }
        let peripheral = CBPeripheral(peer: peer, identifier: learn(peer), manager: self)
        peripheral.systemName = memory.knowledge[peer]?.name
        peripherals[peer] = WeakPeripheral(object: peripheral)
        return peripheral
    }

    /// The object for `peer`, if the app has one.
    func livePeripheral(_ peer: PeerID) -> CBPeripheral? { line.lock.withLock { peripherals[peer]?.object } }

    /// The identifier of `peer`, which from now on is known by it. Called with the lock held.
    @discardableResult
    func learn(_ peer: PeerID) -> UUID {
        guard let adapter = line.adapterAddress else {
            preconditionFailure("A peer has an identifier only while the radio is on.")
        }
        if let known = memory.identifier(of: peer, seenBy: adapter) { return known }
        let identifier = UUID(peer: peer, seenBy: adapter)
        memory.remember(identifier, of: peer, seenBy: adapter, isInUse: isInUse)
        return identifier
    }

    /// Whether the app has an object for `peer`. Called with the lock held.
    func isInUse(_ peer: PeerID) -> Bool { peripherals[peer]?.object != nil }

    /// The peer that this host knows by an identifier, from this run of the program or an earlier one. Called with
    /// the lock held.
    func peer(_ identifier: UUID) -> PeerID? {
        if let known = memory.peer(identifier) { return known }
        guard let adapter = line.adapterAddress else { return nil }
        return line.program.peers.peer(identifier, of: adapter)
    }

    /// The services by which a connected peer is found. Called with the lock held.
    func servicesOfConnected(_ peer: PeerID) -> [BluetoothUUID] {
        var services: [BluetoothUUID] = []
        if let known = memory.knowledge[peer], known.isConnected { services = known.services }
        if let own = peripherals[peer]?.object, own.linkState == .connected {
            services += (own.foundServices ?? []).map(\.uuid.bluetoothUUID)
        }
        return services
    }

    /// Whether `peripheral` belongs to this manager and is valid.
    func owns(_ peripheral: CBPeripheral) -> Bool {
        if livePeripheral(peripheral.peer) === peripheral { return true }
        line.misuse(
            "\(peripheral) does not belong to \(self); retrieve it with retrievePeripheralsWithIdentifiers:")
        return false
    }

    /// A manager that goes takes its links with it, and no callback tells.
    func warnOfEnd() {
        line.warnIfNeverHeard(self)
        let linked = peripherals.values.compactMap(\.object).filter { $0.linkState != .disconnected }
        for peripheral in linked.sorted(by: { $0.peer < $1.peer }) {
            line.warn(
                "\(self) is being deallocated while \(peripheral) is in use; its connection ends. "
                    + "Did you forget to keep a reference to the manager?")
        }
    }

    /// Forgets an object that the app has let go of.
    func released(_ peripheral: CBPeripheral) {
        line.lock.withLock {
            // Another thread may have met the device anew meanwhile.
            guard let entry = peripherals[peripheral.peer], entry.object == nil else { return }
            peripherals[peripheral.peer] = nil
            let isPoweredOn = line.state == .poweredOn
            guard isPoweredOn || peripheral.isAwaitingRadio, peripheral.linkState != .disconnected else { return }
            line.misuse(
                "Cancelling connection for unused peripheral \(peripheral), Did you forget to keep a reference to it?")
            if isPoweredOn { line.ask(.disconnect(peripheral.peer)) }
        }
    }
}
