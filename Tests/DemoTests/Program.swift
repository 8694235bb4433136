import Foundation
import Glibc

/// A product of the package as a process, which ends with the test. Every wait is limited.
final class Program {
    private let process = Process()
    private let pipe = Pipe()
    private(set) var output = ""
    private static let limit = 60.0
    private let state: String
    private let isStateShared: Bool

    /// - Parameter state: where it keeps what outlives it; without one a folder of its own, which goes with it.
    init(_ product: String, _ arguments: [String] = [], radio: String? = nil, state: String? = nil) throws {
        self.state = state ?? NSTemporaryDirectory() + "state-" + UUID().uuidString
        isStateShared = state != nil
        // The products lie beside the tests.
        let tests = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        process.executableURL = URL(fileURLWithPath: tests).deletingLastPathComponent().appendingPathComponent(product)
        process.arguments = arguments
        process.environment = ProcessInfo.processInfo.environment.merging(["SWIFT_BACKTRACE": "enable=no"]) { $1 }
        process.environment?["BLE_RADIO"] = radio
        process.environment?["BLE_STATE"] = self.state
        process.standardOutput = pipe
        process.standardError = pipe
        process.standardInput = FileHandle.nullDevice
        try process.run()
        try? pipe.fileHandleForWriting.close()
    }

    deinit {
        if process.isRunning { kill() }
        if !isStateShared { try? FileManager.default.removeItem(atPath: state) }
    }

    /// Ends it in the middle of whatever it does.
    func kill() {
        Glibc.kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
    }

    func interrupt() { process.interrupt() }

    /// Reads what it says until it has said `text`; `false` if it never does.
    func waits(for text: String, times: Int = 1) -> Bool {
        read { self.output.components(separatedBy: text).count > times }
        return output.components(separatedBy: text).count > times
    }

    /// Reads to the end of its output; returns its exit status, `nil` if it does not end.
    func end() -> Int32? {
        guard read({ false }) else { return nil }
        process.waitUntilExit()
        return process.terminationReason == .exit ? process.terminationStatus : nil
    }

    /// - Returns: whether its output has ended.
    @discardableResult
    private func read(_ isDone: () -> Bool) -> Bool {
        let end = Date(timeIntervalSinceNow: Self.limit)
        let descriptor = pipe.fileHandleForReading.fileDescriptor
        while !isDone() {
            var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            let milliseconds = Int32(max(0, end.timeIntervalSinceNow * 1000))
            guard unsafe poll(&entry, 1, milliseconds) > 0 else { return false }
            var buffer = [UInt8](repeating: 0, count: 4096)
            let count = unsafe Foundation.read(descriptor, &buffer, buffer.count)
            guard count > 0 else { return true }
            output += String(decoding: buffer.prefix(count), as: UTF8.self)
        }
        return false
    }
}
