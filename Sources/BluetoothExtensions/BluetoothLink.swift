public import CoreBluetooth
import HostInterface

/// The link to a connected peer as the radio has it, of which Apple's API shows the RSSI alone.
///
///     BluetoothLink(to: peripheral, of: manager).readStatus { result in
///         if case .success(let status) = result { print(status.interval, status.transmitPHY as Any) }
///     }
///
/// Links are made fast by themselves: where both radios can, they carry long packets on LE 2M soon after the
/// connection is there. Completions are called on the manager's queue.
public struct BluetoothLink {
    /// The peer at the other end.
    public let peer: CBPeer
    /// The manager that uses the link, central or peripheral.
    public let manager: CBManager

    public init(to peer: CBPeer, of manager: CBManager) {
        self.peer = peer
        self.manager = manager
    }

    /// How things stand now, whichever side made the link.
    ///
    /// - Parameter completion: gets a `CBError` if there is no link.
    public func readStatus(completion: @escaping (Result<LinkStatus, any Error>) -> Void) {
        let target = peer.hostPeer
        manager.askHost(.readLink(target)) { [manager] answer in
            guard case .success(.link(let status)) = answer else { return completion(.failure(answer.problem)) }
            manager.askHost(.readRSSI(target)) { answer in
                var rssi: Int?
                // 127 is "not available" (Core 6.0, Vol 4, Part E, 7.5.4).
                if case .success(.rssi(let value)) = answer, value != 127 { rssi = Int(value) }
                completion(.success(LinkStatus(status, rssi: rssi)))
            }
        }
    }

    /// Asks that the link rest while there is nothing to say: sooner and longer than other connection parameters let
    /// it, and awake at once for what both sides then have to say. Programs on either side can ask; the central has the
    /// last word, and ours takes up to one event in 100. It lasts until somebody asks for another one, or for another
    /// interval of the link.
    ///
    /// - Parameters:
    ///   - subrating: which events are to be used. ``Subrating/none`` ends the rest.
    ///   - completion: gets `nil` when it is in force; a `CBError` with the code `operationNotSupported` where one of
    ///     the two radios does not have it, as most before Bluetooth 5.3, `invalidParameters` if the link would not
    ///     last.
    public func requestSubrating(_ subrating: Subrating, completion: @escaping ((any Error)?) -> Void = { _ in }) {
        manager.askHost(.subrate(peer.hostPeer, subrating.preference)) { answer in
            if case .success = answer { completion(nil) } else { completion(answer.problem) }
        }
    }

    /// Writes several values, all of them or none, as Reliable Writes (Core 6.0, Vol 3, Part G, 4.9.5).
    ///
    /// Characteristics say in their extended properties whether they take it; `.write` is needed too. The peer is a
    /// peripheral, and `manager` a central manager.
    ///
    /// - Parameters:
    ///   - values: at most 512 octets each.
    ///   - completion: gets `nil` when the peer has taken all of them.
    public func writeReliably(
        _ values: [(characteristic: CBCharacteristic, value: Data)], completion: @escaping ((any Error)?) -> Void
    ) {
        let writes = values.compactMap { characteristic, value in
            (peer as? CBPeripheral)?.valueHandle(of: characteristic).map { AttributeWrite($0, Array(value)) }
        }
        guard writes.count == values.count, !writes.isEmpty else { return completion(CBError(.invalidHandle)) }
        manager.askHost(.writeReliably(peer.hostPeer, writes)) { answer in
            if case .success = answer { completion(nil) } else { completion(answer.problem) }
        }
    }

    /// Opens an L2CAP channel in Enhanced Credit Based Flow Control Mode, for peers that offer it only so. The
    /// peripheral's delegate gets it, as one that `openL2CAPChannel` opens.
    public func openEnhancedL2CAPChannel(_ psm: CBL2CAPPSM) {
        (peer as? CBPeripheral)?.openChannel(psm, isEnhanced: true)
    }
}

