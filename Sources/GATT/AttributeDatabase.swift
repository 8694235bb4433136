import ATT
package import BluetoothTypes

/// What a peer may do with an attribute.
package struct GATTPermissions: OptionSet, Hashable, Sendable {
    package let rawValue: UInt8
    package init(rawValue: UInt8) { self.rawValue = rawValue }

    package static let readable = GATTPermissions(rawValue: 0x01)
    package static let writeable = GATTPermissions(rawValue: 0x02)
    /// Readable, but only on an encrypted link.
    package static let readEncryptionRequired = GATTPermissions(rawValue: 0x04)
    /// Writeable, but only on an encrypted link.
    package static let writeEncryptionRequired = GATTPermissions(rawValue: 0x08)
    /// To be notified or indicated only on an encrypted link.
    package static let notifyEncryptionRequired = GATTPermissions(rawValue: 0x10)
}

/// One attribute of a server.
package struct GATTAttribute: Equatable, Sendable {
    package enum Content: Equatable, Sendable {
        /// Kept here, the same for every peer.
        case stored([UInt8])
        /// Known to the owner, who is asked at every read and write.
        case dynamic
        /// The configuration of the characteristic whose value is at the handle: each client has its own.
        case configuration(of: UInt16, allowed: GATTSubscription)
        /// What the client says that it can do: each client has its own.
        case clientFeatures
        /// ``AttributeDatabase/hash`` as it is when it is read.
        case databaseHash
    }

    package var handle: UInt16
    package var type: BluetoothUUID
    package var permissions: GATTPermissions
    package var content: Content
    /// The last handle of the group that this attribute opens; its own handle if it opens none.
    package var groupEnd: UInt16

    package init(
        handle: UInt16, type: BluetoothUUID, permissions: GATTPermissions, content: Content, groupEnd: UInt16? = nil
    ) {
        self.handle = handle
        self.type = type
        self.permissions = permissions
        self.content = content
        self.groupEnd = groupEnd ?? handle
    }
}

package enum AttributeDatabaseError: Error, Equatable, Sendable {
    /// There is no gap of that many handles.
    case noHandlesLeft
    case unknownService(UInt16)
    case valueTooLong(octets: Int)
    /// Explicit attributes: handle 0, a handle twice or out of order, or a group that ends before it starts.
    case badHandle(UInt16)
}

