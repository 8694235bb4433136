import ATT
import BluetoothTypes
import ByteCodec
import EventLoop
import GATT
import HostInterface

/// Clients' requests about a peer's attributes, as procedures of its link.
extension Host {
    /// Starts the procedure of a request on the link to a peer that its client holds.
    func start(_ procedure: GATTProcedure, on peer: PeerID, for key: RequestKey, at now: Instant) {
        guard let index = heldLink(peer, by: key.client) else { return fail(key, .notConnected) }
        start(procedure, purpose: .request(key), onLink: index, at: now)
    }

    func start(_ procedure: GATTProcedure, purpose: Link.Purpose, onLink index: Int, at now: Instant) {
        let id = open(purpose, onLink: index)
        let party = if case .request(let key) = purpose { key.client.rawValue } else { 0 as UInt32 }
        handle(.submit(id: id, procedure, party: party), onLink: index, at: now)
    }

    func writeWithoutResponse(
        _ peer: PeerID, _ handle: UInt16, _ value: [UInt8], for key: RequestKey, at now: Instant
    ) {
        guard let index = heldLink(peer, by: key.client) else { return fail(key, .notConnected) }
        let id = open(.request(key), onLink: index)
        self.handle(.writeCommand(id: id, handle: handle, value: value), onLink: index, at: now)
    }

    /// Notes what is about to be opened on a link's bearer, under a number of its own.
    func open(_ purpose: Link.Purpose, onLink index: Int) -> UInt64 {
        lastBearerID += 1
        links[index].purposes[lastBearerID] = purpose
        return lastBearerID
    }

    func handle(_ input: GATTConnection.Input, onLink index: Int, at now: Instant) {
        // On a link that a newer one has replaced everything has ended, though the controller still counts it.
        guard !links[index].isReplaced else { return }
        let handle = links[index].handle
        perform(links[index].attributes.handle(input, database: &database, at: now), onLink: handle, at: now)
    }

    /// The link to a peer, if it is up and the client holds it.
    func heldLink(_ peer: PeerID, by id: ClientID) -> Int? {
        guard let client = clientIndex(id), clients[client].holds.contains(peer) else { return nil }
        return linkIndex(of: peer)
    }

    /// What was open under `id` has ended.
    func ended(_ id: UInt64, _ result: Result<GATTAnswer, GATTFailure>, onLink handle: UInt16, at now: Instant) {
        guard let index = linkIndex(handle: handle) else { return }
        switch links[index].purposes.removeValue(forKey: id) {
        case .request(let key):
            if case .failure(.refused(let code)) = result, waitsForSecurity(key, id, code, onLink: index, at: now) {
                return
            }
            remember(result, of: requests.request(key), onLink: index)
            finish(key, Self.answer(result).map { markSecondaries($0, onLink: index) })
        case .share(let key): shareEnded(key)
        case .exchangeMTU: reportLink(handle, at: now)
        case .readName: nameRead(result, onLink: index)
        case .discoverServiceChanged(let step): serviceChanged(step, result, onLink: index, at: now)
        case .readHash: links[index].hasNewFindings = true
        case .readServerFeatures: serverFeaturesRead(result, onLink: index, at: now)
        case .openBearers: break
        case .unattended, nil: break
        }
        keepDatabase(onLink: handle)
    }

    private func remember(_ result: Result<GATTAnswer, GATTFailure>, of request: HostRequest?, onLink index: Int) {
        switch request {
        case .discoverServices, .discoverIncludedServices, .discoverCharacteristics, .discoverDescriptors:
            links[index].hasNewFindings = true
        default: break
        }
        guard case .success(.services(let services)) = result else { return }
        if case .discoverServices(_, only: nil) = request { links[index].knowsAllServices = true }
        // Where a service begins is what it is known by.
        let known = Set(links[index].services.map(\.handles.lowerBound))
        let new = services.filter { !known.contains($0.handles.lowerBound) }
        guard !new.isEmpty else { return }
        links[index].services += new.map { RemoteService(uuid: $0.uuid, handles: $0.handles) }
        let uuids = links[index].services.map(\.uuid)
        know(links[index].peer) { $0.services = uuids }
    }

