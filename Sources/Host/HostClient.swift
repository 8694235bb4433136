import HostInterface

/// What the host knows about one of its clients.
struct HostClient {
    let id: ClientID
    let deliver: (HostEvent) -> Void
    /// Its running scan.
    var scan: ClientScan?
    var advertisement: AdvertisementContent?
    /// The links that it connected.
    var holds: Set<PeerID> = []
    /// The services that it published, by declaration handle, in order.
    var services: [UInt16] = []
}
