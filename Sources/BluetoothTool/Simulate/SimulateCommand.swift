import EventLoop
import Foundation
import Simulation

extension CommandSyntax {
    static let simulate = CommandSyntax(
        name: "simulate", summary: "run a world that a JSON file describes", operands: "WORLD", operandCount: 1...1,
        discussion: """
            Puts the devices of WORLD on one air, lets them do what the file says, and tells what happens, with the
            simulated time. Half an hour takes seconds, and the same seed gives the same output. A program is put into
            the same world by --radio simulated:WORLD, or BLE_RADIO. The format is in Documentation/Worlds.md, its
            schema in Documentation/world.schema.json.
            """,
        options: [
            OptionSyntax(name: "--seconds", value: "N", help: "how long, 0.001...31536000 (what the file says)"),
            OptionSyntax(name: "--seed", value: "N", help: "the seed of all chance, 0...4294967295 (the file's)"),
            OptionSyntax(name: "--realtime", value: nil, help: "let a second take a second"),
            OptionSyntax(
                name: "--capture", value: "FILE", help: "record what passes between a host and its controller (btsnoop)"
            ),
            OptionSyntax(
                name: "--device", value: "NAME", help: "whose; the first phone's if left out, else the first device's"),
            OptionSyntax(name: "--air-capture", value: "FILE", help: "record all of the air (pcap of the link layer)"),
            OptionSyntax(
                name: "--digest", value: nil,
                help: "tell only one number, of all packets and their times,\nby which two runs can be compared"
            ),
            OptionSyntax(name: "--json", value: nil, help: "one object a line instead of text"),
        ],
        examples: [
            ("ble simulate Examples/Worlds/evening.json", "who comes home, and what the lock does"),
            ("ble simulate Examples/Worlds/faulty.json --json", "a sensor with a mood of its own, for a script"),
        ])
}

/// `ble simulate`.
struct SimulateCommand {
    private let tool: Tool
    private let file: WorldFile
    private let seed: UInt64?
    private let duration: Duration
    private let isRealTime: Bool
    private let isJSON: Bool
    private let showsDigest: Bool
    private let captures: (hci: String?, air: String?)
    private let captured: String?

    init(tool: Tool, arguments: ParsedArguments) throws(UsageError) {
        self.tool = tool
        do { file = try WorldFile.read(arguments.operands[0]) } catch {
            throw UsageError(error.description, status: .failure)
        }
        seed = try arguments.number("--seed", in: 0...4_294_967_295).map { UInt64($0) }
        duration = try arguments.number("--seconds", in: 0.001...31_536_000).map { .seconds($0) } ?? file.duration
        isRealTime = arguments.has("--realtime")
        isJSON = arguments.has("--json")
        showsDigest = arguments.has("--digest")
        captures = try arguments.captures()
        captured = arguments.values["--device"]
        if let captured, !file.devices.contains(where: { $0.name == captured }) {
            throw UsageError("no device of this world is called \"\(captured)\"")
        }
    }

    func run() -> ToolStatus {
        let stop = StopRequest()
        tool.interruption.handle { stop.ask() }
        let told = StoryBox()
        let place = PlayedWorld(file, seed: seed) { device, what, octets in told.story?.add(device, what, octets) }
        let story =
            showsDigest
            ? nil : Story(of: place.world) { tool.print(isJSON ? $0.json : Terminal.printable($0.text)) }
        told.story = story
        let digest = showsDigest ? WorldDigest(of: place.world) : nil
        let recorders: [CaptureFile]
        do throws(CaptureFile.Failure) { recorders = try record(place) } catch {
            tool.printError("ble: \(error.sentence)")
            return .failure
        }
        let start = ContinuousClock.now
        let end = place.world.now.advanced(by: duration)
        while place.world.now < end, !stop.isAsked {
            if isRealTime { catchUp(place.world, since: start) }
            place.world.run(until: min(end, place.world.now.advanced(by: .milliseconds(20))))
        }
        for problem in recorders.compactMap({ $0.close() }) {
            tool.printError("ble: \(problem)")
            return .failure
        }
        if let digest { tool.print(digest.text) }
        return stop.isAsked ? .interrupted : .success
    }

    private func record(_ place: PlayedWorld) throws(CaptureFile.Failure) -> [CaptureFile] {
        var recorders: [CaptureFile] = []
        if let path = captures.air { recorders.append(try CaptureFile(airOf: place.world, at: path)) }
        if let path = captures.hci {
            let device = place.devices.first { device in
                if let captured { return device.entry.name == captured }
                if case .central = device.entry.role { return true }
                return false
            }
            guard let device = device ?? place.devices.first else {
                throw CaptureFile.Failure(sentence: "there is no device in this world whose traffic could be recorded")
            }
            recorders.append(try CaptureFile(hciOf: device.hosted.device, at: path))
        }
        return recorders
    }

    private func catchUp(_ world: World, since start: ContinuousClock.Instant) {
        let ahead = world.now.sinceStart - start.duration(to: .now)
        if ahead > .zero { Thread.sleep(forTimeInterval: ahead / .seconds(1)) }
    }
}

/// The story needs the world, and the world somebody to tell.
private final class StoryBox {
    var story: Story?
}

extension Story.Line {
    var json: String {
        JSONLine([
            "time": .decimal(time / .seconds(1), digits: 6), "device": .text(device), "what": .text(what),
            "value": octets.map { .text($0.map(hexOctet).joined()) },
        ]).text
    }
}
