/// Something that goes wrong in the field, by its name. ``FaultyLine`` puts it into the octets that pass between a
/// device's host and its controller; Documentation/Faults.md lists them all.
///
/// Those of a peer's firmware are set on the peer, those of an adapter on the device whose adapter it is.
package enum SimulatedFault: String, CaseIterable, Sendable {
    // A peer's bonds.
    case forgotBond, wrongKey, subscriptionsLostAtReboot, refusesPairing, ignoresPairing
    // A peer's attribute table.
    case tableMovedSilently, duplicateHandles, illegalAnswers, errorsWithoutMeaning, missingConfigurationDescriptor
    case emptyTable
    // A peer's answers.
    case answersAtSecond29, neverAnswers, ignoresMTUExchange, refusesMTUExchange, smallPackets, echoesWrongly
    case truncatesLongReads
    // A peer's values.
    case notificationsVanish, notifiesTwice, notifiesBeforeConfirming, writesVanish
    // How a peer shows itself, and its links.
    case malformedAdvertisement, swappedServiceUUID, notConnectable, ignoresConnections, connectedElsewhere
    case vanishesAtConnection, hangsUpAtOnce, demandsParameters, refusesConnectionParameters
    // A peer's channels.
    case refusesChannels, givesNoCredits
    // An adapter: its controller, and the line to it.
    case disconnectEventSwallowed, readinessNeverSignalled, hangsAfterReset, controllerHangs, controllerResets
    case twoEventsInOneRead, adapterUnplugged, scanIsSilent, scanRefused, noRSSI

    /// Where it lives.
    package enum Place: String, Sendable {
        case peerHost = "the peer's host"
        case peerController = "the peer's controller"
        case controller = "the adapter's controller"
        case transport = "the line to the adapter"
        case system = "the adapter's host"
    }

    /// Which of the field's pains it is a case of. The sentence is its row in Documentation/Faults.md.
    package enum Pain: Int, CaseIterable, Sendable {
        case neverFinishes = 1
        case advertisements, security, attributeTable, transport, longValues, adapterLife, notifications, readiness
        case staleTable, storms, channels, signalStrength

        package var sentence: String {
            switch self {
            case .neverFinishes: "Connects, cancels and operations that never finish, or finish twice"
            case .advertisements: "Advertisements that are broken, say something else, or lead nowhere"
            case .security: "Pairing that fails, bonds that are lost on one side"
            case .attributeTable: "Reading an attribute table whose answers break the specification"
            case .transport: "HCI packets that come in pieces, in heaps, or not at all"
            case .longValues: "The MTU, truncation, long reads and writes"
            case .adapterLife: "Adapters that are pulled, reset, or scan in silence"
            case .notifications: "Notifications that are lost, come twice, or come too early"
            case .readiness: "Writes without response, and the readiness for them"
            case .staleTable: "Attribute tables that change without a word, as after a firmware update"
            case .storms: "Links that break right after they are made, and what reconnecting makes of it"
            case .channels: "L2CAP channels: credits, refusals"
            case .signalStrength: "Signal strengths that are none"
            }
        }
    }
}

extension SimulatedFault {
    package var place: Place {
        switch self {
        case .forgotBond, .wrongKey, .subscriptionsLostAtReboot, .refusesPairing, .ignoresPairing, .tableMovedSilently,
            .duplicateHandles, .illegalAnswers, .errorsWithoutMeaning, .missingConfigurationDescriptor, .emptyTable,
            .answersAtSecond29, .neverAnswers, .ignoresMTUExchange, .refusesMTUExchange, .smallPackets, .echoesWrongly,
            .truncatesLongReads, .notificationsVanish, .notifiesTwice, .notifiesBeforeConfirming, .writesVanish,
            .malformedAdvertisement, .swappedServiceUUID, .notConnectable, .connectedElsewhere, .hangsUpAtOnce,
            .demandsParameters, .refusesConnectionParameters, .refusesChannels, .givesNoCredits:
            .peerHost
        case .ignoresConnections, .vanishesAtConnection: .peerController
        case .disconnectEventSwallowed, .readinessNeverSignalled, .hangsAfterReset, .controllerHangs,
            .controllerResets, .scanIsSilent, .scanRefused, .noRSSI:
            .controller
        case .twoEventsInOneRead, .adapterUnplugged: .transport
        }
    }

    package var pain: Pain {
        switch self {
        case .forgotBond, .wrongKey, .refusesPairing, .ignoresPairing: .security
        case .subscriptionsLostAtReboot, .missingConfigurationDescriptor, .notificationsVanish, .notifiesTwice,
            .notifiesBeforeConfirming:
            .notifications
        case .tableMovedSilently: .staleTable
        case .duplicateHandles, .illegalAnswers, .errorsWithoutMeaning, .emptyTable: .attributeTable
        case .answersAtSecond29, .neverAnswers, .ignoresConnections, .disconnectEventSwallowed: .neverFinishes
        case .ignoresMTUExchange, .refusesMTUExchange, .smallPackets, .echoesWrongly, .truncatesLongReads: .longValues
        case .writesVanish, .readinessNeverSignalled: .readiness
        case .malformedAdvertisement, .swappedServiceUUID, .notConnectable, .connectedElsewhere: .advertisements
        case .vanishesAtConnection, .hangsUpAtOnce, .demandsParameters, .refusesConnectionParameters: .storms
        case .refusesChannels, .givesNoCredits: .channels
        case .twoEventsInOneRead, .controllerHangs: .transport
        case .hangsAfterReset, .controllerResets, .adapterUnplugged, .scanIsSilent, .scanRefused: .adapterLife
        case .noRSSI: .signalStrength
        }
    }

    /// Whether it happens once, when it is put in; the others last until they are taken out.
    package var isMomentary: Bool {
        switch self {
        case .forgotBond, .wrongKey, .controllerResets: true
        default: false
        }
    }
}
