import BluetoothTypes
import EventLoop
import HCI
import ProtocolTestKit
import Simulation
import Testing

/// Whatever the controller claims in its mask of supported commands works, on a live link where it needs one.
///
/// The bits are those of Core 6.0, Vol 4, Part E, 6.27, the commands' octets those of 7.1 to 7.8; they are written here
/// by hand, and not by our own packets.
@Suite("Supported commands")
struct SupportedCommandTests {
    private struct Trial {
        /// Opcode and parameters.
        var octets: [UInt8]
        /// How the event begins that ends a command which takes its time: event code, or LE Meta and subevent code.
        var ending: [UInt8]?
        /// Commands before it, by its own host and then by its peer.
        var before: [[UInt8]] = []
        var byPeer: [UInt8]?
        /// What the peer does before that, and for how many seconds both go on then.
        var peerBefore: [[UInt8]] = []
        var patience = 0
        /// Whether it takes a peripheral to try it.
        var asPeripheral: Bool

        init(
            _ command: String, ending: String? = nil, after before: [String] = [], byPeer: String? = nil,
            asPeripheral: Bool = false, peerBefore: [String] = [], patience: Int = 0
        ) {
            self.asPeripheral = asPeripheral
            self.peerBefore = peerBefore.map { hex($0) }
            self.patience = patience
            octets = hex(command)
            self.ending = ending.map { hex($0) }
            self.before = before.map { hex($0) }
            self.byPeer = byPeer.map { hex($0) }
        }
    }

