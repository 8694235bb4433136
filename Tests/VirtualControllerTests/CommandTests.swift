import BluetoothTypes
import ByteCodec
import EventLoop
import HCI
import ProtocolTestKit
import Testing

@testable import VirtualController

/// Section numbers are those of Core 6.0, Vol 4, Part E.
@Suite("Commands")
struct CommandTests {
    @Test("4.4: each answer grants one credit; Reset is complete")
    func reset() {
        #expect(Bench().exchange(hex("01 03 0C 00")) == [hex("04 0E 04 01 03 0C 00")])
    }

    @Test("7.7.15: a command that is not known is answered with 0x01")
    func unknown() {
        #expect(Bench().exchange(hex("01 FF FF 00")) == [hex("04 0F 04 01 01 FF FF")])
        // LE Read Buffer Size [v2]: there is no isochronous data.
        #expect(Bench().exchange(hex("01 60 20 00")) == [hex("04 0F 04 01 01 60 20")])
    }

    @Test("7.4.2: every command in the mask is known, every other one is not")
    func supportedCommands() throws {
        let bench = Bench()
        let answer = bench.exchange(ReadLocalSupportedCommands().packet)[0]
        let commands = try ReadLocalSupportedCommands.ReturnParameters(octets: answer[6...]).commands
        for raw in [UInt16](0x0400...0x0440) + [UInt16](0x0C00...0x0C7F) + [UInt16](0x1000...0x140F)
            + [UInt16](0x2000...0x2070)
        {
            let opcode = HCIOpcode(rawValue: raw)
            let packet = hex("01") + [UInt8(truncatingIfNeeded: raw), UInt8(raw >> 8), 0]
            let isUnknown = Bench().exchange(packet).contains { $0.starts(with: hex("04 0F 04 01")) }
            // The command that reads the mask has no bit in it.
            let isListed = commands.contains(opcode) || opcode == .readLocalSupportedCommands
            #expect(isListed == !isUnknown, "\(opcode)")
        }
    }

    @Test("7.8.2: buffers as configured")
    func bufferSize() {
        #expect(Bench().exchange(hex("01 02 20 00")) == [hex("04 0E 07 01 02 20 00 FB 00 14")])
    }

    @Test("7.4.6: the public address")
    func address() {
        #expect(Bench().exchange(hex("01 09 10 00")) == [hex("04 0E 0A 01 09 10 00 66 55 44 33 22 11")])
    }

    @Test("Parameters of the wrong length are invalid")
    func wrongLength() {
        #expect(Bench().exchange(hex("01 0A 20 00")) == [hex("04 0E 04 01 0A 20 12")])
        #expect(Bench().exchange(hex("01 0D 20 01 00")) == [hex("04 0F 04 12 01 0D 20")])
    }

    @Test("7.8.5, 7.8.9: advertising refuses what it cannot do, and changes under way")
    func advertising() {
        let bench = Bench()
        var parameters = LESetAdvertisingParameters()
        parameters.intervalMin = 0x001F
        #expect(bench.status(parameters) == .invalidParameters)
        parameters = LESetAdvertisingParameters()
        parameters.intervalMax = 0x0020
        #expect(bench.status(parameters) == .invalidParameters)
        parameters = LESetAdvertisingParameters()
        parameters.channelMap = 0
        #expect(bench.status(parameters) == .invalidParameters)
        parameters.channelMap = 0b111
        parameters.ownAddressType = .randomDevice
        #expect(bench.status(parameters) == .success)
        #expect(bench.status(LESetAdvertisingEnable(true)) == .invalidParameters)
        #expect(bench.status(LESetRandomAddress(address: DeviceAddress(0xC0_0000_0000_01, kind: .random))) == .success)
        #expect(bench.status(LESetAdvertisingEnable(true)) == .success)
        #expect(bench.status(parameters) == .commandDisallowed)
        #expect(bench.status(LESetRandomAddress()) == .commandDisallowed)
        #expect(bench.status(LESetAdvertisingEnable(false)) == .success)
        #expect(bench.status(parameters) == .success)
    }

    @Test("7.8.10: scan parameters are checked")
    func scanning() {
        let bench = Bench()
        var parameters = LESetScanParameters()
        parameters.window = 0x0011
        #expect(bench.status(parameters) == .invalidParameters)
        parameters.interval = 0x0011
        #expect(bench.status(parameters) == .success)
        #expect(bench.status(LESetScanEnable(true)) == .success)
        #expect(bench.status(parameters) == .commandDisallowed)
    }

