import BluetoothTypes
import Foundation
import Host
import HostInterface
import Simulation
import Testing
import VirtualController

@Suite("World files")
struct WorldFileTests {
    static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent()

    private func problem(_ text: String) -> String {
        do {
            _ = try WorldFile(json: Array(text.utf8))
            return "nothing is wrong"
        } catch {
            return "\(error)"
        }
    }

    @Test(
        "What is wrong is told with line, path and remedy",
        arguments: [
            ("[]", "1:1: it must be an object, not a list"),
            ("{\"sede\":1}", "1:2: sede: there is no such member; did you mean \"seed\"?"),
            ("{\"seed\":1.5}", "1:9: seed: 1.5 is no whole number"),
            ("{\"seed\":-1}", "1:9: seed: -1 is not in 0...4294967295"),
            ("{\"devices\":[\n{}]}", "2:1: devices[0]: it has no \"name\"; add one"),
            ("{\"devices\":[{\"name\":\"A\"}]}", "1:13: devices[0]: it must have one of ready, profile, central"),
            (
                "{\"devices\":[{\"name\":\"A\",\"ready\":\"smartLok\"}]}",
                "1:33: devices[0].ready: \"smartLok\" is no ready device; did you mean \"smartLock\"?"
            ),
            (
                "{\"devices\":[{\"name\":\"A\",\"ready\":\"battery\",\"central\":[]}]}",
                "1:53: devices[0].central: it cannot stand beside \"ready\"; remove one of the two"
            ),
            (
                "{\"devices\":[{\"name\":\"A\",\"ready\":\"battery\",\"position\":\"here\"}]}",
                "1:54: devices[0].position: it must be a list, not a text"
            ),
            (
                "{\"devices\":[{\"name\":\"A\",\"ready\":\"battery\",\"faults\":[{\"fault\":\"forgetBond\"}]}]}",
                "1:62: devices[0].faults[0].fault: \"forgetBond\" is no fault; did you mean \"forgotBond\"?"
            ),
            (
                "{\"devices\":[{\"name\":\"A\",\"central\":[{\"connect\":\"B\"}]}]}",
                "1:13: devices[0]: it connects to \"B\", and no device is called so"
            ),
            (
                "{\"devices\":[{\"name\":\"A\",\"central\":[{\"wait\":0}]}]}",
                "1:44: devices[0].central[0].wait: 0 is not in 0.001...31536000"
            ),
            (
                "{\"devices\":[{\"name\":\"A\",\"profile\":\"b.json\"}]}",
                "1:35: devices[0].profile: the profile b.json cannot be read; paths count from the world's folder"
            ),
            (
                "{\"devices\":[{\"name\":\"Phone\",\"ready\":\"battery\"}]}",
                "1:13: devices[0]: another device is called \"Phone\", too; give each a name of its own"
            ),
        ])
    func problems(text: String, sentence: String) { #expect(problem(text) == sentence) }

    @Test("A device has at most as many attributes as there are handles")
    func attributes() {
        func world(_ count: Int) -> String {
            let characteristic = #"{"uuid":"FFF1","properties":["notify"],"description":"a"}"#
            let service = #"{"uuid":"FFF0","characteristics":[\#(characteristic)]}"#
            let services = Array(repeating: service, count: count).joined(separator: ",")
            return #"{"devices":[{"name":"A","profile":{"services":[\#(services)]}}]}"#
        }
        // Five each: the service, the characteristic, its value and two descriptors.
        #expect(problem(world(13_000)) == "nothing is wrong")
        let sentence = "they are 65005 attributes, and a device has 65000; take some out"
        #expect(problem(world(13_001)) == "1:47: devices[0].profile.services: \(sentence)")
    }

    @Test("Four times the devices take four times the time to read, and not sixteen")
    func manyDevices() throws {
        func cost(_ count: Int) throws -> Double {
            let devices = (0..<count).map { #"{"name":"\#($0)","ready":"battery"}"# }.joined(separator: ",")
            let text = Array(#"{"devices":[\#(devices)]}"#.utf8)
            var begin = timespec()
            var end = timespec()
            unsafe clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin)
            #expect(try WorldFile(json: text).devices.count == count)
            unsafe clock_gettime(CLOCK_THREAD_CPUTIME_ID, &end)
            return Double(end.tv_sec - begin.tv_sec) * 1e9 + Double(end.tv_nsec - begin.tv_nsec)
        }
        _ = try cost(100)
        let (few, many) = (try cost(4_000), try cost(16_000))
        #expect(many < 9 * few, "\(few / 1e6) ms and \(many / 1e6) ms")
    }

    @Test("The examples are worlds, and every name in the schema is one that the reader knows")
    func examples() throws {
        for name in ["evening", "faulty", "walk"] {
            _ = try WorldFile.read(Self.root.appending(path: "Examples/Worlds/\(name).json").path)
        }
        let schema = try String(
            contentsOf: Self.root.appending(path: "Documentation/world.schema.json"), encoding: .utf8)
        for fault in SimulatedFault.allCases { #expect(schema.contains("\"\(fault.rawValue)\"")) }
        for kind in ReadyKind.allCases { #expect(schema.contains("\"\(kind.rawValue)\"")) }
        for member in ["antenna", "bodyLoss", "packetsPerEvent", "links", "shadowing"] {
            #expect(schema.contains("\"\(member)\""))
        }
        for event in WorldFile.Event.allCases { #expect(schema.contains("\"\(event.rawValue)\"")) }
        _ = try JSONText(Array(schema.utf8))
    }

    @Test("Antennas, bodies, packets in an event and links are a device's own, and the air has its shadows")
    func radios() throws {
        let text = """
            {
              "air": { "place": "office", "shadowing": 0, "rssiError": 0, "fading": 0 },
              "program": { "position": [10, 0], "antenna": { "gain": 2 } },
              "devices": [
                { "name": "Pocket", "ready": "battery", "packetsPerEvent": 4, "links": 1,
                  "antenna": { "gain": -5, "bodyLoss": 15 } },
                { "name": "Back", "ready": "battery", "antenna": { "bodyLoss": 15, "bodyDirection": [-1, 0] } },
                { "name": "Front", "ready": "battery", "antenna": { "bodyLoss": 15, "bodyDirection": [1, 0] } }]
            }
            """
        let played = PlayedWorld(try WorldFile(json: Array(text.utf8)))
        var strengths: [String: Set<Int8>] = [:]
        played.world.airTap = { packet in
            for reception in packet.receptions where reception.device == 0 && reception.isIntact {
                strengths[played.world.devices[packet.sender].name, default: []].insert(reception.rssi)
            }
        }
        let phone = played.program.hosted
        played.world.enqueue { now in
            phone.withHost { host in
                let client = host.attach({ _ in }, at: now)
                host.submit(.startScan(ScanFilter()), number: RequestNumber(1), client: client, at: now)
            }
        }
        played.world.run(for: .seconds(5))
        // At 10 m an office with an exponent of 3 takes 40.2 + 30 dB; the phone's antenna gives 2 of them back. The
        // pocket takes 5 and 15, the body before the front 15.
        #expect(strengths["Back"] == [-68])
        #expect(strengths["Pocket"] == [-88])
        #expect(strengths["Front"] == [-83])
        let pocket = played.devices[0].hosted.device.controller.configuration
        #expect(pocket.packetsPerEvent == 4 && pocket.maxLinks == 1)
    }

    private func story(_ text: String, seed: UInt64? = nil, for duration: Duration) throws -> [Story.Line] {
        let file = try WorldFile(json: Array(text.utf8))
        var lines: [Story.Line] = []
        var story: Story?
        let played = PlayedWorld(file, seed: seed) { story?.add($0, $1, $2) }
        story = Story(of: played.world) { lines.append($0) }
        played.world.run(for: duration)
        return lines
    }

    private static let scripted = """
        {
          "devices": [
            {
              "name": "Motor",
              "profile": { "advertise": ["FFF0"], "services": [{ "uuid": "FFF0", "characteristics": [
                { "uuid": "FFF1", "properties": ["write"], "reactions": [
                  { "text": "go", "says": "it turns", "sets": { "FFF2": "01" }, "after": 1 },
                  { "answer": 128, "says": "it shrugs" }] },
                { "uuid": "FFF2", "properties": ["read", "notify"], "value": "00",
                  "timeline": [{ "after": 10, "value": "FF" }] },
                { "uuid": "FFF3", "properties": ["read"], "series": ["01", "02"], "interval": 0.5 }] }] },
              "position": [1, 0]
            },
            { "name": "Me", "central": [
              { "connect": "Motor" }, { "subscribe": "FFF2" }, { "write": "FFF1", "text": "go" },
              { "write": "FFF1", "text": "fly" }, { "wait": 5 }, { "read": "FFF3" }, { "wait": 6 }, "disconnect"] }
          ]
        }
        """

    @Test("A profile's reactions, values over time and timeline, and a phone's steps")
    func behaviour() throws {
        let lines = try story(Self.scripted, for: .seconds(20))
        func has(_ device: String, _ what: String, _ octets: [UInt8]? = nil) -> Bool {
            lines.contains { $0.device == device && $0.what == what && (octets == nil || $0.octets == octets) }
        }
        #expect(has("Motor", "it turns", Array("go".utf8)))
        #expect(has("Motor", "it shrugs", Array("fly".utf8)))
        #expect(has("Me", "writes FFF1: attribute(errorCode: 128)"))
        #expect(has("Me", "is notified of FFF2", [1]) && has("Me", "is notified of FFF2", [0xFF]))
        #expect(lines.contains { $0.device == "Me" && $0.what == "reads FFF3" && $0.octets?.count == 1 })
        #expect(has("Me", "ends the link to Motor"))
        let turning = lines.first { $0.what == "it turns" }
        let set = lines.first { $0.what == "is notified of FFF2" }
        #expect((set?.time ?? .zero) - (turning?.time ?? .zero) > .seconds(1))
    }

    @Test("The same seed tells the same story, another one another")
    func seeds() throws {
        let lossy = Self.scripted.replacing(
            "\"devices\": [", with: "\"air\": {\"packetLoss\": 0.2}, \"devices\": [", maxReplacements: 1)
        let first = try story(lossy, for: .seconds(10))
        #expect(try story(lossy, for: .seconds(10)) == first)
        #expect(try story(lossy, seed: 9, for: .seconds(10)) != first)
    }

    @Test("Waypoints: who walks away loses the link; faults begin, end and are told; events happen")
    func agenda() throws {
        let lines = try story(
            """
            { "devices": [
              { "name": "Lock", "ready": "smartLock", "faults": [{ "fault": "notificationsVanish", "at": 2, "for": 3 }],
                "events": [{ "at": 40, "do": "removeBattery" }, { "at": 41, "do": "insertBattery" }] },
              { "name": "Me", "position": [1, 0],
                "path": [{ "at": 10, "position": [1, 0] }, { "at": 20, "position": [3000, 0] }],
                "central": [{ "connect": "Lock" }, { "subscribe": "FFF4" }] } ] }
            """, for: .seconds(45))
        #expect(
            lines.contains {
                $0.device == "Lock" && $0.what == "! fault notificationsVanish begins" && $0.time == .seconds(2)
            })
        #expect(
            lines.contains {
                $0.device == "Lock" && $0.what == "! fault notificationsVanish ends" && $0.time == .seconds(5)
            })
        #expect(lines.contains { $0.device == "Lock" && $0.what == "! notificationsVanish strikes" })
        let lost = lines.first { $0.device == "Me" && $0.what == "has lost Lock" }
        #expect(lost.map { (.seconds(10)...(.seconds(25))).contains($0.time) } == true)
        #expect(lines.contains { $0.device == "Lock" && $0.what == "advertises" && $0.time >= .seconds(41) })
    }

    @Test("The ready devices are on the air with what they are", arguments: ReadyKind.allCases)
    func ready(kind: ReadyKind) throws {
        let lines = try story(
            """
            { "devices": [{ "name": "It", "ready": "\(kind.rawValue)", "position": [1, 0] },
                          { "name": "Me", "central": [{ "scan": 5 }] }] }
            """, for: .seconds(6))
        #expect(lines.contains { $0.device == "Me" && $0.what.hasPrefix("hears ") }, "\(kind)")
    }

    @Test("The firmware target takes a firmware, restarts, and its table has moved")
    func firmware() throws {
        let lines = try story(
            """
            { "devices": [
              { "name": "Target", "ready": "firmwareTarget", "position": [1, 0] },
              { "name": "Me", "central": [
                { "connect": "Target" }, { "subscribe": "FFD1" }, { "write": "FFD1", "value": "01 04000000" },
                { "write": "FFD2", "value": "DEADBEEF", "withoutResponse": true }, { "wait": 1 },
                { "write": "FFD1", "value": "02" }, { "wait": 1 }, { "write": "FFD1", "value": "03" }, { "wait": 8 },
                { "connect": "Target" }, { "read": "2A26" }] } ] }
            """, for: .seconds(40))
        #expect(lines.contains { $0.what == "is notified of FFD1" && $0.octets == [2, 0] })
        #expect(lines.contains { $0.what == "! fault tableMovedSilently begins" })
        #expect(lines.contains { $0.what == "reads 2A26" && $0.octets == Array("2.0.0".utf8) })
    }
}
