import BluetoothSimulation
import BluetoothTool
import BluetoothToolkit
import CoreBluetooth
import EventLoop
import Foundation
import HCITransport
import Simulation
import Testing

/// `ble doctor --capture`: the same faults, found in what passed between the phone and its controller.
@Suite("Doctor reads captures")
struct CaptureReaderTests {
    /// What the doctor's own examination leaves behind in a world with one fault.
    private static func capture(of item: DoctorTests.Case) throws -> [UInt8] {
        let scene = DoctorWorld()
        let file = CaptureFile()
        scene.world.world.hciTap = { now, device, direction, packet in
            guard device.name == "Phone" else { return }
            let time = Int64(now.sinceStart / .microseconds(1))
            file.octets += BTSnoop.record(packet, direction == .hostToController ? .toController : .toHost, time: time)
        }
        item.prepare(scene)
        _ = try? scene.findings()
        scene.world.run(for: .seconds(31))
        return file.octets
    }

    // `@unchecked`: on the thread that runs the world alone.
    private final class CaptureFile: @unchecked Sendable {
        var octets = BTSnoop.header
    }

    private static let names = [
        "nothingOnAir", "weakSignal", "doesNotAnswer", "dropsAtOnce", "linkLost", "smallMTU", "silentNotifications",
        "readRefused", "needsPairing", "noAnswer", "writeRefused",
    ]
    static let cases = (DoctorTests.air + DoctorTests.link + DoctorTests.values).filter {
        names.contains($0.cause.rawValue)
    }

    @Test("A fault that was there is found in the capture", arguments: cases)
    func found(_ item: DoctorTests.Case) throws {
        let causes = try CaptureReader.findings(in: Self.capture(of: item)).map(\.cause)
        #expect(Set(causes) == Set([item.cause] + item.also), "\(causes.map(\.rawValue))")
    }

    /// What the doctor's examination does not meet by itself.
    static let worldCases: [DoctorTests.Case] = [
        DoctorTests.Case(.neverSubscribed) { scene in
            scene.addSensor()
            scene.examination.characteristic = .init("FFF3")
            scene.examination.wantsNotifications = false
        },
        // The peer asks for parameters that are out of range, and leaves when they are refused.
        DoctorTests.Case(.parametersRefused) { $0.addSensor().addFault(.demandsParameters) },
        DoctorTests.Case(.pairingFailed, also: [.needsPairing]) { scene in
            var sensor = DoctorWorld.Sensor()
            sensor.isProtected = true
            scene.addSensor(sensor).addFault(.refusesPairing)
        },
        DoctorTests.Case(.staleCache) { scene in
            let sensor = scene.addSensor()
            scene.read(behind: { sensor.addFault(.tableMovedSilently) })
        },
        DoctorTests.Case(.radioFailed) { scene in
            scene.addSensor()
            scene.read(behind: { scene.phone.addFault(.controllerResets) })
        },
    ]

    @Test("A fault that a program meets is found in its capture", arguments: worldCases)
    func met(_ item: DoctorTests.Case) throws {
        let wantsNotifications = item.cause == .neverSubscribed
        let capture = try Self.capture(of: item)
        let causes = try CaptureReader.findings(in: capture, wantsNotifications: wantsNotifications).map(\.cause)
        #expect(Set(causes) == Set([item.cause] + item.also), "\(causes.map(\.rawValue))")
    }

    @Test("Nothing is found in the capture of a link that was well")
    func healthy() throws {
        let well = DoctorTests.Case(.notHeard) { $0.addSensor() }
        let findings = try CaptureReader.findings(in: Self.capture(of: well), wantsNotifications: true)
        #expect(findings.isEmpty, "\(findings)")
    }

