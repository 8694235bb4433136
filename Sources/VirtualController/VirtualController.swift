package import EventLoop
import HCI
package import LinkLayer

/// What a controller is built into: the line to its host, and the antenna.
///
/// The controller calls it from inside ``VirtualController/receive(_:at:)`` and its siblings; none of these calls may
/// come back into the controller before it has returned.
package protocol ControllerSurroundings: AnyObject {
    /// An HCI packet for the host, in its H4 form.
    func controllerSent(_ packet: [UInt8])
    /// The packet goes on the air at this instant; ``VirtualController/transmissionEnded(at:)`` follows.
    func transmit(_ frame: RadioFrame)
    /// The packet on the air breaks off; nothing follows.
    func abortTransmission()
    /// From this instant the receiver is tuned to the channel and looks for the access address.
    func listen(channel: UInt8, phy: RadioPHY, accessAddress: UInt32)
    /// The receiver is off.
    func stopListening()
}

/// An LE controller in software: HCI above, one half-duplex radio below.
///
/// The link layer's machines share the radio. Who holds it says what it does next; who may have it next is decided in
/// `Arbitration.swift`.
///
/// Source: Core 6.0, Vol 4, Part E (HCI); Vol 6, Part B (link layer).
package final class VirtualController {
    enum Holder {
        case nobody, scanner, initiator
        case advertiser(AdvertisingSet)
        /// The periodic advertising of a set.
        case train(AdvertisingSet)
        /// Somebody else's.
        case sync(FollowedTrain)
        case link(Link)
    }

    enum RadioState {
        case idle
        /// `armedFrame` is to be transmitted.
        case armed(at: Instant)
        case transmitting
        case listening(until: Instant)
        /// A packet has begun while the radio was listening.
        case receiving
    }

    // What is looked at with each packet stands first and together: of many controllers, little else is in the cache.

    unowned let surroundings: any ControllerSurroundings
    var holder = Holder.nobody { didSet { needsArbitration = true } }
    var radio = RadioState.idle
    /// When ``wake(at:)`` must be called.
    package private(set) var deadline: Instant?
    /// The same, if the radio had nothing to wait for.
    private var deadlineBesidesRadio: Instant?
    /// Whether the host has spoken, or somebody has come or gone who wants the radio, since it was last decided who
    /// has it.
    private var needsArbitration = true
    /// Whether the holder has waited for so long that links which can wait do.
    var isImpatient = false
    /// In the order in which the host made them.
    var sets: [AdvertisingSet] = [] { didSet { needsArbitration = true } }
    /// In the order of their handles.
    var links: [Link] = [] { didSet { needsArbitration = true } }
    /// The trains that are followed; at most one of them has not been established yet.
    var syncs: [FollowedTrain] = [] { didSet { needsArbitration = true } }
    var scanSchedule: ScanSchedule?
    /// Packets of the host that the peers have not acknowledged yet.
    var heldPackets = 0

    // What the machines told, until it is dealt with; kept to save an allocation with each packet.
    private var advertiserReports: [Advertiser.Report] = []
    private var scannerReports: [Scanner.Report] = []
    private var initiatorReports: [Initiator.Report] = []
    var linkReports: [ConnectionReport] = []
    var syncReports: [PeriodicSync.Report] = []

    private var armedFrame: RadioFrame?
    var scanner: Running<Scanner>?
    var initiator: Running<Initiator>?
    var initiatorUsesAcceptList = false
    /// The synchronization that the host waits for.
    var pendingSync: LEPeriodicAdvertisingCreateSync?
    var generator: SeededGenerator
    var settings = HostSettings()
    package private(set) var configuration: ControllerConfiguration

    package init(
        _ configuration: ControllerConfiguration, surroundings: any ControllerSurroundings,
        generator: SeededGenerator
    ) {
        self.configuration = configuration
        self.surroundings = surroundings
        self.generator = generator
    }

    /// What its radio is asked to do, in words, for tests.
    package var activities: [String] {
        sets.filter { $0.machine != nil }.map { _ in "advertising" } + (scanner == nil ? [] : ["scanning"])
            + (initiator == nil ? [] : ["connecting"]) + links.map { _ in "link" }
    }

    // MARK: Inputs

    /// Takes one HCI packet from the host, in its H4 form.
    package func receive(_ packet: [UInt8], at now: Instant) {
        take(packet, at: now)
        needsArbitration = true
        settle(at: now)
    }

    /// Lets the clock act.
    package func wake(at now: Instant) {
        switch radio {
        case .armed(let start) where start <= now:
            radio = .transmitting
            if let frame = armedFrame.take() { surroundings.transmit(frame) }
        case .listening(let end) where end <= now:
            feed(.silence, at: now)
        case .idle, .armed, .transmitting, .listening, .receiving:
            break
        }
        if let deadlineBesidesRadio, deadlineBesidesRadio <= now {
            superviseLinks(at: now)
            superviseScan(at: now)
            superviseSyncs(at: now)
            if showsPrivateAddress { renewAddressesIfDue(at: now) }
        }
        settle(at: now)
    }

    /// The packet that was given to the antenna has left it.
    package func transmissionEnded(at now: Instant) {
        guard case .transmitting = radio else { return }
        radio = .idle
        feed(.sent, at: now)
        settle(at: now)
    }

    /// A packet with the right access address has begun on the channel it listens to.
    package func receptionBegan() {
        guard case .listening = radio else { return }
        radio = .receiving
        deadline = deadlineBesidesRadio
    }

    /// That packet has ended.
    package func received(_ reception: Reception, at now: Instant) {
        guard case .receiving = radio else { return }
        feed(.heard(reception), at: now)
        settle(at: now)
    }

    /// Forgets everything, as at power-on. Links end without a word.
    package func powerCycle(at now: Instant) {
        resetState(at: now)
        settle(at: now)
    }

    /// Limits the packets of each event, of the links that are and of those to come; `nil` lifts the limit.
    package func limitEvents(to packets: Int?) {
        configuration.packetsPerEvent = packets
        for link in links { link.connection.packetsPerEvent = packets }
    }

    // MARK: The radio

    /// Tells the holder of the radio what happened, and does what it wants.
    func feed(_ input: RadioInput, at now: Instant) {
        switch holder {
        case .nobody:
            break
        case .advertiser(let set):
            perform(set.machine?.handle(input, at: now, reports: &advertiserReports) ?? .release, at: now)
            if !advertiserReports.isEmpty { dealWith(&advertiserReports, of: set, at: now) }
        case .scanner:
            perform(scanner?.machine.handle(input, at: now, reports: &scannerReports) ?? .release, at: now)
            if !scannerReports.isEmpty { dealWithScanner(&scannerReports) }
            if pendingSync != nil { dealWithTrains() }
        case .train(let set):
            perform(set.train?.machine.handle(input, at: now) ?? .release, at: now)
        case .sync(let sync):
            perform(sync.machine.handle(input, at: now, reports: &syncReports), at: now)
            if !syncReports.isEmpty { dealWith(sync) }
        case .initiator:
            perform(initiator?.machine.handle(input, at: now, reports: &initiatorReports) ?? .release, at: now)
            if !initiatorReports.isEmpty { dealWithInitiator(&initiatorReports, at: now) }
        case .link(let link):
            perform(link.connection.handle(input, at: now, reports: &linkReports), at: now)
            if !linkReports.isEmpty { dealWith(link, at: now) }
        }
    }

    private func perform(_ order: RadioOrder, at now: Instant) {
        switch order {
        case .transmit(let frame, let start):
            if case .listening = radio { surroundings.stopListening() }
            if case .receiving = radio { surroundings.stopListening() }
            if start <= now {
                radio = .transmitting
                surroundings.transmit(frame)
            } else {
                radio = .armed(at: start)
                armedFrame = frame
            }
        case .listen(let channel, let phy, let accessAddress, let end):
            radio = .listening(until: end)
            surroundings.listen(channel: channel, phy: phy, accessAddress: accessAddress)
        case .release:
            silenceRadio()
            holder = .nobody
        }
    }

    /// Whatever the radio does, it stops.
    func silenceRadio() {
        switch radio {
        case .idle, .armed: break
        case .transmitting: surroundings.abortTransmission()
        case .listening, .receiving: surroundings.stopListening()
        }
        radio = .idle
    }

    private func settle(at now: Instant) {
        if !isUndisturbed(at: now) {
            arbitrate(at: now)
            needsArbitration = false
            deadlineBesidesRadio = nextDeadline(at: now)
        }
        let others = deadlineBesidesRadio
        switch radio {
        case .armed(let start): deadline = others.map { min($0, start) } ?? start
        case .listening(let end): deadline = others.map { min($0, end) } ?? end
        case .idle, .transmitting, .receiving: deadline = others
        }
    }

    /// Whether the holder of the radio goes on with what it does, and nobody else is due: the usual case by far. What
    /// happens on a link may move its own deadline, but not to before the end of the event.
    private func isUndisturbed(at now: Instant) -> Bool {
        guard !needsArbitration, deadlineBesidesRadio.map({ now < $0 }) ?? true else { return false }
        switch holder {
        case .scanner, .advertiser, .train, .sync, .link: return true
        // Whether an initiator may be interrupted changes on its way.
        case .nobody, .initiator: return false
        }
    }
}
