import HCI

extension BTSnoop {
    /// One packet of a record.
    package struct Record: Equatable, Sendable {
        /// In microseconds since the beginning of 1970.
        package var time: Int64
        package var direction: Direction
        /// In its H4 form.
        package var packet: [UInt8]

        package init(time: Int64, direction: Direction, packet: [UInt8]) {
            self.time = time
            self.direction = direction
            self.packet = packet
        }
    }

    /// Why a file is no record that can be read, in a sentence.
    package struct Malformed: Error, Equatable, Sendable, CustomStringConvertible {
        package var description: String
    }

    private static let recordHeaderLength = 24
    /// Longer than any HCI packet: what claims more is damaged.
    private static let longestPacket = 1 << 17
    /// The datalink types: packets as on a UART (H4), packets without their type, and those of Linux's monitor.
    private static let uart: UInt32 = 1002
    private static let bare: UInt32 = 1001
    private static let monitor: UInt32 = 2001

    /// The packets of a file that this library, Android, BlueZ's `btmon` or Wireshark has written. A record that was
    /// broken off at its end is read as far as it goes.
    package static func records(in file: [UInt8]) throws(Malformed) -> [Record] {
        guard file.starts(with: Array("btsnoop".utf8) + [0]), file.count >= 16 else {
            throw Malformed(description: "it does not begin as a btsnoop file")
        }
        let version = number(file, at: 8)
        let datalink = number(file, at: 12)
        guard version == 1 else { throw Malformed(description: "it is of version \(version), and not 1") }
        guard [uart, bare, monitor].contains(datalink) else {
            throw Malformed(description: "it holds packets of the datalink type \(datalink), and not HCI's")
        }
        var records: [Record] = []
        var place = 16
        while file.count - place >= recordHeaderLength {
            let length = Int(number(file, at: place + 4))
            guard length <= longestPacket else {
                throw Malformed(description: "a record of \(length) octets at \(place) is damaged")
            }
            let flags = number(file, at: place + 8)
            let time = Int64(
                bitPattern: UInt64(number(file, at: place + 16)) << 32 | UInt64(number(file, at: place + 20)))
            let start = place + recordHeaderLength
            guard file.count - start >= length else { break }
            place = start + length
            if let record = record(file[start..<place], flags, datalink, time: time &- epoch) { records.append(record) }
        }
        return records
    }

    private static func record(
        _ octets: ArraySlice<UInt8>, _ flags: UInt32, _ datalink: UInt32, time: Int64
    ) -> Record? {
        var direction: Direction = flags & 1 == 1 ? .toHost : .toController
        var type: HCIPacketType?
        switch datalink {
        case bare:
            let isCommand = flags & 2 == 2
            type = isCommand ? (direction == .toHost ? .event : .command) : .aclData
        case monitor:
            // The lower half is what it is (BlueZ, doc/btsnoop.txt); others are no packets.
            switch flags & 0xFFFF {
            case 2: (type, direction) = (.command, .toController)
            case 3: (type, direction) = (.event, .toHost)
            case 4: (type, direction) = (.aclData, .toController)
            case 5: (type, direction) = (.aclData, .toHost)
            default: return nil
            }
        default: break
        }
        return Record(time: time, direction: direction, packet: (type.map { [$0.rawValue] } ?? []) + octets)
    }

    private static func number(_ file: [UInt8], at place: Int) -> UInt32 {
        file[place..<place + 4].reduce(0) { $0 << 8 | UInt32($1) }
    }
}
