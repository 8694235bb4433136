import BluetoothSimulation
import BluetoothToolkit
import CoreBluetooth
import Testing

@Suite("Async central and peripheral")
struct CallTests {
    @Test("Scan, connect, discover, read, write, subscribe, measure, disconnect")
    func everything() throws {
        let scene = PairWorld()
        try scene.onPhone { central in
            let found = try await central.first(where: { $0.localName == "Sensor" })
            #expect(found.services == [.service] && found.isConnectable && (found.rssi ?? 0) < -20)
            let sensor = found.peripheral
            try await sensor.connect()
            let services = try await sensor.discover()
            #expect(services.map(\.uuid) == [.service])
            #expect(services[0].characteristics.map(\.uuid) == [.value, .command, .indicated, .constant, .silent])
            let value = try await sensor.characteristic(.value, in: .service)
            #expect(try await sensor.read(value) == Data("stored".utf8))
            try await sensor.write(Data(repeating: 7, count: 400), to: value)
            #expect(try await sensor.read(value) == Data(repeating: 7, count: 400))
            let descriptors = try await sensor.discoverDescriptors(of: value)
            let description = try #require(descriptors.first { $0.uuid == CBUUID(string: "2901") })
            #expect(try await sensor.read(description) == .text("a value"))
            #expect(try await sensor.readRSSI() < -20)
            let values = try await sensor.values(of: value)
            let command = try await sensor.characteristic(.command, in: .service)
            try await sensor.writeWithoutResponse(Data("order".utf8), to: command)
            for try await notified in values where notified == Data("order".utf8) { break }
            try await sensor.disconnect()
            #expect(!sensor.isConnected)
        }
    }

