import BluetoothTypes
import GATT

/// Conversations between an attribute client and server, one per test case of the SIG, and the databases they play on.
package struct GATTScripts: Decodable, Sendable {
    var databases: [String: Database]
    var cases: [Script]

    struct Database: Decodable, Sendable {
        var attributes: [Attribute]
    }

    struct Attribute: Decodable, Sendable {
        enum Kind: String, Decodable {
            case primaryService = "primary-service"
            case secondaryService = "secondary-service"
            case include
            case characteristic
            case value = "characteristic-value"
            case descriptor
        }

        enum Permission: String, Decodable {
            case read
            case write
        }

        var handle: UInt16
        var type: SpelledUUID
        var kind: Kind
        var value: Hexadecimal
        var permissions: [Permission]
        var end_group_handle: UInt16?
    }

    struct Script: Decodable, Sendable {
        enum Role: String, Decodable {
            case client
            case server
        }

        var id: String
        var role: Role
        var database: String?
        var iut_mtu: UInt16
        var api: Operation?
        var steps: [Step]
        var expect: Expectation
    }

    struct Step: Decodable, Sendable {
        enum Direction: String, Decodable {
            case send = "iut->tester"
            case receive = "tester->iut"
            case trigger
            case silence = "iut-silent"
        }

        enum Phase: String, Decodable {
            case mtu
            case serverFeatures = "server-features"
            case discovery
            case core
        }

        var dir: Direction
        var phase: Phase
        var pdu: Hexadecimal?
    }

    struct Operation: Decodable, Sendable {
        enum Name: String, Decodable {
            case exchangeMTU = "exchange-mtu"
            case discoverPrimaryServices = "discover-primary-services"
            case discoverPrimaryServicesByUUID = "discover-primary-services-by-uuid"
            case findIncludedServices = "find-included-services"
            case read = "read-characteristic-or-descriptor-value"
            case readLong = "read-long-value"
            case readByUUID = "read-using-characteristic-uuid"
            case readMultiple = "read-multiple"
            case writeCommand = "write-command"
            case signedWriteCommand = "signed-write-command"
            case signedWriteOnEncryptedLink = "signed-write-on-encrypted-link"
            case write = "write-request"
            case writeLong = "write-long-value"
            case reliableWrite = "reliable-write"
            case notify = "server-notify"
            case indicate = "server-indicate"
        }

        var op: Name
        var handle: UInt16?
        var handles: [UInt16]?
        var start: UInt16?
        var end: UInt16?
        var uuid: SpelledUUID?
        var value: Hexadecimal?
        /// As it travels.
        var csrk_source_byte_order: Hexadecimal?
        var sign_counter: UInt32?
    }

    struct Expectation: Decodable, Sendable {
        enum Result: String, Decodable {
            case success
            case attributeError = "att-error"
        }

        struct Found: Decodable, Sendable {
            var handle: UInt16?
            var start: UInt16?
            var end: UInt16?
            var uuid: SpelledUUID?
            var value: Hexadecimal?
        }

        var result: Result
        var att_error: UInt8?
        var value: Hexadecimal?
        var found: [Found]?
        var event: String?
        var discovered_equals_database: String?
    }

    package func play() throws(VectorFileError) -> ConformanceReport {
        var tables: [String: AttributeDatabase] = [:]
        for name in databases.keys.sorted() { tables[name] = try databases[name]?.table(named: name) }
        var report = ConformanceReport()
        for script in cases {
            if let damage = script.damage { throw VectorFileError("It is damaged: \(script.id): \(damage).") }
            var table = AttributeDatabase()
            if let name = script.database {
                guard let known = tables[name] else { throw VectorFileError("It is damaged: no database \(name).") }
                table = known
            }
            var player = GATTScriptPlayer(script, table)
            report.add(script.id, try player.play())
        }
        return report
    }
}

extension GATTScripts.Database {
    /// The attributes as they are listed, each with its value kept by the database. The scripts write to configuration
    /// descriptors what none would take, so they are values like any other here.
    func table(named name: String) throws(VectorFileError) -> AttributeDatabase {
        do throws(AttributeDatabaseError) {
            return try AttributeDatabase(
                attributes: attributes.map { attribute in
                    var permissions: GATTPermissions = []
                    if attribute.permissions.contains(.read) { permissions.insert(.readable) }
                    if attribute.permissions.contains(.write) { permissions.insert(.writeable) }
                    return GATTAttribute(
                        handle: attribute.handle, type: attribute.type.uuid, permissions: permissions,
                        content: .stored(attribute.value.octets), groupEnd: attribute.end_group_handle)
                })
        } catch {
            throw VectorFileError("It is damaged: database \(name): \(error).")
        }
    }
}

extension GATTScripts.Script {
    /// What makes the case unplayable; `nil` if nothing does.
    fileprivate var damage: String? {
        if iut_mtu < 23 { return "an MTU of \(iut_mtu)" }
        if steps.contains(where: { ($0.dir == .send || $0.dir == .receive) && $0.pdu?.octets.isEmpty ?? true }) {
            return "a step without a PDU"
        }
        let needsOperation = role == .client || steps.contains { $0.dir == .trigger }
        return needsOperation && api == nil ? "no operation" : nil
    }

    /// Whether the stack must make the link secure by itself when the tester refuses a request for want of that, and
    /// ask again. The script shows both requests, and nothing of what secures the link.
    var asksAgainAfterInsufficientAuthentication: Bool {
        zip(steps, zip(steps.dropFirst(), steps.dropFirst(2))).contains { request, rest in
            let (answer, next) = rest
            guard request.dir == .send, answer.dir == .receive, next.dir == .send else { return false }
            return request.pdu == next.pdu && answer.pdu?.octets.first == 0x01 && answer.pdu?.octets.last == 0x05
        }
    }
}