    /// An include declaration does not say what kind of service it names. One that is not among all the primary
    /// services is secondary; while these are not known it counts as primary.
    private func markSecondaries(_ answer: HostAnswer, onLink index: Int) -> HostAnswer {
        guard case .includedServices(var services) = answer, links[index].knowsAllServices else { return answer }
        let primaries = Set(links[index].services.map(\.handles))
        for place in services.indices { services[place].isPrimary = primaries.contains(services[place].handles) }
        return .includedServices(services)
    }

    /// What a client is told of a procedure's end.
    static func answer(_ result: Result<GATTAnswer, GATTFailure>) -> Result<HostAnswer, HostFailure> {
        switch result {
        case .failure(let failure): return .failure(HostFailure(failure))
        case .success(let answer):
            switch answer {
            case .done: return .success(.done)
            case .mtu(let mtu): return .success(.connected(mtu: mtu))
            case .services(let services):
                return .success(.services(services.map { RemoteService(uuid: $0.uuid, handles: $0.handles) }))
            case .includes(let includes):
                return .success(
                    .includedServices(
                        includes.map { RemoteService(uuid: $0.service.uuid, handles: $0.service.handles) }))
            case .characteristics(let list): return .success(.characteristics(list.map(RemoteCharacteristic.init)))
            case .descriptors(let list):
                return .success(
                    .descriptors(
                        list.map { RemoteDescriptor(uuid: $0.uuid, handle: AttributeHandle(rawValue: $0.handle)) }))
            case .value(let value): return .success(.value(value))
            case .values(let values): return .success(.value(values.first?.value ?? []))
            }
        }
    }
}

// MARK: - What the host asks for itself

extension Host {
    /// Once the MTU is agreed: the peer's name, and word of changes in its attributes.
    func startHousekeeping(onLink index: Int, at now: Instant) {
        startCaching(onLink: index, at: now)
        start(.readByUUID(.uuid16(0x2A00), 0x0001...0xFFFF), purpose: .readName, onLink: index, at: now)
        start(
            .discoverPrimaryServices(only: [.uuid16(0x1801)]), purpose: .discoverServiceChanged(.service),
            onLink: index, at: now)
    }

    private func nameRead(_ result: Result<GATTAnswer, GATTFailure>, onLink index: Int) {
        guard case .success(.values(let values)) = result, let value = values.first?.value, !value.isEmpty else {
            return
        }
        let name = String(decoding: value, as: UTF8.self)
        let peer = links[index].peer
        guard known.first(where: { $0.peer == peer })?.name != name else { return }
        know(peer) { $0.name = name }
        if let bond = bondIndex(links[index].security.identity) { updateBond(at: bond) { $0.name = name } }
        tellHolders(ofLink: index, .nameChanged(peer, name))
    }

    private func serviceChanged(
        _ step: Link.Purpose.Step, _ result: Result<GATTAnswer, GATTFailure>, onLink index: Int, at now: Instant
    ) {
        switch (step, result) {
        case (.service, .success(.services(let services))):
            guard let service = services.first else { return }
            start(
                .discoverCharacteristics(service.handles), purpose: .discoverServiceChanged(.characteristic),
                onLink: index, at: now)
        case (.characteristic, .success(.characteristics(let characteristics))):
            if let features = characteristics.first(where: { $0.uuid == .uuid16(0x2B29) }) {
                start(
                    .write(features.value, value: [clientFeatures.rawValue]), purpose: .unattended, onLink: index,
                    at: now)
            }
            if let changes = characteristics.first(where: { $0.uuid == .uuid16(0x2A05) }) {
                start(
                    .subscribe(changes, .indications), purpose: .discoverServiceChanged(.subscription), onLink: index,
                    at: now)
            }
            let features = characteristics.first { $0.uuid == .uuid16(0x2B3A) }
            links[index].enhanced.featuresHandle = features?.value
            considerBearers(onLink: index, at: now)
        // A peer without Service Changed has attributes that do not change.
        case (.service, _), (.characteristic, _), (.subscription, _): break
        }
    }
}

// MARK: - What is kept of a bonded peer's attributes

