import ATT

/// What a write would do, worked out before anything is done: all of it, or none.
///
/// Source: Core 6.0, Vol 3, Part F, 3.4.5 and 3.4.6.3.
struct WritePlan: Sendable {
    /// New values that the database or the bearer keeps, by handle.
    private(set) var kept: [(handle: UInt16, value: [UInt8])] = []
    /// Parts that only the owner can take, in their order.
    private(set) var asked: [GATTWritePart] = []

    /// - Throws: ``Refusal`` that names the first part which can't be written.
    init(
        _ parts: [GATTWritePart], _ database: AttributeDatabase, from client: ServedClient
    ) throws(Refusal) {
        for part in parts {
            do throws(ATTErrorCode) {
                try add(part, to: database.attribute(part.handle, for: .write, on: client.security).content, client)
            } catch {
                throw Refusal(error, at: part.handle)
            }
        }
        for (handle, value) in kept {
            guard let index = database.index(of: handle) else { continue }
            switch database.attributes[index].content {
            case .configuration(_, let allowed): try Self.check(value, allowed, at: handle)
            case .clientFeatures:
                guard !value.isEmpty else { throw Refusal(.invalidAttributeValueLength, at: handle) }
                guard client.canTake(features: value) else { throw Refusal(.valueNotAllowed, at: handle) }
            case .stored, .dynamic, .databaseHash: break
            }
        }
    }

    private mutating func add(
        _ part: GATTWritePart, to content: GATTAttribute.Content, _ client: ServedClient
    ) throws(ATTErrorCode) {
        guard part.offset <= ATTLimits.maximumValueLength else { throw .invalidOffset }
        guard part.offset + part.value.count <= ATTLimits.maximumValueLength else {
            throw .invalidAttributeValueLength
        }
        switch content {
        case .dynamic: asked.append(part)
        case .stored(let value): try keep(part, over: value)
        case .configuration(let characteristic, _):
            try keep(part, over: (client.configurations[characteristic] ?? []).octets)
        case .clientFeatures: try keep(part, over: [client.features.rawValue])
        case .databaseHash: throw .writeNotPermitted
        }
    }

    /// A value has no fixed length: it ends where its last part ends (3.4.5.1).
    private mutating func keep(_ part: GATTWritePart, over value: [UInt8]) throws(ATTErrorCode) {
        let index = kept.firstIndex { $0.handle == part.handle }
        let current = index.map { kept[$0].value } ?? value
        guard part.offset <= current.count else { throw .invalidOffset }
        let new = current.prefix(part.offset) + part.value
        if let index { kept[index].value = Array(new) } else { kept.append((part.handle, Array(new))) }
    }

    /// Two octets, with no bit that the characteristic's properties do not bear out (Part G, 3.3.3.3).
    private static func check(_ value: [UInt8], _ allowed: GATTSubscription, at handle: UInt16) throws(Refusal) {
        guard let bits = GATTSubscription(octets: value) else {
            throw Refusal(.invalidAttributeValueLength, at: handle)
        }
        guard allowed.isSuperset(of: bits) else { throw Refusal(.valueNotAllowed, at: handle) }
    }
}

extension GATTSubscription {
    init?(octets: [UInt8]) {
        guard octets.count == 2 else { return nil }
        self.init(rawValue: UInt16(octets[0]) | UInt16(octets[1]) << 8)
    }
}
