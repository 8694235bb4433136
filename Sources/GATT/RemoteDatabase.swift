import ATT
import BluetoothTypes
package import ByteCodec

/// What a client has found out about the structure of a peer's attributes: what it asked, and what the answer was.
///
/// It may be kept for the next link to a bonded peer, as long as the peer's Database Hash is the same, or, of a peer
/// that has none, as long as its Service Changed says nothing else.
///
/// Source: Core 6.0, Vol 3, Part G, 2.5.2.
package struct RemoteDatabase: Equatable, Sendable {
    /// The peer's Database Hash; `nil` if it has none, or if it is not known.
    package internal(set) var hash: [UInt8]?
    private var findings: [Finding] = []

    fileprivate struct Finding: Equatable, Sendable {
        var question: GATTProcedure
        var answer: GATTAnswer
    }

    /// A client that asks more than this about one peer asks without end.
    private static let mostFindings = 1024

    package init() {}

    package var isEmpty: Bool { findings.isEmpty }

    /// Whether it may be kept: something tells when it is not true any more.
    package var canBeKept: Bool { !isEmpty && (hash != nil || serviceChanged != nil) }

    var serviceChanged: GATTCharacteristic? {
        for case .characteristics(let found) in findings.lazy.map(\.answer) {
            if let characteristic = found.first(where: { $0.uuid == GATTAttributeType.serviceChanged }) {
                return characteristic
            }
        }
        return nil
    }

    /// What the peer would answer, if that is known.
    func answer(to procedure: GATTProcedure) -> GATTAnswer? {
        if case .discoverPrimaryServices(let only?) = procedure {
            guard case .services(let services)? = answer(to: .discoverPrimaryServices(only: nil)) else { return nil }
            return .services(services.filter { only.contains($0.uuid) })
        }
        return findings.first { $0.question == procedure }?.answer
    }

    mutating func note(_ answer: GATTAnswer, to procedure: GATTProcedure) {
        switch procedure {
        case .discoverPrimaryServices(only: nil), .findIncludedServices, .discoverCharacteristics,
            .discoverDescriptors:
            findings.removeAll { $0.question == procedure }
            if findings.count < Self.mostFindings { findings.append(Finding(question: procedure, answer: answer)) }
        case .discoverPrimaryServices, .exchangeMTU, .read, .readByUUID, .readMultiple, .readMultipleVariable, .write,
            .writeLong, .reliableWrite, .subscribe, .readDatabaseHash:
            break
        }
    }

    /// What lies in these handles has changed, and so has the hash.
    mutating func invalidate(_ range: ClosedRange<UInt16>) {
        hash = nil
        findings.removeAll { $0.extent.overlaps(range) }
    }
}

extension RemoteDatabase.Finding {
    /// The handles that the answer is about.
    fileprivate var extent: ClosedRange<UInt16> {
        switch question {
        case .findIncludedServices(let range), .discoverCharacteristics(let range): range
        case .discoverDescriptors(let characteristic): characteristic.declaration...characteristic.end
        default: 0x0001...0xFFFF
        }
    }
}

// MARK: - As it is kept

extension RemoteDatabase: Packet {
    /// One question, or one item of the answer to the question before.
    fileprivate struct Row {
        enum Kind: UInt8 {
            case services = 0x00
            case includes = 0x01
            case characteristics = 0x02
            case descriptors = 0x03
            case service = 0x80
            case include = 0x81
            case characteristic = 0x82
            case descriptor = 0x83
        }

        var kind = Kind.services
        var first: UInt16 = 0x0001
        var last: UInt16 = 0xFFFF
        var other: UInt16 = 0
        var properties: UInt8 = 0
        var uuid: [UInt8] = []

        mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {
            try coder.choice("Kind", &kind)
            try coder.integer("First Handle", &first)
            try coder.integer("Last Handle", &last)
            try coder.integer("Other Handle", &other)
            try coder.integer("Properties", &properties)
            try coder.countedOctets("UUID", &uuid)
        }
    }

