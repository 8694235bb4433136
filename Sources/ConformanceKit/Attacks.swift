import ATT
import BluetoothTypes
import EventLoop
import GAP
import GATT

/// Hostile input by layer. What a correct host does is said in words; played is what holds for every row of a layer:
/// nothing traps, no PDU is answered twice, nothing is given away or changed, and what comes next is served as before.
/// What the words say beyond that, the tests of the layer check under the row's id.
package struct Attacks: Decodable, Sendable {
    var rows: [Row]

    struct Row: Decodable, Sendable {
        var id: String
        var layer: String
        var bytes: [Hexadecimal]
    }

    package func play() -> ConformanceReport {
        var report = ConformanceReport()
        for row in rows {
            let name = "attack \(row.id)"
            do throws(Mismatch) {
                switch row.layer {
                case _ where row.bytes.isEmpty:
                    guard try row.playInWords() else {
                        throw Mismatch(place: "row", expected: "octets, or words that are known", actual: "neither")
                    }
                case "HCI": try row.playOnController()
                case "LL": try row.playOnAir()
                case "SMP": try row.playOnSecurityManager()
                case "ATT": try row.playOnBearer()
                case "L2CAP": try row.playOnLink()
                case "AD": row.playOnAdvertisingData()
                default: throw Mismatch(place: "layer", expected: "a known one", actual: row.layer)
                }
                report.add(name, nil)
            } catch {
                report.add(name, error)
            }
        }
        return report
    }
}

// MARK: - Attributes and advertising data

extension Attacks.Row {
    /// Handle 3 is a value that may be read.
    private static func database() throws(Mismatch) -> AttributeDatabase {
        let readable = GATTCharacteristicDefinition(
            uuid: .uuid16(0xFF01), properties: .read, permissions: .readable, value: Array(1...6))
        let service = GATTServiceDefinition(uuid: .uuid16(0xFF00), characteristics: [readable])
        var database = AttributeDatabase()
        do {
            _ = try database.add(service)
        } catch {
            throw Mismatch(place: "database", expected: "a service", actual: "\(error)")
        }
        return database
    }

    /// All PDUs after each other on one bearer, while it asks something itself.
    fileprivate func playOnBearer() throws(Mismatch) {
        var database = try Self.database()
        var bearer = GATTConnection()
        _ = bearer.handle(
            .submit(id: 1, .discoverPrimaryServices(only: nil)), database: &database, at: Instant())
        for (index, pdu) in bytes.enumerated() {
            let place = "PDU \(index)"
            let effects = bearer.handle(.receive(pdu.octets[...]), database: &database, at: Instant())
            let answers = effects.compactMap { effect in if case .send(let octets, _) = effect { octets } else { nil } }
            // A request of our own may follow an answer of the peer's.
            try Mismatch.check("\(place), answers", true, answers.count <= 1)
            try Mismatch.check("\(place), octets of an answer", true, answers.allSatisfy { $0.count <= 23 })
        }
        let probe = bearer.handle(.receive([0x0A, 0x03, 0x00]), database: &database, at: Instant())
        try Mismatch.check("read afterwards", [.send([0x0B, 1, 2, 3, 4, 5, 6])], probe) { "\($0)" }
    }

    fileprivate func playOnAdvertisingData() {
        for payload in bytes {
            var data = AdvertisingData()
            data.add(payload.octets[...])
        }
    }
}
