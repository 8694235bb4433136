import Foundation
import Testing

/// The tables of EveryStepTests are complete: whoever adds an `async` function to the toolkit adds it to a life, which
/// is cancelled after each of its steps, and names it here.
@Suite("What can be cancelled")
struct EntryPointTests {
    /// By the description of a life, what it calls on the side that is cancelled.
    static let exercised: [String: [String]] = [
        "first": ["Central.first(for services, within limit, where matches)"],
        "states": ["Events.AsyncIterator.next()"],
        "waitUntilOn of a central": ["Central.waitUntilOn(within limit)"],
        "sleep": ["Timekeeper.sleep(for duration)"],
        "connect": ["RemotePeripheral.connect(within limit)"],
        "disconnect": ["RemotePeripheral.disconnect(within limit)"],
        "waitForEnd": ["RemotePeripheral.waitForEnd()"],
        "discover": ["RemotePeripheral.discover(_ services, within limit)"],
        "discoverServices": [
            "RemotePeripheral.discoverServices(_ services, within limit)",
            "RemotePeripheral.discoverCharacteristics(_ characteristics, of service, within limit)",
        ],
        "characteristic": ["RemotePeripheral.characteristic(_ uuid, in service, within limit)"],
        "descriptors": [
            "RemotePeripheral.discoverDescriptors(of characteristic, within limit)",
            "RemotePeripheral.read(_ descriptor, within limit)",
        ],
        "read": ["RemotePeripheral.read(_ characteristic, within limit)"],
        "write": ["RemotePeripheral.write(_ data, to characteristic, within limit)"],
        "write to a descriptor": ["RemotePeripheral.write(_ data, to descriptor, within limit)"],
        "writeWithoutResponse": ["RemotePeripheral.writeWithoutResponse(_ data, to characteristic, within limit)"],
        "readRSSI": ["RemotePeripheral.readRSSI(within limit)"],
        "values": ["RemotePeripheral.values(of characteristic, buffer, within limit)"],
        "known values": [
            "RemotePeripheral.read(_ known, within limit)", "RemotePeripheral.values(of known, buffer, within limit)",
            "KnownValues.AsyncIterator.next()",
        ],
        "waitUntilOn of a peripheral": ["LocalPeripheral.waitUntilOn(within limit)"],
        "publish": ["LocalPeripheral.publish(_ service, within limit)"],
        "advertise": ["LocalPeripheral.advertise(name, services, within limit)"],
        "offerChannel": ["LocalPeripheral.offerChannel(isEncrypted, within limit)"],
        "notify": ["LocalPeripheral.notify(_ value, of characteristic, to centrals, within limit)"],
        "a channel": [
            "RemotePeripheral.openChannel(_ psm, within limit)", "Channel.read(upTo count, within limit)",
            "Channel.write(_ data, within limit)",
        ],
        "a supervisor": ["ConnectionSupervisor.waitUntilReady(within limit)", "ConnectionSupervisor.run()"],
        "a stability test": ["SoakTest.run(with peripheral, progress)"],
        "the peer of a stability test": ["SoakPeer.run(on peripheral)"],
        "a server": [
            "MessageServer.run(ready, _ serve)", "TransferReceiver.receive(over link, by time, tell)",
            "PeripheralMessageLink.send(_ message)",
        ],
        "asking whether a link is still there": ["MessageLink.check()", "CentralMessageLink.check()"],
        "a transfer to a peripheral over writes": [
            "TransferSender.send(to peripheral, persistence, wrap, tell)",
            "TransferSender.send(over link, by time, progress)",
            "CentralMessageLink.init(to peripheral, mode, within limit)", "CentralMessageLink.send(_ message)",
        ],
        "a transfer to a peripheral over channel": [
            "ChannelMessageLink.init(to peripheral, within limit)", "ChannelMessageLink.send(_ message)",
        ],
        "a transfer from a peripheral": ["TransferReceiver.receive(from peripheral, persistence, wrap, tell)"],
        "a transfer to whatever central comes": ["TransferSender.send(from peripheral, as name, wrap, tell)"],
    ]

