import ATT
import BluetoothCrypto
import EventLoop
import GATT
import HostInterface
import L2CAP

/// Signed writes: what a bond's CSRK proves without encryption.
///
/// Source: Core 6.0, Vol 3, Part C, 10.4, and Part H, 2.4.5.
extension Host {
    func writeSigned(_ peer: PeerID, _ handle: UInt16, _ value: [UInt8], for key: RequestKey, at now: Instant) {
        guard let index = heldLink(peer, by: key.client) else { return fail(key, .notConnected) }
        guard links[index].security.level == nil else {
            return writeWithoutResponse(peer, handle, value, for: key, at: now)
        }
        guard let bond = bondIndex(links[index].security.identity), let signingKey = bonds[bond].bond.localSigningKey
        else { return fail(key, .invalidParameters("There is no key to sign with: the devices must pair first.")) }
        let room = links[index].attributes.mtu - 3 - DataSignature.length
        guard value.count <= room else {
            return fail(key, .invalidParameters("\(value.count) octets in a Signed Write Command that holds \(room)"))
        }
        let counter = bonds[bond].localSignCounter
        guard counter < .max else {
            return fail(key, .invalidParameters("The key has signed all that it can: the devices must pair anew."))
        }
        // Kept before it is used: no counter may be seen twice.
        updateBond(at: bond) { $0.localSignCounter = counter + 1 }
        var pdu = WriteCommand(handle: handle, value: value).signedPDU
        pdu += DataSignature(of: pdu[...], key: signingKey, counter: counter).wire
        let id = open(.request(key), onLink: index)
        sendPDU(pdu, channel: .attribute, onLink: links[index].handle, token: id)
    }

    /// What is forged, or has been seen before, is dropped without a word.
    func receiveSigned(_ pdu: ArraySlice<UInt8>, onLink index: Int, at now: Instant) {
        guard links[index].security.level == nil, let bond = bondIndex(links[index].security.identity),
            let key = bonds[bond].bond.peerSigningKey, pdu.count >= 3 + DataSignature.length,
            let signature = DataSignature(wire: pdu.suffix(DataSignature.length)),
            signature.counter >= bonds[bond].peerSignCounter, signature.counter < .max,
            DataSignature.isValid(pdu, key: key)
        else {
            links[index].violations += 1
            return
        }
        updateBond(at: bond) { $0.peerSignCounter = signature.counter + 1 }
        handle(.receiveSigned(pdu.dropLast(DataSignature.length)), onLink: index, at: now)
    }
}
