import BluetoothTypes
import ByteCodec
import EventLoop
import GAP
import HCI
import ProtocolTestKit
import Testing

/// The same machines, told to speak to the controller in extended commands. The octets are those of Core 6.0, Vol 4,
/// Part E, 7.8.52 to 7.8.56 and 7.8.64 to 7.8.66.
@Suite("Extended commands — Core 6.0, Vol 4, Part E, 3.1.1")
struct ExtendedCommandTests {
    private static let peer = DeviceAddress(0x0605_0403_0201)
    private let done = CommandOutcome.completed(returnParameters: [0])

    @Test("Scanning on LE 1M, with one of sixteen windows for the coded PHY")
    func scanning() {
        var scanner = Scanner()
        var wanted = Scanner.Configuration()
        wanted.isExtended = true
        wanted.hearsCoded = true
        #expect(
            scanner.handle(.want(wanted), at: Instant()) == [
                .command(hex("01 41 20 0D 00 00 05 01 60 00 60 00 01 00 06 60 00"))
            ])
        #expect(
            scanner.handle(.commandFinished(done), at: Instant()) == [.command(hex("01 42 20 06 01 00 00 00 00 00"))])
        #expect(scanner.handle(.commandFinished(done), at: Instant()) == [.started])
        #expect(
            scanner.handle(.want(nil), at: Instant()) == [.command(hex("01 42 20 06 00 00 00 00 00 00"))])
    }

    @Test("An advertisement of legacy packets: every device hears it")
    func legacyPackets() {
        var advertiser = Advertiser()
        var wanted = Advertiser.Configuration()
        wanted.advertisingData = hex("02 01 06")
        wanted.ownAddressType = .randomDevice
        var extended = Advertiser.Configuration.Extended()
        extended.randomAddress = DeviceAddress(0xC605_0403_0201, kind: .random)
        wanted.extended = extended
        let script = [
            "01 36 20 19 00 13 00 A0 00 00 A0 00 00 07 01 00 00 00 00 00 00 00 00 7F 01 00 01 00 00",
            "01 35 20 07 00 01 02 03 04 05 C6", "01 37 20 07 00 03 01 03 02 01 06", "01 38 20 04 00 03 01 00",
            "01 39 20 06 01 01 00 00 00 00",
        ]
        play(script, in: &advertiser, wanted)
        #expect(advertiser.handle(.commandFinished(done), at: Instant()) == [.started])
        // A connection takes it off the air; it is put back.
        #expect(
            advertiser.handle(.connected, at: Instant()) == [.command(hex("01 39 20 06 01 01 00 00 00 00"))])
    }

    @Test("Extended packets of 300 octets on the coded PHY, in two commands, and no scan response")
    func longData() {
        var advertiser = Advertiser()
        var wanted = Advertiser.Configuration()
        wanted.advertisingData = [UInt8](repeating: 7, count: 300)
        wanted.isConnectable = false
        var extended = Advertiser.Configuration.Extended()
        extended.set = 1
        extended.pdus = .extended(primary: .leCoded, secondary: .leCoded)
        wanted.extended = extended
        let sevens = { String(repeating: " 07", count: $0) }
        let script = [
            "01 36 20 19 01 00 00 A0 00 00 A0 00 00 07 00 00 00 00 00 00 00 00 00 7F 03 00 03 01 00",
            "01 37 20 FF 01 01 01 FB" + sevens(251), "01 37 20 35 01 02 01 31" + sevens(49),
            "01 39 20 06 01 01 01 00 00 00",
        ]
        play(script, in: &advertiser, wanted)
        #expect(
            advertiser.handle(.commandFinished(.refused(.memoryCapacityExceeded)), at: Instant()) == [
                .failed(.init(opcode: .leSetExtendedAdvertisingEnable, error: .memoryCapacityExceeded))
            ])
    }

    @Test("GAP/ADV/BV-05-C: the power that the controller has chosen is said behind the rest of the data")
    func transmitPower() {
        var advertiser = Advertiser()
        var wanted = Advertiser.Configuration()
        wanted.advertisingData = hex("02 01 06")
        wanted.isConnectable = false
        var extended = Advertiser.Configuration.Extended()
        extended.set = 1
        extended.pdus = .extended(primary: .le1M, secondary: .le1M)
        extended.tellsTransmitPower = true
        wanted.extended = extended
        _ = advertiser.handle(.want(wanted), at: Instant())
        // Command Complete: success, -8 dBm.
        let chosen = CommandOutcome.completed(returnParameters: [0x00, 0xF8])
        #expect(
            advertiser.handle(.commandFinished(chosen), at: Instant()) == [
                .command(hex("01 37 20 0A 01 03 01 06 02 01 06 02 0A F8"))
            ])
    }

    private static let periodicScript = [
        "01 36 20 19 01 00 00 A0 00 00 A0 00 00 07 00 00 00 00 00 00 00 00 00 7F 01 00 01 01 00",
        "01 37 20 04 01 03 01 00",
        "01 3E 20 07 01 50 00 50 00 00 00", "01 3F 20 05 01 03 02 07 07", "01 40 20 02 01 01",
        "01 39 20 06 01 01 01 00 00 00",
    ]

    private static func periodic(_ count: Int) -> Advertiser.Configuration {
        var wanted = Advertiser.Configuration()
        wanted.isConnectable = false
        var extended = Advertiser.Configuration.Extended()
        extended.set = 1
        extended.pdus = .extended(primary: .le1M, secondary: .le1M)
        extended.periodic = .init(interval: 80, data: [UInt8](repeating: 7, count: count))
        wanted.extended = extended
        return wanted
    }

    @Test("7.8.61 to 7.8.63: periodic data changes on the air; its end removes the set")
    func periodicPackets() {
        var advertiser = Advertiser()
        func expect(_ effects: [Advertiser.Effect], after input: Advertiser.Input? = nil) {
            #expect(advertiser.handle(input ?? .commandFinished(done), at: Instant()) == effects)
        }
        play(Self.periodicScript, in: &advertiser, Self.periodic(2))
        expect([.started])
        expect([.command(hex("01 3F 20 06 01 03 03 07 07 07"))], after: .want(Self.periodic(3)))
        // Another wish meanwhile.
        expect([], after: .want(Self.periodic(1)))
        expect([.command(hex("01 3F 20 04 01 03 01 07"))])
        expect([.started])
        // More than one command holds cannot change on the air: 7.8.62.
        expect([.command(hex("01 39 20 06 00 01 01 00 00 00"))], after: .want(Self.periodic(300)))
        expect([.command(hex("01 40 20 02 00 01"))])
        expect([.command(hex("01 3C 20 01 01"))])
        expect([.command(hex(Self.periodicScript[0]))])
        #expect(advertiser.isPeriodic)
        for _ in 1...6 { _ = advertiser.handle(.commandFinished(done), at: Instant()) }
        expect([.started], after: .commandFinished(done))
        _ = advertiser.handle(.want(nil), at: Instant())
        for _ in 1...2 { _ = advertiser.handle(.commandFinished(done), at: Instant()) }
        expect([.stopped])
        #expect(advertiser.isOff && !advertiser.isPeriodic)
    }

    @Test("A periodic set that is refused is taken away before it fails", arguments: 0..<7)
    func periodicRefused(step: Int) {
        var advertiser = Advertiser()
        var wanted = Self.periodic(2)
        _ = advertiser.handle(.want(wanted), at: Instant())
        for _ in 0..<min(step, 6) { _ = advertiser.handle(.commandFinished(done), at: Instant()) }
        let opcodes: [HCIOpcode] = [
            .leSetExtendedAdvertisingParameters, .leSetExtendedAdvertisingData, .leSetPeriodicAdvertisingParameters,
            .leSetPeriodicAdvertisingData, .leSetPeriodicAdvertisingEnable, .leSetExtendedAdvertisingEnable,
            .leSetPeriodicAdvertisingData,
        ]
        var effects: [Advertiser.Effect] = []
        if step == 6 {
            wanted = Self.periodic(3)
            _ = advertiser.handle(.want(wanted), at: Instant())
            effects = advertiser.handle(.commandFinished(.refused(.packetTooLong)), at: Instant())
            #expect(effects == [.command(hex("01 39 20 06 00 01 01 00 00 00"))])
            effects = advertiser.handle(.commandFinished(done), at: Instant())
        } else {
            effects = advertiser.handle(.commandFinished(.refused(.packetTooLong)), at: Instant())
        }
        #expect(effects == [.command(hex("01 40 20 02 00 01"))])
        let unknown = CommandOutcome.refused(.unknownAdvertisingIdentifier)
        #expect(advertiser.handle(.commandFinished(unknown), at: Instant()) == [.command(hex("01 3C 20 01 01"))])
        #expect(
            advertiser.handle(.commandFinished(unknown), at: Instant()) == [
                .failed(.init(opcode: opcodes[step], error: .packetTooLong))
            ])
        #expect(advertiser.isOff)
    }

    private func play(_ script: [String], in advertiser: inout Advertiser, _ wanted: Advertiser.Configuration) {
        for (index, command) in script.enumerated() {
            let input: Advertiser.Input = index == 0 ? .want(wanted) : .commandFinished(done)
            #expect(advertiser.handle(input, at: Instant()) == [.command(hex(command))])
        }
    }

    @Test("Connecting on LE 1M and LE 2M, and on the coded PHY whom it was heard on", arguments: [false, true])
    func connecting(onCoded: Bool) {
        var configuration = Initiator.Configuration()
        configuration.isExtended = true
        configuration.phys = [.le1M, .le2M, .leCoded]
        var initiator = Initiator(configuration: configuration)
        let entry = "60 00 60 00 18 00 28 00 00 00 2A 00 00 00 00 00 "
        let phys = onCoded ? "3A 00 00 00 01 02 03 04 05 06 07 " : "2A 00 00 00 01 02 03 04 05 06 03 "
        let command = "01 43 20 " + phys + String(repeating: entry, count: onCoded ? 3 : 2)
        let effects = initiator.handle(.connect(Self.peer, onCoded: onCoded), at: Instant())
        guard case .command(let packet)? = effects.first, effects.count == 1 else {
            Issue.record("\(effects)")
            return
        }
        // The parameters of the link are the configuration's own affair.
        let expected = hex(command)
        #expect(packet.prefix(15) == expected.prefix(15) && packet.count == expected.count)
        #expect(
            initiator.handle(.commandFinished(.refused(.connectionLimitExceeded)), at: Instant()) == [
                .failed(Self.peer, .init(opcode: .leExtendedCreateConnection, error: .connectionLimitExceeded))
            ])
    }
}

