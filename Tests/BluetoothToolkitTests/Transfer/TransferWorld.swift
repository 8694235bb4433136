import BluetoothSimulation
import BluetoothToolkit
import CoreBluetooth
import Foundation
import Testing

/// A phone that sends files and a box that keeps them in a folder.
final class TransferWorld {
    let world: BluetoothWorld
    let phone: SimulatedDevice
    let box: SimulatedDevice
    let folder: URL
    let received = Notes<ReceptionEvent>()
    let told = Notes<SendingEvent>()
    private let loss: Double
    private let seed: UInt64
    private(set) var receiving: SimulatedProgram<Void>

    init(seed: UInt64 = 7, loss: Double = 0, mtu: Int = 517) throws {
        self.loss = loss
        self.seed = seed
        world = BluetoothWorld(seed: seed)
        phone = world.addDevice("Phone", mtu: mtu)
        box = world.addDevice("Box", at: .init(x: 2), mtu: mtu)
        folder = FileManager.default.temporaryDirectory.appendingPathComponent("transfer-\(UUID().uuidString)")
        receiving = box.start {}
        try startReceiver()
    }

    deinit { try? FileManager.default.removeItem(at: folder) }

    var time: Timekeeper { Timekeeper(world.clock) }

    /// Starts the receiver's program, anew after its device had no power.
    func startReceiver() throws {
        let store = try FolderStore(folder: folder)
        let (time, loss, chance, received) = (time, loss, Chance(seed: seed &+ 1), received)
        receiving = box.start {
            let peripheral = LocalPeripheral(time: time)
            try await peripheral.waitUntilOn()
            try await MessageServer(peripheral).run {
                try await peripheral.advertise(name: "Box", services: [MessageService.service])
            } _: { link in
                try await TransferReceiver(into: store).receive(
                    over: LossyLink(link: link, loss: loss, chance: chance), by: time, tell: received.add)
            }
        }
    }

    func startSending(
        _ content: Data, name: String = "file.bin", isOneByOne: Bool = false,
        carrier: MessageCarrier = .writes
    ) -> SimulatedProgram<TransferProgress> {
        let (time, loss, chance, told) = (time, loss, Chance(seed: seed), told)
        return phone.start {
            let central = Central(time: time)
            try await central.waitUntilOn()
            let box = try await central.first(for: [MessageService.service]).peripheral
            var persistence = TransferPersistence()
            persistence.carrier = carrier
            return try await TransferSender(content, name: name, isOneByOne: isOneByOne).send(
                to: box, persistence: persistence,
                wrap: { LossyLink(link: $0, loss: loss, chance: chance) }, tell: told.add)
        }
    }

    func file(_ name: String = "file.bin") throws -> Data {
        try Data(contentsOf: folder.appendingPathComponent(name))
    }

    /// What the receiver has acknowledged so far.
    var done: UInt32 {
        told.all.reversed().lazy.compactMap { event -> UInt32? in
            if case .progress(let progress) = event { progress.done } else { nil }
        }.first ?? 0
    }
}
