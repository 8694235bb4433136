/// Documentation/Scale.md and its plot: what worlds cost.
package struct ScalePage {
    package private(set) var text = ""
    package private(set) var plot = ""

    private static let counts = [10, 30, 100, 300, 1000, 3000, 10_000]
    /// For each device, in square metres, where the world grows with them.
    private static let area = 400.0
    /// The same where nobody hears anybody: what is left then does not come of the radio.
    private static let lonelyArea = 1_000_000.0

    /// Measures all of it.
    package init(onMeasurement: (Measurement) -> Void) {
        let link = ScaleBenchmark.link(minutes: 30)
        onMeasurement(Measurement(name: "scale_link_30min", value: link.processor, unit: "s"))
        let thousand = ScaleBenchmark.advertisers(1000, area: nil, seconds: 60)
        let memory = ScaleBenchmark.peakMemory
        onMeasurement(Measurement(name: "scale_1000_advertisers_60s", value: thousand.processor, unit: "s"))
        onMeasurement(Measurement(name: "scale_1000_advertisers_memory", value: memory, unit: "MiB"))
        let curve = Self.curve(counts: Self.counts, onMeasurement: onMeasurement)
        let last = ScaleBenchmark.peakMemory
        onMeasurement(Measurement(name: "scale_10000_advertisers_memory", value: last, unit: "MiB"))
        let lonely = Self.curve(
            counts: Self.counts, area: Self.lonelyArea, name: "lonely_", onMeasurement: onMeasurement)
        text = Self.page(link, thousand, memory: memory, curve, lonely, last: last)
        plot = Self.plot([curve, lonely])
    }

    /// One point of a line of the plot.
    package static func point(_ count: Int, isApart: Bool, onMeasurement: (Measurement) -> Void) {
        _ = curve(
            counts: [count], area: isApart ? lonelyArea : area, name: isApart ? "lonely_" : "",
            onMeasurement: onMeasurement)
    }

    /// What worlds cost that grow with their advertisers.
    private static func curve(
        counts: [Int], area: Double = area, name: String = "", onMeasurement: (Measurement) -> Void
    ) -> [ScaleBenchmark.Cost] {
        counts.map { count in
            // As many packets for each figure, more or less.
            let seconds = max(1, min(60, 20_000 / Double(count)))
            let cost = ScaleBenchmark.advertisers(count, area: area, seconds: seconds)
            onMeasurement(Measurement(name: "scale_\(name)\(count)_per_packet", value: cost.perPacket, unit: "us"))
            onMeasurement(Measurement(name: "scale_\(name)\(count)_per_event", value: cost.perEvent, unit: "us"))
            return cost
        }
    }

    private static func page(
        _ link: ScaleBenchmark.Cost, _ thousand: ScaleBenchmark.Cost, memory: Double, _ curve: [ScaleBenchmark.Cost],
        _ lonely: [ScaleBenchmark.Cost], last: Double
    ) -> String {
        var text = """
            # What worlds cost

            Written by `benchmark scale --page Documentation/Scale.md` on one core of the machine at hand.

            | world | simulated | processor | memory |
            | --- | --- | --- | --- |
            | a link at 30 ms with a packet each 100 ms | 30 min | \(link.processor.text(digits: 2)) s | |
            | 1,000 advertisers at 100 ms in a hall, and a scanner | 60 s | \(thousand.processor.text(digits: 1)) s \
            | \(memory.text(digits: 0)) MiB |

            The hall's scanner reports \(thousand.reports) advertisements; there are \(thousand.packets) packets.

            ## More devices

            Advertisers at 100 ms, one for each \(area.text(digits: 0)) square metres of an office, so that the world
            grows with them; a scanner in the midst. Memory at the end: \(last.text(digits: 0)) MiB.

            An event is what there is to deal with: a deadline of a device or of the air, a reception, a packet in the
            way of a reception. The plot's blue line is what one costs. A packet brings the more of them the denser the
            air is: within some 470 m a packet can be in another's way, so that a world is about as dense as it gets
            from a few thousand devices on. Those that come in addition are cheap ones, which draws the blue line down.

            The last column, and the grey line, is of the same devices a kilometre apart, where nobody hears anybody and
            the events are of the same kinds at every number: by as much as that line rises, the devices' memory, some
            \(kilobytes(last, memory)) kB each, does not fit the processor's cache any more.

            ![Cost of an event against the number of devices](Scale.svg)

            | advertisers | packets a simulated second | processor for a simulated second, s | events a packet | \
            for a packet, us | for an event, us | alone, us |
            | --- | --- | --- | --- | --- | --- | --- |

            """
        for (cost, alone) in zip(curve, lonely) {
            text += "| \(cost.devices - 1) | \((Double(cost.packets) / cost.seconds).text(digits: 0)) |"
            let events = Double(cost.events) / Double(cost.packets)
            text += " \((cost.processor / cost.seconds).text(digits: 3)) | \(events.text(digits: 2)) |"
            text += " \(cost.perPacket.text(digits: 2)) | \(cost.perEvent.text(digits: 2)) |"
            text += " \(alone.perEvent.text(digits: 2)) |\n"
        }
        return text
    }

    // MARK: The plot

    /// What each of the 10,000 takes more than the hall's 1,000.
    private static func kilobytes(_ last: Double, _ memory: Double) -> String {
        ((last - memory) * 1024 / 9000).text(digits: 1)
    }

    private static func plot(_ curves: [[ScaleBenchmark.Cost]]) -> String {
        let curve = curves[0]
        let (width, height, margin) = (640.0, 320.0, 56.0)
        let top = max(1, (curves.joined().map(\.perEvent).max() ?? 1) * 1.25).rounded(.up)
        func x(_ index: Int) -> Double { margin + (width - 2 * margin) * Double(index) / Double(curve.count - 1) }
        func y(_ value: Double) -> Double { height - margin - (height - 2 * margin) * value / top }
        func points(_ curve: [ScaleBenchmark.Cost]) -> String {
            curve.enumerated().map { "\(x($0).text(digits: 1)),\(y($1.perEvent).text(digits: 1))" }
                .joined(separator: " ")
        }
        var lines = [
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"640\" height=\"320\" font-family=\"sans-serif\"",
            " font-size=\"12\">",
            "<rect width=\"640\" height=\"320\" fill=\"white\"/>",
            "<text x=\"320\" y=\"24\" text-anchor=\"middle\">Processor time for an event, us</text>",
            "<text x=\"320\" y=\"312\" text-anchor=\"middle\">advertisers, each on 400 square metres</text>",
        ]
        for step in 0...4 {
            let value = top * Double(step) / 4
            let place = y(value).text(digits: 1)
            lines.append("<line x1=\"56\" x2=\"584\" y1=\"\(place)\" y2=\"\(place)\" stroke=\"#ddd\"/>")
            lines.append("<text x=\"48\" y=\"\(place)\" text-anchor=\"end\">\(value.text(digits: 2))</text>")
        }
        for (index, cost) in curve.enumerated() {
            let place = x(index).text(digits: 1)
            lines.append("<text x=\"\(place)\" y=\"284\" text-anchor=\"middle\">\(cost.devices - 1)</text>")
            lines.append("<circle cx=\"\(place)\" cy=\"\(y(cost.perEvent).text(digits: 1))\" r=\"3\" fill=\"#06c\"/>")
        }
        for (curve, color) in zip(curves, ["#06c", "#999"]) {
            lines.append("<polyline points=\"\(points(curve))\" fill=\"none\" stroke=\"\(color)\"/>")
        }
        return (lines + ["</svg>", ""]).joined(separator: "\n")
    }
}
