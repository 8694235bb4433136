import BluetoothTool
import Foundation

// Line by line also into a pipe, so that `ble scan --json | script` follows at once.
func write(_ line: String, to file: FileHandle) { file.write(Data((line + "\n").utf8)) }

let environment = ProcessInfo.processInfo.environment
let tool = Tool(
    terminal: .standardOutput(environment: environment), environment: environment,
    print: { write($0, to: .standardOutput) }, printError: { write($0, to: .standardError) })

// Ctrl-C: leave the line that it was pressed on, and say by the status what happened.
signal(SIGINT, SIG_IGN)
let interrupt = DispatchSource.makeSignalSource(signal: SIGINT, queue: .global())
interrupt.setEventHandler {
    write("", to: .standardOutput)
    exit(ToolStatus.interrupted.rawValue)
}
interrupt.resume()

exit(tool.run(Array(CommandLine.arguments.dropFirst())).rawValue)
