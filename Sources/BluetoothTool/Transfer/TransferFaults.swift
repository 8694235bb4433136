import BluetoothToolkit
import Foundation

/// Faults to test a transfer with: messages that are lost on their way out, and links that end.
// `@unchecked`: `lock` guards the variables.
final class TransferFaults: @unchecked Sendable {
    struct Plan {
        /// Which part of the messages is lost, 0...1.
        var loss: Double
        /// How many links end early.
        var breaks: Int

        init(_ arguments: ParsedArguments) throws(UsageError) {
            loss = (try arguments.number("--loss", in: 0.0...90) ?? 0) / 100
            breaks = try arguments.number("--breaks", in: 0...1000) ?? 0
        }
    }

    static let options = [
        OptionSyntax(name: "--loss", value: "PERCENT", help: "a fault: so many messages are lost, 0...90"),
        OptionSyntax(name: "--breaks", value: "N", help: "a fault: the link ends so many times on the way, 0...1000"),
    ]

    /// How many octets one link carries before it ends early.
    private static let octetsToBreak = 200_000

    private let lock = NSLock()
    private let loss: Double
    private var breaksLeft: Int
    private var count: UInt32 = 0

    init(_ plan: Plan) {
        loss = plan.loss
        breaksLeft = plan.breaks
    }

    /// Puts the faults between a transfer and its link.
    func wrap(_ link: any MessageLink) -> any MessageLink {
        loss > 0 || lock.withLock({ breaksLeft > 0 }) ? FaultyLink(link: link, faults: self) : link
    }

    /// Loses messages by chance that repeats.
    fileprivate func losesNext() -> Bool {
        lock.withLock {
            count &+= 1
            // A multiplicative hash spreads consecutive numbers (Knuth, The Art of Computer Programming, 6.4).
            return Double(count &* 2_654_435_769) < loss * 4_294_967_296
        }
    }

    fileprivate func breaks(after sent: Int) -> Bool {
        lock.withLock {
            guard breaksLeft > 0, sent >= Self.octetsToBreak else { return false }
            breaksLeft -= 1
            return true
        }
    }
}

// `@unchecked`: `lock` guards the count.
private final class FaultyLink: MessageLink, @unchecked Sendable {
    private let link: any MessageLink
    private let faults: TransferFaults
    private let lock = NSLock()
    private var sent = 0

    init(link: any MessageLink, faults: TransferFaults) {
        self.link = link
        self.faults = faults
    }

    var maximumLength: Int { link.maximumLength }
    var messages: Events<Data> { link.messages }

    func send(_ message: Data) async throws {
        let sent = lock.withLock {
            self.sent += message.count
            return self.sent
        }
        // Whoever uses the link ends it then, and makes another one.
        if faults.breaks(after: sent) { throw ToolkitError.linkEnded(.lost) }
        if faults.losesNext() { return }
        try await link.send(message)
    }
}
