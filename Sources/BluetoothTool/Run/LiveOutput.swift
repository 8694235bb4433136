import Foundation
import Synchronization

/// What a command's async code has to say, for the main thread, which alone writes.
final class LiveOutput: Sendable {
    private struct State {
        var lines: [String] = []
        var progress: String?
    }

    private let state = Mutex(State())

    func line(_ text: String) { state.withLock { $0.lines.append(text) } }

    /// A line that the next one of its kind replaces; shown on a terminal only.
    func progress(_ text: String) { state.withLock { $0.progress = text } }

    fileprivate func take() -> (lines: [String], progress: String?) {
        state.withLock { state in
            defer { state = State() }
            return (state.lines, state.progress)
        }
    }
}

/// Writes what ``LiveOutput`` has collected; on the main thread.
struct LiveWriter {
    let tool: Tool
    let output: LiveOutput
    private var hasProgress = false

    init(_ tool: Tool, _ output: LiveOutput) {
        self.tool = tool
        self.output = output
    }

    mutating func write() {
        let (lines, progress) = output.take()
        if !lines.isEmpty || progress != nil { wipe() }
        for line in lines { tool.print(line) }
        guard tool.terminal.isInteractive, let progress else { return }
        tool.print(String(progress.prefix(max(1, tool.terminal.columns - 1))))
        hasProgress = true
    }

    /// Takes the line of progress away.
    mutating func wipe() {
        guard hasProgress else { return }
        // Printing ends a line, so that one line more is wiped than there is.
        tool.print(Terminal.wiped(1) + "\u{1B}[1A")
        hasProgress = false
    }
}
