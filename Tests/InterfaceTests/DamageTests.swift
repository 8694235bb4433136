import Foundation
import Testing

/// The test of the test: what is damaged on purpose is found, by its name and in a sentence.
@Suite("The interface test finds")
struct DamageTests {
    struct Damage: CustomTestStringConvertible, Sendable {
        var testDescription: String
        /// The inventory's text, and what becomes of it.
        var old: String
        var new: String
        var sentence: String
    }

    static let damages = [
        Damage(
            testDescription: "a missing method", old: "open func stopScan()", new: "open func stopScan(at time: Date)",
            sentence: """
                CBCentralManager.stopScan is declared as `func stopScan()`; Apple's is `func stopScan(at time: Date)`.
                """),
        Damage(
            testDescription: "another label", old: "open func add(_ service:", new: "open func add(service:",
            sentence: """
                CBPeripheralManager.add is declared as `func add(_ service: CBMutableService)`; Apple's is \
                `func add(service: CBMutableService)`.
                """),
        Damage(
            testDescription: "what is absent altogether", old: "    open func readRSSI()",
            new: "    open func readRSSI()\n    open func isConnected() -> Bool",
            sentence: "CBPeripheral.isConnected is missing: Apple declares `func isConnected() -> Bool`."),
        Damage(
            testDescription: "another optionality", old: "open var name: String? { get }",
            new: "open var name: String { get }",
            sentence: """
                CBPeripheral.name is declared as `var name: String? { get }`; Apple's is `var name: String { get }`.
                """),
        Damage(
            testDescription: "a missing setter", old: "open var isAdvertising: Bool { get }",
            new: "open var isAdvertising: Bool",
            sentence: """
                CBPeripheralManager.isAdvertising is declared as `var isAdvertising: Bool { get }`; Apple's is \
                `var isAdvertising: Bool { get set }`.
                """),
        Damage(
            testDescription: "another kind of type", old: "public struct CBAttributePermissions : OptionSet {",
            new: "public enum CBAttributePermissions : OptionSet {",
            sentence: """
                CBAttributePermissions is declared as `struct CBAttributePermissions`; Apple's is \
                `enum CBAttributePermissions`.
                """),
        Damage(
            testDescription: "another superclass", old: "open class CBCentral : CBPeer {",
            new: "open class CBCentral : CBManager {",
            sentence: "CBCentral does not inherit from or conform to CBManager; Apple's does."),
        Damage(
            testDescription: "a missing conformance", old: "open class CBUUID : NSObject, NSCopying {",
            new: "open class CBUUID : NSObject, NSCopying, NSSecureCoding {",
            sentence: "CBUUID does not inherit from or conform to NSSecureCoding; Apple's does."),
        Damage(
            testDescription: "closed access", old: "public init(type UUID: CBUUID, value: Any?)",
            new: "open init(type UUID: CBUUID, value: Any?)",
            sentence: "CBMutableDescriptor.init is public; Apple's is open, and apps subclass it."),
        Damage(
            testDescription: "a requirement too optional",
            old: "optional func centralManager(_ central: "
                + "CBCentralManager, didConnect",
            new: "func centralManager(_ central: CBCentralManager, didConnect",
            sentence: "CBCentralManagerDelegate.centralManager has a default; Apple demands it of every delegate."),
        Damage(
            testDescription: "a requirement too strict",
            old: "    func peripheralManagerDidUpdateState", new: "    optional func peripheralManagerDidUpdateState",
            sentence: """
                CBPeripheralManagerDelegate.peripheralManagerDidUpdateState has no default, so that every delegate \
                must have it; Apple's is optional.
                """),
        Damage(
            testDescription: "another deprecation", old: "iOS 5.0 deprecated 8.0 · macOS 10.9",
            new: "iOS 5.0 · macOS 10.9",
            sentence: "CBCharacteristic.isBroadcasted is deprecated by iOS 8.0; Apple's is not."),
        Damage(
            testDescription: "another raw type", old: "public enum CBPeripheralState : Int {",
            new: "public enum CBPeripheralState : UInt8 {",
            sentence: "CBPeripheralState has no raw values of type UInt8; Apple's has."),
        Damage(
            testDescription: "what Apple does not have", old: "    case disconnecting = 3", new: "    // none",
            sentence: """
                CBPeripheralState.disconnecting is not Apple's: `case disconnecting`. It can break sources that \
                compile there: make it package, or list it with its reason under the additions of the inventory.
                """),
        Damage(
            testDescription: "an addition that is not there", old: "public typealias dispatch_queue_t",
            new: "public typealias dispatch_group_t = DispatchGroup  // None\npublic typealias dispatch_queue_t",
            sentence: """
                dispatch_group_t is listed as an addition and is not there: take it out of the inventory.
                """),
    ]

