import ATT
import ByteCodec

/// What a client says that it can do, in Client Supported Features.
///
/// Source: Core 6.0, Vol 3, Part G, 7.2.
package struct GATTClientFeatures: OptionSet, Hashable, Sendable {
    package let rawValue: UInt8
    package init(rawValue: UInt8) { self.rawValue = rawValue }

    package static let robustCaching = GATTClientFeatures(rawValue: 0x01)
    package static let enhancedBearers = GATTClientFeatures(rawValue: 0x02)
    package static let multipleNotifications = GATTClientFeatures(rawValue: 0x04)

    /// Bits that mean something; the others are reserved.
    static let all: GATTClientFeatures = [.robustCaching, .enhancedBearers, .multipleNotifications]
}

/// What a server keeps of a client beyond its subscriptions; of a bonded one, beyond the link.
package struct GATTClientStatus: Equatable, Sendable {
    package var features: GATTClientFeatures
    /// Whether the client knows the database as it is now, as far as it must.
    package var isAware: Bool

    package init(features: GATTClientFeatures, isAware: Bool) {
        self.features = features
        self.isAware = isAware
    }
}

/// What a server knows of the client on one link, on whichever bearer it asks.
///
/// A client that is *change-unaware* holds what it knows of the database for true, and it is not any more:
///
///                database changes
///     aware ──────────────────────▶ unaware ──▶ aware: it confirmed Service Changed, or read the hash, or was told
///                                               Database Out Of Sync, and asked something else after that
///
/// That has consequences only for one that has asked for it, by the feature Robust Caching.
///
/// Source: Core 6.0, Vol 3, Part G, 2.5.2.1.
struct ServedClient: Sendable {
    /// How the link is protected.
    var security = GATTLinkSecurity.unencrypted(hasKey: false)
    /// By the handle of the characteristic's value.
    var configurations: [UInt16: GATTSubscription] = [:]
    /// What it has prepared, on whichever bearers, in the order in which it came.
    var prepared: [GATTWritePart] = []
    private(set) var features: GATTClientFeatures = []
    private(set) var isAware = true
    /// How often the database has changed under the client's eyes.
    private(set) var changes = 0
    private var hasReadHash = false
    /// The number of the Service Changed indication that tells of the last change.
    private var announcement: UInt64?
    /// Notifications that wait for the client to confirm Service Changed.
    private(set) var withheld: [Notification] = []
    /// Of the owner's questions, on all bearers.
    private var lastQuestion: UInt64 = 0

    struct Notification: Sendable {
        var id: UInt64
        var handle: UInt16
        var value: [UInt8]
    }

    var status: GATTClientStatus { GATTClientStatus(features: features, isAware: isAware) }

    /// Attributes have been removed. Parts for them stay, and have no attribute: the queue is all or nothing, so what
    /// the client executes is refused, and not done in part or confirmed for nothing.
    mutating func forgetPrepared(in range: ClosedRange<UInt16>) {
        for index in prepared.indices where range.contains(prepared[index].handle) { prepared[index].handle = 0 }
    }

    mutating func nextQuestion() -> UInt64 {
        lastQuestion += 1
        return lastQuestion
    }

    // MARK: Subscriptions

    mutating func subscribe(to characteristic: UInt16, _ new: GATTSubscription) -> [GATTEffect] {
        let old = configurations[characteristic] ?? []
        guard new != old else { return [] }
        configurations[characteristic] = new.isEmpty ? nil : new
        if new.isEmpty { return [.unsubscribed(handle: characteristic)] }
        return old.isEmpty ? [.subscribed(handle: characteristic, new)] : []
    }

    /// Subscribes the client again, if the characteristic still is there and the link is protected well enough.
    mutating func restore(
        _ subscription: GATTSubscription, to handle: UInt16, _ database: AttributeDatabase
    ) -> [GATTEffect] {
        let descriptor = database.attributes.first { attribute in
            guard case .configuration(of: handle, let allowed) = attribute.content else { return false }
            return allowed.isSuperset(of: subscription)
        }
        guard !subscription.isEmpty, configurations[handle] == nil, let descriptor,
            (try? database.attribute(descriptor.handle, for: .write, on: security)) != nil
        else { return [] }
        configurations[handle] = subscription
        return [.subscribed(handle: handle, subscription)]
    }

    /// The link is gone.
    mutating func unsubscribeAll() -> [GATTEffect] {
        let subscribed = configurations.keys.sorted()
        configurations = [:]
        return subscribed.map { .unsubscribed(handle: $0) }
    }

    // MARK: Features

    /// Whether a value may be written to Client Supported Features: no bit goes once it is set.
    func canTake(features value: [UInt8]) -> Bool {
        GATTClientFeatures(rawValue: value.first ?? 0).isSuperset(of: features)
    }

    mutating func setFeatures(_ value: [UInt8]) {
        features = GATTClientFeatures(rawValue: value.first ?? 0).intersection(.all)
    }

    // MARK: Change awareness

    /// What was kept of a bonded client.
    mutating func restore(_ status: GATTClientStatus) {
        features.formUnion(status.features)
        if !status.isAware { databaseChanged(announcedBy: nil) }
    }

    /// - Parameter announcement: the number of the indication that tells the client; `nil` if none can.
    mutating func databaseChanged(announcedBy announcement: UInt64?) {
        isAware = false
        changes += 1
        hasReadHash = false
        self.announcement = announcement
    }

    mutating func hashRead() { hasReadHash = !isAware }

    mutating func confirmed(_ indication: UInt64) {
        if indication == announcement { becomeAware() }
    }

    /// - Parameter wasTold: whether the bearer on which it comes has said Database Out Of Sync since the last change.
    mutating func requestReceived(wasTold: Bool) {
        if !isAware, hasReadHash || wasTold { becomeAware() }
    }

    private mutating func becomeAware() {
        isAware = true
        hasReadHash = false
        announcement = nil
    }

    /// Whether what it asks by handles may be meant for other attributes, and what it is told may be taken for others'.
    var isOutOfSync: Bool { !isAware && features.contains(.robustCaching) }

    /// Whether the client is about to learn of the last change.
    var isBeingTold: Bool { announcement != nil }

    mutating func withhold(_ notification: Notification) { withheld.append(notification) }

    mutating func takeWithheld() -> [Notification] {
        defer { withheld = [] }
        return withheld
    }
}

extension ATTOpcode {
    /// Whether a request with these parameters is about attributes that the client must know.
    ///
    /// Source: Core 6.0, Vol 3, Part G, 2.5.2.1. Searches are how it gets to know them, and the hash is looked for in
    /// all handles.
    func needsAwareness(_ request: ArraySlice<UInt8>) -> Bool {
        switch self {
        case .readRequest, .readBlobRequest, .readMultipleRequest, .readMultipleVariableRequest, .writeRequest,
            .prepareWriteRequest:
            return true
        case .readByTypeRequest:
            guard let request = try? ReadByTypeRequest(octets: request) else { return false }
            let isSearch =
                request.type == GATTAttributeType.include || request.type == GATTAttributeType.characteristic
            return !isSearch && (request.startingHandle != 0x0001 || request.endingHandle != 0xFFFF)
        default: return false
        }
    }
}
