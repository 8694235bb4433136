import BluetoothSimulation
import BluetoothToolkit
import CoreBluetooth
import Foundation
import Testing

/// The calls of a central, on a phone near a sensor.
struct CentralLife: Sendable, CustomTestStringConvertible {
    var testDescription: String
    var isLinked = true
    /// Whether the link is there when the call has been cancelled.
    var keepsLink = true
    var span = Duration.seconds(10)
    var call: @Sendable (Central, RemotePeripheral) async throws -> Void
    var next: @Sendable (Central, RemotePeripheral) async throws -> Void = { _, sensor in
        try await CentralLife.readConstant(sensor)
    }

    /// Sensor and central of a world of its own.
    func make() throws -> Life {
        let scene = PairWorld()
        let time = scene.time
        let (central, sensor) = try scene.world.output(
            of: scene.phone.start {
                let central = Central(time: time)
                try await central.waitUntilOn()
                return (central, try await central.first(for: [.service]).peripheral)
            }, within: .seconds(10))
        let (isLinked, call, next) = (isLinked, call, next)
        let life = Life(scene.world, on: scene.phone) {
            try await call(central, sensor)
        } next: {
            try await next(central, sensor)
        }
        life.before = {
            if isLinked {
                try await sensor.connect()
            } else if sensor.isConnected {
                try await sensor.disconnect()
            }
        }
        life.rest = isLinked && keepsLink ? ["link"] : []
        life.span = span
        life.owner = scene
        return life
    }

    @Sendable static func readConstant(_ sensor: RemotePeripheral) async throws {
        try await sensor.connect()
        let constant = try await sensor.characteristic(.constant, in: .service)
        #expect(try await sensor.read(constant) == Data("constant".utf8))
    }

    static let all: [CentralLife] = [
        CentralLife(testDescription: "first", isLinked: false) { central, _ in
            _ = try await central.first(for: [.service])
        } next: { central, _ in
            _ = try await central.first(for: [.service])
        },
        CentralLife(testDescription: "scan", isLinked: false) { central, _ in
            var count = 0
            for try await _ in try central.scan(duplicates: true) {
                count += 1
                if count == 3 { break }
            }
        } next: { central, _ in
            _ = try await central.first(for: [.service])
        },
        CentralLife(testDescription: "states", isLinked: false, span: .milliseconds(20)) { central, _ in
            for try await _ in central.states() {}
        } next: { central, _ in
            try await central.waitUntilOn()
        },
        CentralLife(testDescription: "connect", isLinked: false) { _, sensor in
            try await sensor.connect()
        } next: { _, sensor in
            try await sensor.connect()
            _ = try await sensor.readRSSI()
            try await sensor.disconnect()
        },
        CentralLife(testDescription: "disconnect", keepsLink: false) { _, sensor in
            try await sensor.disconnect()
        } next: { _, sensor in
            try await sensor.connect()
            try await sensor.disconnect()
        },
        CentralLife(testDescription: "waitForEnd", span: .milliseconds(100)) { _, sensor in
            _ = try await sensor.waitForEnd()
        },
        CentralLife(testDescription: "discover") { _, sensor in _ = try await sensor.discover() },
        CentralLife(testDescription: "discoverServices") { _, sensor in
            for service in try await sensor.discoverServices() {
                _ = try await sensor.discoverCharacteristics(of: service)
            }
        },
        CentralLife(testDescription: "characteristic") { _, sensor in
            _ = try await sensor.characteristic(.value, in: .service)
        },
        CentralLife(testDescription: "descriptors") { _, sensor in
            let value = try await sensor.characteristic(.value, in: .service)
            for descriptor in try await sensor.discoverDescriptors(of: value) { _ = try await sensor.read(descriptor) }
        },
        CentralLife(testDescription: "write to a descriptor") { _, sensor in
            let value = try await sensor.characteristic(.value, in: .service)
            let description = try #require(
                try await sensor.discoverDescriptors(of: value).first { $0.uuid == CBUUID(string: "2901") })
            // It cannot be changed; the refusal is the end.
            do {
                try await sensor.write(Data("b".utf8), to: description)
                Issue.record("The description was changed.")
            } catch is CBATTError {}
        },
        CentralLife(testDescription: "sleep", isLinked: false, span: .milliseconds(100)) { central, _ in
            for _ in 0..<4 { try await central.time.sleep(for: .milliseconds(20)) }
        },
        CentralLife(testDescription: "read") { _, sensor in
            _ = try await sensor.read(try await sensor.characteristic(.value, in: .service))
        },
        CentralLife(testDescription: "write") { _, sensor in
            try await sensor.write(Data(count: 300), to: try await sensor.characteristic(.value, in: .service))
        },
        CentralLife(testDescription: "writeWithoutResponse") { _, sensor in
            let command = try await sensor.characteristic(.command, in: .service)
            for _ in 0..<12 { try await sensor.writeWithoutResponse(Data(count: 182), to: command) }
        },
        CentralLife(testDescription: "readRSSI") { _, sensor in
            for _ in 0..<3 { _ = try await sensor.readRSSI() }
        },
        CentralLife(testDescription: "values") { _, sensor in
            let value = try await sensor.characteristic(.value, in: .service)
            let values = try await sensor.values(of: value)
            try await sensor.write(Data("told".utf8), to: value)
            for try await _ in values { break }
        } next: { _, sensor in
            let value = try await sensor.characteristic(.value, in: .service)
            let values = try await sensor.values(of: value)
            try await sensor.write(Data("told".utf8), to: value)
            for try await _ in values { break }
        },
        CentralLife(testDescription: "known values") { _, sensor in
            try await hearKnown(sensor)
        } next: { _, sensor in
            try await sensor.connect()
            try await hearKnown(sensor)
        },
    ]

    /// Reads and hears a value by its type.
    @Sendable private static func hearKnown(_ sensor: RemotePeripheral) async throws {
        let known = KnownCharacteristic("FFF1", in: "FFF0") { String(data: $0, encoding: .utf8) }
        _ = try await sensor.read(known)
        let values = try await sensor.values(of: known)
        try await sensor.write(Data("told".utf8), to: try await sensor.characteristic(.value, in: .service))
        for try await _ in values { break }
    }
}