    @Test("What is not there, not allowed or too long is an error with a name")
    func errors() throws {
        let scene = PairWorld()
        try scene.onPhone { central in
            let sensor = try await central.first(for: [.service]).peripheral
            await #expect(throws: ToolkitError.notConnected) { try await sensor.readRSSI() }
            try await sensor.connect()
            await #expect(throws: ToolkitError.notFound("service 180D")) {
                try await sensor.characteristic(CBUUID(string: "FFF1"), in: CBUUID(string: "180D"))
            }
            await #expect(throws: ToolkitError.notFound("characteristic 2A19 in the service FFF0")) {
                try await sensor.characteristic(CBUUID(string: "2A19"), in: .service)
            }
            let command = try await sensor.characteristic(.command, in: .service)
            await #expect(throws: CBATTError.self) { try await sensor.read(command) }
            await #expect(throws: ToolkitError.tooLong(octets: 183, limit: 182)) {
                try await sensor.writeWithoutResponse(Data(count: 183), to: command)
            }
            let constant = try await sensor.characteristic(.constant, in: .service)
            await #expect(throws: CBATTError.self) { _ = try await sensor.values(of: constant) }
            await #expect(throws: CBATTError.self) { try await sensor.writeWithoutResponse(Data(), to: constant) }
            try await sensor.disconnect()
            try await sensor.connect()
            await #expect(throws: ToolkitError.outdated) { try await sensor.read(constant) }
        }
    }

    @Test("A deadline ends a call that nobody answers, and the next call works when the peer is there again")
    func deadline() throws {
        let scene = PairWorld()
        try scene.onPhone { [time = scene.time] central in
            let sensor = try await central.sensor()
            let silent = try await sensor.characteristic(.silent, in: .service)
            let constant = try await sensor.characteristic(.constant, in: .service)
            let begin = time.now
            await #expect(throws: ToolkitError.timedOut(after: .seconds(2))) {
                try await sensor.read(silent, within: .seconds(2))
            }
            #expect(time.now - begin == .seconds(2))
            // The peer answers one request at a time: what comes next waits for the one before, and no longer than
            // told.
            await #expect(throws: ToolkitError.timedOut(after: .seconds(3))) {
                try await sensor.read(constant, within: .seconds(3))
            }
            #expect(time.now - begin == .seconds(5))
            try await sensor.disconnect()
            try await sensor.connect()
            let again = try await sensor.characteristic(.constant, in: .service)
            #expect(try await sensor.read(again) == Data("constant".utf8))
        }
    }

    @Test("Nobody advertises: a search and an attempt end at their deadlines")
    func nobody() throws {
        let scene = PairWorld()
        let time = scene.time
        let search = scene.phone.start {
            let central = Central(time: time)
            try await central.waitUntilOn()
            return try await central.first(for: [.service]).peripheral
        }
        let sensor = try scene.world.output(of: search, within: .seconds(10))
        scene.sensor.position = .init(x: 10_000)
        let attempts = scene.phone.start {
            await #expect(throws: ToolkitError.timedOut(after: .seconds(5))) {
                try await sensor.central.first(for: [.service], within: .seconds(5))
            }
            await #expect(throws: ToolkitError.timedOut(after: .seconds(5))) {
                try await sensor.connect(within: .seconds(5))
            }
            try await sensor.disconnect()
        }
        try scene.world.output(of: attempts, within: .seconds(11))
    }

    @Test("The link's end and the radio's end every open call once, with the cause")
    func ends() throws {
        for end in ["lost", "off"] {
            let scene = PairWorld()
            let time = scene.time
            let phone = scene.phone.start {
                let central = Central(time: time)
                try await central.waitUntilOn()
                let sensor = try await central.sensor()
                let silent = try await sensor.characteristic(.silent, in: .service)
                let value = try await sensor.characteristic(.value, in: .service)
                let values = try await sensor.values(of: value)
                async let first: Void = { _ = try await sensor.read(silent) }()
                async let second: Void = { _ = try await sensor.readRSSI() }()
                async let third: Void = { for try await _ in values {} }()
                async let fourth = sensor.waitForEnd()
                var causes: [LinkEnd] = []
                do { try await first } catch ToolkitError.linkEnded(let cause) { causes.append(cause) }
                do { try await second } catch ToolkitError.linkEnded(let cause) { causes.append(cause) }
                do { try await third } catch ToolkitError.linkEnded(let cause) { causes.append(cause) }
                causes.append(try await fourth)
                return causes
            }
            scene.world.run(for: .seconds(5))
            #expect(!phone.isFinished)
            if end == "lost" { scene.sensor.removeBattery() } else { scene.phone.setBluetooth(on: false) }
            let cause: LinkEnd = end == "lost" ? .lost : .radioUnavailable(.poweredOff)
            #expect(try scene.world.output(of: phone, within: .seconds(10)) == [cause, cause, cause, cause])
        }
    }

    @Test("A radio that goes ends a scan and an attempt; one that this program may not use is told at once")
    func radio() throws {
        let scene = PairWorld()
        let time = scene.time
        let phone = scene.phone.start {
            let central = Central(time: time)
            try await central.waitUntilOn()
            let advertisements = try central.scan(duplicates: true)
            for try await _ in advertisements {}
        }
        scene.world.run(for: .seconds(2))
        scene.phone.setBluetooth(on: false)
        #expect(throws: ToolkitError.radioUnavailable(.poweredOff)) {
            try scene.world.output(of: phone, within: .zero)
        }
        let barred = scene.world.addDevice("Barred")
        barred.permission = .denied
        #expect(throws: ToolkitError.radioUnavailable(.unauthorized)) {
            try scene.world.output(
                of: barred.start { try await Central(time: time).waitUntilOn() }, within: .seconds(1))
        }
    }

    @Test("Two scans share the radio, and each gets what it asked for; with the last one the radio rests")
    func scans() throws {
        let scene = PairWorld()
        let other = scene.world.addDevice("Other", at: .init(y: 1))
        let time = scene.time
        let advertising = other.start {
            let peripheral = LocalPeripheral(time: time)
            try await peripheral.waitUntilOn()
            try await peripheral.advertise(name: "Other")
            for try await _ in peripheral.events {}
        }
        try scene.onPhone { central in
            var all: Events<Advertisement>? = try central.scan(duplicates: true)
            let some = try central.scan(for: [.service])
            try await time.sleep(for: .seconds(3))
            #expect((all?.dropped ?? 0) == 0)
            var names: [String?] = []
            for try await advertisement in try #require(all) {
                names.append(advertisement.localName)
                if names.count > 20 { break }
            }
            #expect(Set(names) == ["Sensor", "Other"])
            all = nil
            var found: [String?] = []
            var iterator = some.makeAsyncIterator()
            found.append(try await iterator.next()?.localName)
            #expect(found == ["Sensor"])
        }
        #expect(!advertising.isFinished)
    }

    @Test("A stream with a small buffer drops what its reader does not take, and counts it")
    func drops() throws {
        let scene = PairWorld()
        try scene.onPhone { [time = scene.time] central in
            let sensor = try await central.sensor()
            let value = try await sensor.characteristic(.value, in: .service)
            let newest = try await sensor.values(of: value, buffer: .newest(3))
            let oldest = try await sensor.values(of: value, buffer: .oldest(3))
            try await time.sleep(for: .milliseconds(10_500))
            try await sensor.disconnect()
            #expect(newest.dropped >= 7 && newest.dropped == oldest.dropped)
            var last: [UInt8] = []
            do {
                for try await value in newest { last.append(value[0]) }
            } catch ToolkitError.linkEnded(.requested) {}
            var first: [UInt8] = []
            do {
                for try await value in oldest { first.append(value[0]) }
            } catch ToolkitError.linkEnded(.requested) {}
            #expect(last.count == 3 && first.count == 3)
            #expect(Int(last[2]) - Int(first[2]) == newest.dropped)
        }
    }
}
