extension CommandSyntax {
    static let completion = CommandSyntax(
        name: "completion", summary: "print what makes a shell complete this tool's commands and options",
        operands: "SHELL", operandCount: 1...1, operandChoices: ["bash", "zsh", "fish"],
        discussion: "SHELL is bash, zsh or fish.",
        examples: [
            ("source <(ble completion bash)", "in ~/.bashrc"),
            ("source <(ble completion zsh)", "in ~/.zshrc, behind compinit"),
            ("ble completion fish | source", "in ~/.config/fish/config.fish"),
        ])
}

/// `ble completion`.
enum CompletionCommand {
    static func script(_ arguments: ParsedArguments) throws(UsageError) -> String {
        let shell = arguments.operands[0]
        switch shell {
        case "bash": return ShellCompletion.bash(CommandSyntax.all)
        case "zsh": return ShellCompletion.zsh(CommandSyntax.all)
        case "fish": return ShellCompletion.fish(CommandSyntax.all)
        default: throw UsageError("SHELL is bash, zsh or fish, not \"\(shell)\"")
        }
    }
}

/// Scripts by which shells complete a command line, made of what the commands declare.
package enum ShellCompletion {
    /// What stands for a place in the file system, in the help's words.
    private static let places = ["FILE", "PATH", "FOLDER", "PROFILE", "WORLD"]

    private static func isPlace(_ placeholder: String?) -> Bool {
        places.contains { placeholder?.contains($0) == true }
    }

    private static func firstLine(_ help: String) -> String {
        String(help.prefix { $0 != "\n" }.filter { !"'\"`$\\[]:".contains($0) })
    }

    private static func words(_ choices: [String]) -> String { choices.joined(separator: " ") }

    // MARK: bash

    package static func bash(_ commands: [CommandSyntax]) -> String {
        var lines = [
            "# Completes ble in bash: source <(ble completion bash)",
            "_ble() {",
            "    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} words= files=no",
            "    if [ \"$COMP_CWORD\" -eq 1 ]; then",
            "        words=\"\(words(commands.map(\.name))) --help --version\"",
            "    else",
            "        case ${COMP_WORDS[1]} in",
        ]
        for command in commands {
            lines.append("        \(command.name))")
            lines.append("            case $before in")
            for option in command.options where option.value != nil {
                let action =
                    !option.choices.isEmpty
                    ? "words=\"\(words(option.choices))\"" : isPlace(option.value) ? "files=yes" : ":"
                lines.append("            \(option.name)) \(action) ;;")
            }
            let options = words(command.options.map(\.name) + ["--help"] + operandChoices(command, commands))
            lines.append("            *) words=\"\(options)\"\(isPlace(command.operands) ? "; files=yes" : "") ;;")
            lines.append("            esac")
            lines.append("            ;;")
        }
        lines += [
            "        esac",
            "    fi",
            "    COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))",
            "    if [ $files = yes ] && [[ $word != -* ]]; then COMPREPLY+=($(compgen -f -- \"$word\")); fi",
            "}",
            "complete -o filenames -F _ble ble ./ble",
        ]
        return lines.joined(separator: "\n")
    }

    private static func operandChoices(_ command: CommandSyntax, _ commands: [CommandSyntax]) -> [String] {
        command.name == CommandSyntax.help.name ? commands.map(\.name) : command.operandChoices
    }

    // MARK: zsh

    package static func zsh(_ commands: [CommandSyntax]) -> String {
        var lines = [
            "#compdef ble",
            "# Completes ble in zsh: source <(ble completion zsh)",
            "_ble() {",
            "    if (( CURRENT == 2 )); then",
            "        local -a commands=(",
        ]
        lines += commands.map { "            '\($0.name):\(firstLine($0.summary))'" }
        lines += [
            "        )",
            "        _describe command commands",
            "        return",
            "    fi",
            "    local name=$words[2]",
            "    shift words",
            "    (( CURRENT-- ))",
            "    case $name in",
        ]
        for command in commands {
            var parts = command.options.map { option in
                let head = "'\(option.name)[\(firstLine(option.help))]"
                return option.value.map { head + ":\($0.lowercased()):\(zshAction($0, option.choices))'" }
                    ?? head + "'"
            }
            parts.append("'--help[explain the command]'")
            let choices = operandChoices(command, commands)
            if !choices.isEmpty { parts.append("'1:what:(\(words(choices)))'") }
            if isPlace(command.operands) { parts.append("'*:file:_files'") }
            lines.append("    \(command.name)) _arguments \(parts.joined(separator: " \\\n            ")) ;;")
        }
        lines += ["    esac", "}", "compdef _ble ble"]
        return lines.joined(separator: "\n")
    }

    private static func zshAction(_ value: String, _ choices: [String]) -> String {
        if !choices.isEmpty { return "(\(words(choices.map { $0.replacing(":", with: "\\:") })))" }
        return isPlace(value) ? "_files" : " "
    }

    // MARK: fish

    package static func fish(_ commands: [CommandSyntax]) -> String {
        var lines = [
            "# Completes ble in fish: ble completion fish | source",
            "complete -c ble -f",
        ]
        for command in commands {
            lines.append(
                "complete -c ble -n __fish_use_subcommand -a \(command.name) -d '\(firstLine(command.summary))'")
            let condition = "-n '__fish_seen_subcommand_from \(command.name)'"
            for option in command.options {
                var line = "complete -c ble \(condition) -l \(option.name.dropFirst(2))"
                if option.value != nil { line += isPlace(option.value) ? " -r -F" : " -x" }
                if !option.choices.isEmpty { line += " -a '\(words(option.choices))'" }
                lines.append(line + " -d '\(firstLine(option.help))'")
            }
            let choices = operandChoices(command, commands)
            if !choices.isEmpty { lines.append("complete -c ble \(condition) -a '\(words(choices))'") }
            if isPlace(command.operands) { lines.append("complete -c ble \(condition) -F") }
        }
        return lines.joined(separator: "\n")
    }
}
