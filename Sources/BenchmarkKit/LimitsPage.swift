/// Documentation/LinkLimits.md: what our controllers get through a link, beside what the physics allows.
package struct LimitsPage {
    package private(set) var text = Self.introduction

    /// Measures all of it.
    ///
    /// - Parameters:
    ///   - seconds: of simulated time for each figure.
    ///   - onMeasurement: takes the figures as they come.
    package init(seconds: Int, onMeasurement: ([Measurement]) -> Void) {
        for direction in LinkCase.Direction.allCases {
            text += Self.heading(direction)
            for row in LinkCase.rows {
                let cells = LinkCase.intervals.map { interval in
                    cell(with(row, interval), direction, seconds: seconds, onMeasurement)
                }
                let encryption = row.isEncrypted ? "yes" : "no"
                text += "| \(row.shape.title) | \(row.physical.rawValue) | \(encryption) |"
                text += cells.map { " \($0) |" }.joined() + "\n"
            }
        }
        text += Self.phoneHeading
        for row in LinkCase.phoneRows {
            text += "| \(row.packetsPerEvent!) | \(row.shape.title) | \(row.physical.rawValue) | \(row.milliseconds) |"
            text += " \(cell(row, .up, seconds: seconds, onMeasurement)) |"
            text += " \(cell(row, .down, seconds: seconds, onMeasurement)) |\n"
        }
        addHosts(seconds: seconds, onMeasurement)
    }

    private mutating func addHosts(seconds: Int, _ onMeasurement: ([Measurement]) -> Void) {
        text += Self.hostsHeading
        for row in HostedLink.rows {
            let cells = LinkCase.intervals.map { cell(row.with(interval: $0), seconds: seconds, onMeasurement) }
            text += "| \(row.traffic.title) | \(row.link.shape.title) | \(row.link.physical.rawValue) |"
            text += " \(row.link.isEncrypted ? "yes" : "no") |" + cells.map { " \($0) |" }.joined() + "\n"
        }
        text += Self.hostsPhoneHeading
        for row in HostedLink.phoneRows {
            text += "| \(row.traffic.title) | \(row.link.packetsPerEvent!) | \(row.link.shape.title) |"
            text += " \(row.link.physical.rawValue) | \(row.link.milliseconds) |"
            text += " \(cell(row, seconds: seconds, onMeasurement)) |\n"
        }
    }

    private func cell(_ row: HostedLink, seconds: Int, _ onMeasurement: ([Measurement]) -> Void) -> String {
        let result = row.measure(seconds: seconds)
        onMeasurement(row.measurements(result))
        return Self.text(result.rate, result.share)
    }

    private static func text(_ rate: Double, _ share: Double) -> String {
        "\(rate.text(digits: 1)) (\((share * 100).text(digits: 1)) %)"
    }

    private func with(_ row: LinkCase, _ interval: UInt16) -> LinkCase {
        var link = row
        link.interval = interval
        return link
    }

    private func cell(
        _ link: LinkCase, _ direction: LinkCase.Direction, seconds: Int, _ onMeasurement: ([Measurement]) -> Void
    ) -> String {
        guard link.fits else { return "-" }
        let rate = ControllerBenchmark(link, direction).rate(seconds: seconds)
        let share = rate / link.limit
        onMeasurement([
            Measurement(name: link.name(direction), value: rate, unit: "kbit/s"),
            Measurement(name: link.name(direction) + "_of_limit", value: share, unit: "ratio"),
        ])
        return Self.text(rate, share)
    }

    private static let introduction = """
        # What a link carries

        Written by `benchmark limits --page Documentation/LinkLimits.md`; a test measures some of the rows at each run.

        Each cell: the kbit/s of an application's octets that go over a link between two of our controllers in
        simulated time, and how much that is of what the air allows: exchanges of a full packet and an empty one, one
        after the other at a distance of 150 us, as many as end before the next connection event (Core 6.0, Vol 6,
        Part B, 2.1, 2.2, 4.1.1 and 4.5.1). Encryption lowers the limit, for each packet that is not empty then has an
        integrity check of four octets (2.4). In the first tables the hosts keep the controllers' buffers full and do
        nothing else; in the last ones they are whole hosts of ours.

        Values of 512 octets are slower than those of 244 or 495: where the length of the L2CAP PDU, header included,
        is no multiple of 251, the last packet is nearly empty. `maximumWriteValueLength` and the channels' sizes
        follow that.

        """

    private static func heading(_ direction: LinkCase.Direction) -> String {
        let title =
            direction == .up
            ? "To the central: notifications, and channels" : "To the peripheral: writes without response, and channels"
        return """

            ## \(title)

            | what | PHY | encrypted | 7.5 ms | 15 ms | 30 ms | 100 ms |
            | --- | --- | --- | --- | --- | --- | --- |

            """
    }

    private static let phoneHeading = """

        ## Phones

        The controllers of phones send a few packets in an event and no more; `SimulatedDevice.packetsPerEvent` is that
        limit. Here the sender has it.

        | packets | what | PHY | interval, ms | to the central | to the peripheral |
        | --- | --- | --- | --- | --- | --- |

        """

    private static let hostsHeading = """

        ## Through our hosts

        Two of our hosts on such a link: what a program sends goes through ATT or a channel, L2CAP, HCI and the link
        layer, and up again on the other side. The hosts agree on everything by themselves, encryption by pairing
        included. Values and frames are as long as our hosts and `maximumWriteValueLength` suggest (495 octets, and MPS
        1000), or as others publish figures of.

        | traffic | what | PHY | encrypted | 7.5 ms | 15 ms | 30 ms | 100 ms |
        | --- | --- | --- | --- | --- | --- | --- | --- |

        """

    private static let hostsPhoneHeading = """

        ### Phones

        The sender's controller sends a few packets in an event and no more.

        | traffic | packets | what | PHY | interval, ms | |
        | --- | --- | --- | --- | --- | --- |

        """
}
