import BluetoothTypes
import ConformanceKit
import Foundation
import HCI
import HCITransport
import Simulation

/// Formats that are read at one go.
enum FormatTargets {
    static func advertisingData(_ input: [UInt8]) {
        var data = AdvertisingData()
        data.add(input[...])
    }

    static func stream(_ script: Script) {
        var framer = H4Framer()
        for (_, octets) in script {
            for packet in framer.receive(octets) { _ = try? HCIPacket(packet) }
        }
    }

    static func vectorFile(_ input: [UInt8]) {
        _ = try? VectorFile(Data(input)).play()
    }

    static func worldFile(_ input: [UInt8]) {
        guard let file = try? WorldFile(json: input, profile: { _ in input }), file.devices.count <= 20 else { return }
        let played = PlayedWorld(file)
        played.world.run(for: .milliseconds(100))
    }

    static func text(_ input: [UInt8]) {
        let text = String(decoding: input, as: UTF8.self)
        _ = try? RadioAddress(text)
        _ = DeviceAddress(text)
        _ = BluetoothUUID(string: text)
    }
}