/// The attributes of a server, in the order of their handles. All bearers of an adapter serve the same database.
///
/// Source: Core 6.0, Vol 3, Part G, 2.5 and 3.
package struct AttributeDatabase: Equatable, Sendable {
    package private(set) var attributes: [GATTAttribute] = []
    /// Handles of removed services are not given out again while there are others, for a peer may remember them.
    var nextHandle: UInt32 = 0x0001

    package init() {}

    /// A database whose handles are given.
    package init(attributes: [GATTAttribute]) throws(AttributeDatabaseError) {
        var last: UInt16 = 0
        for attribute in attributes {
            guard attribute.handle > last, attribute.groupEnd >= attribute.handle else {
                throw .badHandle(attribute.handle)
            }
            if case .stored(let value) = attribute.content, value.count > ATTLimits.maximumValueLength {
                throw .valueTooLong(octets: value.count)
            }
            last = attribute.handle
        }
        self.attributes = attributes
        nextHandle = UInt32(attributes.map(\.groupEnd).max() ?? 0) + 1
    }

    /// Where the attribute with `handle` stands in ``attributes``.
    func index(of handle: UInt16) -> Int? {
        let index = firstIndex(from: handle)
        return index < attributes.endIndex && attributes[index].handle == handle ? index : nil
    }

    /// The attributes with handles in `range`.
    func slice(_ range: ClosedRange<UInt16>) -> ArraySlice<GATTAttribute> {
        let start = firstIndex(from: range.lowerBound)
        let end = range.upperBound == .max ? attributes.endIndex : firstIndex(from: range.upperBound + 1)
        return attributes[start..<end]
    }

    private func firstIndex(from handle: UInt16) -> Int {
        var range = attributes.startIndex..<attributes.endIndex
        while !range.isEmpty {
            let middle = range.lowerBound + range.count / 2
            range =
                attributes[middle].handle < handle
                ? middle + 1..<range.upperBound : range.lowerBound..<middle
        }
        return range.lowerBound
    }

    /// The value that the database itself keeps; `nil` if there is none at `handle`.
    package func storedValue(at handle: UInt16) -> [UInt8]? {
        guard let index = index(of: handle), case .stored(let value) = attributes[index].content else { return nil }
        return value
    }

    /// Changes a value that the database keeps. Other attributes are left alone.
    package mutating func store(_ value: [UInt8], at handle: UInt16) {
        precondition(value.count <= ATTLimits.maximumValueLength, "An attribute holds 512 octets, not \(value.count).")
        guard let index = index(of: handle), case .stored = attributes[index].content else { return }
        attributes[index].content = .stored(value)
    }

    /// What the declaration before a characteristic's value says of it; nothing if there is none.
    func properties(ofValueAt handle: UInt16) -> GATTProperties {
        guard let index = index(of: handle), index > attributes.startIndex,
            attributes[index - 1].type == GATTAttributeType.characteristic,
            case .stored(let declaration) = attributes[index - 1].content, let octet = declaration.first
        else { return [] }
        return GATTProperties(rawValue: octet)
    }

    /// The type of the attribute at `handle`; `nil` if there is none.
    package func type(at handle: UInt16) -> BluetoothUUID? { index(of: handle).map { attributes[$0].type } }

    /// The value handle of the first characteristic of `type`.
    package func valueHandle(of type: BluetoothUUID) -> UInt16? {
        attributes.first { $0.type == type }?.handle
    }

    /// The server itself answers for the characteristic of `type`.
    mutating func serve(_ content: GATTAttribute.Content, at type: BluetoothUUID) {
        guard let index = attributes.firstIndex(where: { $0.type == type }) else { return }
        attributes[index].content = content
    }

    mutating func insert(_ new: [GATTAttribute]) {
        guard let first = new.first else { return }
        attributes.insert(contentsOf: new, at: firstIndex(from: first.handle))
    }

    mutating func remove(_ range: ClosedRange<UInt16>) {
        let slice = slice(range)
        attributes.removeSubrange(slice.startIndex..<slice.endIndex)
    }
}

/// The one place where it is decided whether a peer may touch an attribute.
extension AttributeDatabase {
    enum Access {
        case read
        case write
        /// The value is about to be sent, unasked, to a peer that has subscribed.
        case notify
    }

    /// The attribute at `handle`, if the peer may do with it what it wants to on a link protected like this.
    ///
    /// Source: Core 6.0, Vol 3, Part F, 4, for the order; Part C, 10.3.1, for the two codes of an unprotected link.
    func attribute(
        _ handle: UInt16, for access: Access, on security: GATTLinkSecurity
    ) throws(ATTErrorCode) -> GATTAttribute {
        guard let index = index(of: handle) else { throw .invalidHandle }
        let attribute = attributes[index]
        try check(attribute, for: access, on: security)
        return attribute
    }

    private func check(
        _ attribute: GATTAttribute, for access: Access, on security: GATTLinkSecurity
    ) throws(ATTErrorCode) {
        let open: GATTPermissions
        let encrypted: GATTPermissions
        switch access {
        case .read: (open, encrypted) = (.readable, .readEncryptionRequired)
        case .write: (open, encrypted) = (.writeable, .writeEncryptionRequired)
        case .notify: (open, encrypted) = ([], .notifyEncryptionRequired)
        }
        if attribute.permissions.contains(encrypted) {
            switch security {
            case .encrypted: return
            case .unencrypted(hasKey: true): throw .insufficientEncryption
            case .unencrypted(hasKey: false): throw .insufficientAuthentication
            }
        }
        guard attribute.permissions.contains(open) else {
            throw access == .read ? .readNotPermitted : .writeNotPermitted
        }
    }
}
