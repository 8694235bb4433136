package import BluetoothTypes

/// One thing that a phone in a world file does.
package enum CentralStep: Sendable {
    /// Listens for so long, to who advertises one of the services, or to everybody.
    case scan(Duration, services: [BluetoothUUID])
    /// By the device's name in the file; gives up after `within`.
    case connect(String, within: Duration)
    case read(BluetoothUUID)
    case write(BluetoothUUID, value: [UInt8], withResponse: Bool)
    case subscribe(BluetoothUUID)
    case unsubscribe(BluetoothUUID)
    case wait(Duration)
    case disconnect

    init(_ node: JSONNode) throws(JSONProblem) {
        if node.isText {
            guard try node.string() == "disconnect" else {
                throw node.problem("a step is an object, or the text \"disconnect\"")
            }
            self = .disconnect
            return
        }
        let object = try node.object([
            "scan", "services", "connect", "within", "read", "write", "value", "text", "withoutResponse", "subscribe",
            "unsubscribe", "wait",
        ])
        let (name, value) = try object.one(of: ["scan", "connect", "read", "write", "subscribe", "unsubscribe", "wait"])
        switch name {
        case "scan":
            var services: [BluetoothUUID] = []
            for service in try object["services"]?.list() ?? [] { services.append(try service.uuid()) }
            self = .scan(try value.duration(from: 0.001), services: services)
        case "connect":
            self = .connect(try value.string(), within: try object["within"]?.duration(from: 0.001) ?? .seconds(30))
        case "read": self = .read(try value.uuid())
        case "write":
            guard let octets = try DeviceProfile.value(object) else {
                throw node.problem("it has neither \"value\" nor \"text\"; add what to write")
            }
            let isCommand = try object["withoutResponse"]?.bool() ?? false
            self = .write(try value.uuid(), value: octets, withResponse: !isCommand)
        case "subscribe": self = .subscribe(try value.uuid())
        case "unsubscribe": self = .unsubscribe(try value.uuid())
        // A step takes time, so that steps that repeat come to no end at one instant.
        default: self = .wait(try value.duration(from: 0.001))
        }
    }
}
