import BluetoothToolkit
import Foundation

/// Loses some of the messages that go out: a program at either end that drops what it cannot hold.
struct LossyLink: MessageLink {
    let link: any MessageLink
    let loss: Double
    let chance: Chance

    var maximumLength: Int { link.maximumLength }
    var messages: Events<Data> { link.messages }

    func send(_ message: Data) async throws {
        if chance.fraction() < loss { return }
        try await link.send(message)
    }
}

/// Notes what is told, for the test to read when the world stands still.
final class Notes<Element: Sendable>: @unchecked Sendable {
    // `@unchecked`: `lock` guards the list.
    private let lock = NSLock()
    private var list: [Element] = []

    var all: [Element] { lock.withLock { list } }
    func add(_ element: Element) { lock.withLock { list.append(element) } }
}
