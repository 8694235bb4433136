import Glibc

/// What the output goes to, and so how it may look.
package struct Terminal: Sendable {
    /// Whether colours and redrawing make sense.
    package var isInteractive: Bool
    package var columns: Int
    package var rows: Int

    package init(isInteractive: Bool, columns: Int = 100, rows: Int = 40) {
        self.isInteractive = isInteractive
        self.columns = columns
        self.rows = rows
    }

    /// Standard output. `NO_COLOR` and a dumb terminal are respected.
    package static func standardOutput(environment: [String: String]) -> Terminal {
        var size = winsize()
        let isTerminal = isatty(STDOUT_FILENO) == 1
        let hasSize = unsafe ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0 && size.ws_col > 0
        let wantsColour = environment["NO_COLOR", default: ""].isEmpty && environment["TERM"] != "dumb"
        guard hasSize else { return Terminal(isInteractive: isTerminal && wantsColour) }
        return Terminal(
            isInteractive: isTerminal && wantsColour, columns: Int(size.ws_col), rows: Int(size.ws_row))
    }

    package enum Style: String, Sendable {
        case bold = "1"
        case dim = "2"
        case red = "31"
        case green = "32"
        case yellow = "33"
        case blue = "34"
        case magenta = "35"
        case cyan = "36"
    }

    /// What takes the cursor up by so many lines and wipes everything from there.
    package static func wiped(_ lines: Int) -> String { lines > 0 ? "\u{1B}[\(lines)A\u{1B}[J" : "" }

    /// Text from the air without what would steer the terminal: control and formatting characters are replaced.
    package static func printable(_ text: String) -> String {
        String(
            String.UnicodeScalarView(
                text.unicodeScalars.map { scalar in
                    switch scalar.properties.generalCategory {
                    case .control, .format, .lineSeparator, .paragraphSeparator: "\u{FFFD}"
                    default: scalar
                    }
                }))
    }

    package func styled(_ text: String, _ style: Style) -> String {
        isInteractive ? "\u{1B}[\(style.rawValue)m\(text)\u{1B}[0m" : text
    }
}
