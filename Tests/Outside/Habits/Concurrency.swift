@preconcurrency import CoreBluetooth

/// An async face on the callbacks, as libraries of the last years have it.
final class AsyncCentral: NSObject, @unchecked Sendable {
    private let queue = DispatchQueue(label: "async central")
    private var manager: CBCentralManager!
    private let lock = NSLock()
    private var ready: [CheckedContinuation<Void, Error>] = []
    private var connecting: [UUID: CheckedContinuation<CBPeripheral, Error>] = [:]
    private var found: AsyncStream<(peripheral: CBPeripheral, rssi: Int)>.Continuation?

    override init() {
        super.init()
        manager = CBCentralManager(delegate: self, queue: queue)
    }

    func waitUntilReady() async throws {
        if manager.state == .poweredOn { return }
        try await withCheckedThrowingContinuation { continuation in lock.withLock { ready.append(continuation) } }
    }

    func scan(_ services: [CBUUID]?) -> AsyncStream<(peripheral: CBPeripheral, rssi: Int)> {
        AsyncStream { continuation in
            continuation.onTermination = { [weak self] _ in self?.manager.stopScan() }
            lock.withLock { found = continuation }
            manager.scanForPeripherals(withServices: services)
        }
    }

    func connect(_ peripheral: CBPeripheral) async throws -> CBPeripheral {
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                lock.withLock { connecting[peripheral.identifier] = continuation }
                manager.connect(peripheral)
            }
        } onCancel: {
            manager.cancelPeripheralConnection(peripheral)
        }
    }
}

extension AsyncCentral: CBCentralManagerDelegate {
    func centralManagerDidUpdateState(_ central: CBCentralManager) {
        guard central.state != .unknown else { return }
        let waiting = lock.withLock {
            defer { ready = [] }
            return ready
        }
        for continuation in waiting {
            if central.state == .poweredOn {
                continuation.resume()
            } else {
                continuation.resume(throwing: CBError(.operationNotSupported))
            }
        }
    }

    func centralManager(
        _ central: CBCentralManager, didDiscover peripheral: CBPeripheral, advertisementData: [String: Any],
        rssi RSSI: NSNumber
    ) {
        lock.withLock { _ = found?.yield((peripheral, RSSI.intValue)) }
    }

    func centralManager(_ central: CBCentralManager, didConnect peripheral: CBPeripheral) {
        lock.withLock { connecting.removeValue(forKey: peripheral.identifier) }?.resume(returning: peripheral)
    }

    func centralManager(_ central: CBCentralManager, didFailToConnect peripheral: CBPeripheral, error: (any Error)?) {
        lock.withLock { connecting.removeValue(forKey: peripheral.identifier) }?
            .resume(throwing: error ?? CBError(.connectionFailed))
    }
}

actor Fleet {
    private var members: [UUID: CBPeripheral] = [:]
    private let central = AsyncCentral()

    func gather(_ count: Int) async throws -> [CBPeripheral] {
        try await central.waitUntilReady()
        for await (peripheral, _) in central.scan(nil) {
            members[peripheral.identifier] = try await central.connect(peripheral)
            if members.count == count { break }
        }
        return Array(members.values)
    }
}

/// A view model: on the main actor, with callbacks on the main queue.
@MainActor
final class Model: NSObject {
    private(set) var names: [String] = []
    private var manager: CBCentralManager?

    func start() { manager = CBCentralManager(delegate: self, queue: .main) }
    fileprivate func add(_ name: String) { names.append(name) }
}

extension Model: CBCentralManagerDelegate {
    nonisolated func centralManagerDidUpdateState(_ central: CBCentralManager) {
        MainActor.assumeIsolated { if central.state == .poweredOn { central.scanForPeripherals(withServices: nil) } }
    }

    nonisolated func centralManager(
        _ central: CBCentralManager, didDiscover peripheral: CBPeripheral, advertisementData: [String: Any],
        rssi RSSI: NSNumber
    ) {
        Task { @MainActor in add(peripheral.name ?? peripheral.identifier.uuidString) }
    }
}
