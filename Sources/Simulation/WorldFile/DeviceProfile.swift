package import BluetoothTypes
import HostInterface

/// A device as data: what it shows, what it offers, and how it behaves. `ble serve` plays one on any radio, a world
/// file on a simulated one. Documentation/Profiles.md has the format.
package struct DeviceProfile: Sendable {
    package struct Characteristic: Sendable {
        package var uuid: BluetoothUUID
        package var properties: CharacteristicProperties
        /// Only bonded devices may read, write and subscribe.
        package var isEncrypted = false
        package var description: String?
        /// What reads get at first.
        package var value: [UInt8] = []
        /// Values that come one after the other, over and over.
        package var series: [[UInt8]] = []
        package var interval = Duration.seconds(1)
        /// What the value becomes, so long after the start.
        package var timeline: [(after: Duration, value: [UInt8])] = []
        /// The first that fits a written value is what happens.
        package var reactions: [Reaction] = []
        /// What writes are refused with that no reaction fits; 0 accepts.
        package var refusal: UInt8 = 0
    }

    /// What happens when a value is written.
    package struct Reaction: Sendable {
        /// The value; `nil` is any.
        package var written: [UInt8]?
        /// The code that the write is answered with (Core 6.0, Vol 3, Part F, 3.4.1.1); 0 accepts.
        package var answer: UInt8 = 0
        /// What a person would see the device do.
        package var says: String?
        /// Values that change, and are notified to who listens.
        package var sets: [(characteristic: BluetoothUUID, value: [UInt8])] = []
        /// How long after the write they change.
        package var delay = Duration.zero
    }

    package struct Service: Sendable {
        package var uuid: BluetoothUUID
        package var characteristics: [Characteristic]
    }

    package var name: String
    /// The services to advertise.
    package var advertised: [BluetoothUUID]
    /// Company identifier, least significant octet first, and data.
    package var manufacturerData: [UInt8]?
    package var isConnectable: Bool
    package var services: [Service]

    /// - Throws: ``JSONProblem`` with the place, the path and a sentence.
    package init(json octets: some Collection<UInt8>) throws(JSONProblem) {
        try self.init(JSONNode(try JSONText(octets)))
    }

    /// - Parameter fallbackName: what it is called if the profile has no name of its own.
    init(_ node: JSONNode, fallbackName: String? = nil) throws(JSONProblem) {
        let object = try node.object(
            ["$schema", "name", "advertise", "manufacturerData", "connectable", "services"])
        if let fallbackName, object["name"] == nil {
            name = fallbackName
        } else {
            name = try object.required("name").string(atMost: 248)
        }
        services = []
        for service in try object.required("services").list() { services.append(try Self.service(service)) }
        advertised = services.map(\.uuid)
        if let listed = object["advertise"] {
            advertised = []
            for uuid in try listed.list() { advertised.append(try uuid.uuid()) }
        }
        manufacturerData = try object["manufacturerData"]?.octets(atMost: 29)
        isConnectable = try object["connectable"]?.bool() ?? true
        try checkSize(try object.required("services"))
        try checkSets(node)
    }

    private static func service(_ node: JSONNode) throws(JSONProblem) -> Service {
        let object = try node.object(["uuid", "characteristics"])
        var characteristics: [Characteristic] = []
        for entry in try object.required("characteristics").list() { characteristics.append(try characteristic(entry)) }
        return Service(uuid: try object.required("uuid").uuid(), characteristics: characteristics)
    }

    private static func characteristic(_ node: JSONNode) throws(JSONProblem) -> Characteristic {
        let object = try node.object([
            "uuid", "properties", "encrypted", "description", "value", "text", "series", "interval", "timeline",
            "reactions", "refuse",
        ])
        var properties: CharacteristicProperties = []
        for property in try object.required("properties").list() {
            properties.insert(try property.choice(PropertyName.self, "property").property)
        }
        var result = Characteristic(uuid: try object.required("uuid").uuid(), properties: properties)
        result.isEncrypted = try object["encrypted"]?.bool() ?? false
        result.description = try object["description"]?.string(atMost: 512)
        result.value = try value(object) ?? []
        for value in try object["series"]?.list() ?? [] { result.series.append(try value.octets()) }
        result.interval = try object["interval"]?.duration(from: 0.01) ?? .seconds(1)
        for entry in try object["timeline"]?.list() ?? [] {
            let step = try entry.object(["after", "value", "text"])
            guard let value = try value(step) else { throw entry.problem("it has no \"value\"; add one") }
            result.timeline.append((try step.required("after").duration(), value))
        }
        for entry in try object["reactions"]?.list() ?? [] { result.reactions.append(try reaction(entry)) }
        result.refusal = UInt8(try object["refuse"]?.integer(in: 0...255) ?? 0)
        return result
    }

    private static func reaction(_ node: JSONNode) throws(JSONProblem) -> Reaction {
        let object = try node.object(["value", "text", "answer", "says", "sets", "after"])
        var reaction = Reaction(written: try value(object))
        reaction.answer = UInt8(try object["answer"]?.integer(in: 0...255) ?? 0)
        reaction.says = try object["says"]?.string()
        for (name, value) in try object["sets"]?.dictionary() ?? [] {
            guard let uuid = BluetoothUUID(string: name) else {
                throw value.problem("\"\(name)\" is no UUID of 4, 8 or 36 characters")
            }
            reaction.sets.append((uuid, try value.octets()))
        }
        reaction.delay = try object["after"]?.duration() ?? .zero
        return reaction
    }

    /// "value" in hexadecimal digits or "text"; `nil` if it has neither.
    static func value(_ object: JSONObject) throws(JSONProblem) -> [UInt8]? {
        if let text = object["text"] {
            if let value = object["value"] { throw value.problem("it cannot stand beside \"text\"; remove one") }
            return Array(try text.string(atMost: 512).utf8)
        }
        return try object["value"]?.octets()
    }

    /// A table of attributes has 65,535 handles (Core 6.0, Vol 3, Part F, 3.2.2), and the host has services of its own.
    private static let mostAttributes = 65_000

    private func checkSize(_ node: JSONNode) throws(JSONProblem) {
        let count = services.reduce(0) { $0 + 1 + $1.characteristics.reduce(0) { $0 + $1.attributeCount } }
        guard count > Self.mostAttributes else { return }
        throw node.problem("they are \(count) attributes, and a device has \(Self.mostAttributes); take some out")
    }

    private func checkSets(_ node: JSONNode) throws(JSONProblem) {
        let all = services.flatMap(\.characteristics)
        let known = Set(all.map(\.uuid))
        for reaction in all.flatMap(\.reactions) {
            for (uuid, _) in reaction.sets where !known.contains(uuid) {
                throw node.problem("a reaction sets \(uuid), which is none of its characteristics")
            }
        }
    }

    private enum PropertyName: String, CaseIterable {
        case read, write, writeWithoutResponse, notify, indicate

        var property: CharacteristicProperties {
            switch self {
            case .read: .read
            case .write: .write
            case .writeWithoutResponse: .writeWithoutResponse
            case .notify: .notify
            case .indicate: .indicate
            }
        }
    }
}

