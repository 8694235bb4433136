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
        return "\(rate.text(digits: 1)) (\((share * 100).text(digits: 1)) %)"
    }

    private static let introduction = """
        # What a link carries

        Written by `benchmark limits --page Documentation/LinkLimits.md`; a test measures some of the rows at each run.

        Each cell: the kbit/s of an application's octets that go over a link between two of our controllers in
        simulated time, and how much that is of what the air allows: exchanges of a full packet and an empty one, one
        after the other at a distance of 150 us, as many as end before the next connection event (Core 6.0, Vol 6,
        Part B, 2.1, 2.2, 4.1.1 and 4.5.1). The hosts keep the controllers' buffers full and do nothing else.

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
}