    /// Packets that no peer of ours sends: events and ACL data as the specification has them.
    static let packetCases: [(cause: Cause, packets: [[UInt8]])] = [
        (.radioFailed, [[0x04, 0x10, 0x01, 0x42]]),
        // LE Create Connection refused: Connection Limit Exceeded.
        (.linkLimit, [[0x04, 0x0F, 0x04, 0x09, 0x01, 0x0D, 0x20]]),
        // Encryption Change: PIN or Key Missing.
        (.bondLost, [connected, [0x04, 0x08, 0x04, 0x06, 0x40, 0x00, 0x00]]),
        // Connection Parameter Update Response: rejected.
        (.parametersRefused, [connected, data([0x06, 0, 5, 0, 0x13, 1, 2, 0, 1, 0])]),
        // Pairing Failed: Confirm Value Failed.
        (.pairingFailed, [connected, data([2, 0, 6, 0, 0x05, 0x04])]),
        // Read Request, Error Response: Invalid Handle.
        (.staleCache, [connected, data([3, 0, 4, 0, 0x0A, 9, 0]), data([5, 0, 4, 0, 0x01, 0x0A, 9, 0, 1])]),
        // A Characteristic declared as (read) at handle 3, and a Write Command to it.
        (.writeVanishes, [connected, discovery, declaration(0x02), data([4, 0, 4, 0, 0x52, 3, 0, 1])]),
        // One that notifies, and nobody subscribes.
        (.neverSubscribed, [connected, discovery, declaration(0x10)]),
        // A peer's Read Request that this side leaves open until the link ends, six seconds later.
        (.logForgottenResponse, [connected, received([3, 0, 4, 0, 0x0A, 9, 0]), [], [], [], ended]),
    ]

    @Test("Faults by their packets", arguments: packetCases)
    func packets(_ cause: Cause, _ packets: [[UInt8]]) throws {
        var file = BTSnoop.header
        for (index, packet) in packets.enumerated() where !packet.isEmpty {
            // Answers are those whose opcode is odd; everything else here is sent by this side.
            let isFromController = packet[0] == 0x04 || packet[0] == 0x02 && packet[2] & 0x30 == 0x20
            file += BTSnoop.record(packet, isFromController ? .toHost : .toController, time: Int64(index) * 1_500_000)
        }
        let causes = try CaptureReader.findings(in: file, wantsNotifications: true).map(\.cause)
        #expect(causes == [cause])
    }

    /// LE Connection Complete as the central: handle 0x0040, 02:00:00:00:00:02, 30 ms, no latency, 720 ms.
    private static let connected: [UInt8] = [
        0x04, 0x3E, 0x13, 0x01, 0, 0x40, 0, 0, 0, 2, 0, 0, 0, 0, 2, 24, 0, 0, 0, 72, 0, 0,
    ]
    /// Disconnection Complete: Remote User Terminated Connection.
    private static let ended: [UInt8] = [0x04, 0x05, 0x04, 0, 0x40, 0, 0x13]
    /// Read By Type Request for 0x2803.
    private static let discovery = data([7, 0, 4, 0, 0x08, 1, 0, 0xFF, 0xFF, 0x03, 0x28])

    private static func declaration(_ properties: UInt8) -> [UInt8] {
        received([9, 0, 4, 0, 0x09, 7, 2, 0, properties, 3, 0, 0xF1, 0xFF])
    }

    /// An ACL packet; answers of the Attribute Protocol and its signalling come from the peer.
    private static func data(_ pdu: [UInt8]) -> [UInt8] {
        let isAnswer = pdu[2] != 4 || [0x01, 0x09].contains(pdu[4])
        return acl(pdu, isReceived: isAnswer)
    }

    private static func received(_ pdu: [UInt8]) -> [UInt8] { acl(pdu, isReceived: true) }

    private static func acl(_ pdu: [UInt8], isReceived: Bool) -> [UInt8] {
        [0x02, 0x40, isReceived ? 0x20 : 0x00, UInt8(pdu.count), 0] + pdu
    }

    @Test("Files of other tools: their datalink types, a broken end, and what is no record")
    func files() throws {
        let packet: [UInt8] = [0x04, 0x10, 0x01, 0x42]
        let h4 = BTSnoop.header + BTSnoop.record(packet, .toHost, time: 5)
        let record = try #require(try BTSnoop.records(in: h4).first)
        #expect(record == BTSnoop.Record(time: 5, direction: .toHost, packet: packet))
        #expect(try BTSnoop.records(in: Array(h4.dropLast())).isEmpty)
        // Of Linux's monitor: opcode 3 is an event, without its type.
        var monitor = h4
        monitor[14...15] = [0x07, 0xD1]
        monitor.replaceSubrange(24..<28, with: [0, 0, 0, 3])
        #expect(try BTSnoop.records(in: monitor)[0].packet == [0x04] + packet)
        for bad in [[], Array("btsnoop".utf8), Array(h4[..<8]) + [0, 0, 0, 9] + h4[12...]] {
            #expect(throws: BTSnoop.Malformed.self) { try BTSnoop.records(in: bad) }
        }
    }
}