extension Host {
    /// Nobody has so many attributes that more is needed.
    private static let longestDatabase = 1 << 16
    /// What this host says as a client (Core 6.0, Vol 3, Part G, 7.2).
    var clientFeatures: GATTClientFeatures {
        configuration.usesEnhancedBearers
            ? [.robustCaching, .enhancedBearers, .multipleNotifications] : [.robustCaching, .multipleNotifications]
    }

    /// The link to a bonded peer is encrypted, and somebody uses it: what is found out of its attributes is kept. The
    /// hash is read before anything is found out, so that it is never younger than that.
    func startCaching(onLink index: Int, at now: Instant) {
        guard links[index].hasRestoredClient, !links[index].keepsDatabase, links[index].reportBy == nil,
            isHeld(links[index].peer)
        else { return }
        links[index].keepsDatabase = true
        readHash(onLink: index, at: now)
    }

    /// The link is encrypted with the bond's key: what was known of the peer's attributes is at hand before it speaks.
    func restoreDatabase(of record: BondRecord, onLink index: Int, at now: Instant) {
        guard let kept = record.remoteDatabase, let database = try? RemoteDatabase(octets: kept[...]) else { return }
        handle(.restoreDatabase(database), onLink: index, at: now)
    }

    func readHash(onLink index: Int, at now: Instant) {
        guard links[index].keepsDatabase, !links[index].isEnding else { return }
        start(.readDatabaseHash, purpose: .readHash, onLink: index, at: now)
    }

    /// Keeps what has been found out, once nothing more is asked.
    private func keepDatabase(onLink handle: UInt16) {
        guard let index = linkIndex(handle: handle), links[index].hasNewFindings, links[index].keepsDatabase,
            links[index].purposes.isEmpty, let bond = bondIndex(links[index].security.identity)
        else { return }
        links[index].hasNewFindings = false
        let database = links[index].attributes.remoteDatabase
        let octets = database.canBeKept ? database.octets : nil
        updateBond(at: bond) { $0.remoteDatabase = octets.flatMap { $0.count <= Self.longestDatabase ? $0 : nil } }
    }
}

// MARK: - Between the layers' words

extension GATTSubscription {
    init(_ kind: SubscriptionKind) { self.init(rawValue: kind.rawValue) }
}

extension GATTServiceDefinition {
    init(_ service: ServiceDefinition) {
        self.init(
            uuid: service.uuid, isPrimary: service.isPrimary,
            includedServices: service.includedServices.map(\.rawValue),
            characteristics: service.characteristics.map(GATTCharacteristicDefinition.init))
    }
}

extension GATTCharacteristicDefinition {
    init(_ characteristic: CharacteristicDefinition) {
        self.init(
            uuid: characteristic.uuid, properties: GATTProperties(rawValue: characteristic.properties),
            permissions: GATTPermissions(rawValue: characteristic.permissions.rawValue), value: characteristic.value,
            descriptors: characteristic.descriptors.map { GATTDescriptorDefinition(uuid: $0.uuid, value: $0.value) },
            subscriptionNeedsEncryption: characteristic.subscriptionNeedsEncryption)
    }
}

extension HostFailure {
    init(_ failure: GATTFailure) {
        switch failure {
        case .refused(let code): self = .attribute(errorCode: code.rawValue)
        case .illegalAnswer(let text): self = .illegalAnswer(text)
        case .noConfigurationDescriptor: self = .noConfigurationDescriptor
        case .invalidParameters(let text): self = .invalidParameters(text)
        case .timedOut: self = .timedOut
        case .bearerLost: self = .illegalAnswer("The peer closed the channel on which it had been asked.")
        case .linkLost: self = .notConnected
        }
    }
}

extension RemoteCharacteristic {
    init(_ characteristic: GATTCharacteristic) {
        self.init(
            uuid: characteristic.uuid, declaration: AttributeHandle(rawValue: characteristic.declaration),
            value: AttributeHandle(rawValue: characteristic.value), end: AttributeHandle(rawValue: characteristic.end),
            properties: characteristic.properties.rawValue)
    }
}

extension GATTCharacteristic {
    init(_ characteristic: RemoteCharacteristic) {
        self.init(
            uuid: characteristic.uuid, declaration: characteristic.declaration.rawValue,
            value: characteristic.value.rawValue, end: characteristic.end.rawValue,
            properties: GATTProperties(rawValue: characteristic.properties))
    }
}