/// Reports that come in parts: 7.7.65.13.
@Suite("Extended reports")
struct ExtendedReportTests {
    typealias Part = ExtendedAdvertisingReport
    private static let device = DeviceAddress(0xC0_1122_3344_55, kind: .random)
    private var scanner = Scanner()

    init() {
        var wanted = Scanner.Configuration()
        wanted.isExtended = true
        _ = scanner.handle(.want(wanted), at: Instant())
        for _ in 0..<2 { _ = scanner.handle(.commandFinished(.completed(returnParameters: [0])), at: Instant()) }
    }

    private mutating func hear(_ parts: [Part]) -> [[UInt8]] {
        let reports = ExtendedAdvertisingReports(
            parameters: LEExtendedAdvertisingReport(reports: parts).octets[...])
        return scanner.handle(.extendedReports(reports), at: Instant()).map {
            if case .report(let report) = $0 { report.advertisingData } else { [] }
        }
    }

    private func part(
        _ status: Part.EventType, _ count: Int, _ octet: UInt8 = 7, of device: DeviceAddress? = device,
        identifier: UInt8 = 3
    ) -> Part {
        var part = Part()
        part.eventType = [.connectable, status]
        part.address = device
        part.identifier = identifier
        part.data = [UInt8](repeating: octet, count: count)[...]
        return part
    }

