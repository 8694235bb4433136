import BluetoothCrypto
import BluetoothTypes
import ByteCodec
import EventLoop
import ProtocolTestKit
import SMP
import Testing

/// What a peer may send although it should not.
@Suite("Hostile Security Manager PDUs")
struct HostileInputTests {
    @Test(
        "SMP-01, SMP-13: PDUs of a pairing that nobody began",
        arguments: [
            "0c" + String(repeating: "00", count: 64), "0622222222222222222222222222222222", "0700000000000000000000",
            "0822222222222222222222222222222222", "0900010203040506", "0a22222222222222222222222222222222",
            "0322222222222222222222222222222222", "0422222222222222222222222222222222",
            "0d22222222222222222222222222222222", "02030001100000", "0500", "05ff", "0e05", "0f", "ff00", "",
        ])
    func unasked(text: String) {
        for role in [TwoDevices.Role.central, .peripheral] {
            var machine = TwoDevices()[role].machine
            #expect(machine.handle(.receive(octets(text)[...]), at: Instant()) == [])
            #expect(machine.deadline == nil && machine.security == nil && machine.bond == nil)
        }
    }

    @Test(
        "SMP-02, SMP-03: key sizes out of range",
        arguments: [
            ("01040005fd0707", 0x0A), ("01030001110505", 0x0A), ("01030001000505", 0x06), ("01030001060505", 0x06),
            ("01050001100505", 0x0A), ("01030201100505", 0x0A), ("01ff", 0x0A), ("01", 0x0A),
            ("0103000110050500", 0x0A),
        ] as [(String, UInt8)])
    func parameters(text: String, reason: UInt8) {
        var machine = TwoDevices().peripheral.machine
        let effects = machine.handle(.receive(octets(text)[...]), at: Instant())
        #expect(effects.first == .send([0x05, reason]))
        #expect(machine.deadline == nil)
    }

    @Test("SMP-18: a Pairing Request to a central, a Security Request to a peripheral")
    func wrongRole() {
        var central = TwoDevices().central.machine
        #expect(central.handle(.receive([1, 3, 0, 1, 16, 5, 5]), at: Instant()) == [.send([0x05, 0x07])])
        var peripheral = TwoDevices().peripheral.machine
        #expect(peripheral.handle(.receive([0x0B, 0x01]), at: Instant()) == [.send([0x05, 0x07])])
    }

    @Test("Keys that were not agreed end the pairing; Keypress Notifications never do")
    func unexpected() {
        for stray: [UInt8] in [
            [1, 3, 0, 1, 16, 5, 5], [2, 3, 0, 1, 16, 5, 5], [0x0A] + [UInt8](repeating: 7, count: 16),
            [0x06] + [UInt8](repeating: 7, count: 16), [0x0B, 1],
        ] {
            for code: UInt8 in [0x0C, 0x04, 0x0D] {
                var devices = TwoDevices()
                devices.tamper = { role, octets in role == .central && octets[0] == code ? stray : octets }
                devices.secure()
                #expect(devices.peripheral.failures.count == 1)
                #expect(devices.peripheral.bond == nil && devices.central.bond == nil)
            }
        }
        var devices = TwoDevices(central: { $0.use(.displayOnly) }, peripheral: { $0.use(.keyboardOnly) })
        devices.input(.receive([0x0E, 0x05]), to: .peripheral)
        devices.secure()
        devices.input(.receive([0x0E, 0x00]), to: .central)
        #expect(devices.central.bond != nil)
    }

    @Test("Each PDU cut short or too long, at each moment of a pairing")
    func lengths() {
        for isSecure in [true, false] {
            for code in UInt8(0x01)...0x0D {
                for change in [-1, 1] {
                    var devices = TwoDevices(central: { $0.use(.noInputNoOutput, secure: isSecure) })
                    var hits = 0
                    devices.tamper = { _, octets in
                        guard octets[0] == code, octets.count > 2, hits == 0 else { return octets }
                        hits += 1
                        return change < 0 ? octets.dropLast() : octets + [0]
                    }
                    devices.secure()
                    guard hits > 0 else { continue }
                    let sent = devices.central.sent + devices.peripheral.sent
                    #expect(sent.contains([0x05, 0x0A]))
                    #expect(devices.central.bond == nil || devices.peripheral.bond == nil)
                }
            }
        }
    }

    @Test("Pairings with octets flipped, lost and invented: both sides end in time, and no two bonds disagree")
    func noise() {
        var generator = SeededGenerator(seed: 0x5EC)
        for seed in UInt64(0)..<600 {
            var chance = generator.split()
            let capabilities = (
                IOCapability.allCases.randomElement(using: &chance)!,
                IOCapability.allCases.randomElement(using: &chance)!
            )
            let isSecure = Bool.random(using: &chance)
            var devices = TwoDevices(
                central: { $0.use(capabilities.0, secure: isSecure) }, peripheral: { $0.use(capabilities.1) },
                seed: seed)
            devices.tamper = { _, octets in Self.disturbed(octets, &chance) }
            devices.secure(Bool.random(using: &chance) ? .central : .peripheral)
            devices.wait(.seconds(30))
            for device in [devices.central, devices.peripheral] {
                #expect(device.machine.deadline == nil)
                #expect(device.finished.count <= 1)
            }
            guard let ours = devices.central.bond, let theirs = devices.peripheral.bond else { continue }
            if isSecure { #expect(ours.peerKey == theirs.localKey) }
            #expect(ours.security == theirs.security)
        }
    }

    private static func disturbed(_ octets: [UInt8], _ chance: inout SeededGenerator) -> [UInt8]? {
        guard Int.random(in: 0..<12, using: &chance) == 0 else { return octets }
        var octets = octets
        switch Int.random(in: 0..<4, using: &chance) {
        case 0: return nil
        case 1: octets[octets.indices.randomElement(using: &chance)!] ^= 1 << UInt8.random(in: 0..<8, using: &chance)
        case 2: octets.removeLast(Int.random(in: 1...octets.count, using: &chance))
        default: octets = (0..<Int.random(in: 0..<70, using: &chance)).map { _ in .random(in: 0...15, using: &chance) }
        }
        return octets
    }

    @Test("Every PDU reads back as it was written, and prints no key")
    func roundTrips() throws {
        var devices = TwoDevices(
            central: { $0.use(.keyboardOnly, secure: false) }, peripheral: { $0.use(.displayOnly) })
        devices.secure()
        var secure = TwoDevices()
        secure.secure(.peripheral)
        let sent = [devices.central, devices.peripheral, secure.central, secure.peripheral].flatMap(\.sent)
        #expect(Set(sent.map { $0[0] }) == Set([1, 2, 3, 4, 6, 7, 8, 9, 10, 11, 12, 13]))
        for octets in sent + [[0x05, 0x08], [0x0E, 0x01]] {
            let command = try #require(try SMPCommand(octets: octets[...]))
            #expect(command.octets == octets)
            #expect(command.code.rawValue == octets[0])
            guard [3, 4, 6, 8, 10, 13].contains(octets[0]) else { continue }
            #expect(command.summary.hasSuffix(": 16 octets"))
        }
    }

    private func octets(_ text: String) -> [UInt8] {
        stride(from: 0, to: text.count, by: 2).compactMap { UInt8(text.dropFirst($0).prefix(2), radix: 16) }
    }
}
