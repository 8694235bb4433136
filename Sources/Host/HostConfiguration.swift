package import BluetoothTypes
package import HostInterface

/// What a host is told once.
package struct HostConfiguration: Sendable {
    /// The GAP Device Name that peers read, up to 248 octets of UTF-8.
    package var deviceName = "Linux"
    /// The ATT_MTU to ask for and to accept, 23...517.
    package var preferredMTU: UInt16 = 517
    /// What a new link is asked to be: 15 ms, every event, 2 s of silence.
    package var connection = ConnectionPreference(intervalSlots: 12...12, latency: 0, supervisionTimeout: 200)
    /// The longest payload of a link layer's packet to ask for, 27...251, where the controller has the data length
    /// extension.
    package var maximumDataOctets: UInt16 = 251
    /// Whether a controller is told in extended commands to advertise, scan and connect, where it has them all.
    package var usesExtendedCommands = true
    /// Whether links are moved to LE 2M where both controllers have it.
    package var prefers2M = true
    /// Whether links may rest between their events where both sides have connection subrating.
    package var usesSubrating = true
    /// Whether attributes of peers on encrypted links also go over L2CAP channels, where both sides have that.
    package var usesEnhancedBearers = true
    /// How long `connect` waits for the MTU exchange before it reports the link without it.
    package var patienceForMTU = Duration.seconds(2)
    /// The static random address to use where the controller has no public one.
    package var fallbackAddress = DeviceAddress(0xC0DE_0000_0001, kind: .random)
    /// Whether scans see what phones in the background advertise: see ``OverflowArea``.
    package var readsOverflowArea = false
    /// Whether that address is this device's identity in any case.
    package var ignoresPublicAddress = false
    /// Whether this device shows private addresses, a new one every fifteen minutes.
    package var usesPrivateAddress = false
    /// Whether the controller finds bonded peers behind private addresses, where it can; if not, this host alone does.
    package var usesResolvingList = true
    /// How pairings go while no client has a policy of its own.
    package var pairing = PairingPolicy()
    /// How many links may be up. Connects that are pending then wait for the end of one.
    package var maximumLinks = 16

    package init() {}
}