    @Test("Parts are joined, of each device and each of its advertisements by itself")
    mutating func joined() {
        #expect(hear([part(.incomplete, 100, 1), part(.incomplete, 50, 9, identifier: 4)]).isEmpty)
        #expect(hear([part(.incomplete, 20, 5, of: DeviceAddress(2))]).isEmpty)
        #expect(hear([part([], 20, 2)]) == [[UInt8](repeating: 1, count: 100) + [UInt8](repeating: 2, count: 20)])
        #expect(
            hear([part([], 1, 8, identifier: 4)]) == [[UInt8](repeating: 9, count: 50) + [8]])
    }

    @Test("What was cut off, is too long, or has no sender is dropped, and the next advertisement is heard")
    mutating func dropped() {
        #expect(hear([part(.incomplete, 100), part(.truncated, 20)]).isEmpty)
        #expect(hear([part([], 3)]) == [[7, 7, 7]])
        #expect(hear(Array(repeating: part(.incomplete, 229), count: 5)).isEmpty)
        #expect(hear(Array(repeating: part(.incomplete, 229), count: 5)).isEmpty)
        #expect(hear([part([], 3)]).isEmpty)
        #expect(hear([part([], 3)]) == [[7, 7, 7]])
        #expect(hear([part([], 3, of: nil)]).isEmpty)
        var legacy = part(.legacy, 32)
        #expect(hear([legacy]).isEmpty)
        legacy.data = legacy.data.prefix(31)
        #expect(hear([legacy]).count == 1)
        #expect(hear([part([.incomplete, .truncated], 3)]).isEmpty)
    }

    @Test("A crowd that never ends what it begins is not remembered")
    mutating func bounded() {
        #expect(hear([part(.incomplete, 1, 1)]).isEmpty)
        for number in 0..<16 { _ = hear([part(.incomplete, 1, of: DeviceAddress(UInt64(number)))]) }
        // Its beginning is forgotten, so this passes for the whole.
        #expect(hear([part([], 1, 2)]) == [[2]])
        #expect(hear([part([], 1, 2, of: DeviceAddress(15))]) == [[7, 2]])
    }
}
