import BenchmarkKit
import Foundation
import Testing

@Suite("Limits of a link")
struct LimitTests {
    /// What the air allows on an encrypted link at 7.5, 15, 30 and 100 ms, in kbit/s, computed by an independent
    /// program from the same sections of the specification.
    static let published: [String: [Int]] = [
        "mtu247_dle 2M": [1301, 1301, 1366, 1386], "mtu247_dle 1M": [781, 781, 781, 781],
        "mtu517_dle 2M": [1092, 1183, 1229, 1229], "mtu517_dle 1M": [546, 683, 683, 717],
        "mtu185_dle 2M": [1165, 1165, 1213, 1252], "mtu185_dle 1M": [582, 680, 680, 713],
        "coc_mps247_dle 2M": [1214, 1335, 1335, 1352], "coc_mps247_dle 1M": [728, 728, 751, 765],
        "coc_mps1004_dle 2M": [1214, 1229, 1256, 1278], "mtu23_nodle 2M": [299, 309, 309, 312],
        "mtu23_nodle 1M": [213, 224, 224, 226], "mtu185_nodle 1M": [277, 291, 291, 293],
        "coc_mps23_nodle 1M": [243, 255, 255, 257], "mtu247_dle S2": [260, 260, 325, 351],
    ]

    @Test("The limits are those that others compute")
    func limits() {
        for row in LinkCase.rows where row.isEncrypted {
            guard let expected = Self.published["\(row.shape.name) \(row.physical.rawValue)"] else { continue }
            for (interval, limit) in zip(LinkCase.intervals, expected) {
                var link = row
                link.interval = interval
                #expect(abs(link.limit - Double(limit)) <= 1, "\(link.name(.up))")
            }
        }
    }

    /// Apple, WWDC 2017, session 712: packed values at 30 ms, 37 kbit/s of 20 octets and 48 of 182 in 7 PDUs. Nordic's
    /// S130: notifications at 7.5 ms, 149.2 kbit/s. nRF52 to an iPhone 6, 30 ms, 6 packets: 32 kbit/s.
    @Test("A phone's events give the figures that are published of phones")
    func phones() {
        func limit(_ packets: Int, _ interval: UInt16, shape: Int = 4) -> Double {
            LinkCase(
                LinkCase.Shape.all[shape], .le1M, isEncrypted: false, interval: interval, packetsPerEvent: packets
            ).limit
        }
        #expect(abs(limit(7, 24) - 37.3) < 0.1)
        #expect(abs(limit(7, 24, shape: 6) - 48.5) < 0.1)
        #expect(abs(limit(7, 6) - 149.3) < 0.1)
        #expect(abs(limit(6, 24) - 32) < 0.1)
    }

    @Test("Our controllers reach 99 %, whatever is sent, in both directions", arguments: LinkCase.Direction.allCases)
    func controllers(direction: LinkCase.Direction) {
        // A row of each shape, each at another interval; the page has all of them.
        for (index, row) in LinkCase.rows.enumerated() where index % 5 == (direction == .up ? 0 : 2) {
            var link = row
            link.interval = LinkCase.intervals[index / 5 % 4]
            guard link.fits else { continue }
            let rate = ControllerBenchmark(link, direction).rate(seconds: 2)
            #expect(rate >= 0.985 * link.limit && rate <= 1.015 * link.limit, "\(link.name(direction)): \(rate)")
        }
    }

    @Test("A phone's limit on packets holds within 1 %", arguments: LinkCase.Direction.allCases)
    func phoneLimits(direction: LinkCase.Direction) {
        for link in LinkCase.phoneRows where link.interval != 36 && link.interval != 9 {
            let rate = ControllerBenchmark(link, direction).rate(seconds: 3)
            #expect(abs(rate / link.limit - 1) <= 0.01, "\(link.name(direction)): \(rate) of \(link.limit)")
        }
    }

    @Test("Our hosts reach 99 %, by notifications, writes and channels")
    func hosts() {
        // Each row of the table at one of the intervals, a fourth of the rows; the page has all of them.
        for (index, row) in HostedLink.rows.enumerated() where index % 4 == (index / 4) % 4 {
            let row = row.with(interval: LinkCase.intervals[index / 4 % 4])
            let share = row.measure(seconds: 2).share
            #expect(share >= 0.985 && share <= 1.015, "\(row.name): \(share)")
        }
    }

    @Test("The hosts' table has all kinds of links, and the page's limits are those that are published")
    func hostsTable() {
        for traffic in HostedLink.Traffic.allCases {
            let rows = HostedLink.rows.filter { $0.traffic == traffic }
            for physical in [LinkCase.Physical.le1M, .le2M] {
                for dataLength in [27, 251] as [UInt16] {
                    for isEncrypted in [true, false] {
                        #expect(
                            rows.contains {
                                $0.link.physical == physical && $0.link.shape.dataLength == dataLength
                                    && $0.link.isEncrypted == isEncrypted
                            })
                    }
                }
            }
        }
        // 21 packets of 251 octets in 30 ms, 16 of them an SDU of 3998: what beats the published rows of channels.
        let row = HostedLink.rows.first {
            $0.traffic == .channelDown && $0.link.physical == .le2M && $0.link.isEncrypted
                && $0.link.shape.dataLength == 251
        }!
        #expect(abs(row.with(interval: 24).link.limit - 21 * 3998.0 / 16 * 8 / 30) < 1)
    }

    @Test("Our hosts keep to a phone's limit on packets within 1 %")
    func hostsOnPhones() {
        // One packet more or less at the ends of the time is too much of three seconds.
        for (index, row) in HostedLink.phoneRows.enumerated() where index % 9 == 0 {
            let share = row.measure(seconds: 10).share
            #expect(abs(share - 1) <= 0.01, "\(row.name): \(share)")
        }
    }

    @Test("The page has all rows, and no figure below 99 %")
    func page() throws {
        let root = URL(fileURLWithPath: #filePath).appendingPathComponent("../../..").standardized
        let text = try String(contentsOf: root.appendingPathComponent("Documentation/LinkLimits.md"), encoding: .utf8)
        let rows = text.split(separator: "\n").filter { $0.hasPrefix("| ") && !$0.contains("---") }
        let hosts = HostedLink.rows.count + HostedLink.phoneRows.count
        #expect(rows.count == 2 * LinkCase.rows.count + LinkCase.phoneRows.count + hosts + 5)
        for row in rows {
            for cell in row.split(separator: "|") where cell.hasSuffix("%) ") {
                let share = try #require(Double(cell.split(separator: "(")[1].split(separator: " ")[0]))
                #expect(share >= 99 && share <= 101, "\(row)")
            }
        }
    }
}
