import Foundation
import Testing

/// Three processes: an air, and two ordinary programs that find each other on it.
@Suite("An air and two programs", .timeLimit(.minutes(60)))
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
@Suite("An air and a channel", .timeLimit(.minutes(60)))
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
@Suite("An air and a program that is killed", .timeLimit(.minutes(60)))
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
