import Backends
package import BluetoothTypes
package import HostInterface

/// For the package's own targets that offer what Apple's API does not.
extension CBManager {
    /// Asks the manager's host; `then` gets the answer on the manager's queue.
    package func askHost(
        _ request: HostRequest, then: @escaping (Result<HostAnswer, HostFailure>) -> Void = { _ in }
    ) {
        line.ask(request, then: then)
    }

    /// Has the host's security watched, in place of who watched it before; called on the manager's queue.
    package func observeSecurity(_ observer: ((SecurityEvent) -> Void)?) {
        line.lock.withLock { line.securityObserver = observer }
    }

    /// Has the host's events about a peer's periodic advertising watched, in place of who watched them before; called
    /// on the manager's queue.
    package func observeTrain(of peer: PeerID, _ observer: ((HostEvent) -> Void)?) {
        line.lock.withLock { line.trainObservers[peer] = observer }
    }

    /// The adapter's identity address; `nil` unless the radio is on.
    package var adapterAddress: DeviceAddress? { line.adapterAddress }

    /// How this manager calls a peer; `nil` unless the radio is on.
    package func identifier(of peer: PeerID) -> UUID? {
        line.adapterAddress.map { UUID(peer: peer, seenBy: $0) }
    }
}

extension CBPeripheral {
    /// Where the value of a characteristic of the peer stands; `nil` if the characteristic is of another link.
    package func valueHandle(of characteristic: CBCharacteristic) -> AttributeHandle? {
        valid(characteristic)?.value
    }
}
