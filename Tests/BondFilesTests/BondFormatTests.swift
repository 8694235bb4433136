import BluetoothCrypto
import BluetoothTypes
import BondFiles
import EventLoop
import HostInterface
import Testing

@Suite("Bonds of other stacks")
struct BondFormatTests {
    private let adapter = BondDatabaseTests.adapter

    private func records(
        _ text: String, at path: String, _ format: BondFormat
    ) throws(BondFileError) -> [BondRecord] {
        try format.records(in: [BondFile(path: path, contents: Array(text.utf8))], adapter: adapter)
    }

    private func key(_ text: String) throws -> SecretKey {
        let digits = Array(text)
        let octets = stride(from: 0, to: 32, by: 2).compactMap { UInt8(String(digits[$0...($0 + 1)]), radix: 16) }
        return try #require(SecretKey(wire: octets))
    }

    @Test("What is written is read back", arguments: [BondFormat.bumble, .blueZ, .ours], [true, false])
    func roundTrip(format: BondFormat, isSecure: Bool) throws {
        var original = BondDatabaseTests.record(5, isSecure: isSecure)
        let files = format.files(of: [original], adapter: adapter)
        let read = try #require(try format.records(in: files, adapter: adapter).first)
        // What the other formats have no place for.
        if format != .ours {
            original.subscriptions = []
            original.peer = PeerID(original.identity)
        }
        // What is known of the attributes on either side is found out anew.
        original.clientFeatures = 0
        original.knownDatabase = nil
        original.remoteDatabase = nil
        if format == .bumble {
            original.name = nil
            original.bond.localSigningKey = nil
            original.localSignCounter = 0
            original.peerSignCounter = 0
        }
        #expect(read == original)
    }

    /// As Bumble 0.0.236 writes it; the keys are those of the test.
    @Test("Bumble's key store")
    func bumble() throws {
        let secure = "00112233445566778899aabbccddeeff"
        let text = """
            {"F0:F1:F2:F3:F4:F5": {
                "02:00:00:00:00:07/P": {
                    "address_type": 0,
                    "irk": {"authenticated": true, "value": "\(secure)"},
                    "ltk": {"authenticated": true, "value": "\(secure)"}
                },
                "C0:00:00:00:00:08": {
                    "address_type": 1,
                    "ltk_central": {"authenticated": false, "ediv": 4660, "rand": "0102030405060708",
                                    "value": "\(secure)"},
                    "ltk_peripheral": {"authenticated": false, "value": ""}
                }
            }}
            """
        let found = try records(text, at: "keys.json", .bumble)
        #expect(
            found.map(\.identity) == [DeviceAddress(0x0200_0000_0007), DeviceAddress(0xC000_0000_0008, kind: .random)])
        #expect(found[0].bond.security == LinkSecurity(isAuthenticated: true, isSecureConnections: true, keySize: 16))
        #expect(try found[0].bond.peerKey == LongTermKey(key(secure)))
        #expect(try found[0].bond.resolvingKey == key(secure))
        #expect(
            try found[1].bond.peerKey
                == LongTermKey(key(secure), diversifier: 4660, random: 0x0807_0605_0403_0201))
        #expect(found[1].bond.localKey == nil)
    }

    /// The two shapes that devices' files have in the field: a legacy key, and one of Secure Connections under the
    /// group's two names. The keys are those of the test.
    @Test("BlueZ's info files")
    func blueZ() throws {
        let key = "00112233445566778899AABBCCDDEEFF"
        let legacy = """
            [General]
            Name=Designer Mouse
            AddressType=static
            SupportedTechnologies=LE;

            [IdentityResolvingKey]
            Key=\(key)

            [LocalSignatureKey]
            Key=\(key)
            Counter=5
            Authenticated=false

            [LongTermKey]
            Key=\(key)
            Authenticated=0
            EncSize=16
            EDiv=48309
            Rand=10283782112900107958
            """
        let mouse = try #require(try records(legacy, at: "02:00:00:00:00:01/C0:00:00:00:00:09/info", .blueZ).first)
        #expect(mouse.name == "Designer Mouse" && mouse.localSignCounter == 5)
        #expect(mouse.identity == DeviceAddress(0xC000_0000_0009, kind: .random))
        #expect(
            try mouse.bond.peerKey
                == LongTermKey(self.key(key), diversifier: 48309, random: 10_283_782_112_900_107_958))
        #expect(mouse.bond.localKey == nil && !mouse.bond.security.isSecureConnections)
        let group = "Key=\(key)\nAuthenticated=2\nEncSize=16\nEDiv=0\nRand=0\n"
        let secure = "[General]\nAddressType=public\n\n[PeripheralLongTermKey]\n\(group)\n[SlaveLongTermKey]\n\(group)"
        let touchpad = try #require(try records(secure, at: "A/02:00:00:00:00:0A/info", .blueZ).first)
        #expect(touchpad.bond.security == LinkSecurity(isAuthenticated: false, isSecureConnections: true, keySize: 16))
        #expect(
            try touchpad.bond.peerKey == LongTermKey(self.key(key)) && touchpad.bond.localKey == touchpad.bond.peerKey)
    }

    @Test("Of Secure Connections there is one key, whatever else a file says")
    func oneKey() throws {
        let secure = "00112233445566778899AABBCCDDEEFF"
        let contradiction = """
            [LongTermKey]
            Key=FF\(secure.dropFirst(2))
            Authenticated=0
            EncSize=16
            EDiv=65535
            Rand=5

            [PeripheralLongTermKey]
            Key=\(secure)
            Authenticated=2
            EDiv=7
            """
        let record = try #require(try records(contradiction, at: "A/02:00:00:00:00:0A/info", .blueZ).first)
        #expect(record.bond.security.isSecureConnections)
        #expect(try record.bond.localKey == LongTermKey(key(secure)) && record.bond.peerKey == record.bond.localKey)
    }

    @Test("A name cannot write groups of its own")
    func hostileName() throws {
        var record = BondDatabaseTests.record(5)
        record.name = "Lock\n[LongTermKey]\r\nKey=00"
        let files = BondFormat.blueZ.files(of: [record], adapter: adapter)
        let read = try #require(try BondFormat.blueZ.records(in: files, adapter: adapter).first)
        #expect(read.bond == record.bond)
    }

    @Test("Whatever octets a file holds, it is read or refused", arguments: [BondFormat.bumble, .blueZ])
    func hostile(format: BondFormat) {
        var generator = SeededGenerator(seed: 1)
        let good = format.files(of: [BondDatabaseTests.record(1, isSecure: false)], adapter: adapter)[0]
        for _ in 0..<2000 {
            var file = good
            for _ in 0..<Int.random(in: 1...8, using: &generator) {
                let place = Int.random(in: 0..<file.contents.count, using: &generator)
                switch Int.random(in: 0..<3, using: &generator) {
                case 0: file.contents[place] = UInt8.random(in: 0...255, using: &generator)
                case 1: file.contents.removeSubrange(place..<min(place + 9, file.contents.count - 1))
                default: file.contents.insert(contentsOf: file.contents[place...].prefix(20), at: place)
                }
            }
            do throws(BondFileError) {
                _ = try format.records(in: [file], adapter: adapter)
            } catch {
                // It tells the file, and no key of it.
                #expect(!error.description.lowercased().contains("8899aabbccddeeff"))
            }
        }
    }
}