    /// By octet and bit of the mask. The link is 0x0040.
    private static let trials: [[Int]: Trial] = [
        [0, 5]: Trial("06 04 03 40 00 13", ending: "05"),  // Disconnect
        [2, 7]: Trial("1D 04 02 40 00", ending: "0C"),  // Read Remote Version Information
        [5, 6]: Trial("01 0C 08 FF FF FF FF FF FF FF 3F"),  // Set Event Mask
        [5, 7]: Trial("03 0C 00"),  // Reset
        [10, 2]: Trial("2D 0C 03 40 00 00"),  // Read Transmit Power Level
        [14, 3]: Trial("01 10 00"),  // Read Local Version Information
        [14, 5]: Trial("03 10 00"),  // Read Local Supported Features
        [15, 1]: Trial("09 10 00"),  // Read BD_ADDR
        [15, 5]: Trial("05 14 02 40 00"),  // Read RSSI
        [22, 2]: Trial("63 0C 08 00 00 80 02 00 00 00 00"),  // Set Event Mask Page 2
        [25, 0]: Trial("01 20 08 FF 00 00 00 00 00 00 00"),  // LE Set Event Mask
        [25, 1]: Trial("02 20 00"),  // LE Read Buffer Size
        [25, 2]: Trial("03 20 00"),  // LE Read Local Supported Features
        [25, 4]: Trial("05 20 06 01 02 03 04 05 C6"),  // LE Set Random Address
        [25, 5]: Trial("06 20 0F 20 00 20 00 00 00 00 00 00 00 00 00 00 07 00"),  // LE Set Advertising Parameters
        [25, 6]: Trial("07 20 00"),  // LE Read Advertising Channel TX Power
        [25, 7]: Trial("08 20 20 03 02 01 06" + String(repeating: " 00", count: 28)),  // LE Set Advertising Data
        [26, 0]: Trial("09 20 20 00" + String(repeating: " 00", count: 31)),  // LE Set Scan Response Data
        [26, 1]: Trial("0A 20 01 01"),  // LE Set Advertising Enable
        [26, 2]: Trial("0B 20 07 01 10 00 10 00 00 00"),  // LE Set Scan Parameters
        [26, 3]: Trial("0C 20 02 01 00", ending: "3E 02"),  // LE Set Scan Enable
        [26, 4]: Trial(createConnection, ending: "3E 01"),  // LE Create Connection
        [26, 5]: Trial("0E 20 00", ending: "3E 01", after: [createConnection]),  // LE Create Connection Cancel
        [26, 6]: Trial("0F 20 00"),  // LE Read Filter Accept List Size
        [26, 7]: Trial("10 20 00"),  // LE Clear Filter Accept List
        [27, 0]: Trial("11 20 07 00 01 02 03 04 05 06"),  // LE Add Device To Filter Accept List
        [27, 1]: Trial("12 20 07 00 01 02 03 04 05 06"),  // LE Remove Device From Filter Accept List
        [27, 2]: Trial(connectionUpdate, ending: "3E 03"),  // LE Connection Update
        [27, 3]: Trial("14 20 05 FF FF FF FF 0F"),  // LE Set Host Channel Classification
        [27, 4]: Trial("15 20 02 40 00"),  // LE Read Channel Map
        [27, 5]: Trial("16 20 02 40 00", ending: "3E 04"),  // LE Read Remote Features
        [27, 6]: Trial("17 20 20" + String(repeating: " 00", count: 32)),  // LE Encrypt
        [27, 7]: Trial("18 20 00"),  // LE Rand
        [28, 0]: Trial(enableEncryption, ending: "08"),  // LE Enable Encryption
        // LE Long Term Key Request Reply, and Negative Reply
        [28, 1]: Trial(
            "1A 20 12 40 00" + String(repeating: " 2A", count: 16), ending: "08", byPeer: enableEncryption,
            asPeripheral: true),
        [28, 2]: Trial("1B 20 02 40 00", byPeer: enableEncryption, asPeripheral: true),
        [28, 3]: Trial("1C 20 00"),  // LE Read Supported States
        [32, 4]: Trial("7B 0C 02 40 00"),  // Read Authenticated Payload Timeout
        [32, 5]: Trial("7C 0C 04 40 00 00 10"),  // Write Authenticated Payload Timeout
        // LE Remote Connection Parameter Request Reply, and Negative Reply
        [33, 4]: Trial(
            "20 20 0E 40 00 18 00 18 00 00 00 64 00 00 00 00 00", ending: "3E 03", byPeer: connectionUpdate),
        [33, 5]: Trial("21 20 03 40 00 3B", byPeer: connectionUpdate),
        [33, 6]: Trial("22 20 06 40 00 FB 00 48 08", ending: "3E 07"),  // LE Set Data Length
        [33, 7]: Trial("23 20 00"),  // LE Read Suggested Default Data Length
        [34, 0]: Trial("24 20 04 FB 00 48 08"),  // LE Write Suggested Default Data Length
        [34, 3]: Trial(addToResolvingList),  // LE Add Device To Resolving List
        [34, 4]: Trial("28 20 07 00 01 02 03 04 05 06", after: [addToResolvingList]),  // LE Remove Device From it
        [34, 5]: Trial("29 20 00"),  // LE Clear Resolving List
        [34, 6]: Trial("2A 20 00"),  // LE Read Resolving List Size
        [34, 7]: Trial("2B 20 07 00 01 02 03 04 05 06", after: [addToResolvingList]),  // LE Read Peer RPA
        [35, 0]: Trial("2C 20 07 00 01 02 03 04 05 06", after: [addToResolvingList]),  // LE Read Local RPA
        [35, 1]: Trial("2D 20 01 01"),  // LE Set Address Resolution Enable
        [35, 2]: Trial("2E 20 02 84 03"),  // LE Set Resolvable Private Address Timeout
        [35, 3]: Trial("2F 20 00"),  // LE Read Maximum Data Length
        [35, 4]: Trial("30 20 02 40 00"),  // LE Read PHY
        [35, 5]: Trial("31 20 03 03 00 00"),  // LE Set Default PHY
        [35, 6]: Trial("32 20 07 40 00 00 01 01 00 00", ending: "3E 0C"),  // LE Set PHY
        // LE Set Advertising Set Random Address, Extended Advertising Parameters, Data, Scan Response Data, Enable
        [36, 1]: Trial("35 20 07 01 01 02 03 04 05 C6", after: fresh + [setParameters]),
        [36, 2]: Trial(setParameters, after: fresh),
        [36, 3]: Trial("37 20 07 01 03 01 03 02 01 06", after: fresh + [setParameters]),
        [36, 4]: Trial("38 20 07 01 03 01 03 02 01 06", after: fresh + [setParameters]),
        [36, 5]: Trial("39 20 06 01 01 01 14 00 00", ending: "3E 12", after: fresh + [setParameters]),
        [36, 6]: Trial("3A 20 00"),  // LE Read Maximum Advertising Data Length
        [36, 7]: Trial("3B 20 00"),  // LE Read Number of Supported Advertising Sets
        [37, 0]: Trial("3C 20 01 01", after: fresh + [setParameters]),  // LE Remove Advertising Set
        [37, 1]: Trial("3D 20 00"),  // LE Clear Advertising Sets
        [37, 5]: Trial("41 20 08 00 00 01 00 10 00 10 00", after: fresh),  // LE Set Extended Scan Parameters
        [37, 6]: Trial("42 20 06 01 00 00 00 00 00", ending: "3E 0D", after: fresh),  // LE Set Extended Scan Enable
        // LE Extended Create Connection
        [37, 7]: Trial(
            "43 20 1A 00 00 00 03 00 00 00 00 B0 01 10 00 10 00 18 00 18 00 00 00 64 00 00 00 00 00", ending: "3E 01",
            after: fresh),
        // LE Set Periodic Advertising Parameters, Data, Enable
        [37, 2]: Trial("3E 20 07 01 50 00 50 00 00 00", after: fresh + [setParameters]),
        [37, 3]: Trial("3F 20 06 01 03 03 02 01 06", after: fresh + [setParameters, setPeriodic]),
        [37, 4]: Trial("40 20 02 01 01", after: fresh + [setParameters, setPeriodic]),
        // LE Periodic Advertising Create Sync, Create Sync Cancel, Terminate Sync, Set Receive Enable
        [38, 0]: Trial(createSync, ending: "3E 0E 00", after: scanning, peerBefore: train),
        [38, 1]: Trial("45 20 00", ending: "3E 0E 44", after: scanning + [createSync]),
        [38, 2]: Trial("46 20 02 01 00", after: scanning + [createSync], peerBefore: train, patience: 2),
        [40, 5]: Trial("59 20 03 01 00 01", after: scanning + [createSync], peerBefore: train, patience: 2),
        // LE Add Device To, Remove Device From, Clear Periodic Advertiser List, Read its Size
        [38, 3]: Trial("47 20 08 00 01 02 03 04 05 06 07"),
        [38, 4]: Trial("48 20 08 00 01 02 03 04 05 06 07", after: ["47 20 08 00 01 02 03 04 05 06 07"]),
        [38, 5]: Trial("49 20 00"),
        [38, 6]: Trial("4A 20 00"),
        [44, 1]: Trial("74 20 02 26 01", after: fresh),  // LE Set Host Feature
        [46, 0]: Trial("7D 20 0A 01 00 04 00 00 00 00 00 90 01"),  // LE Set Default Subrate
        [46, 1]: Trial("7E 20 0C 40 00 04 00 04 00 00 00 00 00 90 01", ending: "3E 23 00"),  // LE Subrate Request
        [39, 2]: Trial("4E 20 08 00 01 02 03 04 05 06 01", after: [addToResolvingList]),  // LE Set Privacy Mode
    ]

