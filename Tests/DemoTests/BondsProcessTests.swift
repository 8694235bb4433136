import Foundation
import Testing

/// Bonds outlive the commands that make them, and move from store to store.
@Suite("An air, pairing and bonds", .timeLimit(.minutes(60)))
struct BondsProcessTests {
    @Test("pair, then bonds: list, show, export and import in each form, remove")
    func life() throws {
        let folder = NSTemporaryDirectory() + "/air-\(UUID().uuidString)"
        try FileManager.default.createDirectory(
            atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let (path, state) = (folder + "/socket", folder + "/state")
        let air = try Program("ble", ["air", "--unix", path, "--devices", "--json"])
        #expect(air.waits(for: "\"radio\":\"unix:\(path)\""), "\(air.output)")
        /// Each command takes the first place on the air: the adapter with the same address.
        func ble(_ arguments: String...) throws -> (output: String, status: Int32?) {
            let program = try Program("ble", arguments, radio: "unix:\(path)", state: state)
            let status = program.end()
            return (program.output, status)
        }

        #expect(try ble("bonds").output == "0 bonds\n")
        let paired = try ble("pair", "KL940704079")
        #expect(paired.status == 0 && paired.output.contains("Secure Connections, key of 128 bits (level 2)"))
        #expect(paired.output.contains("the bond is kept"), "\(paired.output)")
        let list = try ble("bonds")
        #expect(list.output.contains("C0:DE:00:00:00:31") && list.output.contains("1 bond"), "\(list.output)")
        let shown = try ble("bonds", "show", "C0:DE:00:00:00:31", "--json")
        #expect(shown.output.contains("\"secureConnections\":true"), "\(shown.output)")
        // The bond's keys do it the next time.
        #expect(try ble("pair", "KL940704079").status == 0)

        let forms = [("ours", "/ours.json"), ("bumble", "/keys.json"), ("bluez", "/bluez")]
        for (format, name) in forms {
            let written = try ble("bonds", "export", folder + name, "--format", format)
            #expect(written.status == 0 && written.output.hasPrefix("exported: 1 bond"), "\(written.output)")
        }
        let mode = try FileManager.default.attributesOfItem(atPath: folder + "/ours.json")[.posixPermissions] as? Int
        #expect(mode == 0o600)
        for (format, name) in forms {
            #expect(try ble("bonds", "remove", "C0:DE:00:00:00:31").status == 0)
            #expect(try ble("bonds").output == "0 bonds\n")
            let taken = try ble("bonds", "import", folder + name, "--format", format)
            #expect(taken.status == 0, "\(format): \(taken.output)")
            // The device still has its side: with the same keys the link is encrypted, and with others it would end.
            let again = try ble("pair", "KL940704079")
            #expect(again.status == 0, "\(format): \(again.output)")
            #expect(try ble("bonds").output.contains("1 bond"))
        }
        let wrong = try ble("bonds", "import", folder + "/keys.json")
        #expect(wrong.status == 1 && wrong.output.contains("it is not the JSON of this package's bonds"))
        #expect(try ble("bonds", "remove", "Chandelier").status == 1)
        air.interrupt()
        #expect(air.end() == 130, "\(air.output)")
    }
}
