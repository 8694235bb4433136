import Foundation
import Testing

/// Files that commands are given, and that are not what they should be.
@Suite("Files of commands", .timeLimit(.minutes(60)))
struct FileTests {
    private let folder = NSTemporaryDirectory() + "/files-\(UUID().uuidString)"

    init() throws {
        try FileManager.default.createDirectory(
            atPath: folder + "/precious", withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        try Data("kept".utf8).write(to: URL(fileURLWithPath: folder + "/precious/thesis"))
        let status = unsafe mkfifo(folder + "/pipe", 0o600)
        #expect(status == 0)
    }

    private func ble(_ arguments: String...) throws -> (output: String, status: Int32?) {
        let program = try Program("ble", arguments, radio: "simulated")
        let status = program.end()
        return (program.output, status)
    }

    @Test("Bonds replace a regular file and nothing else")
    func export() throws {
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let onFolder = try ble("bonds", "export", folder + "/precious")
        #expect(onFolder.status == 1 && onFolder.output.contains("is a folder"), "\(onFolder.output)")
        #expect(try String(contentsOfFile: folder + "/precious/thesis", encoding: .utf8) == "kept")
        #expect(try ble("bonds", "export", "").status == 2)
        #expect(try ble("bonds", "export", folder + "/pipe").status == 1)
        let (file, link) = (folder + "/bonds.json", folder + "/link")
        try Data("old".utf8).write(to: URL(fileURLWithPath: file))
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: file)
        #expect(try ble("bonds", "export", link).status == 0)
        #expect(try String(contentsOfFile: file, encoding: .utf8) != "old")
        let mode = try FileManager.default.attributesOfItem(atPath: file)[.posixPermissions] as? Int
        #expect(mode == 0o600)
        let names = try FileManager.default.contentsOfDirectory(atPath: folder).sorted()
        #expect(names == ["bonds.json", "link", "pipe", "precious"])
    }

    @Test("A pipe that nobody uses keeps no command waiting; captures need a file each")
    func pipes() throws {
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let (pipe, file) = (folder + "/pipe", folder + "/capture")
        for what in [pipe, folder + "/precious"] {
            let sent = try ble("send", what)
            #expect(sent.status == 1 && sent.output.contains("is not a regular file"), "\(sent.output)")
        }
        for option in ["--capture", "--air-capture"] {
            let read = try ble("read", "Strap", "2A24", option, pipe)
            #expect(read.status == 1 && read.output.contains("cannot be written"), "\(read.output)")
            #expect(try ble("read", "Strap", "2A24", option, "").status == 2)
        }
        #expect(try ble("read", "Strap", "2A24", "--capture", file, "--air-capture", file).status == 2)
    }

    @Test("A bond that cannot be kept is not said to be")
    func noStore() throws {
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let (socket, state) = (folder + "/socket", folder + "/precious/thesis")
        let air = try Program("ble", ["air", "--unix", socket, "--devices", "--json"])
        #expect(air.waits(for: "\"radio\":\"unix:\(socket)\""), "\(air.output)")
        let pair = try Program("ble", ["pair", "KL940704079"], radio: "unix:\(socket)", state: state)
        #expect(pair.end() == 1)
        #expect(pair.output.contains("is not safe to keep things in") && pair.output.contains("no bond"))
        #expect(try String(contentsOfFile: state, encoding: .utf8) == "kept")
        air.interrupt()
        #expect(air.end() == 130, "\(air.output)")
    }
}
