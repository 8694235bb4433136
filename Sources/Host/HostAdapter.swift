package import EventLoop
import ByteCodec
import GAP
import HCI
import HostInterface

/// What the host wants its adapter to be, and how far it is.
enum AdapterPhase {
    /// Nothing was started yet, or the adapter is switched off.
    case off
    case settingUp(AdapterSetup)
    case on(AdapterCapabilities)
    /// Switched off, but for the goodbyes on these links, which get until then to arrive.
    case leaving(links: [UInt16], until: Instant)
    /// The transport or the controller is lost. The state that clients see says why.
    case lost
}

/// For whom a command is outstanding.
enum CommandOwner {
    case setup
    case scanner
    case advertiser
    case initiator
    case synchronizer
    /// A client's own advertising set.
    case extendedAdvertiser(ClientID)
    /// A request that ends with the command.
    case request(RequestKey)
    /// The start of a link's encryption.
    case encryption(link: UInt16)
    /// What makes a link faster.
    case tuner(link: UInt16)
    /// A request about a link that the PHY completes.
    case linkStatus(RequestKey, PeerID)
    /// A request for other subrates of a link.
    case subrate(link: UInt16)
    /// The setting of a private address.
    case privateAddress
    /// A change of the controller's resolving list.
    case resolvingList
    case nobody

    /// Whether its commands have an extended and a legacy form.
    var speaksExtended: Bool {
        switch self {
        case .scanner, .advertiser, .initiator, .extendedAdvertiser: true
        case .setup, .synchronizer, .request, .encryption, .tuner, .linkStatus, .subrate, .privateAddress,
            .resolvingList,
            .nobody:
            false
        }
    }
}

// MARK: - Power

extension Host {
    /// Makes the adapter ready: clients hear `.poweredOn`, or why not.
    package func powerOn(at now: Instant) {
        isSwitchedOn = true
        if let forbiddenState { return change(to: forbiddenState) }
        switch phase {
        case .off, .lost, .leaving: break
        case .settingUp, .on: return
        }
        commands = HCICommandQueue()
        commandOwners = [:]
        var setup = AdapterSetup(
            fallbackAddress: configuration.fallbackAddress, ignoresPublicAddress: configuration.ignoresPublicAddress)
        let effects = setup.handle(.start, at: now)
        phase = .settingUp(setup)
        performSetup(effects, at: now)
    }

    /// Switches the radio off: links and scans end, open requests fail, services stay (B-H15).
    package func powerOff(at now: Instant) {
        isSwitchedOn = false
        shutDown(showing: forbiddenState ?? .poweredOff, at: now)
    }

    /// Ends what the radio does, for whatever reason.
    func shutDown(showing shown: AdapterState, saysGoodbye: Bool = true, at now: Instant) {
        switch phase {
        case .off, .leaving: return change(to: shown)
        case .settingUp, .on, .lost: break
        }
        let handles = saysGoodbye ? links.map(\.handle) : []
        endEverything(because: .notPowered, at: now)
        phase = .leaving(links: handles, until: now.advanced(by: Self.patienceForGoodbyes))
        change(to: shown)
        // The peers are told why (Core 6.0, Vol 1, Part F, 2.20), and not left to their supervision timeouts.
        for handle in handles {
            submit(Disconnect(handle: handle, reason: .remotePowerOff).packet, for: .nobody, at: now)
        }
        if handles.isEmpty { leave(at: now) }
    }

    private static let patienceForGoodbyes = Duration.seconds(1)

    /// A goodbye has arrived, or never will.
    func saidGoodbye(onLink handle: UInt16, at now: Instant) {
        guard case .leaving(let handles, let until) = phase else { return }
        let rest = handles.filter { $0 != handle }
        phase = .leaving(links: rest, until: until)
        if rest.isEmpty { leave(at: now) }
    }

    func wakeAdapter(at now: Instant) {
        if case .leaving(_, let until) = phase, until <= now { leave(at: now) }
    }

