package import BluetoothTypes
package import HostInterface

/// A world as data: who is there, where, and what happens. Documentation/Worlds.md has the format.
package struct WorldFile: Sendable {
    package enum Role: Sendable {
        case profile(DeviceProfile)
        case ready(ReadyKind)
        /// A phone that does these steps, perhaps over and over.
        case central([CentralStep], repeats: Bool)
    }

    /// A place at an instant; between two of them the device goes straight, at a constant speed.
    package struct Waypoint: Sendable {
        package var at: Duration
        package var position: Position
    }

    /// A Wi-Fi in the way.
    package struct Interference: Sendable {
        package var interferer: Interferer
        package var at = Duration.zero
        /// `nil` lasts.
        package var length: Duration?
    }

    package struct FaultEntry: Sendable {
        package var fault: SimulatedFault
        package var at = Duration.zero
        /// `nil` lasts.
        package var length: Duration?
        package var probability = 1.0
    }

    package enum Event: String, CaseIterable, Sendable {
        case removeBattery, insertBattery, bluetoothOff, bluetoothOn, bluetoothCrash, toBackground, toForeground
        case permit, deny
    }

    package struct Device: Sendable {
        package var name: String
        /// `nil` gives it one of its own.
        package var address: DeviceAddress?
        package var position = Position()
        package var path: [Waypoint] = []
        package var mtu: UInt16 = 517
        /// In dBm.
        package var transmitPower: Int8 = 0
        package var antenna = Antenna()
        /// How many packets its controller sends in one connection event at most; `nil` for as many as fit.
        package var packetsPerEvent: Int?
        /// How many links its controller holds.
        package var links = 8
        /// `nil` for the device on which the program runs.
        package var role: Role?
        package var faults: [FaultEntry] = []
        package var events: [(at: Duration, event: Event)] = []
        package var policy = ProgramPolicy()

        package init(name: String) { self.name = name }
    }

    package var seed: UInt64 = 0
    /// How long `ble simulate` lets it run.
    package var duration = Duration.seconds(30)
    package var environment = RadioEnvironment()
    package var interference: [Interference] = []
    /// Where the program is that is put into the world.
    package var program = Device(name: "Phone")
    package var devices: [Device] = []

    /// A world without anybody but the program.
    package init(seed: UInt64) { self.seed = seed }

    /// - Parameter profile: the octets of a profile that the file names, by its path as it stands there; `nil` if there
    ///   is none.
    /// - Throws: ``JSONProblem`` with the place, the path and a sentence.
    package init(
        json octets: some Collection<UInt8>, profile: (String) -> [UInt8]? = { _ in nil }
    ) throws(JSONProblem) {
        let object = try JSONNode(try JSONText(octets)).object(
            ["$schema", "description", "seed", "seconds", "air", "interference", "program", "devices"])
        _ = try object["description"]?.string(atMost: 10_000)
        seed = UInt64(try object["seed"]?.integer(in: 0...0xFFFF_FFFF) ?? 0)
        duration = try object["seconds"]?.duration(from: 0.001) ?? .seconds(30)
        if let air = object["air"] { try readAir(air) }
        for entry in try object["interference"]?.list() ?? [] { interference.append(try Self.interference(entry)) }
        if let program = object["program"] { self.program = try Self.device(program, isProgram: true, profile) }
        var taken = Taken()
        taken.add(program)
        for node in try object["devices"]?.list() ?? [] {
            let device = try Self.device(node, isProgram: false, profile)
            try taken.check(device, node)
            taken.add(device)
            devices.append(device)
        }
        try checkTargets(object)
    }

    private static func interference(_ node: JSONNode) throws(JSONProblem) -> Interference {
        let object = try node.object(["wiFiChannel", "position", "dutyCycle", "power", "at", "for"])
        let interferer = Interferer.wiFi(
            channel: try object.required("wiFiChannel").integer(in: 1...13),
            at: try object["position"].map { place throws(JSONProblem) in try position(place) } ?? Position(),
            dutyCycle: try object.required("dutyCycle").number(in: 0...1),
            power: try object["power"]?.number(in: -50...36) ?? 20)
        return Interference(
            interferer: interferer, at: try object["at"]?.duration() ?? .zero, length: try object["for"]?.duration())
    }

    private enum Surroundings: String, CaseIterable { case openAir, home, office }

    private mutating func readAir(_ node: JSONNode) throws(JSONProblem) {
        let air = try node.object([
            "place", "pathLossExponent", "sensitivity", "fading", "packetLoss", "shadowing", "shadowingDistance",
            "rssiError", "rssiLoss",
        ])
        switch try air["place"]?.choice(Surroundings.self, "place") {
        case .openAir, nil: environment = .openAir
        case .home: environment = .home
        case .office: environment = .office
        }
        environment.pathLossExponent = try air["pathLossExponent"]?.number(in: 1...6) ?? environment.pathLossExponent
        environment.sensitivity = try air["sensitivity"]?.number(in: -120 ... -40) ?? environment.sensitivity
        environment.fading = try air["fading"]?.number(in: 0...40) ?? environment.fading
        environment.packetLoss = try air["packetLoss"]?.number(in: 0...1) ?? 0
        environment.shadowing = try air["shadowing"]?.number(in: 0...40) ?? environment.shadowing
        environment.shadowingDistance =
            try air["shadowingDistance"]?.number(in: 0.1...1000) ?? environment.shadowingDistance
        environment.rssiError = try air["rssiError"]?.number(in: 0...40) ?? environment.rssiError
        environment.rssiLoss = try air["rssiLoss"]?.number(in: 0...1) ?? environment.rssiLoss
    }

    /// What the devices before have.
    private struct Taken {
        var names: Set<String> = []
        var addresses: Set<DeviceAddress> = []

        mutating func add(_ device: Device) {
            names.insert(device.name)
            if let address = device.address { addresses.insert(address) }
        }

        func check(_ device: Device, _ node: JSONNode) throws(JSONProblem) {
            if names.contains(device.name) {
                throw node.problem("another device is called \"\(device.name)\", too; give each a name of its own")
            }
            if let address = device.address, addresses.contains(address) {
                throw node.problem("another device has the address \(address), too; leave it out, or take another")
            }
            // One of them is the program's.
            if names.count > mostDevices { throw node.problem("there are more than \(mostDevices) devices") }
        }
    }

    package static let mostDevices = 20_000

    /// Whom the phones connect to must be there.
    private func checkTargets(_ object: JSONObject) throws(JSONProblem) {
        let names = Set(devices.map(\.name))
        for (index, device) in devices.enumerated() {
            guard case .central(let steps, _) = device.role else { continue }
            for case .connect(let name, _) in steps where !names.contains(name) {
                let node = try object.required("devices").list()[index]
                throw node.problem("it connects to \"\(name)\", and no device is called so")
            }
        }
    }
}

