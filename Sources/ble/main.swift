import BluetoothTool
import Foundation

// Output is written line by line also into a pipe, so that `ble scan --json | script` follows at once.
unsafe setvbuf(stdout, nil, _IOLBF, 0)
let environment = ProcessInfo.processInfo.environment
let tool = Tool(
    terminal: .standardOutput(environment: environment), environment: environment, print: { print($0) },
    printError: { FileHandle.standardError.write(Data(($0 + "\n").utf8)) })

// Ctrl-C: leave the line that it was pressed on, and say by the status what happened.
signal(SIGINT, SIG_IGN)
let interrupt = DispatchSource.makeSignalSource(signal: SIGINT, queue: .global())
interrupt.setEventHandler {
    print()
    exit(ExitStatus.interrupted.rawValue)
}
interrupt.resume()

exit(tool.run(Array(CommandLine.arguments.dropFirst())).rawValue)
