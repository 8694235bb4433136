import Simulation

/// Something that goes wrong in the field, by its name: one switch each.
///
///     lock.addFault(.answersAtSecond29)
///     phone.addFault(.disconnectEventSwallowed)
///     sensor.addFault(.notifiesTwice, probability: 0.1)
///
/// A fault changes the octets where they would be wrong in the field: in the peer's firmware, in a controller, or on
/// the line to an adapter. What it does to an app comes of that alone. Those of a peer are set on the peer, those of an
/// adapter on the device whose adapter it is; Documentation/Faults.md lists them with what an app sees.
public enum Fault: String, CaseIterable, Sendable {
    // MARK: A peer's bonds

    /// The peer has lost its bond, and nobody told the other side. At once.
    case forgotBond
    /// The peer keeps another key than was agreed on. At once; until then the devices must be bonded.
    case wrongKey
    /// The peer forgets what bonded centrals were subscribed to, each time that a link ends.
    case subscriptionsLostAtReboot
    /// The peer answers every pairing with "pairing not supported".
    case refusesPairing
    /// The peer does not answer pairings.
    case ignoresPairing

    // MARK: A peer's attribute table

    /// The attribute table stands sixteen handles higher than before, as after a firmware update, and no Service
    /// Changed says so.
    case tableMovedSilently
    /// In lists of services and characteristics the second has the handle of the first.
    case duplicateHandles
    /// Reads are answered with the response to a write.
    case illegalAnswers
    /// Error responses have handle 0 and code 0.
    case errorsWithoutMeaning
    /// Characteristics that notify have no Client Characteristic Configuration descriptor.
    case missingConfigurationDescriptor
    /// The peer says that it has no services.
    case emptyTable

    // MARK: A peer's answers

    /// Reads and writes are answered 29 s late, a second before the protocol gives up.
    case answersAtSecond29
    /// Reads and writes are never answered.
    case neverAnswers
    /// The exchange of the MTU is never answered.
    case ignoresMTUExchange
    /// The exchange of the MTU is refused as unknown.
    case refusesMTUExchange
    /// A large MTU is agreed on, but values of more than 20 octets are cut when sent and lost when received.
    case smallPackets
    /// The echo of a long write differs from what was written.
    case echoesWrongly
    /// The second part of a long value is refused with "attribute not long".
    case truncatesLongReads

    // MARK: A peer's values

    /// Notifications are lost in the peer's firmware.
    case notificationsVanish
    /// Notifications are sent twice.
    case notifiesTwice
    /// The first value comes before the confirmation of the subscription.
    case notifiesBeforeConfirming
    /// Writes without response are lost in the peer's firmware.
    case writesVanish

    // MARK: How a peer shows itself, and its links

    /// The advertising data announce more octets than there are.
    case malformedAdvertisement
    /// The octets of the advertised services' numbers are in the wrong order: FFF0 is shown as F0FF.
    case swappedServiceUUID
    /// The peer is on the air, but cannot be connected to.
    case notConnectable
    /// The peer says that it can be connected to, and takes no connection.
    case ignoresConnections
    /// Somebody else's phone holds the link to the peer, which is silent meanwhile.
    case connectedElsewhere
    /// The peer crashes as a link is made: "connection failed to be established".
    case vanishesAtConnection
    /// The peer ends each link 100 ms after it was made.
    case hangsUpAtOnce
    /// The peer asks for connection parameters that are out of range, and ends the link when they are refused.
    case demandsParameters
    /// The device refuses the connection parameters that its peer asks for.
    case refusesConnectionParameters

    // MARK: A peer's channels

    /// L2CAP channels are refused: no such PSM.
    case refusesChannels
    /// L2CAP channels open, and the peer never gives credits to send.
    case givesNoCredits

    // MARK: An adapter: its controller, and the line to it

    /// The controller does not say that a link has ended.
    case disconnectEventSwallowed
    /// The controller does not say that it has room for data again.
    case readinessNeverSignalled
    /// The controller does not answer after its next reset.
    case hangsAfterReset
    /// The controller says nothing any more.
    case controllerHangs
    /// The controller reports a hardware error, and has forgotten everything. At once.
    case controllerResets
    /// Two packets come in one read of the line.
    case twoEventsInOneRead
    /// The adapter is pulled out; taking the fault out puts it in again.
    case adapterUnplugged
    /// The controller scans, and reports nobody.
    case scanIsSilent
    /// The controller refuses to scan: "command disallowed".
    case scanRefused
    /// The controller does not know how strong signals are: 127.
    case noRSSI

    var simulated: SimulatedFault {
        guard let fault = SimulatedFault(rawValue: rawValue) else {
            preconditionFailure("The fault \(rawValue) is declared, but nothing brings it about.")
        }
        return fault
    }
}

extension SimulatedDevice {
    /// Puts a fault in, from now on, or does it at once, if it is one of a moment.
    ///
    /// What a peer advertises is said anew by restarting its radio, which ends its links.
    ///
    /// - Parameters:
    ///   - fault: what goes wrong.
    ///   - probability: how likely it strikes each time that it could, 0...1.
    public func addFault(_ fault: Fault, probability: Double = 1) {
        precondition((0...1).contains(probability), "A probability lies in 0...1.")
        hosted.faults.begin(fault.simulated, probability: probability)
    }

    /// Takes a fault out. Without effect if it is not in.
    public func removeFault(_ fault: Fault) { hosted.faults.end(fault.simulated) }

    /// Whether a fault is in.
    public func hasFault(_ fault: Fault) -> Bool { hosted.faults.has(fault.simulated) }
}