// MARK: - Devices

extension WorldFile {
    private static let common = [
        "name", "address", "position", "path", "mtu", "power", "antenna", "packetsPerEvent", "links", "faults",
        "events",
    ]

    private static func device(
        _ node: JSONNode, isProgram: Bool, _ profile: (String) -> [UInt8]?
    ) throws(JSONProblem) -> Device {
        let own =
            isProgram ? ["permission", "backgroundModes", "background"] : ["ready", "profile", "central", "repeats"]
        let object = try node.object(common + own)
        var device = Device(name: "Phone")
        if isProgram {
            device.name = try object["name"]?.string(atMost: 248) ?? "Phone"
            device.policy = try policy(object)
        } else {
            device.name = try object.required("name").string(atMost: 248)
            device.role = try role(object, name: device.name, profile)
        }
        if let text = object["address"] {
            guard let address = DeviceAddress(try text.string()) else {
                throw text.problem("it must be of the form AA:BB:CC:DD:EE:FF")
            }
            device.address = address
        }
        if let place = object["position"] { device.position = try position(place) }
        for entry in try object["path"]?.list() ?? [] {
            let step = try entry.object(["at", "position"])
            let waypoint = Waypoint(
                at: try step.required("at").duration(), position: try position(step.required("position")))
            if let last = device.path.last, waypoint.at < last.at {
                throw entry.problem("it comes before the one above it; put them in the order of time")
            }
            device.path.append(waypoint)
        }
        device.mtu = UInt16(try object["mtu"]?.integer(in: 23...517) ?? 517)
        device.transmitPower = Int8(try object["power"]?.integer(in: -127...20) ?? 0)
        if let antenna = object["antenna"] { device.antenna = try Self.antenna(antenna) }
        device.packetsPerEvent = try object["packetsPerEvent"]?.integer(in: 1...255)
        device.links = try object["links"]?.integer(in: 1...64) ?? device.links
        for entry in try object["faults"]?.list() ?? [] { device.faults.append(try fault(entry)) }
        for entry in try object["events"]?.list() ?? [] {
            let event = try entry.object(["at", "do"])
            device.events.append(
                (try event.required("at").duration(), try event.required("do").choice(Event.self, "event")))
        }
        return device
    }

