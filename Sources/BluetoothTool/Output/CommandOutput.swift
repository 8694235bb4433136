import Glibc

/// What a command has to say, as long as there is somebody to read it.
///
/// When it cannot be written any more, the command is interrupted as by Ctrl-C, so that it leaves no half capture and
/// no socket behind; one that has nothing to put in order ends at once.
package final class CommandOutput {
    private let file: LineFile
    private let interruption: Interruption
    private let complain: (String) -> Void
    private let leave: () -> Void
    private var hasFailed = false

    /// - Parameters:
    ///   - complain: takes a line for a person.
    ///   - leave: ends the process.
    package init(
        _ file: LineFile, _ interruption: Interruption, complain: @escaping (String) -> Void,
        leave: @escaping () -> Void
    ) {
        self.file = file
        self.interruption = interruption
        self.complain = complain
        self.leave = leave
    }

    package func write(_ line: String) {
        guard !hasFailed, let problem = file.write(line) else { return }
        hasFailed = true
        // Who has read enough, as `head` does, knows.
        if problem != LineFile.readerIsGone { complain("ble: the output cannot be written: \(problem)") }
        if !interruption.interrupt() { leave() }
    }

    /// What the process is to end with.
    package func status(after status: ToolStatus) -> ToolStatus { hasFailed ? .failure : status }
}
