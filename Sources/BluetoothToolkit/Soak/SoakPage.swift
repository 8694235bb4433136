import Foundation

extension SoakReport {
    /// One page that needs nothing else: no script, no style sheet, no picture from elsewhere.
    public func html(title: String) -> String {
        let rows = checks.map { check in
            "<tr class=\"\(check.passed ? "good" : "bad")\"><td>\(check.passed ? "passed" : "failed")</td>"
                + "<td>\(escaped(check.name))</td><td>\(escaped(check.text))</td></tr>"
        }
        let losses = disconnects.map { disconnect in
            "<tr><td>\(fixed(disconnect.time, 1)) s</td><td>\(escaped(disconnect.cause))</td><td>"
                + (disconnect.secondsToReconnect.map { fixed($0, 2) + " s" } ?? "not back") + "</td></tr>"
        }
        return """
            <!doctype html>
            <html lang="en"><head><meta charset="utf-8"><title>\(escaped(title))</title>
            <style>\(Self.style)</style></head><body>
            <h1 class="\(passed ? "good" : "bad")">\(escaped(title)): \(passed ? "passed" : "failed")</h1>
            <table>\(rows.joined(separator: "\n"))</table>
            <table class="numbers">\(numbers.joined(separator: "\n"))</table>
            \(plot("Lost packets, of a hundred", slices.map(\.lossPercent)))
            \(plot("Latency there and back, mean in ms", slices.map(\.meanLatency)))
            \(plot("Latency there and back, worst in ms", slices.map { $0.meanLatency == nil ? nil : $0.worstLatency }))
            \(plot("Signal strength in dBm", slices.map(\.meanRSSI), fromZero: false))
            <h2>Disconnects</h2>
            <table><tr><th>at</th><th>why</th><th>back after</th></tr>\(losses.joined(separator: "\n"))</table>
            </body></html>

            """
    }

    private var numbers: [String] {
        [
            ("duration", fixed(seconds, 1) + " s"), ("interval", fixed(intervalSeconds * 1000, 0) + " ms"),
            ("sent", "\(sent)"), ("back", "\(received)"), ("lost", "\(lost) (\(percent(lossRate)))"),
            ("twice", "\(duplicates)"), ("out of order", "\(reordered)"), ("late", "\(late)"),
            ("not sent", "\(notSent)"), ("latency, median", fixed(latency.median, 1) + " ms"),
            ("latency, 90 %", fixed(latency.percentile90, 1) + " ms"),
            ("latency, 99 %", fixed(latency.percentile99, 1) + " ms"),
            ("latency, worst", fixed(latency.maximum, 1) + " ms"), ("jitter", fixed(jitter, 1) + " ms"),
            (
                "signal",
                rssi.count > 0 ? "\(fixed(rssi.minimum, 0)) to \(fixed(rssi.maximum, 0)) dBm" : "not measured"
            ),
        ].map { "<tr><td>\($0.0)</td><td>\($0.1)</td></tr>" }
    }

    private static let style = """
        body{font:15px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#222}
        table{border-collapse:collapse;margin:1rem 0}td,th{padding:.2rem 1rem .2rem 0;text-align:left}
        .good td:first-child,h1.good{color:#176b34}.bad td:first-child,h1.bad{color:#b3261e}
        svg{width:100%;height:auto;background:#f7f7f7}text{font:11px system-ui,sans-serif;fill:#555}
        @media(prefers-color-scheme:dark){body{background:#181818;color:#ddd}svg{background:#222}text{fill:#aaa}}
        """

    /// A line over the time of the test; a gap where there is nothing, and a mark at each disconnect.
    private func plot(_ title: String, _ values: [Double?], fromZero: Bool = true) -> String {
        let known = values.compactMap { $0 }
        let (width, height, left, bottom) = (900.0, 180.0, 50.0, 24.0)
        var low = fromZero ? 0 : (known.min() ?? 0)
        var high = known.max() ?? 1
        if high - low < 1e-9 { (low, high) = fromZero ? (0, max(1, high)) : (low - 1, high + 1) }
        func x(_ part: Double) -> Double { left + part * (width - left - 10) }
        func y(_ value: Double) -> Double { height - bottom - (value - low) / (high - low) * (height - bottom - 12) }
        var path = ""
        var isDown = false
        for (index, value) in values.enumerated() {
            guard let value else {
                isDown = false
                continue
            }
            let place = x((Double(index) + 0.5) / Double(values.count))
            path += (isDown ? "L" : "M") + "\(fixed(place, 1)) \(fixed(y(value), 1))"
            isDown = true
        }
        let marks = disconnects.map { disconnect -> String in
            let place = fixed(x(min(1, disconnect.time / max(plannedSeconds, 0.001))), 1)
            return "<line x1=\"\(place)\" x2=\"\(place)\" y1=\"8\" y2=\"\(height - bottom)\" stroke=\"#b3261e\"/>"
        }
        return """
            <h2>\(escaped(title))</h2>
            <svg viewBox="0 0 \(fixed(width, 0)) \(fixed(height, 0))" role="img" aria-label="\(escaped(title))">
            \(marks.joined())<path d="\(path)" fill="none" stroke="#2962a8" stroke-width="1.5"/>
            <text x="4" y="16">\(fixed(high, 1))</text>
            <text x="4" y="\(fixed(height - bottom, 0))">\(fixed(low, 1))</text>
            <text x="\(fixed(left, 0))" y="\(fixed(height - 6, 0))">0 s</text>
            <text x="\(fixed(width - 10, 0))" y="\(fixed(height - 6, 0))" text-anchor="end"
            >\(fixed(plannedSeconds, 0)) s</text>
            </svg>
            """
    }
}