    private static func role(
        _ object: JSONObject, name: String, _ profile: (String) -> [UInt8]?
    ) throws(JSONProblem) -> Role {
        let (kind, value) = try object.one(of: ["ready", "profile", "central"])
        if kind != "central", let repeats = object["repeats"] {
            throw repeats.problem("only a \"central\" repeats its steps; remove it")
        }
        switch kind {
        case "ready": return .ready(try value.choice(ReadyKind.self, "ready device"))
        case "central":
            var steps: [CentralStep] = []
            for step in try value.list() { steps.append(try CentralStep(step)) }
            return .central(steps, repeats: try object["repeats"]?.bool() ?? false)
        default:
            guard value.isText else { return .profile(try DeviceProfile(value, fallbackName: name)) }
            let path = try value.string()
            guard let octets = profile(path) else {
                throw value.problem("the profile \(path) cannot be read; paths count from the world's folder")
            }
            do throws(JSONProblem) {
                return .profile(try DeviceProfile(JSONNode(try JSONText(octets)), fallbackName: name))
            } catch {
                throw value.problem("\(path):\(error)")
            }
        }
    }

    /// `[x, y]`, `[x, y, z]`, or an object with these members, in metres.
    private static func position(_ node: JSONNode) throws(JSONProblem) -> Position {
        let range = -1_000_000.0...1_000_000
        if case .object = node.text.value {
            let object = try node.object(["x", "y", "z"])
            return Position(
                x: try object["x"]?.number(in: range) ?? 0, y: try object["y"]?.number(in: range) ?? 0,
                z: try object["z"]?.number(in: range) ?? 0)
        }
        let numbers = try node.list()
        guard (2...3).contains(numbers.count) else {
            throw node.problem("it must have two or three numbers, [x, y] or [x, y, z], in metres")
        }
        return Position(
            x: try numbers[0].number(in: range), y: try numbers[1].number(in: range),
            z: numbers.count == 3 ? try numbers[2].number(in: range) : 0)
    }

    private static func antenna(_ node: JSONNode) throws(JSONProblem) -> Antenna {
        let object = try node.object(["gain", "bodyLoss", "bodyDirection"])
        return Antenna(
            gain: try object["gain"]?.number(in: -60...40) ?? 0,
            bodyLoss: try object["bodyLoss"]?.number(in: 0...60) ?? 0,
            bodyDirection: try object["bodyDirection"].map { place throws(JSONProblem) in try position(place) })
    }

    /// A name, or an object.
    private static func fault(_ node: JSONNode) throws(JSONProblem) -> FaultEntry {
        if node.isText { return FaultEntry(fault: try node.choice(SimulatedFault.self, "fault")) }
        let object = try node.object(["fault", "at", "for", "probability"])
        var entry = FaultEntry(fault: try object.required("fault").choice(SimulatedFault.self, "fault"))
        entry.at = try object["at"]?.duration() ?? .zero
        entry.length = try object["for"]?.duration()
        entry.probability = try object["probability"]?.number(in: 0...1) ?? 1
        return entry
    }

    private enum Permission: String, CaseIterable { case notDetermined, restricted, denied, allowed }
    private enum Mode: String, CaseIterable { case central, peripheral }

    private static func policy(_ object: JSONObject) throws(JSONProblem) -> ProgramPolicy {
        var policy = ProgramPolicy()
        switch try object["permission"]?.choice(Permission.self, "permission") {
        case .notDetermined: policy.permission = .notDetermined
        case .restricted: policy.permission = .restricted
        case .denied: policy.permission = .denied
        case .allowed, nil: policy.permission = .allowed
        }
        var modes: BackgroundModes = []
        for mode in try object["backgroundModes"]?.list() ?? [] {
            switch try mode.choice(Mode.self, "background mode") {
            case .central: modes.insert(.central)
            case .peripheral: modes.insert(.peripheral)
            }
        }
        policy.backgroundModes = modes
        policy.isInBackground = try object["background"]?.bool() ?? false
        return policy
    }
}
