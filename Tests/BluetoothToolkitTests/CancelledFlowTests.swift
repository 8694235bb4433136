import BluetoothSimulation
import BluetoothToolkit
import CoreBluetooth
import Foundation
import Simulation
import Testing

/// The long calls, cancelled at moments all over their lives: each returns in the same instant, leaves nothing running
/// on the radio, and the next one works.
@Suite("Cancelled flows")
struct CancelledFlowTests {
    @Test("A transfer over each carrier", arguments: MessageCarrier.allCases)
    func transfers(_ carrier: MessageCarrier) throws {
        let content = Chance(seed: 21).data(20_000)
        // No multiple of the connection interval, so that all its phases are met.
        for moment in stride(from: 0, through: 1200, by: 47) {
            let scene = try TransferWorld()
            let first = scene.startSending(content, carrier: carrier)
            scene.world.run(for: .milliseconds(moment))
            first.cancel()
            scene.world.run(for: .zero)
            #expect(first.isFinished, "cancelled after \(moment) ms")
            let next = scene.startSending(content, carrier: carrier)
            try scene.world.output(of: next, within: .seconds(60))
            #expect(try scene.file() == content, "cancelled after \(moment) ms")
        }
    }

    @Test("A supervisor, and whoever waits for it")
    func supervisors() throws {
        for moment in stride(from: 0, through: 900, by: 23) {
            let scene = PairWorld()
            let time = scene.time
            let program = scene.phone.start {
                let central = Central(time: time)
                try await central.waitUntilOn()
                let supervisor = ConnectionSupervisor(of: try await central.first(for: [.service]).peripheral)
                let values = supervisor.values(of: .value, in: .service)
                async let _: Void = supervisor.run()
                try await supervisor.waitUntilReady()
                for try await _ in values {}
            }
            scene.world.run(for: .milliseconds(moment))
            program.cancel()
            scene.world.run(for: .zero)
            #expect(program.isFinished, "cancelled after \(moment) ms")
            let next = try scene.onPhone { central in
                let sensor = try await central.sensor()
                return try await sensor.read(try await sensor.characteristic(.constant, in: .service))
            }
            #expect(next == Data("constant".utf8), "cancelled after \(moment) ms")
        }
    }

    @Test("Waiting for the radio, and looking for a device: the radio stops looking too")
    func scans() throws {
        for microseconds in stride(from: 0, to: 30_000, by: 700) {
            let scene = PairWorld { _ in }
            let log = ScanLog()
            scene.world.world.hciTap = { _, device, direction, packet in
                if device.name == "Phone", direction == .hostToController { log.note(packet) }
            }
            let time = scene.time
            let program = scene.phone.start {
                let central = Central(time: time)
                try await central.waitUntilOn()
                return try await central.first(within: nil).rssi
            }
            scene.world.run(for: .microseconds(microseconds))
            program.cancel()
            scene.world.run(for: .milliseconds(50))
            #expect(program.isFinished && log.isScanning != true, "cancelled after \(microseconds) us")
        }
    }

    // `@unchecked`: on the world's thread alone.
    private final class ScanLog: @unchecked Sendable {
        private(set) var isScanning: Bool?

        /// LE Set (Extended) Scan Enable (Core 6.0, Vol 4, Part E, 7.8.11 and 7.8.65).
        func note(_ packet: [UInt8]) {
            guard packet.count > 4, packet[0] == 0x01, packet[2] == 0x20, [0x0C, 0x42].contains(packet[1]) else {
                return
            }
            isScanning = packet[4] == 1
        }
    }

    @Test("Descriptors, offers of channels, and notifications to nobody's room")
    func shortCalls() throws {
        for moment in stride(from: 0, through: 200, by: 4) {
            let scene = PairWorld()
            let time = scene.time
            let box = scene.phone.start {
                let central = Central(time: time)
                try await central.waitUntilOn()
                return try await central.sensor()
            }
            let sensor = try scene.world.output(of: box, within: .seconds(10))
            let program = scene.phone.start {
                let value = try await sensor.characteristic(.value, in: .service)
                for descriptor in try await sensor.discoverDescriptors(of: value) {
                    _ = try await sensor.read(descriptor)
                }
                let peripheral = LocalPeripheral(time: time)
                try await peripheral.waitUntilOn()
                peripheral.withdrawChannel(try await peripheral.offerChannel())
            }
            scene.world.run(for: .milliseconds(moment))
            program.cancel()
            scene.world.run(for: .zero)
            #expect(program.isFinished, "cancelled after \(moment) ms")
            let next = scene.phone.start {
                try await sensor.read(try await sensor.characteristic(.constant, in: .service))
            }
            #expect(try scene.world.output(of: next, within: .seconds(10)) == Data("constant".utf8))
        }
    }
}
