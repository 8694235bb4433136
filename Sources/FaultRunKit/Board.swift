import BluetoothTypes
import HostInterface

/// What the persons and programs of both hosts tell each other by other ways than the radio.
final class Board {
    /// Under which numbers each host offers channels.
    private var offers: [PeerID: [UInt16]] = [:]
    /// What a screen has shown last.
    var passkey: UInt32?
    /// Data for pairings, of each host.
    var shares: [PeerID: OutOfBandShare] = [:]

    func offers(of host: PeerID) -> [UInt16] { offers[host] ?? [] }

    func offer(_ psm: UInt16, of host: PeerID) { offers[host, default: []].append(psm) }

    func withdraw(_ psm: UInt16, of host: PeerID) { offers[host]?.removeAll { $0 == psm } }
}