    /// To the third device, 03:00:00:00:00:B0 as it travels.
    private static let createConnection =
        "0D 20 19 10 00 10 00 00 00 03 00 00 00 00 B0 00 18 00 18 00 00 00 64 00 00 00 00 00"
    /// Without a past of legacy commands, and with the events that come after.
    private static let fresh = [
        "03 0C 00", "01 0C 08 FF FF FF FF FF FF FF 3F", "01 20 08 FF FD FF FF 00 00 00 00",
    ]
    private static let setParameters =
        "36 20 19 01 00 00 20 00 00 20 00 00 07 00 00 00 00 00 00 00 00 00 7F 01 00 01 00 00"
    private static let setPeriodic = "3E 20 07 01 50 00 50 00 00 00"
    /// A peer's set that nobody can connect to, with a train.
    private static let train =
        fresh + [
            "36 20 19 01 00 00 A0 00 00 A0 00 00 07 00 00 00 00 00 00 00 00 00 7F 01 00 01 00 00", setPeriodic,
            "40 20 02 01 01", "39 20 06 01 01 01 00 00 00",
        ]
    private static let scanning = fresh + ["41 20 08 00 00 01 00 60 00 60 00", "42 20 06 01 00 00 00 00 00"]
    /// Of the peripheral, A0:00:00:00:00:02 as it travels.
    private static let createSync = "44 20 0E 00 00 00 02 00 00 00 00 A0 00 00 64 00 00"
    private static let addToResolvingList =
        "27 20 27 00 01 02 03 04 05 06" + String(repeating: " 2A", count: 32)
    private static let enableEncryption =
        "19 20 1C 40 00 00 00 00 00 00 00 00 00 00 00" + String(repeating: " 2A", count: 16)
    private static let connectionUpdate = "13 20 0E 40 00 18 00 18 00 00 00 64 00 00 00 00 00"

