import BluetoothTool
import Foundation
import Testing

/// The commands that talk to devices, in the simulated world that comes with them.
@Suite("Commands for devices")
struct DeviceCommandTests {
    private func run(_ arguments: String...) -> (output: String, errors: String, status: ToolStatus) {
        run(arguments)
    }

    private func run(_ arguments: [String]) -> (output: String, errors: String, status: ToolStatus) {
        var output: [String] = []
        var errors: [String] = []
        let tool = Tool(
            terminal: Terminal(isInteractive: false), environment: ["BLE_RADIO": "simulated"],
            print: { output.append($0) }, printError: { errors.append($0) })
        let status = tool.run(arguments)
        return (output.joined(separator: "\n"), errors.joined(separator: "\n"), status)
    }

    private func objects(_ text: String) throws -> [[String: Any]] {
        try text.split(separator: "\n").map { line in
            try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any], "\(line)")
        }
    }

    @Test("browse: services, characteristics with handles and properties, values in words")
    func browse() throws {
        let text = run("browse", "kl940704079")
        #expect(text.status == .success && text.errors.isEmpty, "\(text.errors)")
        #expect(text.output.contains("service 180A Device Information"))
        #expect(text.output.contains("2A23 System ID  (read)"))
        #expect(text.output.contains("MAC C0:DE:00:00:00:31"))
        #expect(text.output.contains("\"KL-940\"") && text.output.contains("FFF6  (write)"))
        let lines = try objects(run("browse", "Sensor", "--json").output)
        #expect(lines.contains { $0["kind"] as? String == "descriptor" && $0["value"] as? String == "a counter" })
        #expect(lines.contains { ($0["properties"] as? [String])?.contains("writeWithoutResponse") == true })
        #expect(!run("browse", "Sensor", "--service", "FFF0", "--no-values").output.contains("nothing written"))
    }

    @Test("A device by address, by identifier, by name, and one that is not there")
    func devices() throws {
        let scan = try objects(run("scan", "--json", "--seconds", "2").output)
        let identifier = try #require(
            scan.first { $0["name"] as? String == "KL940704079" }?["identifier"] as? String)
        for device in ["C0:DE:00:00:00:31", "KL940704079"] {
            #expect(run("read", device, "2A24").output.contains("\"KL-940\""), "\(device)")
        }
        // The identifier is this host's own name, and each simulated home is the same host.
        #expect(run("connect", identifier, "--seconds", "1").output.contains("connected to \"KL940704079\""))
        let missing = run("read", "Chandelier", "2A24")
        #expect(missing.status == .failure && missing.errors.contains("\"Chandelier\" is not on the air; these are: "))
        #expect(missing.errors.contains("KL940704079"))
    }

    @Test("read and write: hex, text, raw, by handle, refused, missing")
    func values() throws {
        #expect(run("read", "KL940704079", "FFF4").output == "5F  \"_\"")
        #expect(run("read", "KL940704079", "2A19", "--raw").output == "5F")
        #expect(run("read", "KL940704079", "180f").status == .failure)
        #expect(run("write", "KL940704079", "FFF6", "unlock", "--text").output == "6 octets written, and confirmed")
        let refused = run("write", "KL940704079", "FFF6", "00 01")
        #expect(refused.status == .failure && refused.errors.contains("the device refuses"))
        #expect(refused.errors.contains("0x80"))
        #expect(run("write", "KL940704079", "FFF6", "0").status == .usage)
        #expect(run("write", "Sensor", "FFF1", "0x0102", "--without-response").output == "2 octets written")
        let missing = run("read", "KL940704079", "2A37")
        #expect(missing.errors.contains("has no characteristic 2A37"))
        let browse = run("browse", "KL940704079", "--json").output
        let handle = try #require(
            try objects(browse).first { $0["uuid"] as? String == "2A24" }?["handle"] as? Int)
        let text = "@" + String(handle, radix: 16)
        #expect(try objects(run("read", "KL940704079", text, "--json").output)[0]["meaning"] as? String == "\"KL-940\"")
        #expect(run("read", "KL940704079", "@0").status == .usage)
    }

    @Test("subscribe: values until a count or a time")
    func subscribe() throws {
        let beats = run("subscribe", "Strap", "2A37", "--count", "3")
        #expect(beats.status == .success)
        #expect(beats.output.split(separator: "\n").count == 3 && beats.output.contains("beats a minute"))
        let lines = try objects(run("subscribe", "Strap", "2A37", "--seconds", "5", "--json").output)
        #expect((3...5).contains(lines.count) && lines[0]["value"] as? String == "003C")
        let refused = run("subscribe", "KL940704079", "2A24")
        #expect(refused.status == .failure && refused.errors.contains("2A24 of \"KL940704079\" does not notify"))
    }

    @Test("soak: a report that could not be written is told before the test")
    func unwritable() {
        let result = run("soak", "--html", "/nowhere/soak.html")
        #expect(result.status == .failure)
        #expect(result.output.isEmpty)
        #expect(result.errors.contains("/nowhere/soak.html cannot be written"))
    }

    @Test("A time limit ends a command that waits for ever, with a sentence")
    func timeout() {
        let late = run("subscribe", "KL940704079", "FFF4", "--timeout", "30.5", "--json")
        #expect(late.status == .failure && late.errors == "ble: it was not done within 30.5 s")
    }

    @Test("soak: passes, and fails with a peer that loses; reports in all forms")
    func soak() throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("soak-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let files = ["report.html", "report.xml", "report.json"].map { folder.appendingPathComponent($0).path }
        let passed = run(
            "soak", "--minutes", "1", "--html", files[0], "--junit", files[1], "--report", files[2])
        #expect(passed.status == .success && passed.output.contains("PASSED  60.0 s"), "\(passed)")
        #expect(passed.output.contains("sent 600, back 600, lost 0"))
        for file in files { #expect(FileManager.default.fileExists(atPath: file)) }
        let failed = run("soak", "--minutes", "1", "--loss", "3", "--json")
        #expect(failed.status == .failure)
        let result = try #require(try objects(failed.output).last)
        #expect(result["passed"] as? Bool == false && (result["lost"] as? Int ?? 0) >= 12)
        #expect(result["sent"] as? Int == 600)
    }

    @Test("send: a file to the simulated receiver; a file that is not there")
    func send() throws {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("send-\(UUID().uuidString)")
        try Data(repeating: 7, count: 20_000).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        let sent = run("send", file.path)
        #expect(sent.output.contains("20000 octets are with \"Receiver\", intact"), "\(sent)")
        #expect(sent.status == .success)
        #expect(try objects(run("send", file.path, "Receiver", "--json").output).last?["length"] as? Int == 20_000)
        #expect(run("send", file.path + "x").errors.contains("cannot be read"))
    }

    @Test("advertise, serve, receive: until their time is up")
    func peripherals() throws {
        #expect(run("advertise", "--name", "Lamp", "--services", "FFF0,180F", "--seconds", "1").output == "on the air")
        #expect(run("advertise", "--services", "xyz").status == .usage)
        let lamp = Self.root.appendingPathComponent("Examples/Profiles/lamp.json").path
        let served = try objects(run("serve", lamp, "--seconds", "1", "--json").output)
        #expect(served.map { $0["event"] as? String } == ["advertising"])
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("inbox-\(UUID().uuidString)").path
        defer { try? FileManager.default.removeItem(atPath: folder) }
        #expect(run("receive", folder, "--timeout", "2").errors.contains("not done within 2.0 s"))
    }

    @Test("A profile that is wrong is told where")
    func profiles() throws {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("profile-\(UUID().uuidString).json")
        defer { try? FileManager.default.removeItem(at: file) }
        for (text, sentence) in [
            ("{", ":1:2: "), (#"{"services":[]}"#, "has no \"name\""),
            (#"{"name":"A","services":[{"uuid":"xyz","characteristics":[]}]}"#, "is no UUID"),
            (shouting, "\"shout\" is no property"),
        ] {
            try Data(text.utf8).write(to: file)
            let result = run("serve", file.path)
            #expect(result.status == .failure && result.errors.contains(sentence), "\(result.errors)")
        }
    }

    @Test(
        "A file that is not there or is no such file is a failure, told in words that say what to do",
        arguments: [
            (["simulate", "nowhere"], 1), (["serve", "nowhere"], 1), (["doctor", "--log", "nowhere"], 1),
            (["doctor", "--capture", "nowhere"], 1), (["bonds", "import", "nowhere"], 1), (["send", "nowhere"], 1),
            (["demo", "which", "--capture", "/nowhere/a"], 1), (["bonds", "export", "/nowhere/a"], 1),
            (["scan", "--radio", "simulated:nowhere"], 3), (["read", "Strap", "2A24", "--capture", "/nowhere/a"], 1),
        ] as [([String], Int32)])
    func absent(arguments: [String], status: Int32) {
        let result = run(arguments)
        #expect(result.status.rawValue == status)
        #expect(result.errors.contains("nowhere") && result.errors.contains("check the path"), "\(result.errors)")
        #expect(!result.errors.contains("operation could") && !result.errors.contains("Try"), "\(result.errors)")
    }

    @Test("A world that is wrong ends simulate as a profile does serve; a byte order mark is none of its mistakes")
    func worlds() throws {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("world-\(UUID().uuidString).json")
        defer { try? FileManager.default.removeItem(at: file) }
        try Data("{".utf8).write(to: file)
        let malformed = run("simulate", file.path)
        #expect(malformed.status == .failure && malformed.errors == "ble: \(file.path):1:2: \(memberMissing)")
        #expect(run("simulate", "/").errors.hasSuffix("it is a folder; name a file"))
        let world = #"{"seconds":1,"devices":[{"name":"\u001b[2J\u202eLock","ready":"battery"}]}"#
        try Data([0xEF, 0xBB, 0xBF] + Array(world.utf8)).write(to: file)
        let hostile = run("simulate", file.path)
        #expect(hostile.status == .success, "\(hostile.errors)")
        #expect(hostile.output.contains("\u{FFFD}[2J\u{FFFD}Lock"), "\(hostile.output)")
        let text = hostile.output.replacing("\n", with: "")
        #expect(Terminal.printable(text) == text)
    }

    private let memberMissing = "a member's name in double quotes must be here"

    @Test("scan takes --timeout, too")
    func scanTimeout() {
        let scanned = run("scan", "--timeout", "2")
        #expect(scanned.status == .success && scanned.output == run("scan", "--seconds", "2").output)
        #expect(run("help").output.contains("simulated:FILE"))
    }

    @Test("doctor: well, not found, the list, a log")
    func doctor() throws {
        let well = run("doctor", "Strap", "--characteristic", "2A37", "--notify")
        #expect(well.status == .success && well.output == "nothing is wrong", "\(well)")
        let wrong = run("doctor", "Strpa", "--json")
        let cause = try objects(wrong.output).first?["cause"] as? String
        #expect(wrong.status == .failure && cause == "misspelledName")
        #expect(try objects(run("doctor", "--list", "--json").output).count == Cause.allCases.count)
        #expect(run("doctor", "--log", "nowhere").status == .failure)
    }

    private let shouting = """
        {"name":"A","services":[{"uuid":"FFF0","characteristics":[{"uuid":"FFF1","properties":["shout"]}]}]}
        """

    /// The arguments of `./ble ...` as a page has it, with its files found wherever the tests run.
    static func words(of command: String) -> [String] {
        command.split(separator: " ").dropFirst().map { word in
            let world = "simulated:"
            let isWorld = word.hasPrefix(world)
            let file = root.appendingPathComponent(String(isWorld ? word.dropFirst(world.count) : word)).path
            guard FileManager.default.fileExists(atPath: file) else { return String(word) }
            return isWorld ? world + file : file
        }
    }

    @Test("connect --near: a link while the device is near, and no longer")
    func near() throws {
        let walk = Self.words(of: "./ble --radio simulated:Examples/Worlds/walk.json")
        let result = run(["connect", "KL940704079", "--near", "-60", "--seconds", "130", "--json"] + walk)
        let events = try objects(result.output)
        #expect(result.status == .success, "\(result.errors)")
        #expect(
            events.map { $0["event"] as? String }
                == ["watching", "near", "connecting", "ready", "ended", "pausing", "watching"], "\(result.output)")
        // -60 dBm is about 10 m away in the open, and -80 dBm about 100 m.
        #expect((-60 ... -57).contains(events[1]["average"] as? Double ?? 0))
        #expect(events[4]["cause"] as? String == "the other device is too far away")
        #expect(run("connect", "A", "--far", "-80").errors.contains("--far needs --near"))
        #expect(run("connect", "A", "--near", "-80", "--far", "-60").errors.contains("--far must be below --near"))
    }

    static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()
}
