import BluetoothTool
import Foundation
import Testing

@Suite("Output")
struct OutputTests {
    @Test("A line of JSON is what Foundation reads")
    func json() throws {
        let line = JSONLine([
            "text": .text("\"a\" \\ \n \u{1} \u{1F512}"), "integer": .integer(-5),
            "decimal": .decimal(-0.0625, digits: 3),
            "truth": .truth(true), "list": .list([.text("x"), .null]), "absent": nil,
        ])
        let read = try JSONSerialization.jsonObject(with: Data(line.text.utf8)) as? [String: Any]
        #expect(read?["text"] as? String == "\"a\" \\ \n \u{1} \u{1F512}")
        #expect(read?["integer"] as? Int == -5)
        #expect(read?["decimal"] as? Double == -0.063)
        #expect(read?["truth"] as? Bool == true)
        #expect((read?["list"] as? [Any])?.count == 2)
        #expect(read?.keys.contains("absent") == false)
        #expect(!line.text.contains("\n"))
    }

    @Test("A line that cannot be written is told with its reason, and stops nothing")
    func unwritable() throws {
        let full = try #require(FileHandle(forWritingAtPath: "/dev/full"))
        #expect(LineFile(descriptor: full.fileDescriptor).write("a") == "No space left on device")
        #expect(LineFile(descriptor: -1).write("a") == "Bad file descriptor")
        let pipe = Pipe()
        #expect(LineFile(descriptor: pipe.fileHandleForWriting.fileDescriptor).write("a") == nil)
        #expect(pipe.fileHandleForReading.availableData == Data("a\n".utf8))
    }

    @Test(
        "A tool whose output or complaint cannot be written says so by its status",
        arguments: [("ble", "--version", 1), ("conformance", "--help", 2), ("conformance", "/nowhere", 2)])
    func fullOutput(tool: String, argument: String, status: Int32) throws {
        // The products lie beside the tests.
        let tests = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        let process = Process()
        process.executableURL = URL(fileURLWithPath: tests).deletingLastPathComponent().appendingPathComponent(tool)
        process.arguments = [argument]
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = FileHandle(forWritingAtPath: "/dev/full")
        process.standardError = FileHandle(forWritingAtPath: "/dev/full")
        try process.run()
        process.waitUntilExit()
        #expect(process.terminationReason == .exit && process.terminationStatus == status)
    }

    @Test(
        "When nobody takes the output any more, no socket and no half capture stay behind, and the status says so",
        arguments: ["a full disk", "a closed pipe"])
    func leftovers(what: String) throws {
        let tests = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        let tool = URL(fileURLWithPath: tests).deletingLastPathComponent().appendingPathComponent("ble")
        let folder = NSTemporaryDirectory() + "/leftovers-\(UUID().uuidString)"
        try FileManager.default.createDirectory(
            atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let world = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appending(path: "Examples/Worlds/evening.json").path
        let capture = folder + "/capture"
        for arguments in [
            ["air", "--unix", folder + "/socket"], ["simulate", world, "--capture", capture],
            ["connect", "KL940704079", "--radio", "simulated", "--capture", capture],
        ] {
            let (process, complaints) = (Process(), Pipe())
            process.executableURL = tool
            process.arguments = arguments
            process.standardError = complaints
            if what == "a full disk" {
                process.standardOutput = FileHandle(forWritingAtPath: "/dev/full")
            } else {
                let pipe = Pipe()
                process.standardOutput = pipe
                try pipe.fileHandleForReading.close()
            }
            try process.run()
            let text = String(decoding: complaints.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
            process.waitUntilExit()
            #expect(process.terminationReason == .exit && process.terminationStatus == 1, "\(arguments)")
            // Who has closed the pipe has read enough, and knows.
            #expect(text == (what == "a full disk" ? "\(full)\n" : ""), "\(arguments)")
            guard arguments.contains(capture) else { continue }
            let examined = try Program("ble", ["doctor", "--capture", capture])
            #expect(examined.end() != nil && !examined.output.contains("no record"), "\(examined.output)")
            let octets = try FileManager.default.attributesOfItem(atPath: capture)[.size] as? Int
            #expect(octets ?? 0 > 200)
            try FileManager.default.removeItem(atPath: capture)
        }
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == [])
    }

    private let full = "ble: the output cannot be written: No space left on device"

    @Test("An output that is closed is not another file of the tool's")
    func closedOutput() throws {
        let tests = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        let tool = URL(fileURLWithPath: tests).deletingLastPathComponent().appendingPathComponent("ble").path
        let (process, pipe) = (Process(), Pipe())
        process.executableURL = URL(fileURLWithPath: "/bin/sh")
        process.arguments = ["-c", "exec \"$0\" scan --radio simulated >&-", tool]
        process.standardError = pipe
        try process.run()
        let complaint = String(decoding: pipe.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        #expect(process.terminationStatus == 1 && complaint.contains("Bad file descriptor"), "\(complaint)")
    }

    @Test("Like entries in a row are drawn together")
    func repetition() {
        var text = TimelineText(terminal: Terminal(isInteractive: false))
        var lines: [String] = []
        for number in 0..<10 {
            lines += text.lines(
                for: TimelineEntry(
                    time: .milliseconds(number), kind: .received, actor: "phone", peer: "lock", what: "notified FFF4",
                    bytes: [UInt8(number)]))
        }
        lines += text.lines(for: TimelineEntry(time: .seconds(1), kind: .said, actor: "phone", what: "enough"))
        #expect(
            lines == [
                "   0.000 s  phone < lock            notified FFF4  00",
                "   0.001 s  phone < lock            notified FFF4  01",
                "   0.002 s  phone < lock            notified FFF4  02",
                "   0.009 s  ... and 7 more of these",
                "   1.000 s  phone                   enough",
            ])
        let rest = text.finish()
        #expect(rest.isEmpty)
    }

    @Test("A scan's table keeps what a later report does not tell")
    func table() {
        var table = ScanTable()
        let lock = UUID()
        let news = [
            table.add(Sighting(identifier: lock, name: "Lock", signal: -50, services: ["FFF0"])),
            table.add(Sighting(identifier: UUID(), signal: -90, manufacturerData: [0x4C, 0x00, 0x10])),
            table.add(Sighting(identifier: lock, signal: -55)),
        ]
        #expect(news == [true, true, false])
        let lines = table.lines(on: Terminal(isInteractive: false))
        #expect(lines.count == 3)
        #expect(lines[1] == "Lock  \(lock.uuidString)   -55  FFF0")
        #expect(lines[2].hasSuffix("   -90  Apple 10"))
    }

    @Test("A name from the air cannot steer the terminal")
    func hostileName() {
        var table = ScanTable()
        table.add(Sighting(identifier: UUID(), name: "\u{1B}[2J\u{202E}Lock\n\u{9B}1A"))
        let text = table.lines(on: Terminal(isInteractive: false)).joined()
        #expect(text.contains("\u{FFFD}[2J\u{FFFD}Lock\u{FFFD}\u{FFFD}1A"))
        let controls = text.unicodeScalars.filter { [.control, .format].contains($0.properties.generalCategory) }
        #expect(controls.isEmpty)
    }

    @Test("Colours are for terminals")
    func colours() {
        #expect(Terminal(isInteractive: false).styled("x", .red) == "x")
        #expect(Terminal(isInteractive: true).styled("x", .red) == "\u{1B}[31mx\u{1B}[0m")
    }
}