    package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {
        var hash = hash ?? []
        try coder.countedOctets("Database Hash", &hash)
        var rows = findings.flatMap(Self.rows)
        try coder.list("Findings", &rows, blank: Row()) { coder, row throws(PacketError) in try row.fields(&coder) }
        self.hash = hash.isEmpty ? nil : hash
        findings = []
        for row in rows { try take(row) }
    }

    private static func rows(_ finding: Finding) -> [Row] {
        var question = Row()
        switch finding.question {
        case .findIncludedServices(let range): question = Row(range, .includes)
        case .discoverCharacteristics(let range): question = Row(range, .characteristics)
        case .discoverDescriptors(let characteristic): question = Row(characteristic, .descriptors)
        default: break
        }
        switch finding.answer {
        case .services(let services): return [question] + services.map { Row($0.handles, .service, $0.uuid) }
        case .includes(let includes):
            return [question]
                + includes.map { include in
                    var row = Row(include.service.handles, .include, include.service.uuid)
                    row.other = include.declaration
                    return row
                }
        case .characteristics(let characteristics):
            return [question] + characteristics.map { Row($0, .characteristic) }
        case .descriptors(let descriptors):
            return [question] + descriptors.map { Row($0.handle...$0.handle, .descriptor, $0.uuid) }
        case .done, .mtu, .value, .values: return [question]
        }
    }

    private mutating func take(_ row: Row) throws(PacketError) {
        switch row.kind {
        case .services: begin(.discoverPrimaryServices(only: nil), .services([]))
        case .includes: begin(.findIncludedServices(try row.range), .includes([]))
        case .characteristics: begin(.discoverCharacteristics(try row.range), .characteristics([]))
        case .descriptors: begin(.discoverDescriptors(try row.characteristic), .descriptors([]))
        case .service, .include, .characteristic, .descriptor:
            guard let last = findings.indices.last else { throw PacketError(.truncated, field: "Findings") }
            try findings[last].answer.append(row)
        }
    }

    private mutating func begin(_ question: GATTProcedure, _ answer: GATTAnswer) {
        findings.append(Finding(question: question, answer: answer))
    }
}

extension RemoteDatabase.Row {
    fileprivate init(_ handles: ClosedRange<UInt16>, _ kind: Kind, _ uuid: BluetoothUUID? = nil) {
        (first, last) = (handles.lowerBound, handles.upperBound)
        self.kind = kind
        self.uuid = uuid?.octets ?? []
    }

    fileprivate init(_ characteristic: GATTCharacteristic, _ kind: Kind) {
        (first, last, other) = (characteristic.declaration, characteristic.end, characteristic.value)
        self.kind = kind
        properties = characteristic.properties.rawValue
        uuid = characteristic.uuid.octets
    }

    fileprivate var range: ClosedRange<UInt16> {
        get throws(PacketError) {
            guard first <= last else { throw PacketError(.valueNotAllowed(Int(last)), field: "Last Handle") }
            return first...last
        }
    }

    fileprivate var type: BluetoothUUID {
        get throws(PacketError) {
            guard let uuid = BluetoothUUID(octets: uuid[...]) else { throw PacketError(.truncated, field: "UUID") }
            return uuid
        }
    }

    fileprivate var characteristic: GATTCharacteristic {
        get throws(PacketError) {
            GATTCharacteristic(
                uuid: try type, declaration: first, value: other, end: try range.upperBound,
                properties: GATTProperties(rawValue: properties))
        }
    }
}

extension GATTAnswer {
    fileprivate mutating func append(_ row: RemoteDatabase.Row) throws(PacketError) {
        switch (self, row.kind) {
        case (.services(let list), .service):
            self = .services(list + [GATTService(uuid: try row.type, handles: try row.range)])
        case (.includes(let list), .include):
            let service = GATTService(uuid: try row.type, handles: try row.range)
            self = .includes(list + [GATTInclude(declaration: row.other, service: service)])
        case (.characteristics(let list), .characteristic): self = .characteristics(list + [try row.characteristic])
        case (.descriptors(let list), .descriptor):
            self = .descriptors(list + [GATTDescriptor(uuid: try row.type, handle: row.first)])
        default: throw PacketError(.valueNotAllowed(Int(row.kind.rawValue)), field: "Kind")
        }
    }
}