    @Test("Each async function and initializer of the toolkit is cancelled in a life")
    func complete() throws {
        let folder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent().appending(path: "Sources/BluetoothToolkit")
        let walk = FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil)
        var declared: Set<String> = []
        for case let file as URL in try #require(walk) where file.pathExtension == "swift" {
            declared.formUnion(Self.entryPoints(in: try String(contentsOf: file, encoding: .utf8)))
        }
        // The reader of the sources is not blind.
        #expect(declared.count > 40)
        let named = Set(Self.exercised.values.joined())
        #expect(declared.subtracting(named).sorted() == [], "give each a life that is cancelled, and name it here")
        #expect(named.subtracting(declared).sorted() == [], "the toolkit has no such function any more")
        let flows = FlowLife.peripherals + FlowLife.flows
        let lives = Set(CentralLife.all.map(\.testDescription) + flows.map(\.testDescription))
        #expect(Set(Self.exercised.keys).subtracting(lives).sorted() == [], "no life is described so")
    }

    @Test("Functions are found whatever their declaration looks like")
    func reader() {
        let text = """
            public struct Outer: Sendable {
                public struct Inner {
                    public mutating func next() async throws -> Int? { nil }
                }
                public func wait(
                    for time: Duration = .zero,
                    _ body: @escaping @Sendable (Int, Int) async throws -> Void = { _, _ in }
                ) async { }
                public func call(_ body: () async -> Void) {}
                func own() async {}
            }
            extension Other {
                public convenience init(a: Int) async throws {}
            }
            public protocol Link {
                func ask() async
            }
            """
        #expect(
            Self.entryPoints(in: text) == [
                "Outer.Inner.next()", "Outer.wait(for time, _ body)", "Other.init(a)",
            ])
    }

    // MARK: Reading Swift as this package is formatted

    private static func entryPoints(in text: String) -> Set<String> {
        var found: Set<String> = []
        /// The types around, by their indentation.
        var types: [String] = []
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        for (number, line) in lines.enumerated() {
            let depth = line.prefix { $0 == " " }.count / 4
            if let type = line.firstMatch(of: /^ *(?:[a-z]+ )*(?:class|struct|enum|extension|protocol) ([A-Za-z]+)/) {
                types = types.prefix(depth) + [String(type.1)]
            } else if let head = line.firstMatch(of: /^ *public (?:[a-z]+ )*(?:func ([A-Za-z]+)(?:<.*>)?|(init))\(/) {
                let name = head.1 ?? head.2 ?? ""
                let rest = ([line[head.range.upperBound...]] + lines[(number + 1)...].prefix(12)).joined(separator: " ")
                let (parameters, tail) = parameters(rest)
                guard tail.prefix(while: { $0 != "{" }).contains(" async") else { continue }
                let owner = types.prefix(depth).joined(separator: ".")
                found.insert("\(owner).\(name)(\(parameters.joined(separator: ", ")))")
            }
        }
        return found
    }

    /// The parameters' names, up to the closing parenthesis, and what follows it.
    private static func parameters(_ text: String) -> ([String], Substring) {
        var parts = [""]
        var depth = 0
        var place = text.startIndex
        while place < text.endIndex {
            let character = text[place]
            place = text.index(after: place)
            switch character {
            case ")" where depth == 0:
                let names = parts.map { $0.prefix { $0 != ":" }.trimmingCharacters(in: .whitespaces) }
                return (names.filter { !$0.isEmpty }, text[place...])
            case "(", "[", "{": depth += 1
            case ")", "]", "}": depth -= 1
            case "," where depth == 0:
                parts.append("")
                continue
            default: break
            }
            parts[parts.count - 1].append(character)
        }
        return ([], "")
    }
}
