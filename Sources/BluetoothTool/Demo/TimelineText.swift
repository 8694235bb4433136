/// Sets a timeline for a person to read: one line for each entry, like ones in a row drawn together.
package struct TimelineText {
    private let terminal: Terminal
    private var previous: TimelineEntry?
    private var repetitions = 0
    private var latestTime = Duration.zero

    /// So many like entries are shown in full before the rest is counted only.
    private static let shownRepetitions = 3

    package init(terminal: Terminal) { self.terminal = terminal }

    /// The lines that `entry` adds to what was there.
    package mutating func lines(for entry: TimelineEntry) -> [String] {
        if let previous, previous.isLike(entry) {
            repetitions += 1
            latestTime = entry.time
            return repetitions < Self.shownRepetitions ? [line(for: entry)] : []
        }
        let closing = finish()
        previous = entry
        return closing + [line(for: entry)]
    }

    /// What is still to be said about the last entries.
    package mutating func finish() -> [String] {
        defer {
            previous = nil
            repetitions = 0
        }
        let hidden = repetitions - Self.shownRepetitions + 1
        guard hidden > 0 else { return [] }
        return [clock(latestTime) + "  " + terminal.styled("... and \(hidden) more of these", .dim)]
    }

    private func line(for entry: TimelineEntry) -> String {
        var text = clock(entry.time) + "  " + who(entry)
        let what = Terminal.printable(entry.what)
        switch entry.kind {
        case .said: text += terminal.styled(what, .bold)
        case .scene: text += terminal.styled("* " + what, .yellow)
        case .log: text += terminal.styled("! " + what, .red)
        case .sent, .received, .device: text += what
        }
        if let bytes = entry.bytes, !bytes.isEmpty { text += "  " + terminal.styled(hex(bytes), .cyan) }
        if let meaning = entry.meaning { text += "  " + terminal.styled(Terminal.printable(meaning), .dim) }
        return text
    }

    private func clock(_ time: Duration) -> String {
        let milliseconds = Int(time / .milliseconds(1))
        let text = JSONLine.fixed(Double(milliseconds) / 1000, digits: 3)
        return terminal.styled(String(repeating: " ", count: max(0, 8 - text.count)) + text + " s", .dim)
    }

    private func who(_ entry: TimelineEntry) -> String {
        let style: Terminal.Style =
            switch entry.kind {
            case .said: .green
            case .sent, .received: .blue
            case .device: .magenta
            case .scene: .yellow
            case .log: .red
            }
        let arrow =
            switch (entry.kind, entry.peer) {
            case (.sent, .some(let peer)): " > " + peer
            case (.received, .some(let peer)): " < " + peer
            default: ""
            }
        return terminal.styled(HelpText.padded(Terminal.printable(entry.actor + arrow) + " ", 24), style)
    }
}

/// At most this many octets are shown in one line.
private let shownOctets = 32

/// `0A 1B 2C`, cut with its length if it is long.
package func hex(_ bytes: [UInt8]) -> String {
    let text = bytes.prefix(shownOctets).map(hexOctet).joined(separator: " ")
    return bytes.count > shownOctets ? text + " ... (\(bytes.count) octets)" : text
}

/// Two digits, upper case.
package func hexOctet(_ octet: UInt8) -> String { (octet < 16 ? "0" : "") + String(octet, radix: 16, uppercase: true) }

extension TimelineEntry {
    /// Whether a reader would take it for the same again. What a program says is never the same again.
    fileprivate func isLike(_ other: TimelineEntry) -> Bool {
        kind != .said && kind == other.kind && actor == other.actor && peer == other.peer && what == other.what
    }

    /// The entry as one line for a program.
    package func json(demo: String) -> String {
        JSONLine([
            "demo": .text(demo), "time": .decimal(time / .seconds(1), digits: 6), "kind": .text(kind.rawValue),
            "actor": .text(actor),
            "peer": peer.map { .text($0) }, "what": .text(what),
            "bytes": bytes.map { .text($0.map(hexOctet).joined()) }, "meaning": meaning.map { .text($0) },
        ]).text
    }
}