    @Test("Damage in the inventory", arguments: damages)
    func inventory(damage: Damage) throws {
        let interface = Interface(try InterfaceTests.graphs.get().0)
        let whole = Comparison(try Inventory.checkedIn(), interface).findings
        let comparison = Comparison(try Inventory(try Self.damaged(damage.old, damage.new)), interface)
        #expect(comparison.findings.filter { !whole.contains($0) }.map(\.sentence) == [damage.sentence])
    }

    @Test(
        "Other values",
        arguments: [
            ("case peerConnected = 1", "case peerConnected = 2", "CBConnectionEvent.peerConnected is 1; Apple's is 2."),
            (
                "{ get }  // = 0x200", "{ get }  // = 0x400",
                "CBCharacteristicProperties.indicateEncryptionRequired is 512; Apple's is 0x400."
            ),
            (
                "\"kCBAdvDataLocalName\"", "\"kCBAdvDataName\"",
                "CBAdvertisementDataLocalNameKey is \"kCBAdvDataLocalName\"; Apple's is \"kCBAdvDataName\"."
            ),
        ])
    func values(old: String, new: String, sentence: String) throws {
        #expect(Values.differences(from: try Inventory(try Self.damaged(old, new))) == [sentence])
    }

    @Test("A symbol that the graph has lost, one that is unavailable, and one too many")
    func graph() throws {
        var graph = try InterfaceTests.graphs.get().0
        graph.symbols.removeAll { $0.pathComponents == ["CBUUID", "data"] }
        for index in graph.symbols.indices where graph.symbols[index].pathComponents == ["CBManager", "state"] {
            graph.symbols[index].availability = [.init(domain: nil, isUnconditionallyDeprecated: true)]
        }
        var extra = try #require(graph.symbols.first { $0.pathComponents == ["CBErrorDomain"] })
        extra.identifier.precise += "2"
        extra.pathComponents = ["CBQueue"]
        extra.declarationFragments = [.init(spelling: "let CBQueue: String")]
        graph.symbols.append(extra)
        let whole = Comparison(try Inventory.checkedIn(), Interface(try InterfaceTests.graphs.get().0)).findings
        let sentences = Comparison(try Inventory.checkedIn(), Interface(graph)).findings
            .filter { !whole.contains($0) }.map(\.sentence)
        try #require(sentences.count == 3, "\(sentences)")
        #expect(sentences[0] == "CBManager.state is restricted or deprecated on Linux by @available; Apple's is not.")
        #expect(sentences[1].hasPrefix("CBQueue is not Apple's: `var CBQueue: String { get }`."))
        #expect(sentences[2] == "CBUUID.data is missing: Apple declares `var data: Data { get }`.")
    }

    /// The checked-in inventory with one piece replaced, which must be there exactly once.
    static func damaged(_ old: String, _ new: String) throws -> String {
        let url = Package.root.appending(path: "Tests/Inventory/CoreBluetooth.interface")
        let text = try String(contentsOf: url, encoding: .utf8)
        try #require(text.components(separatedBy: old).count == 2, "\(old) must stand there once.")
        return text.replacing(old, with: new)
    }
}
