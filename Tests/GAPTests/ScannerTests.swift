import BluetoothTypes
import ByteCodec
import EventLoop
import GAP
import HCI
import ProtocolTestKit
import Testing

@Suite("Scanner — Core 6.0, Vol 4, Part E, 7.8.10 and 7.8.11")
struct ScannerTests {
    private static let device = DeviceAddress(0xC0_1122_3344_55, kind: .random)

    @Test("A scan response is joined with the advertisement before it")
    func merges() {
        Scene.play(Scanner()) { scanner in
            scanner.start()
            scanner.hear(.init(eventType: .connectable, address: Self.device, data: [2, 1, 6], rssi: -50))
            scanner.expect(.report(report("02 01 06", "", -50)))
            scanner.hear(.init(eventType: .scanResponse, address: Self.device, data: [2, 9, 0x41], rssi: -51))
            scanner.expect(.report(report("02 01 06", "02 09 41", -51)))
            scanner.hear(.init(eventType: .connectable, address: Self.device, data: [2, 1, 4], rssi: -52))
            scanner.expect(.report(report("02 01 04", "02 09 41", -52)))
        }
    }

    @Test("A scan response to an advertisement that was not heard says nothing")
    func loneScanResponse() {
        Scene.play(Scanner()) { scanner in
            scanner.start()
            scanner.hear(.init(eventType: .scanResponse, address: Self.device, data: [2, 9, 0x41], rssi: -51))
        }
    }

    // attacks.json, HCI-10 (BleedingTooth, CVE-2020-24490)
    @Test("A legacy report of more than 31 octets is dropped")
    func tooLong() {
        Scene.play(Scanner()) { scanner in
            scanner.start()
            let data = hex("1F FF") + Array(repeating: 0xAA, count: 30)
            scanner.hear(.init(eventType: .connectable, address: Self.device, data: data[...], rssi: -59))
        }
    }

    @Test("Memory is bounded: the oldest device is forgotten")
    func bounded() {
        Scene.play(Scanner(capacity: 2)) { scanner in
            scanner.start()
            for number in 1...3 {
                let address = DeviceAddress(UInt64(number))
                scanner.hear(.init(eventType: .connectable, address: address, data: [], rssi: 0))
                scanner.expect(
                    .report(
                        .init(
                            address: address, advertisingData: [], scanResponseData: [], isConnectable: true, rssi: 0)))
            }
            scanner.hear(.init(eventType: .scanResponse, address: DeviceAddress(1), data: [], rssi: 0))  // Forgotten.
        }
    }

    @Test("Reports that come after the scan was stopped are dropped, and what was heard is forgotten")
    func stops() {
        Scene.play(Scanner()) { scanner in
            scanner.start()
            scanner.input(.want(nil), #_sourceLocation)
            scanner.expect(.command(LESetScanEnable(false).packet))
            scanner.hear(.init(eventType: .connectable, address: Self.device, data: [], rssi: 0))
            scanner.done()
            scanner.expect(.stopped)
            scanner.hear(.init(eventType: .connectable, address: Self.device, data: [], rssi: 0))
        }
    }

    @Test("A refusal is reported once")
    func refused() {
        Scene.play(Scanner()) { scanner in
            scanner.input(.want(.init()), #_sourceLocation)
            scanner.expect(.command(parameters().packet))
            scanner.input(.commandFinished(.refused(.commandDisallowed)), #_sourceLocation)
            scanner.expect(.failed(.init(opcode: .leSetScanParameters, error: .commandDisallowed)))
            scanner.start()
        }
    }

    @Test("Other parameters need the scan to stop first — 7.8.10")
    func replaced() {
        Scene.play(Scanner()) { scanner in
            scanner.start()
            var passive = Scanner.Configuration()
            passive.isActive = false
            scanner.input(.want(passive), #_sourceLocation)
            scanner.expect(.command(LESetScanEnable(false).packet))
            scanner.done()
            var command = parameters()
            command.isActive = false
            scanner.expect(.command(command.packet))
            scanner.done()
            scanner.expect(.command(LESetScanEnable(true).packet))
            scanner.done()
            scanner.expect(.started)
        }
    }

    private func report(_ advertisement: String, _ scanResponse: String, _ rssi: Int8) -> ScanReport {
        ScanReport(
            address: Self.device, advertisingData: hex(advertisement), scanResponseData: hex(scanResponse),
            isConnectable: true, rssi: rssi)
    }
}

@Suite("Discovery filter")
struct DiscoveryFilterTests {
    @Test("A device passes once, and again with its scan response's name, and not with new readings")
    func onceAndWithNews() {
        var filter = DiscoveryFilter()
        let script: [(advertisement: String, scanResponse: String, passes: Bool)] = [
            ("02 01 06 05 FF 4C 00 01 02", "", true),
            ("02 01 06 05 FF 4C 00 01 02", "", false),
            ("02 01 06 05 FF 4C 00 01 03", "", false),
            ("02 01 06 05 FF 4C 00 01 03", "03 09 41 42", true),
            ("02 01 06 05 FF 4C 00 01 03", "03 09 41 42", false),
            ("02 01 06 05 FF 4C 00 01 03", "03 09 41 43", true),
            ("02 01 06 03 03 0F 18", "03 09 41 43", true),
        ]
        for (number, line) in script.enumerated() {
            let passes = filter.passes(report(line.advertisement, line.scanResponse))
            #expect(passes == line.passes, "line \(number)")
        }
    }

    @Test("A device that keeps inventing names passes 64 times at most")
    func boundedPerDevice() {
        var filter = DiscoveryFilter()
        let passed = (0..<200).filter { filter.passes(report("02 09 " + String($0, radix: 16), "")) }
        #expect(passed.count == 64)
    }

    @Test("Memory is bounded: the oldest device passes again")
    func bounded() {
        var filter = DiscoveryFilter(capacity: 2)
        for (number, expected) in [(1, true), (2, true), (2, false), (3, true), (1, true)] {
            let passes = filter.passes(report("", "", DeviceAddress(UInt64(number))))
            #expect(passes == expected)
        }
    }

    private func report(
        _ advertisement: String, _ scanResponse: String, _ address: DeviceAddress = DeviceAddress(1)
    ) -> ScanReport {
        ScanReport(
            address: address, advertisingData: hex(advertisement), scanResponseData: hex(scanResponse),
            isConnectable: true, rssi: -50)
    }
}

private func parameters() -> LESetScanParameters {
    var command = LESetScanParameters()
    command.isActive = true
    command.interval = 0x60
    command.window = 0x60
    return command
}

extension Scene<Scanner> {
    fileprivate mutating func done(at location: SourceLocation = #_sourceLocation) {
        input(.commandFinished(.completed(returnParameters: [0])), location)
    }

    fileprivate mutating func start() {
        input(.want(.init()), #_sourceLocation)
        expect(.command(parameters().packet))
        done()
        expect(.command(LESetScanEnable(true).packet))
        done()
        expect(.started)
    }

    fileprivate mutating func hear(_ report: AdvertisingReport, at location: SourceLocation = #_sourceLocation) {
        let event = LEAdvertisingReport(reports: [report])
        input(.reports(AdvertisingReports(parameters: event.octets[...])), location)
    }
}
