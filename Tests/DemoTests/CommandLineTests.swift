import BluetoothTool
import Testing

@Suite("Command line")
struct CommandLineTests {
    private func run(_ arguments: String...) -> (output: String, errors: String, status: ToolStatus) {
        var output: [String] = []
        var errors: [String] = []
        let tool = Tool(
            terminal: Terminal(isInteractive: false), environment: [:], print: { output.append($0) },
            printError: { errors.append($0) })
        let status = tool.run(arguments)
        return (output.joined(separator: "\n"), errors.joined(separator: "\n"), status)
    }

    @Test("An unknown option or command is an error that suggests")
    func suggestions() {
        #expect(run("demo", "--sed", "1").errors.contains("unknown option --sed; did you mean --seed?"))
        #expect(run("demo", "--sed", "1").status == .usage)
        #expect(run("scna").errors.contains("unknown command scna; did you mean scan?"))
        #expect(run("--vresion").errors.contains("unknown option --vresion; did you mean --version?"))
        #expect(run("demo", "lcok").errors.contains("there is no demo lcok; did you mean lock?\n"))
        #expect(run("demo", "bicycle").errors.contains("the demos are lock, roles, smallest, which"))
    }

    @Test("Values are looked at before anything happens")
    func values() {
        #expect(run("scan", "--seconds", "0").errors.contains("--seconds takes a number in 1...86400, not \"0\""))
        #expect(run("scan", "--seconds").errors.contains("--seconds needs a value"))
        #expect(run("scan", "--service", "xyz").status == .usage)
        // Digits, but not those of a UUID.
        #expect(run("scan", "--service", "１８０Ｄ").status == .usage)
        #expect(run("air", "--unix", "").errors.contains("--unix needs a path"))
        #expect(run("scan", "--json=yes").errors.contains("--json takes no value"))
        #expect(run("scan", "here").errors.contains("\"here\" is one argument too many"))
        #expect(run("browse").errors.contains("DEVICE is missing"))
        #expect(run("read", "Strap").errors.contains("ble: CHARACTERISTIC is missing"))
        #expect(run("write", "Strap").errors.contains("ble: CHARACTERISTIC and VALUE are missing"))
        #expect(run("help", "scna").errors.hasSuffix("Try \"ble help\"."))
        #expect(run("demo", "--seed", "-1").status == .usage)
        #expect(run("scan", "--radio", "teapot:1").status == .usage)
    }

    @Test("A demo that needs its own world takes no other radio")
    func ownWorld() {
        for demo in Demo.all where demo.needsOwnWorld {
            let refused = run("demo", demo.name, "--radio", "unix:/nowhere")
            #expect(refused.status == .usage && refused.errors.contains("a world of its own: leave --radio out"))
        }
        #expect(Demo.all.filter(\.needsOwnWorld).map(\.name) == ["rules", "mistakes", "resume"])
    }

    @Test("Help tells about the tool and each command")
    func help() {
        #expect(run().output == run("--help").output)
        #expect(run("help").status == .success)
        for command in CommandSyntax.all {
            #expect(run("help").output.contains(command.summary))
            let text = run("help", command.name).output
            #expect(text == run(command.name, "--help").output)
            for option in command.options { #expect(text.contains(option.name)) }
            #expect(text.contains("EXIT STATUS"))
        }
        #expect(run("help").output.split(separator: "\n").allSatisfy { $0.count <= 100 })
        #expect(run("--version").output == "ble \(Tool.version)")
    }

    @Test("Options may stand anywhere, and -- ends them")
    func order() throws {
        let parsed = try CommandSyntax.demo.parse(["--seed=3", "lock", "--json"])
        #expect(parsed.operands == ["lock"])
        #expect(parsed.values == ["--seed": "3"])
        #expect(parsed.switches == ["--json"])
        #expect(try CommandSyntax.demo.parse(["--", "--json"]).operands == ["--json"])
    }
}
