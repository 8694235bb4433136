import BluetoothTool
import Foundation

// Line by line also into a pipe, so that `ble scan --json | script` follows at once.
func say(_ line: String) {
    guard let problem = LineFile.standardOutput.write(line) else { return }
    complain("ble: the output cannot be written: \(problem)")
    exit(ToolStatus.failure.rawValue)
}

// There is nowhere left to tell that this failed.
func complain(_ line: String) { _ = LineFile.standardError.write(line) }

let environment = ProcessInfo.processInfo.environment
let tool = Tool(
    terminal: .standardOutput(environment: environment), environment: environment,
    print: say, printError: complain)

// Ctrl-C: let the command put things in order, or leave the line that it was pressed on; the status says what happened.
// Being asked to end is the same to us.
let sources = [SIGINT, SIGTERM].map { number in
    signal(number, SIG_IGN)
    let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
    source.setEventHandler { [interruption = tool.interruption] in
        if interruption.interrupt() { return }
        _ = LineFile.standardOutput.write("")
        exit(ToolStatus.interrupted.rawValue)
    }
    source.resume()
    return source
}

exit(tool.run(Array(CommandLine.arguments.dropFirst())).rawValue)
