import BluetoothTypes
package import EventLoop
import GAP
import HCI
package import HostInterface

/// The rules that a phone's system imposes on the programs on it.
///
/// Values that Apple does not publish are the specification's for the background (Core 6.0, Vol 3, Part C,
/// Appendix A), or this project's choice: Documentation/Decisions/0020-the-phones-rules.md.
extension Host {
    /// How long a program in the background without a background mode goes on before it is suspended.
    private static let graceInBackground = Duration.seconds(5)
    /// 105 ms: above 100 ms, and a multiple of 15 ms as Apple asks of accessories.
    private static let backgroundConnection = ConnectionPreference(
        intervalSlots: 84...84, latency: 0, supervisionTimeout: 200)
    /// TGAP(scan_slow_interval1) and TGAP(scan_slow_window1): 11.25 ms of every 1.28 s.
    private static let backgroundScan: (interval: UInt16, window: UInt16) = (0x0800, 0x0012)
    /// TGAP(adv_slow_interval): 1 s.
    private static let backgroundAdvertisingInterval: UInt16 = 0x0640

    /// Puts the programs under other rules, from now on.
    package func impose(_ new: ProgramPolicy, at now: Instant) {
        guard new != policy else { return }
        let (old, wasForbidden) = (policy, forbiddenState != nil)
        policy = new
        if new.isInBackground != old.isInBackground {
            suspendsAt = new.isInBackground ? now.advanced(by: Self.graceInBackground) : nil
            isPastGrace = false
        }
        updateGates()
        if let forbiddenState {
            shutDown(showing: forbiddenState, at: now)
        } else if wasForbidden {
            if isSwitchedOn { powerOn(at: now) } else { shutDown(showing: .poweredOff, at: now) }
        }
        guard new.isInBackground != old.isInBackground || new.backgroundModes != old.backgroundModes else { return }
        adviseOnBackground()
        updateScanner(at: now)
        updateAdvertiser(at: now)
        updateExtendedAdvertisers(at: now)
        updatePaces(at: now)
    }

    /// What clients are shown in place of the adapter's own state.
    var forbiddenState: AdapterState? {
        guard policy.hasRadio else {
            return .unsupported(reason: "A simulator has no Bluetooth. Run the app on a device.")
        }
        switch policy.permission {
        case .allowed: return nil
        case .notDetermined: return .unknown
        case .denied:
            return .unauthorized(
                reason: "The person has denied this app Bluetooth. The app's switch is in the settings, under "
                    + "Privacy & Security, Bluetooth.")
        case .restricted:
            return .unauthorized(
                reason: "This device's management or its parental controls forbid the app Bluetooth; the person "
                    + "cannot allow it.")
        }
    }

    func canRunInBackground(as mode: BackgroundModes) -> Bool {
        !policy.isInBackground || policy.backgroundModes.contains(mode)
    }

    // MARK: Scanning, advertising, connecting

    /// Says of each scan whether it may run and what it may report, and how eagerly the controller listens; `nil` if
    /// no scan may run.
    func scanConfiguration() -> Scanner.Configuration? {
        var runs = false
        for index in clients.indices where clients[index].scan != nil {
            let mayRun =
                !policy.isInBackground
                || policy.backgroundModes.contains(.central) && clients[index].scan?.filter.isEmpty == false
            clients[index].scan?.isPaused = !mayRun
            clients[index].scan?.isInBackground = policy.isInBackground
            clients[index].scan?.readsOverflowArea = configuration.readsOverflowArea
            runs = runs || mayRun
        }
        guard runs else { return nil }
        var scan = Scanner.Configuration()
        if policy.isInBackground { (scan.interval, scan.window) = Self.backgroundScan }
        return scan
    }

    /// A program in the background is seen without its name, and its services by whoever looks for them; without the
    /// background mode it is not seen.
    func advertisingLayout(_ contents: [AdvertisementContent], services: [BluetoothUUID]) -> AdvertisingLayout? {
        guard policy.isInBackground else {
            return AdvertisingLayout(
                localName: contents.lazy.compactMap(\.localName).first, services: services,
                manufacturerData: contents.lazy.compactMap(\.manufacturerData).first,
                serviceData: contents.lazy.flatMap(\.serviceData).first)
        }
        guard policy.backgroundModes.contains(.peripheral) else { return nil }
        return AdvertisingLayout(manufacturerData: services.isEmpty ? nil : OverflowArea(services).manufacturerData)
    }

    var advertisingInterval: UInt16 {
        policy.isInBackground ? Self.backgroundAdvertisingInterval : Advertiser.Configuration().interval
    }

