import BluetoothExtensions
import BluetoothToolkit
import CoreBluetooth
import Foundation
import Simulation

extension CommandSyntax {
    static let bonds = CommandSyntax(
        name: "bonds", summary: "list, show, remove, export and import the bonds of an adapter",
        operands: "[list | show DEVICE | remove DEVICE | export PATH | import PATH]", operandCount: 0...2,
        operandChoices: ["list", "show", "remove", "export", "import"],
        discussion: """
            Bonds belong to the adapter that made them. DEVICE is a name, an identifier, or an address like
            AA:BB:CC:DD:EE:FF. After "remove" the device has to be told to forget its side, too.

            "export" writes all bonds, with their keys, into files that only their owner can read: ours and Bumble's
            form are one file, BlueZ's are files ADAPTER/DEVICE/info below the folder PATH. "import" takes all of them
            or none, in place of those with the same devices.
            """,
        options: RunSettings.options(timeout: "60 if left out") + [
            OptionSyntax(
                name: "--format", value: "FORMAT", help: "of the files: ours (if left out), bumble or bluez",
                choices: ["ours", "bumble", "bluez"])
        ],
        examples: [
            ("ble bonds", "who is bonded"),
            ("ble bonds remove Sensor", "pair with it anew next time"),
            ("ble bonds import /var/lib/bluetooth --format bluez", "go on with BlueZ's bonds"),
        ])
}

/// `ble bonds`.
struct BondsCommand {
    private enum Action {
        case list
        case show(String), remove(String), export(String), take(String)
    }

    private let command: CommandRun
    private let action: Action
    private let format: BondFileFormat

    init(tool: Tool, arguments: ParsedArguments) throws(UsageError) {
        command = CommandRun(tool: tool, settings: try RunSettings(tool, arguments, timeout: .seconds(60)))
        action = try Self.action(arguments.operands)
        format =
            switch arguments.values["--format"] {
            case "ours", nil: .ours
            case "bumble": .bumble
            case "bluez": .blueZ
            case let other?: throw UsageError("--format takes ours, bumble or bluez, not \"\(other)\"")
            }
    }

    private static func action(_ operands: [String]) throws(UsageError) -> Action {
        let verbs = ["list", "show", "remove", "export", "import"]
        guard let verb = operands.first else { return .list }
        guard verbs.contains(verb) else {
            let suggestion = Spelling.nearest(to: verb, among: verbs).map { "; did you mean \($0)?" }
            throw UsageError("bonds has no \"\(verb)\"" + (suggestion ?? ""))
        }
        guard verb != "list" else {
            guard operands.count == 1 else { throw UsageError("list takes nothing") }
            return .list
        }
        guard operands.count == 2 else {
            throw UsageError("\(verb) needs a \(verb == "show" || verb == "remove" ? "DEVICE" : "PATH")")
        }
        guard !operands[1].isEmpty else { throw UsageError("what \(verb) is to work on is empty") }
        return switch verb {
        case "show": .show(operands[1])
        case "remove": .remove(operands[1])
        case "export": .export(operands[1])
        default: .take(operands[1])
        }
    }

    func run() -> ToolStatus {
        let (action, format, teller) = (action, format, BondTeller(command))
        return command.run { time in
            let central = Central(time: time)
            try await central.waitUntilOn()
            let security = BluetoothSecurity(manager: central.coreBluetoothManager)
            switch action {
            case .list: teller.list(try await security.bonds())
            case .show(let device): teller.show(try Self.bond(device, try await security.bonds()))
            case .remove(let device):
                let bond = try Self.bond(device, try await security.bonds())
                try await security.removeBond(of: bond.id)
                teller.removed(bond)
            case .export(let path):
                let count = try await security.bonds().count
                try Self.write(try await security.export(as: format), to: path, isFolder: format == .blueZ)
                teller.moved("exported", count, path)
            case .take(let path):
                let documents = try Self.documents(at: path, isFolder: format == .blueZ)
                do {
                    try await security.take(documents, as: format)
                } catch let error as CBError {
                    let reason = (error as NSError).localizedFailureReason ?? error.localizedDescription
                    throw CommandFailure(sentence: reason.hasSuffix(".") ? String(reason.dropLast()) : reason)
                }
                teller.moved("imported", documents.count, path)
            }
            return .success
        }
    }