    /// The controller forgets its advertising and what is left of its links; nobody waits for the answer.
    private func leave(at now: Instant) {
        phase = .off
        submit(Reset().packet, for: .nobody, at: now)
    }

    /// A controller that has the extended commands is told in nothing else: it accepts no mix (Core 6.0, Vol 4, Part E,
    /// 3.1.1).
    var usesExtendedCommands: Bool {
        configuration.usesExtendedCommands && !knowsNoExtendedCommands && capabilities?.hasExtendedCommands == true
    }

    /// The controller names the extended commands, and does not know one of them. From now on it is told in legacy
    /// ones; what it took of the others must go first, hence the set-up anew, which begins with a reset.
    private func abandonExtendedCommands(at now: Instant) {
        knowsNoExtendedCommands = true
        lose(showing: .resetting, at: now)
        powerOn(at: now)
    }

    var isOn: Bool { if case .on = phase { true } else { false } }

    var capabilities: AdapterCapabilities? { if case .on(let capabilities) = phase { capabilities } else { nil } }

    func change(to new: AdapterState) {
        guard new != state else { return }
        state = new
        switch new {
        // Below "powered off" advertising has stopped; at it, it pauses (B-I6).
        case .unknown, .resetting, .unsupported, .unauthorized:
            for index in clients.indices {
                clients[index].advertisement = nil
                clients[index].extendedAdvertising?.content = nil
            }
        case .poweredOff, .poweredOn: break
        }
        for client in clients { client.deliver(.state(new)) }
    }

    private func performSetup(_ effects: [AdapterSetup.Effect], at now: Instant) {
        for effect in effects {
            switch effect {
            case .command(let packet): submit(packet, for: .setup, at: now)
            case .ready(let capabilities):
                phase = .on(capabilities)
                acl = ACLScheduler(bufferCount: capabilities.aclCount, bufferLength: capabilities.aclLength)
                openBonds(of: capabilities.address)
                setLinkDefaults(at: now)
                setSubrateDefaults(at: now)
                startPrivacy(at: now)
                initiator.configuration = initiatorConfiguration(capabilities)
                change(to: .poweredOn(address: capabilities.address))
                updateAdvertiser(at: now)
                updateExtendedAdvertisers(at: now)
            case .failed(let failure):
                controllerFailed(.unusable(reason: "\(failure)"), at: now)
            }
        }
    }

    /// Ends links, scans and open requests; what clients are told is `failure`, or, of links that they held,
    /// nothing: the state that follows says it (B-B4).
    func endEverything(because failure: HostFailure, at now: Instant) {
        for entry in requests.open {
            // What has failed must not begin by itself later.
            if case .startAdvertising = entry.request { updateClient(entry.key.client) { $0.advertisement = nil } }
            if case .startExtendedAdvertising = entry.request {
                updateClient(entry.key.client) { $0.extendedAdvertising?.content = nil }
            }
            fail(entry.key, failure)
        }
        let ended = links
        links = []
        for link in ended { end(link, because: failure, at: now) }
        for index in known.indices where known[index].isConnected { known[index].isConnected = false }
        commandOwners = [:]
        scanRequests = []
        advertisingRequests = []
        scanner = Scanner()
        advertiser = Advertiser()
        for index in clients.indices {
            clients[index].extendedAdvertising?.advertiser = Advertiser()
            clients[index].extendedAdvertising?.requests = []
        }
        endTrains()
        initiator = Initiator()
        dialled = [:]
        searched = []
        waitingForRoom = []
        privateDials = []
        pausedDials = []
        addressChange = nil
        changeAddressBy = nil
        resolvingList = ResolvingListKeeper()
        updateListBy = nil
        pauseUntil = nil
        acl = ACLScheduler(bufferCount: 0, bufferLength: 27)
        for index in clients.indices {
            clients[index].scan = nil
            clients[index].holds = []
        }
    }
}

