import BluetoothTool
import Foundation
import Synchronization

// A standard file that is closed must not become whatever is opened next: writing to it fails, as it should.
for descriptor in STDIN_FILENO...STDERR_FILENO where fcntl(descriptor, F_GETFD) < 0 {
    _ = unsafe open("/dev/null", O_RDONLY)
}

// Whoever reads the output may go: then writing fails, and the command puts things in order.
signal(SIGPIPE, SIG_IGN)

// There is nowhere left to tell that this failed.
func complain(_ line: String) { _ = LineFile.standardError.write(line) }

let environment = ProcessInfo.processInfo.environment
let interruption = Interruption()
// Line by line also into a pipe, so that `ble scan --json | script` follows at once.
let output = CommandOutput(.standardOutput, interruption, complain: complain) { exit(ToolStatus.failure.rawValue) }
let tool = Tool(
    terminal: .standardOutput(environment: environment), environment: environment, interruption: interruption,
    print: output.write, printError: complain)

// Ctrl-C: let the command put things in order, or leave the line that it was pressed on; the status says what happened.
// Being asked to end is the same to us.
// Who asks a second time does not want to wait for that.
let hasAsked = Atomic(false)
let sources = [SIGINT, SIGTERM].map { number in
    let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
    // Dispatch takes the signal over when the source is there. Until then it does what signals do: if it were ignored
    // before, one that comes in between would be lost.
    source.setEventHandler { [interruption] in
        let isFirst = !hasAsked.exchange(true, ordering: .relaxed)
        if isFirst && interruption.interrupt() { return }
        _ = LineFile.standardOutput.write("")
        exit(ToolStatus.interrupted.rawValue)
    }
    source.resume()
    return source
}

exit(output.status(after: tool.run(Array(CommandLine.arguments.dropFirst()))).rawValue)