    private static func bond(_ device: String, _ bonds: [BondedPeer]) throws -> BondedPeer {
        let choice = DeviceChoice(device)
        let matches = bonds.filter { bond in
            switch choice {
            case .any: true
            case .identifier(let identifier): bond.id == identifier
            case .address(let address): bond.address == address.description
            case .name(let name): bond.name?.lowercased() == name.lowercased()
            }
        }
        guard let first = matches.first else { throw CommandFailure(sentence: "there is no bond with \(choice)") }
        guard matches.count == 1 else {
            let addresses = matches.map(\.address).joined(separator: ", ")
            throw CommandFailure(sentence: "there are \(matches.count) bonds with \(choice); say which: \(addresses)")
        }
        return first
    }

    // MARK: Files

    private static func write(_ documents: [BondDocument], to path: String, isFolder: Bool) throws {
        let target = URL(fileURLWithPath: path)
        for document in documents {
            let file = isFolder ? target.appendingPathComponent(document.path) : target
            do {
                if isFolder {
                    try FileManager.default.createDirectory(
                        at: file.deletingLastPathComponent(), withIntermediateDirectories: true,
                        attributes: [.posixPermissions: 0o700])
                }
            } catch {
                throw CommandFailure(sentence: "\(file.path) cannot be written: \(fileTrouble(error))")
            }
            try OwnerFile.write(document.contents, to: file.path)
        }
    }

    private static func documents(at path: String, isFolder: Bool) throws -> [BondDocument] {
        var isDirectory: Bool = false
        var flag: ObjCBool = false
        let exists = unsafe FileManager.default.fileExists(atPath: path, isDirectory: &flag)
        isDirectory = flag.boolValue
        guard exists else { throw CommandFailure(sentence: "\(path) is not there; check the path") }
        guard isFolder, isDirectory else { return [try document(path, at: path)] }
        // ADAPTER/DEVICE/info, or DEVICE/info, or info: as much as was named.
        let names = (FileManager.default.subpaths(atPath: path) ?? []).sorted().filter {
            ($0 as NSString).lastPathComponent == "info"
        }
        guard !names.isEmpty else { throw CommandFailure(sentence: "below \(path) is no file named info") }
        return try names.map { name in
            let whole = (path as NSString).appendingPathComponent(name)
            return try document(whole, at: whole)
        }
    }

    private static func document(_ path: String, at place: String) throws -> BondDocument {
        do {
            return BondDocument(path: path, contents: try Data(contentsOf: URL(fileURLWithPath: place)))
        } catch {
            throw CommandFailure(sentence: "\(place) cannot be read: \(fileTrouble(error))")
        }
    }
}

/// Tells of bonds, in words or JSON. Keys are never told.
private struct BondTeller: Sendable {
    let output: LiveOutput
    let isJSON: Bool

    init(_ command: CommandRun) {
        output = command.output
        isJSON = command.settings.isJSON
    }

    func list(_ bonds: [BondedPeer]) {
        for bond in bonds {
            output.line(
                isJSON
                    ? json("bond", bond)
                    : "\(bond.address)  \(bond.id.uuidString)  \(label(bond))  level \(bond.security.level)")
        }
        if !isJSON { output.line(bonds.count == 1 ? "1 bond" : "\(bonds.count) bonds") }
    }

    func show(_ bond: BondedPeer) {
        guard !isJSON else { return output.line(json("bond", bond)) }
        output.line(label(bond))
        output.line("  address     \(bond.address), \(bond.isPublicAddress ? "public" : "static random")")
        output.line("  identifier  \(bond.id.uuidString)")
        output.line("  keys        \(bond.security.words)")
    }

    func removed(_ bond: BondedPeer) {
        output.line(
            isJSON
                ? json("removed", bond)
                : "the bond with \(label(bond)) is removed; the device may have to be told to forget its side")
    }

    func moved(_ event: String, _ count: Int, _ path: String) {
        output.line(
            isJSON
                ? JSONLine(["event": .text(event), "count": .integer(count), "path": .text(path)]).text
                : "\(event): \(count == 1 ? "1 bond" : "\(count) bonds"), \(path)")
    }

    private func label(_ bond: BondedPeer) -> String { bond.name.map { "\"\(Terminal.printable($0))\"" } ?? "-" }

    private func json(_ event: String, _ bond: BondedPeer) -> String {
        var line = JSONLine([
            "event": .text(event), "address": .text(bond.address), "public": .truth(bond.isPublicAddress),
            "identifier": .text(bond.id.uuidString), "name": bond.name.map { .text($0) },
        ])
        line.add(bond.security.members)
        return line.text
    }
}
