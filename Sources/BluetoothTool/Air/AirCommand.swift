import Backends
import BluetoothTypes
import Dispatch
import EventLoop
import HCITransport
import Synchronization

/// `ble air`: an air for other programs.
struct AirCommand {
    private let tool: Tool
    private let settings: AirServer.Settings
    private let isJSON: Bool

    init(tool: Tool, arguments: ParsedArguments) throws(UsageError) {
        self.tool = tool
        isJSON = arguments.has("--json")
        var settings = AirServer.Settings()
        settings.seed = try arguments.number("--seed", in: 0...0xFFFF_FFFF) ?? 0
        settings.path = arguments.values["--unix"]
        guard settings.path != "" else { throw UsageError("--unix needs a path") }
        settings.port = try arguments.number("--port", in: 0...65535)
        if settings.path == nil, settings.port == nil { settings.port = 0 }
        settings.aclLength = try arguments.number("--acl-length", in: 27...1024) ?? settings.aclLength
        settings.aclCount = try arguments.number("--acl-count", in: 1...255) ?? settings.aclCount
        settings.hasDevices = arguments.has("--devices")
        self.settings = settings
    }

    func run() -> ToolStatus {
        // Events come from two threads, and an interruption from a third.
        let news = News()
        tool.interruption.handle { news.end() }
        let server = AirServer(settings) { time, event in news.add(event, at: time) }
        do throws(TransportError) {
            try server.start()
        } catch {
            tool.printError("ble: \(error)")
            return .noRadio
        }
        while let events = news.next() {
            for (time, event) in events { tool.print(isJSON ? event.json(at: time) : event.line) }
        }
        server.stop()
        return .interrupted
    }
}

/// What happens on other threads, for the one that prints.
private final class News: Sendable {
    private struct State {
        var events: [(Instant, AirServer.Event)] = []
        var isOver = false
    }

    private let state = Mutex(State())
    private let bell = DispatchSemaphore(value: 0)

    func add(_ event: AirServer.Event, at time: Instant) {
        state.withLock { $0.events.append((time, event)) }
        bell.signal()
    }

    func end() {
        state.withLock { $0.isOver = true }
        bell.signal()
    }

    /// Waits for events, and takes them; `nil` when it is over.
    func next() -> [(Instant, AirServer.Event)]? {
        bell.wait()
        return state.withLock { state in
            defer { state.events = [] }
            return state.isOver ? nil : state.events
        }
    }
}

extension AirServer.Event {
    fileprivate var line: String {
        switch self {
        case .listening(let place): "listening at \(place)"
        case .device(let name, let address): "on the air: \(name), \(address)"
        case .connected(let number, let address): "connection \(number): controller \(address)"
        case .closed(let number, let reason): "connection \(number) closed: \(reason)"
        case .refused: "a connection was refused: all places are taken"
        }
    }

    fileprivate func json(at time: Instant) -> String {
        var line = JSONLine(["time": .decimal(time.sinceStart / .seconds(1), digits: 3)])
        switch self {
        case .listening(let place):
            line.add("event", .text("listening"))
            line.add("radio", .text("\(place)"))
        case .device(let name, let address):
            line.add("event", .text("device"))
            line.add("name", .text(name))
            line.add("address", .text("\(address)"))
        case .connected(let number, let address):
            line.add("event", .text("connected"))
            line.add("connection", .integer(number))
            line.add("address", .text("\(address)"))
        case .closed(let number, let reason):
            line.add("event", .text("closed"))
            line.add("connection", .integer(number))
            line.add("reason", .text(reason))
        case .refused:
            line.add("event", .text("refused"))
        }
        return line.text
    }
}