// MARK: - Commands

extension Host {
    /// Puts a command in line for the controller.
    func submit(_ packet: [UInt8], for owner: CommandOwner, at now: Instant) {
        lastCommand &+= 1
        commandOwners[lastCommand] = owner
        performCommands(commands.handle(.submit(id: lastCommand, packet: packet), at: now), at: now)
    }

    func performCommands(_ effects: [HCICommandQueue.Effect], at now: Instant) {
        for effect in effects {
            switch effect {
            case .send(let packet): send(packet)
            case .finish(let id, let outcome): commandFinished(id, outcome, at: now)
            case .reportStray: break
            case .controllerHangs(let opcode):
                controllerFailed(.hangs(command: "\(opcode)"), at: now)
            }
        }
    }

    private func commandFinished(_ id: UInt32, _ outcome: CommandOutcome, at now: Instant) {
        let owner = commandOwners.removeValue(forKey: id)
        if outcome == .refused(.unknownCommand), usesExtendedCommands, owner?.speaksExtended == true {
            return abandonExtendedCommands(at: now)
        }
        switch owner {
        case .setup:
            guard case .settingUp(var setup) = phase else { return }
            let effects = setup.handle(.commandFinished(outcome), at: now)
            phase = .settingUp(setup)
            performSetup(effects, at: now)
        case .scanner: performScanner(scanner.handle(.commandFinished(outcome), at: now), at: now)
        case .advertiser: performAdvertiser(advertiser.handle(.commandFinished(outcome), at: now), at: now)
        case .extendedAdvertiser(let id): advance(.commandFinished(outcome), advertiserOf: id, at: now)
        case .initiator: performInitiator(initiator.handle(.commandFinished(outcome), at: now), at: now)
        case .synchronizer: performSynchronizer(synchronizer.handle(.commandFinished(outcome), at: now), at: now)
        case .request(let key): finish(key, Self.answer(outcome, to: requests.request(key)))
        case .encryption(let handle): encryptionRefused(onLink: handle, outcome, at: now)
        case .tuner(let handle): tune(.commandFinished(outcome), onLink: handle, at: now)
        case .linkStatus(let key, let peer): phyRead(outcome, of: peer, for: key)
        case .subrate(let handle): subrateAsked(outcome, onLink: handle, at: now)
        case .privateAddress: addressSet(outcome, at: now)
        case .resolvingList:
            performResolvingList(resolvingList.handle(.commandFinished(outcome), at: now), at: now)
        case .nobody, nil: break
        }
        goOnWithAddressChange(at: now)
    }

    func initiatorConfiguration(_ capabilities: AdapterCapabilities) -> Initiator.Configuration {
        var initiation = Initiator.Configuration()
        initiation.ownAddressType = ownAddressType
        initiation.filterAcceptListSize = capabilities.filterAcceptListSize
        initiation.isExtended = usesExtendedCommands
        if capabilities.features.contains(.phy2M) { initiation.phys.insert(.le2M) }
        if capabilities.features.contains(.codedPHY) { initiation.phys.insert(.leCoded) }
        initiation.parameters = ConnectionParameterRange(connectionPreference)
        return initiation
    }

    private static func answer(
        _ outcome: CommandOutcome, to request: HostRequest?
    ) -> Result<HostAnswer, HostFailure> {
        switch (outcome, request) {
        case (.completed(let parameters), .readRSSI):
            do throws(PacketError) {
                return .success(.rssi(try ReadRSSI.ReturnParameters(octets: parameters).rssi))
            } catch {
                return .failure(.illegalAnswer("The controller's RSSI makes no sense in its field \(error.field)."))
            }
        case (.completed, _), (.started, _): return .success(.done)
        case (.refused(let error), _): return .failure(.controller(status: error.rawValue))
        case (.timedOut, _): return .failure(.timedOut)
        }
    }
}
