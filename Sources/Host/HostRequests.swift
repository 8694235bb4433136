package import EventLoop
import GATT
import HCI
package import HostInterface

extension Host {
    /// Takes a client's request. It is answered exactly once.
    ///
    /// - Precondition: the client has no open request with this number.
    package func submit(_ request: HostRequest, number: RequestNumber, client id: ClientID, at now: Instant) {
        guard clientIndex(id) != nil else { return }
        let key = RequestKey(client: id, number: number)
        requests.begin(key, request, at: now)
        noteRole(of: id, asking: request)
        guard isOn else { return submitWhileOff(request, key, at: now) }
        switch request {
        case .startScan, .stopScan, .startAdvertising, .stopAdvertising, .startExtendedAdvertising,
            .stopExtendedAdvertising, .updatePeriodicAdvertising, .synchronize, .endSynchronization:
            submitDiscovery(request, key, at: now)
        case .connect, .disconnect, .readRSSI, .readLink, .updateConnectionParameters, .subrate:
            submitLink(request, key, at: now)
        case .discoverServices, .discoverIncludedServices, .discoverCharacteristics, .discoverDescriptors, .read,
            .write, .writeReliably, .subscribe:
            submitProcedure(request, key, at: now)
        case .addService, .removeService, .removeAllServices, .respond, .notify:
            submitServer(request, key, at: now)
        case .security(let command): submitSecurity(command, key, at: now)
        case .listOpenWork: finish(key, .success(.openWork(openWork(at: now))))
        case .publishChannel, .unpublishChannel, .openChannel, .enlargeChannel, .send, .received, .closeChannel:
            submitChannel(request, key, at: now)
        }
    }

    /// Services and channels may be published and withdrawn while the radio is off; all else needs it.
    private func submitWhileOff(_ request: HostRequest, _ key: RequestKey, at now: Instant) {
        switch request {
        case .addService, .removeService, .removeAllServices: submitServer(request, key, at: now)
        case .security(.setPolicy(let policy)): submitSecurity(.setPolicy(policy), key, at: now)
        case .publishChannel, .unpublishChannel: submitChannel(request, key, at: now)
        case .listOpenWork: finish(key, .success(.openWork(openWork(at: now))))
        default: fail(key, .notPowered)
        }
    }

    private func submitDiscovery(_ request: HostRequest, _ key: RequestKey, at now: Instant) {
        switch request {
        case .startScan(let filter): startScan(filter, for: key, at: now)
        case .stopScan: stopScan(for: key, at: now)
        case .startAdvertising(let content): startAdvertising(content, for: key, at: now)
        case .stopAdvertising: stopAdvertising(for: key, at: now)
        case .startExtendedAdvertising(let wanted): startExtendedAdvertising(wanted, for: key, at: now)
        case .stopExtendedAdvertising: stopExtendedAdvertising(for: key, at: now)
        case .updatePeriodicAdvertising(let content): updatePeriodicAdvertising(content, for: key, at: now)
        case .synchronize(let peer, let preference): synchronize(peer, preference, for: key, at: now)
        case .endSynchronization(let peer): endSynchronization(peer, for: key, at: now)
        default: preconditionFailure("\(request) does not belong here.")
        }
    }

    private func submitLink(_ request: HostRequest, _ key: RequestKey, at now: Instant) {
        switch request {
        case .connect(let peer): connect(peer, for: key, at: now)
        case .disconnect(let peer): disconnect(peer, for: key, at: now)
        case .readRSSI(let peer):
            guard let index = linkIndex(of: peer) else { return fail(key, .notConnected) }
            guard capabilities?.commands.contains(.readRSSI) != false else {
                return finish(key, .success(.rssi(Self.rssiNotAvailable)))
            }
            submit(ReadRSSI(handle: links[index].handle).packet, for: .request(key), at: now)
        case .readLink(let peer): readLink(peer, for: key, at: now)
        case .updateConnectionParameters(let peer, let preference):
            guard let index = linkIndex(of: peer) else { return fail(key, .notConnected) }
            updateParameters(preference, onLink: index, for: key, at: now)
        case .subrate(let peer, _): subrate(peer, for: key, at: now)
        default: preconditionFailure("\(request) does not belong here.")
        }
    }

    /// What stands for a strength that nobody knows, here for a controller that does not measure it (Core 6.0, Vol 4,
    /// Part E, 7.7.65.2).
    private static let rssiNotAvailable: Int8 = 127

    func submitProcedure(_ request: HostRequest, _ key: RequestKey, at now: Instant) {
        switch request {
        case .discoverServices(let peer, let only):
            start(.discoverPrimaryServices(only: only), on: peer, for: key, at: now)
        case .discoverIncludedServices(let peer, let service):
            start(.findIncludedServices(service.handles), on: peer, for: key, at: now)
        case .discoverCharacteristics(let peer, let service):
            start(.discoverCharacteristics(service.handles), on: peer, for: key, at: now)
        case .discoverDescriptors(let peer, let characteristic):
            start(.discoverDescriptors(GATTCharacteristic(characteristic)), on: peer, for: key, at: now)
        case .read(let peer, let handle):
            start(.read(handle.rawValue), on: peer, for: key, at: now)
        case .write(let peer, let handle, let value, withResponse: true):
            start(.write(handle.rawValue, value: value), on: peer, for: key, at: now)
        case .write(let peer, let handle, let value, withResponse: false):
            writeWithoutResponse(peer, handle.rawValue, value, for: key, at: now)
        case .writeReliably(let peer, let writes):
            let parts = writes.map { GATTWritePart(handle: $0.handle.rawValue, offset: 0, value: $0.value) }
            start(.reliableWrite(parts), on: peer, for: key, at: now)
        case .subscribe(let peer, let characteristic, let kind):
            start(
                .subscribe(GATTCharacteristic(characteristic), GATTSubscription(kind)), on: peer, for: key, at: now)
        default: preconditionFailure("\(request) does not belong here.")
        }
    }

    private func submitServer(_ request: HostRequest, _ key: RequestKey, at now: Instant) {
        switch request {
        case .addService(let definition): publish(definition, for: key, at: now)
        case .removeService(let handle):
            guard client(key.client)?.services.contains(handle.rawValue) == true else {
                return fail(key, .invalidParameters("This client has published no service at \(handle.rawValue)."))
            }
            updateClient(key.client) { $0.services.removeAll { $0 == handle.rawValue } }
            unpublish(handle.rawValue, at: now)
            finish(key, .success(.done))
        case .removeAllServices:
            let services = client(key.client)?.services ?? []
            updateClient(key.client) { $0.services = [] }
            for service in services.reversed() { unpublish(service, at: now) }
            finish(key, .success(.done))
        case .respond(let id, let errorCode, let value):
            respond(id, errorCode, value, from: key.client, at: now)
            finish(key, .success(.done))
        case .notify(let handle, let value, let peers):
            notify(handle.rawValue, value, to: peers, for: key, at: now)
        default: preconditionFailure("\(request) does not belong here.")
        }
    }
}
