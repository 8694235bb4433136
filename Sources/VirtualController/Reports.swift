import BluetoothTypes
import EventLoop
import HCI
import LinkLayer

// What the link layer's machines tell becomes HCI events.

extension VirtualController {
    // MARK: Sending events

    /// Sends the event, unless the host has masked it (Core 6.0, Vol 4, Part E, 7.3.1).
    func emit(_ event: some HCIEvent) {
        let code = type(of: event).code
        guard !code.isMaskable || isUnmasked(code) else { return }
        surroundings.controllerSent(event.packet)
    }

    func isUnmasked(_ code: HCIEventCode) -> Bool {
        settings.eventMask & code.mask != 0 || settings.eventMaskPage2 & code.maskOnPage2 != 0
    }

    /// Sends the LE event, unless the host has masked it or all of them (7.8.1).
    func emit(_ event: some LEEvent) {
        guard isUnmasked(type(of: event).subevent) else { return }
        surroundings.controllerSent(event.packet)
    }

    func isUnmasked(_ subevent: LESubeventCode) -> Bool {
        settings.eventMask & HCIEventCode.leMeta.mask != 0 && settings.leEventMask & subevent.mask != 0
    }

    // MARK: Without a link

    func dealWithScanner(_ reports: inout [Scanner.Report]) {
        for report in reports {
            settings.resolvingList.noteHeard(report.advertiser)
            if settings.usesExtendedCommands == true {
                emitExtended(report)
                continue
            }
            if let target = report.unresolvedTarget {
                emitDirectedReport(report, to: target)
                continue
            }
            let content = AdvertisingReport(
                eventType: .init(report.kind), address: report.advertiser.address,
                isIdentity: report.advertiser.privateAddress != nil, data: report.data, rssi: report.rssi)
            emit(LEAdvertisingReport(reports: [content]))
        }
        reports.removeAll(keepingCapacity: true)
    }

    func dealWith(_ reports: inout [Advertiser.Report], of set: AdvertisingSet, at now: Instant) {
        let all = reports
        reports.removeAll(keepingCapacity: true)
        for report in all {
            switch report {
            case .scanned(let scanner):
                emitScanRequest(of: set, scanner)
            case .expired:
                emitTermination(of: set, .advertisingTimeout)
                set.machine = nil
                guard set.parameters.properties.contains(.highDuty) else { continue }
                var event = LEEnhancedConnectionComplete()
                event.status = .advertisingTimeout
                event.role = .peripheral
                emitConnectionComplete(event)
            case .limitReached:
                emitTermination(of: set, .limitReached)
                set.machine = nil
            case .connected(let offer, let initiator, let local, let selectsAlgorithm2, let end):
                var setup = ConnectionSetup(
                    role: .peripheral, peer: initiator.address, offer: offer, usesAlgorithm2: selectsAlgorithm2,
                    end: end)
                if let machine = set.machine, machine.isExtended {
                    setup.isExtended = true
                    setup.mode = machine.mode
                }
                let link = addLink(setup, with: initiator, as: local, at: now)
                emitTermination(of: set, .success, with: link)
                set.machine = nil
            }
        }
    }

    func dealWithInitiator(_ reports: inout [Initiator.Report], at now: Instant) {
        let all = reports
        reports.removeAll(keepingCapacity: true)
        for report in all {
            initiator = nil
            var setup = ConnectionSetup(
                role: .central, peer: report.peer.address, offer: report.offer, usesAlgorithm2: report.usesAlgorithm2,
                end: report.end)
            setup.isExtended = report.isExtended
            setup.mode = report.mode
            addLink(setup, with: report.peer, as: report.local, at: now)
        }
    }

    private func emitDirectedReport(_ report: Scanner.Report, to target: DeviceAddress) {
        var entry = LEDirectedAdvertisingReport.Entry()
        entry.address = report.advertiser.address
        entry.isIdentity = report.advertiser.privateAddress != nil
        entry.target = target
        entry.rssi = report.rssi
        emit(LEDirectedAdvertisingReport(reports: [entry]))
    }

    // MARK: Links

    @discardableResult
    private func addLink(
        _ setup: ConnectionSetup, with peer: ResolvingList.Party, as local: DeviceAddress, at now: Instant
    ) -> Link {
        settings.resolvingList.noteHeard(peer)
        // The handles are 0x0040 and up, the lowest free one first.
        var index = 0
        while index < links.count, links[index].handle == 0x0040 + UInt16(index) { index += 1 }
        let answers = isUnmasked(.remoteConnectionParameterRequest)
        let connection = Connection(
            setup, capabilities: configuration.capabilities(hostAnswersParameterRequests: answers, settings))
        let link = Link(
            handle: 0x0040 + UInt16(index), connection: connection,
            clockAccuracyClass: setup.role == .peripheral ? setup.offer.sleepClockAccuracy : 0)
        links.insert(link, at: index)
        announce(link, peer, local)
        if isUnmasked(.channelSelectionAlgorithm) {
            var event = LEChannelSelectionAlgorithm()
            event.handle = link.handle
            event.algorithm = setup.usesAlgorithm2 ? 0x01 : 0x00
            emit(event)
        }
        if settings.suggestedTxOctets > 27 {
            start(
                .length(
                    maxTxOctets: min(settings.suggestedTxOctets, configuration.maxDataOctets),
                    maxTxTime: settings.suggestedTxTime), on: link, at: now)
        }
        noteOccupiedTimes()
        return link
    }

