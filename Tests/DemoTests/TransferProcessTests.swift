import Foundation
import Testing

/// C10, C8: an air, a sender and a receiver that is killed, each a process of its own.
@Suite("An air and a transfer", .timeLimit(.minutes(60)))
struct TransferProcessTests {
    @Test("1 MB, 5 % of the messages lost, two broken links, a receiver that is killed: intact, resumed, not restarted")
    func hardships() throws {
        let folder = NSTemporaryDirectory() + "/air-\(UUID().uuidString)"
        try FileManager.default.createDirectory(
            atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let (path, inbox) = (folder + "/socket", folder + "/inbox")
        let content = Data((0..<1_000_000).map { UInt8(truncatingIfNeeded: $0 &* $0 / 97 &+ $0 >> 12) })
        try content.write(to: URL(filePath: folder + "/original.bin"))

        let air = try Program("ble", ["air", "--unix", path, "--json"])
        #expect(air.waits(for: "\"radio\":\"unix:\(path)\""), "\(air.output)")
        // Whoever comes first has the first place on the air.
        func receive() throws -> Program {
            let receiver = try Program(
                "ble", ["receive", inbox, "--count", "1", "--loss", "5", "--json"], radio: "unix:\(path)")
            #expect(receiver.waits(for: "advertising"), "\(receiver.output)")
            return receiver
        }
        let first = try receive()
        let sender = try Program(
            "ble", ["send", folder + "/original.bin", "--loss", "5", "--breaks", "2", "--json"],
            radio: "unix:\(path)")
        #expect(first.waits(for: "\"done\":", times: 5), "\(first.output)\(sender.output)")
        // In the middle of whatever it does: what it had not made durable is gone.
        first.kill()
        let second = try receive()
        #expect(sender.end() == 0, "\(sender.output)")
        #expect(second.end() == 0, "\(second.output)")
        #expect(try Data(contentsOf: URL(filePath: inbox + "/original.bin")) == content)

        // Each link but the first goes on where the last one was, but for 64 KiB that were not durable yet.
        let starts = try Self.numbers("from", of: "began", in: first.output + second.output)
        #expect(starts.count >= 4 && starts.first == 0 && starts == starts.sorted(), "\(starts)")
        let restarted = try #require(Self.numbers("from", of: "began", in: second.output).first)
        let durable = try #require(Self.numbers("done", of: "progress", in: first.output).last)
        #expect(restarted >= durable && restarted > 300_000, "\(restarted) after \(durable)")
        let result = try #require(try Self.numbers("resumedFrom", of: "sent", in: sender.output).first)
        #expect(result >= restarted, "\(sender.output)")
        #expect(sender.output.components(separatedBy: "interrupted").count - 1 >= 3, "\(sender.output)")
        #expect(!(first.output + second.output).contains("WARNING"), "a receiver advertises when its service is there")
        air.interrupt()
        #expect(air.end() == 130, "\(air.output)")
    }

    /// A member of each object that tells of `event`.
    private static func numbers(_ member: String, of event: String, in output: String) throws -> [Int] {
        try output.split(separator: "\n").compactMap { line in
            let object = try? JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
            guard let object, object["event"] as? String == event else { return nil }
            return try #require(object[member] as? Int)
        }
    }
}
