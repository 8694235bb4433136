import HostInterface

/// What the host knows about one of its clients.
struct HostClient {
    let id: ClientID
    let gate: EventGate
    /// Which kind of manager it is, once it has asked for something.
    var role: ClientRole?
    /// Its running scan.
    var scan: ClientScan?
    var advertisement: AdvertisementContent?
    var extendedAdvertising: ExtendedAdvertising?
    /// Whose periodic advertising it follows, or wants to.
    var trains: Set<PeerID> = []
    /// How pairings go, if this client speaks for the persons in front of the device.
    var pairing: PairingPolicy?
    /// The links that it connected.
    var holds: Set<PeerID> = []
    /// The services that it published, by declaration handle, in order.
    var services: [UInt16] = []

    func deliver(_ event: HostEvent) { gate.pass(event) }
}
