import Foundation

/// The `ble` tool: arguments in, text out.
package struct Tool {
    package static let version = "0.1.0"

    package var terminal: Terminal
    package var environment: [String: String]
    package var print: (String) -> Void
    package var printError: (String) -> Void
    package let interruption: Interruption

    package init(
        terminal: Terminal, environment: [String: String], interruption: Interruption = Interruption(),
        print: @escaping (String) -> Void, printError: @escaping (String) -> Void
    ) {
        self.terminal = terminal
        self.environment = environment
        self.interruption = interruption
        self.print = print
        self.printError = printError
    }

    /// Does what the command line says; returns what the process is to end with.
    package func run(_ arguments: [String]) -> ToolStatus {
        do {
            return try dispatch(arguments)
        } catch {
            let sentence = Terminal.printable(error.message)
            guard error.status == .usage else {
                printError("ble: \(sentence)")
                return error.status
            }
            printError("ble: \(sentence)\(sentence.hasSuffix("?") ? "" : ".")")
            let others = CommandSyntax.all.filter { $0.name != CommandSyntax.help.name }
            let command = arguments.first.flatMap { name in others.first { $0.name == name } }
            printError("Try \"ble help\(command.map { " " + $0.name } ?? "")\".")
            return .usage
        }
    }

    private func dispatch(_ arguments: [String]) throws(UsageError) -> ToolStatus {
        guard let name = arguments.first else { return say(HelpText.tool(CommandSyntax.all)) }
        let rest = arguments.dropFirst()
        switch name {
        case "--version": return say("ble \(Self.version)")
        case "--help", "-h": return say(HelpText.tool(CommandSyntax.all))
        default: break
        }
        let command = try command(named: name)
        if rest.prefix(while: { $0 != "--" }).contains(where: { $0 == "--help" || $0 == "-h" }) {
            return say(HelpText.command(command))
        }
        let parsed = try command.parse(rest)
        return switch command.name {
        case CommandSyntax.help.name: try help(parsed)
        case CommandSyntax.demo.name: try DemoCommand(tool: self, arguments: parsed).run()
        case CommandSyntax.air.name: try AirCommand(tool: self, arguments: parsed).run()
        case CommandSyntax.adapters.name: AdaptersCommand(tool: self, arguments: parsed).run()
        case CommandSyntax.scan.name: try ScanCommand(tool: self, arguments: parsed).run()
        case CommandSyntax.connect.name: try ConnectCommand(tool: self, arguments: parsed).run()
        case CommandSyntax.browse.name: try BrowseCommand(tool: self, arguments: parsed).run()
        case CommandSyntax.read.name: try ReadCommand(tool: self, arguments: parsed).run()
        case CommandSyntax.write.name: try WriteCommand(tool: self, arguments: parsed).run()
        case CommandSyntax.subscribe.name: try SubscribeCommand(tool: self, arguments: parsed).run()
        case CommandSyntax.advertise.name: try AdvertiseCommand(tool: self, arguments: parsed).run()
        case CommandSyntax.serve.name: try ServeCommand(tool: self, arguments: parsed).run()
        case CommandSyntax.send.name: try SendCommand(tool: self, arguments: parsed).run()
        case CommandSyntax.receive.name: try ReceiveCommand(tool: self, arguments: parsed).run()
        case CommandSyntax.pair.name: try PairCommand(tool: self, arguments: parsed).run()
        case CommandSyntax.bonds.name: try BondsCommand(tool: self, arguments: parsed).run()
        case CommandSyntax.capture.name: try CaptureCommand(tool: self, arguments: parsed).run()
        case CommandSyntax.completion.name: say(try CompletionCommand.script(parsed))
        case CommandSyntax.soak.name: try SoakCommand(tool: self, arguments: parsed).run()
        case CommandSyntax.simulate.name: try SimulateCommand(tool: self, arguments: parsed).run()
        case CommandSyntax.doctor.name: try DoctorCommand(tool: self, arguments: parsed).run()
        default: preconditionFailure("\(command.name) is declared, but nothing carries it out.")
        }
    }

    private func command(named name: String) throws(UsageError) -> CommandSyntax {
        if let command = CommandSyntax.all.first(where: { $0.name == name }) { return command }
        let kind = name.hasPrefix("-") ? "option" : "command"
        let candidates = CommandSyntax.all.map(\.name) + ["--help", "--version"]
        let suggestion = Spelling.nearest(to: name, among: candidates).map { "; did you mean \($0)?" }
        throw UsageError("unknown \(kind) \(name)" + (suggestion ?? ""))
    }

    private func help(_ parsed: ParsedArguments) throws(UsageError) -> ToolStatus {
        guard let name = parsed.operands.first else { return say(HelpText.tool(CommandSyntax.all)) }
        return say(HelpText.command(try command(named: name)))
    }

    private func say(_ text: String) -> ToolStatus {
        print(text)
        return .success
    }
}
