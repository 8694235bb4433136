import BluetoothTool
import Foundation
import Testing

/// Wireshark's reader takes every packet of every demo, on the air and at the phone. ./test installs it if it is
/// missing.
@Suite("Captures of the demos", .enabled(if: FileManager.default.isExecutableFile(atPath: "/usr/bin/tshark")))
struct CaptureTests {
    private func tshark(_ file: String, _ filter: String) throws -> (output: String, errors: String) {
        let process = Process()
        let (output, errors) = (Pipe(), Pipe())
        process.executableURL = URL(filePath: "/usr/bin/tshark")
        process.arguments = ["-r", file, "-Y", filter]
        process.standardOutput = output
        process.standardError = errors
        try process.run()
        let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        let trouble = String(decoding: errors.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        #expect(process.terminationStatus == 0, "\(trouble)")
        return (text, trouble)
    }

    /// Nothing in a capture is malformed, an error to Wireshark's experts, or has a wrong CRC.
    private func check(_ files: [String], of what: String) throws {
        for file in files {
            // 0x00800000 is an expert's "error", such as a CRC that does not match.
            let marked = try tshark(file, "_ws.malformed || _ws.expert.severity >= 8388608 || btle.crc.incorrect")
            #expect(marked.output.isEmpty, "\(what): \(marked.output.prefix(2000))")
        }
    }

    private func inFolder(_ body: (URL) throws -> Void) throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "captures-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try body(folder)
    }

    /// The others have packets that are malformed on purpose.
    @Test("tshark decodes the captures of a world of the examples")
    func world() throws {
        let world = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appending(path: "Examples/Worlds/evening.json").path
        try inFolder { folder in
            let (air, host) = (folder.appending(path: "air.pcap").path, folder.appending(path: "phone.btsnoop").path)
            let tool = Tool(
                terminal: Terminal(isInteractive: false), environment: [:], print: { _ in },
                printError: { Issue.record("\($0)") })
            #expect(tool.run(["simulate", world, "--capture", host, "--air-capture", air]) == .success)
            try check([air, host], of: world)
            #expect(try !tshark(air, "btle.advertising_header").output.isEmpty, "nothing was on the air")
        }
    }

    @Test("tshark decodes a demo's captures without an error or malformed mark", arguments: Demo.all.map(\.name))
    func decodes(demo: String) throws {
        try inFolder { folder in
            let (air, host) = (folder.appending(path: "air.pcap").path, folder.appending(path: "phone.btsnoop").path)
            let tool = Tool(
                terminal: Terminal(isInteractive: false), environment: [:], print: { _ in },
                printError: { Issue.record("\($0)") })
            #expect(tool.run(["demo", demo, "--capture", host, "--air-capture", air]) == .success)
            try check([air, host], of: demo)
            #expect(try !tshark(air, "btle.advertising_header").output.isEmpty, "\(demo): nothing was on the air")
            #expect(try !tshark(host, "bthci_cmd").output.isEmpty, "\(demo): the phone sent no command")
        }
    }
}
