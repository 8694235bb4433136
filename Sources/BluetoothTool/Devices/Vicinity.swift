import BluetoothToolkit

/// `ble connect --near`: a link while the device is near.
struct Vicinity {
    let command: DeviceCommand
    let proximity: ProximityMeter.Settings
    let stay: Duration

    func run() -> ToolStatus {
        let (output, isJSON, device, proximity, stay) = (
            command.output, command.isJSON, command.device, proximity, stay
        )
        return command.run.run { time in
            let central = Central(time: time)
            try await central.waitUntilOn()
            let peripheral = try await device.find(with: central)
            var policy = ConnectionSupervisor.Policy()
            policy.proximity = proximity
            let supervisor = ConnectionSupervisor(of: peripheral, policy: policy)
            let events = supervisor.events()
            try await withThrowingTaskGroup(of: Void.self) { group in
                defer { group.cancelAll() }
                group.addTask { try await supervisor.run() }
                group.addTask {
                    for try await event in events { output.line(isJSON ? event.json : event.line) }
                }
                group.addTask { try await time.sleep(for: stay) }
                try await group.next()
            }
            return .success
        }
    }
}

extension SupervisionEvent {
    fileprivate var line: String {
        switch self {
        case .watching: "waiting until it is near"
        case .near(let average): "near: \(JSONLine.fixed(average, digits: 1)) dBm on average"
        case .connecting(let attempt): attempt == 1 ? "connecting" : "connecting, attempt \(attempt)"
        case .ready(let link): "link \(link) is there"
        case .ended(let cause): "no link: \(cause)"
        case .pausing(let pause): "again in \(JSONLine.fixed(pause / .seconds(1), digits: 1)) s"
        }
    }

    fileprivate var json: String {
        var line = JSONLine([:])
        switch self {
        case .watching: line.add("event", .text("watching"))
        case .near(let average):
            line.add("event", .text("near"))
            line.add("average", .decimal(average, digits: 1))
        case .connecting(let attempt):
            line.add("event", .text("connecting"))
            line.add("attempt", .integer(attempt))
        case .ready(let link):
            line.add("event", .text("ready"))
            line.add("link", .integer(link))
        case .ended(let cause):
            line.add("event", .text("ended"))
            line.add("cause", .text("\(cause)"))
        case .pausing(let pause):
            line.add("event", .text("pausing"))
            line.add("seconds", .decimal(pause / .seconds(1), digits: 3))
        }
        return line.text
    }
}
