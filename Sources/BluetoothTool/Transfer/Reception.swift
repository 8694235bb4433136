import BluetoothToolkit
import CoreBluetooth
import Foundation

/// Advertises and receives until told that it is enough.
struct Reception: Sendable {
    let store: any TransferStore
    let name: String
    /// - Returns: whether it is enough.
    let tell: @Sendable (ReceptionEvent) -> Bool
    var onAir: @Sendable () -> Void = {}
    var wrap: @Sendable (any MessageLink) -> any MessageLink = { $0 }

    func run(_ time: Timekeeper) async throws {
        let peripheral = LocalPeripheral(time: time)
        let (store, wrap, name, onAir) = (store, wrap, name, onAir)
        try await untilEnough(tell, time) { tell in
            try await MessageServer(peripheral).run {
                try await peripheral.advertise(name: name, services: [MessageService.service])
                onAir()
            } _: { link in
                try await TransferReceiver(into: store).receive(over: wrap(link), by: time, tell: tell)
            }
        }
    }
}

/// Connects to a device that has something to send, and receives until told that it is enough.
struct Collection: Sendable {
    let store: any TransferStore
    let device: DeviceChoice
    /// - Returns: whether it is enough.
    let tell: @Sendable (ReceptionEvent) -> Bool
    var wrap: @Sendable (any MessageLink) -> any MessageLink = { $0 }

    func run(_ time: Timekeeper) async throws {
        let (store, device, wrap) = (store, device, wrap)
        try await untilEnough(tell, time) { tell in
            let central = Central(time: time)
            try await central.waitUntilOn()
            let sender = try await device.find(with: central, services: [MessageService.outbox], within: nil)
            try await TransferReceiver(into: store).receive(from: sender, wrap: wrap, tell: tell)
        }
    }
}

/// Runs `body` until what it tells is enough.
private func untilEnough(
    _ tell: @escaping @Sendable (ReceptionEvent) -> Bool, _ time: Timekeeper,
    _ body: @escaping @Sendable (@escaping @Sendable (ReceptionEvent) -> Void) async throws -> Void
) async throws {
    let (ends, source) = EventSource<Void>.make(.oldest(1))
    try await withThrowingTaskGroup(of: Void.self) { group in
        defer { group.cancelAll() }
        group.addTask { try await body { event in if tell(event) { source.send(()) } } }
        group.addTask {
            for try await _ in ends {
                // The last acknowledgement needs its time to go on the air.
                try await time.sleep(for: .seconds(1))
                return
            }
        }
        try await group.next()
    }
}

/// Keeps one transfer in memory: the receiver of the simulated world.
// `@unchecked`: `lock` guards the variables.
final class MemoryStore: TransferStore, @unchecked Sendable {
    private let lock = NSLock()
    private var identifier: UInt64?
    private var content = Data()

    func begin(_ offer: TransferOffer) -> (offset: UInt32, checksum: Checksum) {
        lock.withLock {
            if identifier != offer.identifier { content = Data() }
            identifier = offer.identifier
            return (UInt32(content.count), Checksum(of: content))
        }
    }

    func append(_ data: Data) { lock.withLock { content.append(data) } }
    func commit() {}
    func finish(isIntact: Bool) -> URL? {
        lock.withLock {
            identifier = nil
            content = Data()
            return nil
        }
    }
}