    /// What a link of this device as the central is asked to be.
    var connectionPreference: ConnectionPreference {
        policy.isInBackground ? Self.backgroundConnection : configuration.connection
    }

    private func updatePaces(at now: Instant) {
        guard let capabilities else { return }
        initiator.configuration = initiatorConfiguration(capabilities)
        for link in links where link.role == .central {
            update(ConnectionParameterRange(connectionPreference), onLink: link.handle, for: .nobody, at: now)
        }
    }

    // MARK: Suspension

    func wakePolicy(at now: Instant) {
        guard let suspendsAt, suspendsAt <= now else { return }
        self.suspendsAt = nil
        isPastGrace = true
        updateGates()
        let resting = clients.filter(\.gate.isShut)
        for (role, mode) in [(ClientRole.central, "bluetooth-central"), (.peripheral, "bluetooth-peripheral")]
        where resting.contains(where: { $0.role == role }) {
            onAdvice?("Callbacks rest in the background, of values too: the app does not declare the mode \(mode).")
        }
    }

    /// A program is woken for the events of a role that it may play in the background, and for no others.
    func updateGates() {
        for client in clients {
            let mayRun =
                switch client.role {
                case .central: policy.backgroundModes.contains(.central)
                case .peripheral: policy.backgroundModes.contains(.peripheral)
                case nil: !policy.backgroundModes.isEmpty
                }
            client.gate.isShut = isPastGrace && !mayRun
        }
    }

    /// The first thing that a client asks for tells which kind of manager it is.
    func noteRole(of id: ClientID, asking request: HostRequest) {
        guard let index = clientIndex(id), clients[index].role == nil, let role = request.role else { return }
        updateClient(id) { $0.role = role }
        updateGates()
    }

    // MARK: Advice

    /// What runs in the foreground and will not in the background is lost without a callback; so it is said here.
    private func adviseOnBackground() {
        for client in clients {
            if let scan = client.scan { adviseOnScan(scan.filter) }
            if client.advertisement != nil { adviseOnAdvertising() }
        }
    }

    func adviseOnScan(_ filter: ScanFilter) {
        guard policy.isInBackground else { return }
        if !policy.backgroundModes.contains(.central) {
            onAdvice?("A scan rests in the background: the app does not declare the mode bluetooth-central.")
        } else if filter.isEmpty {
            onAdvice?("A scan without services rests in the background: name the services that are looked for.")
        } else if filter.allowDuplicates {
            onAdvice?("CBCentralManagerScanOptionAllowDuplicatesKey is ignored in the background.")
        }
    }

    func adviseOnAdvertising() {
        guard policy.isInBackground else { return }
        onAdvice?(
            policy.backgroundModes.contains(.peripheral)
                ? "In the background the name is not advertised, and the services are in the overflow area."
                : "Nothing is advertised in the background: the app does not declare the mode bluetooth-peripheral.")
    }
}

// MARK: - The end of a program

extension Host {
    /// The system ends all programs: nobody hears of anything any more, and what they wanted of the radio goes.
    package func endPrograms(at now: Instant) {
        for client in clients { detach(client.id, at: now) }
    }

    /// The system's Bluetooth service dies: links break without a goodbye. ``powerOn(at:)`` brings it back.
    package func crash(at now: Instant) {
        guard forbiddenState == nil, isSwitchedOn else { return }
        shutDown(showing: .resetting, saysGoodbye: false, at: now)
    }

    /// The service is back, unless somebody has switched the radio off meanwhile.
    package func recover(at now: Instant) {
        if isSwitchedOn { powerOn(at: now) }
    }
}

extension ScanFilter {
    var isEmpty: Bool { services.isEmpty && solicitedServices.isEmpty }
}

/// Which kind of manager a client is.
enum ClientRole {
    case central
    case peripheral
}

extension HostRequest {
    /// `nil` for what both kinds ask.
    var role: ClientRole? {
        switch self {
        case .startScan, .stopScan, .connect, .disconnect, .readRSSI, .discoverServices, .discoverIncludedServices,
            .discoverCharacteristics, .discoverDescriptors, .read, .write, .writeReliably, .subscribe,
            .openChannel, .synchronize, .endSynchronization:
            .central
        case .addService, .removeService, .removeAllServices, .respond, .notify, .startAdvertising, .stopAdvertising,
            .startExtendedAdvertising, .stopExtendedAdvertising, .updatePeriodicAdvertising, .publishChannel,
            .unpublishChannel:
            .peripheral
        case .updateConnectionParameters, .subrate, .readLink, .enlargeChannel, .send, .received, .closeChannel,
            .security,
            .listOpenWork:
            nil
        }
    }
}
