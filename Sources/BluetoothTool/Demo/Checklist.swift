/// Something that a row of the tutorials promises, and whether it happened.
package struct Check: Equatable, Sendable {
    /// The row: `A1`.
    package var row: String
    package var promise: String
    package var isKept: Bool
    /// What was seen: the evidence, or what came instead.
    package var observed: String

    package init(_ row: String, _ promise: String, _ isKept: Bool, _ observed: String) {
        self.row = row
        self.promise = promise
        self.isKept = isKept
        self.observed = observed
    }

    package func line(on terminal: Terminal) -> String {
        let mark = isKept ? terminal.styled("\u{2713}", .green) : terminal.styled("\u{2717} NOT KEPT", .red)
        let evidence = terminal.styled(Terminal.printable(observed), .dim)
        return "  \(HelpText.padded(row, 3)) \(mark)  \(promise): \(evidence)"
    }

    package func json(demo: String) -> String {
        JSONLine([
            "demo": .text(demo), "row": .text(row), "promise": .text(promise), "kept": .truth(isKept),
            "observed": .text(observed),
        ]).text
    }
}