    @Test("7.8.15 to 7.8.17: the accept list fills up, and is not changed while it is used")
    func acceptList() {
        let bench = Bench()
        for number in 0..<16 {
            #expect(bench.status(LEAddDeviceToFilterAcceptList(address: DeviceAddress(UInt64(number)))) == .success)
        }
        let another = LEAddDeviceToFilterAcceptList(address: DeviceAddress(99))
        #expect(bench.status(another) == .memoryCapacityExceeded)
        #expect(bench.status(LERemoveDeviceFromFilterAcceptList(address: DeviceAddress(3))) == .success)
        #expect(bench.status(another) == .success)
        var create = LECreateConnection()
        create.usesFilterAcceptList = true
        #expect(bench.status(create) == .success)
        #expect(bench.status(LEClearFilterAcceptList()) == .commandDisallowed)
    }

    @Test("7.8.12, 7.8.13: one connection at a time is made; cancelling ends the attempt with 0x02")
    func createConnection() {
        let bench = Bench()
        _ = bench.status(SetEventMask(mask: UInt64.max))
        #expect(bench.status(LECreateConnectionCancel()) == .commandDisallowed)
        #expect(bench.status(LECreateConnection()) == .success)
        #expect(bench.status(LECreateConnection()) == .commandDisallowed)
        let answers = bench.exchange(LECreateConnectionCancel().packet)
        #expect(answers.count == 2)
        #expect(answers[0] == hex("04 0E 04 01 0E 20 00"))
        #expect(answers[1].prefix(5) == hex("04 3E 13 01 02")[...])
        #expect(bench.listeningChannel == nil)
    }

    @Test("7.1.6, 7.5.4: commands about a link that is not there")
    func unknownLink() {
        let bench = Bench()
        #expect(bench.status(Disconnect(handle: 0x0040)) == .unknownConnection)
        #expect(bench.status(ReadRSSI(handle: 0x0040)) == .unknownConnection)
        #expect(bench.status(LEReadRemoteFeatures(handle: 0x0040)) == .unknownConnection)
        var timeout = WriteAuthenticatedPayloadTimeout()
        timeout.handle = 0x0040
        #expect(bench.exchange(timeout.packet) == [hex("04 0E 06 01 7C 0C 02 40 00")])
    }

    @Test("7.3.2: Reset silences the radio and forgets the settings")
    func resetForgets() {
        let bench = Bench()
        _ = bench.status(LESetAdvertisingEnable(true))
        _ = bench.wait(.seconds(3))
        let count = bench.frames.count
        #expect(count > 0)
        #expect(bench.status(Reset()) == .success)
        _ = bench.wait(.seconds(3))
        #expect(bench.frames.count == count)
    }

    @Test("7.3.1: LE events are masked until the host asks for them")
    func eventMask() {
        let bench = Bench()
        #expect(bench.status(LECreateConnection()) == .success)
        #expect(bench.exchange(LECreateConnectionCancel().packet).count == 1)
    }

    @Test("Part A, 2: garbage is answered with Hardware Error, and nothing breaks")
    func garbage() {
        let bench = Bench()
        for octets in [[], [0x00], [0x01], hex("01 03 0C 01"), hex("09 00 00"), hex("04 0E 00"), hex("02 40 00 09 00")]
        {
            #expect(bench.exchange(octets) == [hex("04 10 01 01")])
        }
        #expect(bench.status(Reset()) == .success)
    }
}

@Suite("Hostile hosts")
struct HostileHostTests {
    @Test("Whatever a host sends, the controller answers and lives on", arguments: 0..<20 as Range<UInt64>)
    func anything(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        let bench = Bench()
        _ = bench.exchange(SetEventMask(mask: UInt64.max).packet)
        for _ in 0..<2000 {
            let opcode =
                Bool.random(using: &generator)
                ? VirtualController.supportedCommands.randomElement(using: &generator)!.rawValue
                : UInt16.random(in: 0...UInt16.max, using: &generator)
            let count = [0, 1, 2, 4, 6, 7, 8, 14, 15, 20, 25, 32].randomElement(using: &generator)!
            let parameters = (0..<count).map { _ in
                Bool.random(using: &generator)
                    ? UInt8.random(in: 0...3, using: &generator)
                    : UInt8.random(in: 0...255, using: &generator)
            }
            let header = [0x01, UInt8(truncatingIfNeeded: opcode), UInt8(opcode >> 8), UInt8(count)]
            let answers = bench.exchange(header + parameters)
            #expect(answers.contains { [0x0E, 0x0F].contains($0[1]) })
            _ = bench.wait(.milliseconds(Int.random(in: 0...50, using: &generator)))
        }
        #expect(bench.status(Reset()) == .success)
    }
}
