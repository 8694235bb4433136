/// One case of the table of what the air allows: what is sent, and over what link.
///
/// The limits follow from air times and `T_IFS` (Core 6.0, Vol 6, Part B, 2.1, 2.2 and 4.1.1): as many exchanges of a
/// data PDU and an empty one as end before the next anchor, for ever, on a link without errors. On an encrypted link
/// each data PDU that is not empty has an integrity check of four octets besides (2.4).
package struct LinkCase {
    /// What one value or SDU becomes on the link.
    package struct Shape {
        package let name: String
        package let title: String
        /// Octets that an application has of it.
        package let octets: Int
        /// L2CAP PDUs, header included.
        package let pdus: [Int]
        /// The most octets of an LL data PDU.
        package let dataLength: UInt16
        package var isChannel: Bool { name.hasPrefix("coc") }

        /// A notification or a write command.
        static func value(_ name: String, _ title: String, octets: Int, dataLength: UInt16) -> Shape {
            Shape(name: name, title: title, octets: octets, pdus: [4 + 3 + octets], dataLength: dataLength)
        }

        /// An SDU on a credit-based channel, its length in front of it.
        static func channel(
            _ name: String, _ title: String, payload: Int, sdu: Int = 2048, dataLength: UInt16
        ) -> Shape {
            let whole = (2 + sdu) / payload
            let rest = (2 + sdu) % payload
            return Shape(
                name: name, title: title, octets: sdu,
                pdus: Array(repeating: 4 + payload, count: whole) + (rest == 0 ? [] : [4 + rest]),
                dataLength: dataLength)
        }

        package static let all: [Shape] = [
            .value("mtu247_dle", "ATT_MTU 247, 251 octets a PDU: values of 244 in one", octets: 244, dataLength: 251),
            .value("mtu498_dle", "ATT_MTU 498, 251 octets a PDU: values of 495 in two", octets: 495, dataLength: 251),
            .value("mtu517_dle", "ATT_MTU 517, 251 octets a PDU: values of 512 in three", octets: 512, dataLength: 251),
            .value("mtu185_dle", "ATT_MTU 185, 251 octets a PDU: values of 182 in one", octets: 182, dataLength: 251),
            .value("mtu23_nodle", "ATT_MTU 23, 27 octets a PDU: values of 20 in one", octets: 20, dataLength: 27),
            .value("mtu247_nodle", "ATT_MTU 247, 27 octets a PDU: values of 244 in ten", octets: 244, dataLength: 27),
            .value(
                "mtu185_nodle", "ATT_MTU 185, 27 octets a PDU: values of 182 in seven", octets: 182, dataLength: 27),
            .channel("coc_mps247_dle", "Channel, MPS 247, 251 octets a PDU", payload: 247, dataLength: 251),
            .channel("coc_mps1004_dle", "Channel, MPS 1004, 251 octets a PDU", payload: 1004, dataLength: 251),
            .channel("coc_mps23_nodle", "Channel, MPS 23, 27 octets a PDU", payload: 23, dataLength: 27),
        ]
    }

    package enum Physical: String, CaseIterable { case le1M = "1M", le2M = "2M", codedS2 = "S2", codedS8 = "S8" }

    /// From the peripheral to the central, as notifications go, or back, as writes go.
    package enum Direction: String, CaseIterable { case up, down }

    /// The octets of the MIC: Core 6.0, Vol 6, Part B, 2.4.
    private static let integrityCheck = 4

    package var shape: Shape
    package var physical: Physical
    package var isEncrypted: Bool
    /// In slots of 1.25 ms.
    package var interval: UInt16
    /// How many packets the sender sends in one event at most.
    package var packetsPerEvent: Int?

    package init(
        _ shape: Shape, _ physical: Physical, isEncrypted: Bool, interval: UInt16, packetsPerEvent: Int? = nil
    ) {
        self.shape = shape
        self.physical = physical
        self.isEncrypted = isEncrypted
        self.interval = interval
        self.packetsPerEvent = packetsPerEvent
    }

    package var milliseconds: Double { Double(interval) * 1.25 }

    package func name(_ direction: Direction) -> String {
        let encryption = isEncrypted ? "encrypted" : "clear"
        let limit = packetsPerEvent.map { "_\($0)packets" } ?? ""
        return "\(direction.rawValue)_\(shape.name)_\(physical.rawValue)_\(encryption)_\(milliseconds)ms\(limit)"
    }

    /// What the physics allows, in kbit/s of applications' octets: 20,000 events, packed one exchange after the other.
    package var limit: Double {
        let lengths = shape.pdus.flatMap { pdu in
            stride(from: 0, to: pdu, by: Int(shape.dataLength)).map { min(Int(shape.dataLength), pdu - $0) }
        }
        let exchanges = lengths.map {
            microseconds(of: $0 + (isEncrypted ? Self.integrityCheck : 0)) + 150 + microseconds(of: 0) + 150
        }
        let share = Double(shape.octets) / Double(shape.pdus.reduce(0, +))
        let event = Int(interval) * 1250
        var (next, octets) = (0, 0)
        for _ in 0..<20_000 {
            var used = exchanges[next]
            var packets = 0
            repeat {
                octets += lengths[next]
                packets += 1
                next = (next + 1) % lengths.count
                used += exchanges[next]
            } while used <= event && packets < packetsPerEvent ?? Int.max
        }
        return Double(octets) * share * 8 / (20_000 * Double(event) / 1000)
    }

    /// Whether an exchange fits an event at all.
    package var fits: Bool {
        let longest = min(Int(shape.dataLength), shape.pdus[0]) + (isEncrypted ? Self.integrityCheck : 0)
        return microseconds(of: longest) + 150 + microseconds(of: 0) + 150 <= Int(interval) * 1250
    }

    private func microseconds(of count: Int) -> Int {
        switch physical {
        case .le1M: 8 * (10 + count)
        case .le2M: 4 * (11 + count)
        case .codedS2: 462 + 16 * count
        case .codedS8: 720 + 64 * count
        }
    }

    // MARK: Tables

    /// 7.5, 15, 30 and 100 ms.
    package static let intervals: [UInt16] = [6, 12, 24, 80]

    /// The rows of the table, each for all of ``intervals``.
    package static let rows: [LinkCase] = Shape.all.flatMap { shape in
        Physical.allCases.flatMap { physical -> [LinkCase] in
            // The coded PHY is for distance: one row is enough to show that it keeps its promise.
            guard physical == .le1M || physical == .le2M || shape.name == "mtu247_dle" else { return [] }
            return [true, false].map { LinkCase(shape, physical, isEncrypted: $0, interval: 6) }
        }
    }

    /// Events of a phone: so many packets of 27 octets in intervals up to 45 ms, and of long ones in 15 ms.
    package static let phoneRows: [LinkCase] = {
        let short = Shape.all[4]
        let rows = [1, 4, 6, 7].flatMap { packets in
            [6, 9, 12, 24, 36].map {
                LinkCase(short, .le1M, isEncrypted: false, interval: $0, packetsPerEvent: packets)
            }
        }
        let long = [Shape.all[3], Shape.all[0]].flatMap { shape in
            [3, 4, 5].map { LinkCase(shape, .le2M, isEncrypted: true, interval: 12, packetsPerEvent: $0) }
        }
        return rows + long
    }()
}