    private static func mask() throws -> SupportedCommands {
        let world = World(seed: 1)
        return try Station(world, "asked", 0xC0_0000_0000_01).ask(ReadLocalSupportedCommands()).commands
    }

    private static func claims() throws -> [[Int]] {
        let octets = try mask().octets
        return octets.indices.flatMap { octet in
            (0..<8).filter { octets[octet] >> $0 & 1 == 1 }.map { [octet, $0] }
        }
    }

    @Test("6.27: each command in the mask does what it should", arguments: try claims())
    func works(claim: [Int]) throws {
        let trial = try #require(
            Self.trials[claim],
            "Octet \(claim[0]), bit \(claim[1]) is claimed and not tried. Add the command to the table.")
        let pair = try Pair(subrating: true)
        let third = Station(pair.world, "third", 0xB0_0000_0000_03)
        third.advertise()
        let (own, peer) = trial.asPeripheral ? (pair.peripheral, pair.central) : (pair.central, pair.peripheral)
        if !trial.asPeripheral { peer.host.longTermKey = 0x2A2A_2A2A_2A2A_2A2A_2A2A_2A2A_2A2A_2A2A }
        let exchange = Exchange(with: own)
        for command in trial.peerBefore { peer.host.send([0x01] + command) }
        for command in trial.before { exchange.send(command) }
        pair.world.run(for: .seconds(trial.patience))
        if let command = trial.byPeer {
            peer.host.send([0x01] + command)
            pair.world.run(for: .milliseconds(500))
        }
        exchange.forget()
        exchange.send(trial.octets)
        let answer = try #require(exchange.answer(to: trial.octets))
        #expect(answer == 0x00, "\(HCIErrorCode(rawValue: answer))")
        pair.world.run(for: .seconds(3))
        if let ending = trial.ending {
            #expect(
                exchange.events.contains { event in event.first == ending[0] && event[2...].starts(with: ending[1...]) }
            )
        }
    }

    @Test("Nothing is in the table that is not claimed")
    func noMore() throws {
        #expect(Set(Self.trials.keys) == Set(try Self.claims()))
    }
}

/// What one controller says to its host, as octets.
private final class Exchange {
    private let station: Station
    /// Behind the packet indicator.
    private(set) var events: [[UInt8]] = []

    init(with station: Station) {
        self.station = station
        let number = station.device.number
        station.world.hciTap = { [unowned self] _, device, direction, packet in
            guard device.number == number, direction == .controllerToHost, packet.first == 0x04 else { return }
            events.append(Array(packet.dropFirst()))
        }
    }

    deinit { station.world.hciTap = nil }

    func send(_ command: [UInt8]) {
        station.host.send([0x01] + command)
        station.world.run(for: .zero)
    }

    func forget() { events = [] }

    /// The status in the Command Complete or Command Status that answers a command.
    func answer(to command: [UInt8]) -> UInt8? {
        for event in events {
            if event[0] == 0x0E, Array(event[3...4]) == Array(command[0...1]) { return event[5] }
            if event[0] == 0x0F, Array(event[4...5]) == Array(command[0...1]) { return event[2] }
        }
        return nil
    }
}
