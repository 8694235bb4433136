import ATT
import EventLoop
import GATT
import HostInterface

/// The local attributes, and peers' questions about them.
extension Host {
    func publish(_ definition: ServiceDefinition, for key: RequestKey, at now: Instant) {
        let placement: GATTPlacement
        do throws(AttributeDatabaseError) {
            placement = try database.add(GATTServiceDefinition(definition))
        } catch {
            return fail(key, .invalidParameters("\(error)"))
        }
        let handle = placement.handles.lowerBound
        updateClient(key.client) { $0.services.append(handle) }
        for characteristic in placement.characteristics { publishers[characteristic] = key.client }
        tellServicesChanged(placement.handles, at: now)
        let service = PublishedService(
            handle: AttributeHandle(rawValue: handle),
            characteristics: placement.characteristics.map(AttributeHandle.init(rawValue:)))
        finish(key, .success(.published(service)))
        for index in links.indices where links[index].hasRestoredClient {
            restoreSubscriptions(onLink: index, at: now)
        }
    }

    func unpublish(_ service: UInt16, at now: Instant) {
        guard let range = database.removeService(at: service) else { return }
        for handle in range { publishers[handle] = nil }
        for index in links.indices { handle(.forget(range), onLink: index, at: now) }
        tellServicesChanged(range, at: now)
    }

    /// Peers that asked for it learn that attributes came or went (Core 6.0, Vol 3, Part G, 7.1).
    private func tellServicesChanged(_ range: ClosedRange<UInt16>, at now: Instant) {
        for index in links.indices { tellServicesChanged(range, onLink: index, at: now) }
    }

    func tellServicesChanged(_ range: ClosedRange<UInt16>, onLink index: Int, at now: Instant) {
        let id = open(.unattended, onLink: index)
        handle(.databaseChanged(id: id, range), onLink: index, at: now)
    }

    // MARK: Values for subscribers

    func notify(
        _ characteristic: UInt16, _ value: [UInt8], to peers: [PeerID]?, for key: RequestKey, at now: Instant
    ) {
        guard publishers[characteristic] == key.client else {
            return fail(key, .invalidParameters("This client has published no characteristic at \(characteristic)."))
        }
        // A dead link has its subscriptions until it has ended.
        let subscribers = links.indices.filter {
            !links[$0].isReplaced && peers?.contains(links[$0].peer) ?? true
                && !links[$0].attributes.subscription(to: characteristic).isEmpty
        }
        guard !subscribers.isEmpty else { return finish(key, .success(.done)) }
        openShares[key] = subscribers.count
        for index in subscribers {
            let id = open(.share(key), onLink: index)
            // A notification, if the peer asked for both (B-H12).
            let wantsNotifications = links[index].attributes.subscription(to: characteristic).contains(.notifications)
            handle(
                wantsNotifications
                    ? .notify(id: id, handle: characteristic, value: value)
                    : .indicate(id: id, handle: characteristic, value: value),
                onLink: index, at: now)
        }
    }

    func shareEnded(_ key: RequestKey) {
        guard let shares = openShares[key] else { return }
        guard shares == 1 else { return openShares[key] = shares - 1 }
        openShares[key] = nil
        finish(key, .success(.done))
    }

    // MARK: Peers' questions

    func ask(_ request: GATTReadRequest, onLink index: Int, at now: Instant) {
        guard let (id, client) = question(request.id, about: request.handle, onLink: index, at: now) else {
            return refuse(request.id, onLink: index, at: now)
        }
        let event = ServerReadRequest(
            id: id, central: links[index].peer, characteristic: AttributeHandle(rawValue: request.handle),
            offset: request.offset, mtu: links[index].attributes.mtu)
        deliver(.readRequested(event), to: client)
    }

    /// All parts go to the client of the first one: the parts of one queue with several owners are refused.
    func ask(_ request: GATTWriteRequest, onLink index: Int, at now: Instant) {
        let owners = Set(request.parts.map { publishers[$0.handle] })
        guard let first = request.parts.first, owners.count == 1,
            let (id, client) = question(request.id, about: first.handle, onLink: index, at: now)
        else { return refuse(request.id, onLink: index, at: now) }
        let parts = request.parts.map {
            ServerWriteRequest.Part(
                characteristic: AttributeHandle(rawValue: $0.handle), offset: $0.offset, value: $0.value)
        }
        let event = ServerWriteRequest(
            id: id, central: links[index].peer, parts: parts, needsResponse: request.needsResponse,
            mtu: links[index].attributes.mtu)
        if !request.needsResponse { questions[id] = nil }
        deliver(.writeRequested(event), to: client)
    }

    func respond(_ id: ServerRequestID, _ errorCode: UInt8, _ value: [UInt8], from client: ClientID, at now: Instant) {
        guard let question = questions[id], question.client == client else { return }
        questions[id] = nil
        guard let index = linkIndex(handle: question.link) else { return }
        let error = errorCode == 0 ? nil : ATTErrorCode(rawValue: errorCode)
        handle(.respond(id: question.bearerID, error: error, value: value), onLink: index, at: now)
    }

    private func question(
        _ bearerID: UInt64, about attribute: UInt16, onLink index: Int, at now: Instant
    ) -> (ServerRequestID, ClientID)? {
        guard let client = publishers[attribute], canRunInBackground(as: .peripheral) else { return nil }
        lastQuestion += 1
        let id = ServerRequestID(lastQuestion)
        questions[id] = Question(client: client, link: links[index].handle, bearerID: bearerID, since: now)
        return (id, client)
    }

    /// Nobody is there to answer.
    private func refuse(_ bearerID: UInt64, onLink index: Int, at now: Instant) {
        handle(.respond(id: bearerID, error: .unlikelyError, value: []), onLink: index, at: now)
    }
}