    private func announce(_ link: Link, _ peer: ResolvingList.Party, _ local: DeviceAddress) {
        var event = LEEnhancedConnectionComplete()
        event.peerIsIdentity = peer.privateAddress != nil
        if let address = peer.privateAddress { event.peerResolvablePrivateAddress = address }
        if ResolvingList.isResolvable(local) { event.localResolvablePrivateAddress = local }
        event.handle = link.handle
        event.role = link.connection.role == .central ? .central : .peripheral
        event.peer = link.connection.peer
        event.interval = link.connection.timing.interval
        event.latency = link.connection.timing.latency
        event.supervisionTimeout = link.connection.timing.timeout
        event.clockAccuracy = link.clockAccuracyClass
        emitConnectionComplete(event)
    }

    /// In the form that the host has asked for. 7.7.65.1, 7.7.65.10.
    func emitConnectionComplete(_ event: LEEnhancedConnectionComplete) {
        if isUnmasked(.enhancedConnectionComplete) { emit(event) } else { emit(event.connection) }
    }

    /// Tells the initiator where a new link would be in the way of the others.
    func noteOccupiedTimes() {
        initiator?.machine.occupied = links.compactMap { link in
            link.connection.nextStart.map {
                Initiator.Occupied(anchor: $0, interval: link.connection.timing.intervalDuration)
            }
        }
    }

    func dealWith(_ link: Link, at now: Instant) {
        for index in linkReports.indices { dealWith(linkReports[index], of: link, at: now) }
        linkReports.removeAll(keepingCapacity: true)
    }

    func start(_ procedure: LinkProcedure, on link: Link, at now: Instant) {
        link.connection.start(procedure, at: now, reports: &linkReports)
        dealWith(link, at: now)
    }

    private func dealWith(_ report: ConnectionReport, of link: Link, at now: Instant) {
        switch report {
        case .data(let payload, let isStart):
            surroundings.controllerSent(
                aclPacket(
                    handle: link.handle, boundary: isStart ? .firstFlushable : .continuation, payload: payload))
        case .completed(let count):
            link.heldPackets -= count
            heldPackets -= count
            emit(
                NumberOfCompletedPackets(
                    entries: [.init(handle: link.handle, count: UInt16(truncatingIfNeeded: count))]))
        case .closed(let reason):
            remove(link)
            emit(DisconnectionComplete(handle: link.handle, reason: HCIErrorCode(rawValue: reason.rawValue)))
        case .updated(let timing):
            emitUpdate(of: link, .success, timing)
        case .updateFailed(let error):
            emitUpdate(of: link, HCIErrorCode(rawValue: error.rawValue), link.connection.timing)
        case .parametersRequested(let range):
            var event = LERemoteConnectionParameterRequest()
            event.handle = link.handle
            event.parameters = ConnectionParameterRange(
                intervalMin: range.intervalMin, intervalMax: range.intervalMax, latency: range.latency,
                supervisionTimeout: range.timeout)
            emit(event)
        case .encryptionRequested(let randomNumber, let diversifier):
            encryptionRequested(on: link, randomNumber, diversifier, at: now)
        case .encryptionChanged(let error, let isRefresh):
            emitEncryptionChange(of: link, HCIErrorCode(rawValue: error.rawValue), isRefresh: isRefresh)
        case .authenticatedPayloadTimeout:
            var event = AuthenticatedPayloadTimeoutExpired()
            event.handle = link.handle
            emit(event)
        case .remoteFeatures(let error, let features):
            var event = LEReadRemoteFeaturesComplete()
            event.status = HCIErrorCode(rawValue: error.rawValue)
            event.handle = link.handle
            event.features = LEFeatures(rawValue: features)
            emit(event)
        case .remoteVersion(let error, let version):
            var event = ReadRemoteVersionComplete()
            event.status = HCIErrorCode(rawValue: error.rawValue)
            event.handle = link.handle
            event.version = version.version
            event.companyIdentifier = version.company
            event.subversion = version.subversion
            emit(event)
        case .lengthChanged(let transmit, let receive):
            emitLengths(of: link, transmit, receive)
        case .subrated(let error): emitSubrating(of: link, HCIErrorCode(rawValue: error.rawValue))
        case .phyUpdated(let error):
            emitPHYs(of: link, HCIErrorCode(rawValue: error.rawValue))
        }
    }

    private func emitLengths(of link: Link, _ transmit: EffectiveLength, _ receive: EffectiveLength) {
        var event = LEDataLengthChange()
        event.handle = link.handle
        event.txOctets = UInt16(transmit.octets)
        event.txTime = transmit.time
        event.rxOctets = UInt16(receive.octets)
        event.rxTime = receive.time
        emit(event)
    }

    private func emitPHYs(of link: Link, _ status: HCIErrorCode) {
        var event = LEPHYUpdateComplete()
        event.status = status
        event.handle = link.handle
        event.tx = PHY(rawValue: link.connection.transmitPHY.rawValue)
        event.rx = PHY(rawValue: link.connection.receivePHY.rawValue)
        emit(event)
    }

    private func emitUpdate(of link: Link, _ status: HCIErrorCode, _ timing: ConnectionTiming) {
        var event = LEConnectionUpdateComplete()
        event.status = status
        event.handle = link.handle
        event.interval = timing.interval
        event.latency = timing.latency
        event.supervisionTimeout = timing.timeout
        emit(event)
    }

    private func remove(_ link: Link) {
        if isHolder(link) {
            silenceRadio()
            holder = .nobody
        }
        heldPackets -= link.heldPackets
        links.removeAll { $0 === link }
        noteOccupiedTimes()
    }
}

extension AdvertisingReport.EventType {
    init(_ kind: AdvertisingHeader.Kind) {
        switch kind {
        case .connectable: self = .connectable
        case .directed: self = .directed
        case .scannable: self = .scannable
        case .scanResponse: self = .scanResponse
        default: self = .nonconnectable
        }
    }
}
