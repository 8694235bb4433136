import BluetoothTool
import Foundation
import Testing

/// What a shell completes: asked of the shell itself, where it is there.
@Suite("Shell completion", .timeLimit(.minutes(60)))
struct CompletionTests {
    /// What bash offers behind these words, of which the last one is to be completed.
    private func offers(_ words: String...) throws -> Set<String> {
        let list = words.map { "'\($0)'" }.joined(separator: " ")
        let script = """
            complete() { :; }
            \(ShellCompletion.bash(CommandSyntax.all))
            COMP_WORDS=(\(list)) COMP_CWORD=\(words.count - 1)
            _ble
            printf '%s\\n' "${COMPREPLY[@]}"
            """
        return Set(try Self.output(of: "bash", ["-c", script]).split(separator: "\n").map(String.init))
    }

    private static func output(of program: String, _ arguments: [String]) throws -> String {
        let process = Process()
        let pipe = Pipe()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = [program] + arguments
        process.standardOutput = pipe
        process.standardError = pipe
        try process.run()
        let data = pipe.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        let text = String(decoding: data, as: UTF8.self)
        #expect(process.terminationStatus == 0, "\(text)")
        return text
    }

    @Test("bash: commands, options, values of options, words of a command")
    func bash() throws {
        #expect(try offers("ble", "so") == ["soak"])
        #expect(try offers("ble", "").isSuperset(of: CommandSyntax.all.map(\.name)))
        #expect(try offers("ble", "soak", "--max") == ["--max-loss", "--max-disconnects"])
        #expect(try offers("ble", "send", "x", "--over", "c") == ["confirmed", "channel"])
        #expect(try offers("ble", "bonds", "re") == ["remove"])
        #expect(try offers("ble", "help", "comp") == ["completion"])
        #expect(try offers("ble", "scan", "--seconds", "").isEmpty)
    }

    @Test("Each shell's script names every command and option", arguments: ["bash", "zsh", "fish"])
    func complete(shell: String) throws {
        var output: [String] = []
        let tool = Tool(
            terminal: Terminal(isInteractive: false), environment: [:], print: { output.append($0) },
            printError: { _ in })
        #expect(tool.run(["completion", shell]) == .success)
        let script = output.joined(separator: "\n")
        for command in CommandSyntax.all {
            #expect(script.contains(command.name), "\(command.name)")
            for option in command.options {
                #expect(script.contains(option.name.dropFirst(2)), "\(command.name) \(option.name)")
            }
        }
        #expect(tool.run(["completion", "dos"]) == .usage)
        // Whether the shell can read it at all.
        let file = NSTemporaryDirectory() + "completion-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: file) }
        try script.write(toFile: file, atomically: true, encoding: .utf8)
        if FileManager.default.isExecutableFile(atPath: "/usr/bin/\(shell)") {
            #expect(try Self.output(of: shell, ["-n", file]).isEmpty)
        }
    }
}
