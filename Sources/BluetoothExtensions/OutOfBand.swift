import BluetoothCrypto
public import CoreBluetooth
import HostInterface

/// What one device gives another for a pairing by another way than the radio, such as NFC or a printed code.
///
/// Source: Core 6.0, Vol 3, Part H, 2.3.5.6.4 (LE Secure Connections).
public struct OutOfBandData: Hashable, Sendable {
    /// 16 octets each, in the order of the AD types 0x23 and 0x22 (Core Supplement, Part A, 1.6).
    public let random: Data
    public let confirm: Data

    /// - Returns: `nil` unless both have 16 octets.
    public init?(random: Data, confirm: Data) {
        guard random.count == 16, confirm.count == 16 else { return nil }
        self.random = random
        self.confirm = confirm
    }

    init(_ share: OutOfBandShare) {
        random = Data(share.random.wire)
        confirm = Data(SecretKey(share.confirm).wire)
    }

    var hostValue: OutOfBandShare? {
        guard let random = SecretKey(wire: random), let confirm = SecretKey(wire: confirm) else { return nil }
        return OutOfBandShare(random: random, confirm: confirm.value)
    }
}

extension BluetoothSecurity {
    /// Makes data for a peer, good until the next call.
    public func makeOutOfBandData(completion: @escaping (Result<OutOfBandData, any Error>) -> Void) {
        ask(.makeOutOfBandData) { answer in
            guard case .success(.outOfBand(let share)) = answer else { return completion(.failure(answer.problem)) }
            completion(.success(OutOfBandData(share)))
        }
    }

    /// Notes what a peer has given, for the next pairing with it.
    public func setOutOfBandData(
        _ data: OutOfBandData, for peer: CBPeer, completion: @escaping ((any Error)?) -> Void = { _ in }
    ) {
        guard let share = data.hostValue else { return completion(CBError(.invalidParameters)) }
        ask(.setOutOfBandData(peer.hostPeer, share)) { answer in
            if case .success = answer { completion(nil) } else { completion(answer.problem) }
        }
    }
}