// MARK: - On a simulated host

extension DeviceProfile {
    /// The same as a script.
    package var script: PeripheralScript {
        let all = services.flatMap(\.characteristics)
        var script = PeripheralScript(
            advertisement: AdvertisementContent(
                localName: name, services: advertised, manufacturerData: manufacturerData,
                isConnectable: isConnectable),
            services: services.map { service in
                ServiceDefinition(uuid: service.uuid, characteristics: service.characteristics.map(\.definition))
            })
        for characteristic in all {
            script.values[characteristic.uuid] = characteristic.value
            script.reactions[characteristic.uuid] = characteristic.writeReaction
            if !characteristic.series.isEmpty {
                script.series.append(
                    PeripheralScript.ValueSeries(
                        characteristic: characteristic.uuid, interval: characteristic.interval, runsAlways: true
                    ) { number in characteristic.series[number % characteristic.series.count] })
            }
            for step in characteristic.timeline {
                script.timeline.append((step.after, characteristic.uuid, step.value))
            }
        }
        script.notifiesWrites = true
        return script
    }
}

extension DeviceProfile.Characteristic {
    /// What happens when `value` is written.
    package func reaction(to value: [UInt8]) -> DeviceProfile.Reaction {
        reactions.first { $0.written == nil || $0.written == value } ?? DeviceProfile.Reaction(answer: refusal)
    }

    /// Declaration, value, and descriptors.
    fileprivate var attributeCount: Int {
        2 + (description == nil ? 0 : 1) + (properties.isDisjoint(with: [.notify, .indicate]) ? 0 : 1)
    }

    fileprivate var writeReaction: PeripheralScript.WriteReaction {
        { device, value in
            let reaction = reaction(to: value)
            if let says = reaction.says { device.tell(says, value) }
            if !reaction.sets.isEmpty { device.set(reaction.sets, after: reaction.delay) }
            return reaction.answer
        }
    }

    fileprivate var definition: CharacteristicDefinition {
        let descriptors = description.map {
            [DescriptorDefinition(uuid: .userDescription, value: Array($0.utf8))]
        }
        var definition = CharacteristicDefinition(uuid, properties, descriptors: descriptors ?? [])
        if isEncrypted {
            definition.permissions.formUnion([.readEncryptionRequired, .writeEncryptionRequired])
            definition.subscriptionNeedsEncryption = true
        }
        return definition
    }
}
