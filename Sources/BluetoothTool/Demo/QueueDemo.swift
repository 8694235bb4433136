import BluetoothTypes
import OwnQueue
import Simulation
import Synchronization

/// Row C16: callbacks on a queue of the program's own.
struct QueueDemo {
    let stage: any Stage
    private static let count = 20

    func play() -> [Check] {
        if let stage = stage as? SimulatedStage {
            stage.addPhone("phone")
            let address = DeviceAddress(0xC0DE_0000_0051)
            stage.addDevice("sensor", address, at: (1, 0), .addressBeacon(name: "Sensor", address: address))
        }
        // The parser's queue fills it, and this thread looks.
        let list = Mutex<[OwnQueue.Reading]>([])
        let program = OwnQueue { reading in list.withLock { $0.append(reading) } }
        stage.asUser(of: "phone") { program.start() }
        stage.run(for: .seconds(60)) { list.withLock { $0.count >= Self.count } }
        program.stop()
        stage.run(for: .seconds(1)) { false }
        let readings = list.withLock { $0 }
        let strays = readings.count { !$0.isOnOwnQueue }
        let numbers = readings.map(\.number)
        stage.scene("phone", "\(readings.count) values were parsed")
        return [
            Check(
                "C16", "callbacks come on the program's own queue", readings.count >= Self.count && strays == 0,
                "\(readings.count) values, \(strays) of them elsewhere"),
            Check(
                "C16", "one after the other, in order",
                !numbers.isEmpty && zip(numbers, numbers.dropFirst()).allSatisfy { $1 == ($0 + 1) % 256 },
                numbers.map(String.init).joined(separator: " ")),
        ]
    }
}