extension BluetoothLink {
    /// Which of a link's events are used while there is nothing to say: one in so many (Core 6.0, Vol 6, Part B,
    /// 4.5.1).
    public struct Subrating: Equatable, Sendable {
        /// From how few to how many events one is used of; 1...500. The central chooses, most often the largest.
        public var factors: ClosedRange<Int>
        /// How many of the used events in a row the peripheral may skip; the largest factor times one more than this is
        /// at most 500.
        public var maximumLatency = 0
        /// For how many events after one with data both sides stay, so that what follows need not wait; less than the
        /// largest factor.
        public var continuationNumber = 0
        /// In seconds, 0.1...32; `nil` for the link's own, or as much more as the rest needs.
        public var supervisionTimeout: Double?

        public init(factors: ClosedRange<Int>) { self.factors = factors }

        /// Every event is used.
        public static let none = Subrating(factors: 1...1)

        fileprivate var preference: SubratePreference {
            SubratePreference(
                factors: UInt16(clamping: factors.lowerBound)...UInt16(clamping: factors.upperBound),
                maximumLatency: UInt16(clamping: maximumLatency), continuation: UInt16(clamping: continuationNumber),
                // Of what is too large for the field the host says so.
                supervisionTimeout: supervisionTimeout.map { UInt16(max(0, min($0 * 100, 65_535)).rounded()) })
        }
    }
}

/// How things stand on a link.
public struct LinkStatus: Equatable, Sendable {
    public enum PHY: UInt8, Sendable {
        // Raw values: Core 6.0, Vol 4, Part E, 7.8.47.
        case le1M = 1
        case le2M = 2
        case leCoded = 3
    }

    /// `nil` if the link is not encrypted.
    public let security: LinkSecurity?
    public let isBonded: Bool
    /// `nil` if the radio does not tell.
    public let transmitPHY: PHY?
    public let receivePHY: PHY?
    /// In dBm; `nil` if the radio does not tell.
    public let rssi: Int?
    /// The time from one connection event to the next, in seconds; 0.0075...4.
    public let interval: Double
    /// One event in so many is used while there is nothing to say; 1...500.
    public let subrateFactor: Int
    /// For how many events after one with data both sides stay, 0...499.
    public let continuationNumber: Int
    /// How many used events in a row the peripheral may skip, 0...499.
    public let latency: Int
    /// After so many seconds of silence the link counts as lost; 0.1...32.
    public let supervisionTimeout: Double
    /// The most octets in one packet on the air, 27...251 (Core 6.0, Vol 6, Part B, 4.5.10).
    public let transmitOctets: Int
    public let receiveOctets: Int
    /// ATT_MTU, 23...517.
    public let mtu: Int
    /// How many requests about attributes can be under way at once: one, and more on an encrypted link if the peer has
    /// enhanced bearers.
    public let attributeBearers: Int

    /// The longest notification or write without response that leaves no packet on the air nearly empty: a little less
    /// than the longest one there is, and so up to a seventh faster in a stream of values.
    public var fullPacketValueLength: Int {
        // Four octets of L2CAP and three of ATT go with each value (Core 6.0, Vol 3, Part A, 3.1, and Part F, 3.4.7).
        let overhead = 7
        let packets = (mtu - 3 + overhead) / transmitOctets
        return packets == 0 ? mtu - 3 : packets * transmitOctets - overhead
    }

    init(_ status: HostInterface.LinkStatus, rssi: Int?) {
        security = status.security.map(LinkSecurity.init)
        isBonded = status.isBonded
        transmitPHY = status.transmitPHY.flatMap(PHY.init)
        receivePHY = status.receivePHY.flatMap(PHY.init)
        self.rssi = rssi
        interval = Double(status.timing.interval) * 0.00125
        subrateFactor = status.subrateFactor
        continuationNumber = status.continuation
        latency = Int(status.timing.latency)
        supervisionTimeout = Double(status.timing.supervisionTimeout) * 0.01
        transmitOctets = status.transmitOctets
        receiveOctets = status.receiveOctets
        mtu = status.mtu
        attributeBearers = status.attributeBearers
    }
}
