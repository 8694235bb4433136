import BluetoothExtensions
import BluetoothToolkit
import CoreBluetooth
import HostInterface
import Synchronization

/// Looks at what the radio waits for while something takes long, so that the doctor can say what it was.
final class WaitingWatch: Sendable {
    private let seen = Mutex<[WaitingWork]>([])

    /// Runs `body`, and looks a second before its time is over.
    func during<Result: Sendable>(
        _ limit: Duration, time: Timekeeper, _ body: () async throws -> Result
    ) async throws -> Result {
        seen.withLock { $0 = [] }
        return try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { [self] in
                let manager = CBCentralManager(delegate: nil, queue: nil)
                try await time.sleep(for: limit - .seconds(1))
                let waiting = await WaitingWork.list(of: manager)
                seen.withLock { $0 = waiting }
            }
            defer { group.cancelAll() }
            return try await body()
        }
    }

    /// Whether the radio held as many links as it can.
    var sawNoRoom: Bool { seen.withLock { $0.contains { $0.what == OpenWork.roomForLink } } }

    /// What was seen, to be put behind a sentence.
    var evidence: String {
        let waiting = seen.withLock { $0 }
        return waiting.isEmpty ? "" : "; open were " + waiting.map(\.description).joined(separator: ", ")
    }
}
