import BluetoothExtensions
import BluetoothToolkit
import CoreBluetooth
import Foundation
import Synchronization

extension CommandSyntax {
    static let pair = CommandSyntax(
        name: "pair", summary: "pair with a device, and keep the bond", operands: "DEVICE", operandCount: 1...1,
        discussion: """
            Connects, encrypts the link with a bond's keys or by a pairing, and says how well it is protected. What a
            person must do is asked on the terminal; --passkey and --yes answer beforehand, for scripts.
            \(DeviceChoice.help)
            Bonds are kept in BLE_STATE, else in ~/.local/state/swift-corebluetooth; "ble bonds" lists them. The
            simulated radio forgets them at the end of the command.
            """,
        options: RunSettings.options(timeout: "60 if left out") + [
            OptionSyntax(
                name: "--capability", value: "KIND",
                help: "what the person here has: none, display, yesno, keyboard or both;\n"
                    + "both on a terminal and with --passkey, else none",
                choices: ["none", "display", "yesno", "keyboard", "both"]),
            OptionSyntax(
                name: "--authenticated", value: nil, help: "fail if somebody in the middle would not be found out"),
            OptionSyntax(name: "--legacy", value: nil, help: "without Secure Connections, as devices before 2014 pair"),
            OptionSyntax(name: "--passkey", value: "DIGITS", help: "what the device shows, if it shows something"),
            OptionSyntax(name: "--yes", value: nil, help: "say yes to what is asked"),
        ],
        examples: [
            ("ble pair KL940704079 --radio simulated", "with a simulated lock"),
            ("ble pair Sensor --authenticated --passkey 123456", "for a script"),
        ])
}

/// `ble pair`.
struct PairCommand {
    private let command: DeviceCommand
    private let policy: PairingPolicy
    private let isAuthenticated: Bool
    private let answers: Answerer.Prepared

    init(tool: Tool, arguments: ParsedArguments) throws(UsageError) {
        command = try DeviceCommand(tool, arguments, timeout: .seconds(60))
        isAuthenticated = arguments.has("--authenticated")
        let passkey = try arguments.number("--passkey", in: 0...999_999)
        answers = Answerer.Prepared(passkey: passkey, saysYes: arguments.has("--yes"))
        let asks = tool.terminal.isInteractive || passkey != nil
        var policy = PairingPolicy(
            capability: try arguments.values["--capability"].map(Self.capability) ?? (asks ? .keyboardDisplay : .none))
        policy.usesSecureConnections = !arguments.has("--legacy")
        policy.requiresAuthentication = isAuthenticated
        self.policy = policy
    }

    private static func capability(_ text: String) throws(UsageError) -> PairingCapability {
        switch text {
        case "none": .none
        case "display": .displayOnly
        case "yesno": .displayYesNo
        case "keyboard": .keyboardOnly
        case "both": .keyboardDisplay
        default: throw UsageError("--capability takes none, display, yesno, keyboard or both, not \"\(text)\"")
        }
    }

    func run() -> ToolStatus {
        let (output, isJSON, policy, isAuthenticated) = (command.output, command.isJSON, policy, isAuthenticated)
        let answerer = Answerer(answers, command.run)
        return command.onLink { central in
            let security = BluetoothSecurity(manager: central.coreBluetoothManager)
            security.delegate = answerer
            security.setPolicy(policy)
            return security
        } _: { peripheral, security in
            do {
                let link = try await security.secure(peripheral, authenticated: isAuthenticated)
                let isBonded =
                    try await security.bonds().contains { $0.id == peripheral.identifier } && !answerer.cannotKeepBonds
                output.line(isJSON ? link.json(isBonded) : "\(peripheral.label): \(link.words(isBonded))")
                return answerer.cannotKeepBonds ? .failure : .success
            } catch let problem as SecurityProblem {
                throw CommandFailure(sentence: "\(peripheral.label) is not paired: \(problem)")
            }
        }
    }
}

extension LinkSecurity {
    /// For people.
    var words: String {
        "encrypted, \(isAuthenticated ? "authenticated" : "not authenticated"), "
            + (isSecureConnections ? "Secure Connections" : "legacy") + ", key of \(keySize * 8) bits (level \(level))"
    }

    fileprivate func words(_ isBonded: Bool) -> String { words + (isBonded ? "; the bond is kept" : "; no bond") }

    var members: JSONLine {
        JSONLine([
            "authenticated": .truth(isAuthenticated), "secureConnections": .truth(isSecureConnections),
            "keySize": .integer(keySize), "level": .integer(level),
        ])
    }

    fileprivate func json(_ isBonded: Bool) -> String {
        var line = JSONLine(["event": .text("secured"), "bonded": .truth(isBonded)])
        line.add(members)
        return line.text
    }
}

/// Answers for the person in front of the terminal, or asks one.
// `@unchecked`: constants, and a lock.
private final class Answerer: BluetoothSecurityDelegate, @unchecked Sendable {
    struct Prepared {
        var passkey: Int?
        var saysYes: Bool
    }

    private let prepared: Prepared
    private let run: CommandRun
    private let hasNoStore = Mutex(false)

    /// Whether the bond lasts for this run only.
    var cannotKeepBonds: Bool { hasNoStore.withLock { $0 } }

    init(_ prepared: Prepared, _ run: CommandRun) {
        self.prepared = prepared
        self.run = run
    }

    func security(_ security: BluetoothSecurity, cannotKeepBonds reason: String) { hasNoStore.withLock { $0 = true } }

    func security(_ security: BluetoothSecurity, asks question: PairingQuestion) {
        switch question.kind {
        case .showPasskey(let passkey): tell("enter \(passkeyText(passkey)) on the device", "show", passkey)
        case .enterPasskey:
            if let passkey = prepared.passkey { return question.enter(passkey: passkey) }
            guard let text = ask("the passkey that the device shows: "), let passkey = Int(text),
                0...999_999 ~= passkey
            else { return refuse(question, "it needs the six digits that the device shows: --passkey DIGITS") }
            question.enter(passkey: passkey)
        case .compare(let number):
            tell("this side shows \(passkeyText(number))", "compare", number)
            confirm(question, "does the device show the same? (y/n) ")
        case .confirm: confirm(question, "pair? (y/n) ")
        }
    }

    private func confirm(_ question: PairingQuestion, _ prompt: String) {
        if prepared.saysYes { return question.accept() }
        guard let text = ask(prompt) else { return refuse(question, "it needs a yes: --yes") }
        if text.lowercased().hasPrefix("y") { question.accept() } else { question.refuse() }
    }

    private func ask(_ prompt: String) -> String? {
        guard run.tool.terminal.isInteractive else { return nil }
        return Prompt.ask(prompt, while: { !run.isStopped })
    }

    private func refuse(_ question: PairingQuestion, _ reason: String) {
        run.output.line(
            run.settings.isJSON
                ? JSONLine(["event": .text("refused"), "reason": .text(reason)]).text : reason)
        question.refuse()
    }

    private func tell(_ sentence: String, _ event: String, _ number: Int) {
        run.output.line(
            run.settings.isJSON
                ? JSONLine(["event": .text(event), "digits": .text(passkeyText(number))]).text : sentence)
    }
}
