import Foundation

extension SoakReport {
    /// For people: a few lines.
    public var text: String {
        var lines = [
            "\(passed ? "PASSED" : "FAILED")  \(fixed(seconds, 1)) s, "
                + "a packet every \(fixed(intervalSeconds * 1000, 0)) ms",
            "",
        ]
        for check in checks { lines.append("  \(check.passed ? "+" : "-") \(check.text)") }
        lines += [
            "",
            "  sent \(sent), back \(received), lost \(lost), twice \(duplicates), out of order \(reordered), "
                + "late \(late), not sent \(notSent)",
            "  latency there and back: median \(fixed(latency.median, 1)) ms, "
                + "90 % \(fixed(latency.percentile90, 1)) ms, "
                + "99 % \(fixed(latency.percentile99, 1)) ms, worst \(fixed(latency.maximum, 1)) ms, "
                + "jitter \(fixed(jitter, 1)) ms",
        ]
        if rssi.count > 0 {
            lines.append(
                "  signal: \(fixed(rssi.minimum, 0)) to \(fixed(rssi.maximum, 0)) dBm, "
                    + "\(fixed(rssi.mean, 1)) on average"
            )
        }
        for disconnect in disconnects {
            let back = disconnect.secondsToReconnect.map { "back after \(fixed($0, 2)) s" } ?? "not back"
            lines.append("  \(fixed(disconnect.time, 1)) s: \(disconnect.cause); \(back)")
        }
        return lines.joined(separator: "\n")
    }

    /// One line while it runs.
    public var progressLine: String {
        let part = plannedSeconds > 0 ? min(1, seconds / plannedSeconds) : 1
        return "\(fixed(part * 100, 0)) %  sent \(sent)  lost \(lost) (\(percent(lossRate)))  "
            + "latency \(latency.count > 0 ? fixed(latency.median, 1) : "-") ms  disconnects \(disconnects.count)"
    }

    /// For programs: an object with its members in the order of the alphabet.
    public var json: String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .prettyPrinted, .withoutEscapingSlashes]
        let verdict = Verdict(report: self, passed: passed, lossRate: lossRate, checks: checks)
        // Numbers and texts of our own always have a form in JSON.
        guard let data = try? encoder.encode(verdict) else { return "{}" }
        return String(decoding: data, as: UTF8.self)
    }

    private struct Verdict: Encodable {
        var report: SoakReport
        var passed: Bool
        var lossRate: Double
        var checks: [Check]
    }

    /// For continuous integration: a test suite with one case for each condition.
    public var junit: String {
        let failures = checks.filter { !$0.passed }.count
        var lines = [
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>",
            "<testsuites tests=\"\(checks.count)\" failures=\"\(failures)\" time=\"\(fixed(seconds, 3))\">",
            "  <testsuite name=\"ble soak\" tests=\"\(checks.count)\" failures=\"\(failures)\" "
                + "time=\"\(fixed(seconds, 3))\">",
        ]
        for check in checks {
            let head = "    <testcase classname=\"ble.soak\" name=\"\(check.name)\" time=\"\(fixed(seconds, 3))\""
            if check.passed {
                lines.append(head + "/>")
            } else {
                lines += [head + ">", "      <failure message=\"\(escaped(check.text))\"/>", "    </testcase>"]
            }
        }
        lines += ["    <system-out>\(escaped(text))</system-out>", "  </testsuite>", "</testsuites>"]
        return lines.joined(separator: "\n") + "\n"
    }
}

/// For XML and HTML.
func escaped(_ text: String) -> String {
    var result = ""
    for scalar in text.unicodeScalars {
        switch scalar {
        case "&": result += "&amp;"
        case "<": result += "&lt;"
        case ">": result += "&gt;"
        case "\"": result += "&quot;"
        // XML has no form for other control characters.
        case "\u{00}"..."\u{08}", "\u{0B}", "\u{0C}", "\u{0E}"..."\u{1F}": result += "\u{FFFD}"
        default: result.unicodeScalars.append(scalar)
        }
    }
    return result
}
