/// The help of the tool, and of each command.
package enum HelpText {
    package static func tool(_ commands: [CommandSyntax]) -> String {
        let width = commands.map(\.name.count).max() ?? 0
        let list = commands.map { "  " + padded($0.name, width) + "  " + $0.summary }.joined(separator: "\n")
        return """
            ble - Bluetooth Low Energy on Linux, by Apple's CoreBluetooth

            USAGE
              ble COMMAND [OPTIONS]

            COMMANDS
            \(list)

            OPTIONS
              --help     this text; "ble help COMMAND" tells more about one command
              --version  the version

            RADIO
            \(radio)

            \(ToolStatus.explanation)
            """
    }

    package static func command(_ command: CommandSyntax) -> String {
        var text = "ble \(command.name) - \(command.summary)\n\nUSAGE\n  ble \(command.name)"
        if !command.operands.isEmpty { text += " " + command.operands }
        if !command.options.isEmpty { text += " [OPTIONS]" }
        if !command.discussion.isEmpty { text += "\n\n" + command.discussion }
        if !command.options.isEmpty { text += "\n\nOPTIONS\n" + options(command.options) }
        if command.options.contains(where: { $0.name == "--radio" }) { text += "\n\nRADIO\n" + radio }
        if !command.examples.isEmpty {
            let width = command.examples.map(\.line.count).max() ?? 0
            let lines = command.examples.map { "  " + padded($0.line, width) + "  " + $0.meaning }
            text += "\n\nEXAMPLES\n" + lines.joined(separator: "\n")
        }
        return text + "\n\n" + ToolStatus.explanation
    }

    private static func options(_ options: [OptionSyntax]) -> String {
        let names = options.map { option in option.name + (option.value.map { " " + $0 } ?? "") }
        let width = names.map(\.count).max() ?? 0
        return zip(names, options).map { name, option in
            let lines = option.help.split(separator: "\n")
            let indent = "\n" + String(repeating: " ", count: width + 4)
            return "  " + padded(name, width) + "  " + lines.joined(separator: indent)
        }
        .joined(separator: "\n")
    }

    /// How the one radio is named, in the option and in the environment.
    private static let radio = """
          --radio ADDRESS names the radio. Without it the environment variable BLE_RADIO does, but not for
          "ble demo", which then plays in a world of its own:
            simulated              radio, time and devices in this process; needs no hardware
            simulated:FILE         the same, in the world of a file; see "ble help simulate"
            hci:NUMBER             an adapter of this machine, also hci:ADDRESS; see "ble adapters"
            serial:DEVICE@BAUD     a controller on a serial line, H4
            tcp:HOST:PORT          a controller that speaks HCI (H4) over TCP, such as RootCanal
            unix:PATH              the same over a Unix socket
        """

    package static func padded(_ text: String, _ width: Int) -> String {
        text + String(repeating: " ", count: max(0, width - text.count))
    }
}
