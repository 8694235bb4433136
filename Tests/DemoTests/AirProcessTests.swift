import Foundation
import Glibc
import Testing

/// Three processes: an air, and two ordinary programs that find each other on it.
@Suite("An air and two programs", .timeLimit(.minutes(2)))
struct AirProcessTests {
    @Test("The smallest central uses the smallest peripheral over ble air")
    func smallest() throws {
        let folder = NSTemporaryDirectory() + "/air-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let path = folder + "/socket"

        let air = try Program("ble", ["air", "--unix", path, "--json"])
        #expect(air.waits(for: "\"radio\":\"unix:\(path)\""), "\(air.output)")
        let peripheral = try Program("smallest-peripheral", radio: "unix:\(path)")
        #expect(peripheral.waits(for: "on the air"), "\(peripheral.output)")
        let central = try Program("smallest-central", radio: "unix:\(path)")
        #expect(central.end() == 0, "\(central.output)")
        #expect(peripheral.end() == 0, "\(peripheral.output)")
        #expect(central.output.contains("the write is confirmed"))
        #expect(peripheral.output.contains("written: \"hello\""))
        #expect(air.waits(for: "\"event\":\"closed\"", times: 2), "\(air.output)")
        air.interrupt()
        #expect(air.end() == 130, "\(air.output)")
        #expect(!FileManager.default.fileExists(atPath: path))
    }
}

/// The same with an L2CAP channel, whose streams are on the run loops of the two programs.
@Suite("An air and a channel", .timeLimit(.minutes(2)))
struct ChannelProcessTests {
    @Test("B-J1, B-J3: 50000 octets there and back over ble air")
    func echo() throws {
        let folder = NSTemporaryDirectory() + "/air-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let path = folder + "/socket"

        let air = try Program("ble", ["air", "--unix", path, "--json"])
        #expect(air.waits(for: "\"radio\":\"unix:\(path)\""), "\(air.output)")
        let peripheral = try Program("echo-peripheral", radio: "unix:\(path)")
        #expect(peripheral.waits(for: "on the air"), "\(peripheral.output)")
        let central = try Program("echo-central", ["50000"], radio: "unix:\(path)")
        #expect(central.end() == 0, "\(central.output)\(peripheral.output)")
        #expect(peripheral.end() == 0, "\(peripheral.output)")
        #expect(central.output.contains("50000 octets came back"))
        #expect(peripheral.output.contains("echoed 50000 octets"))
        air.interrupt()
        #expect(air.end() == 130, "\(air.output)")
    }
}

/// The two lives of a program are two processes, the first of which is killed.
@Suite("An air and a program that is killed", .timeLimit(.minutes(2)))
struct KilledProcessTests {
    @Test("C8: a killed download is restored by the next process, and goes on from its offset")
    func download() throws {
        let folder = NSTemporaryDirectory() + "/air-\(UUID().uuidString)"
        try FileManager.default.createDirectory(
            atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let (path, file, state) = (folder + "/socket", folder + "/file", folder + "/state")
        let content = Data((0..<200_000).map { UInt8(truncatingIfNeeded: $0 * $0 / 97) })
        try content.write(to: URL(filePath: folder + "/original"))

        let air = try Program("ble", ["air", "--unix", path, "--json"])
        #expect(air.waits(for: "\"radio\":\"unix:\(path)\""), "\(air.output)")
        let upload = try Program("resuming-upload", [folder + "/original"], radio: "unix:\(path)")
        #expect(upload.waits(for: "offering 200000 octets"), "\(upload.output)")
        let first = try Program("resuming-download", [file], radio: "unix:\(path)", state: state)
        #expect(first.waits(for: "asking for the rest, from 0 on"), "\(first.output)")
        #expect(upload.waits(for: "sending from 0 on"), "\(upload.output)")
        first.kill()
        let second = try Program("resuming-download", [file], radio: "unix:\(path)", state: state)
        #expect(second.end() == 0, "\(second.output)")
        #expect(second.output.hasPrefix("started again, with "), "\(second.output)")
        #expect(second.output.contains("complete: 200000 octets"), "\(second.output)")
        #expect(try Data(contentsOf: URL(filePath: file)) == content)
        air.interrupt()
        #expect(air.end() == 130, "\(air.output)")
    }
}

/// A product of the package as a process, which ends with the test. Every wait is limited.
private final class Program {
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
