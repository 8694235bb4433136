import BluetoothTool
import Foundation

// Line by line also into a pipe, so that `ble scan --json | script` follows at once.
func write(_ line: String, to file: FileHandle) { file.write(Data((line + "\n").utf8)) }

let environment = ProcessInfo.processInfo.environment
let tool = Tool(
    terminal: .standardOutput(environment: environment), environment: environment,
    print: { write($0, to: .standardOutput) }, printError: { write($0, to: .standardError) })

// Ctrl-C: let the command put things in order, or leave the line that it was pressed on; the status says what happened.
// Being asked to end is the same to us.
let sources = [SIGINT, SIGTERM].map { number in
    signal(number, SIG_IGN)
    let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
    source.setEventHandler { [interruption = tool.interruption] in
        if interruption.interrupt() { return }
        write("", to: .standardOutput)
        exit(ToolStatus.interrupted.rawValue)
    }
    source.resume()
    return source
}

exit(tool.run(Array(CommandLine.arguments.dropFirst())).rawValue)
