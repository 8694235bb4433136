import CoreBluetooth
import Foundation
import Testing

/// Sources in the style of other people's, which know nothing of this module.
@Suite("Source compatibility")
struct CompatibilityTests {
    static let habits = Package.root.appending(path: "Tests/Outside/Habits")

    @Test("Habits of apps and libraries compile as they are", arguments: ["5", "6"])
    func habitsCompile(languageMode: String) throws {
        let files = try FileManager.default.contentsOfDirectory(atPath: Self.habits.path).sorted()
        let command = try Self.typecheck(files.map { Self.habits.appending(path: $0).path }, languageMode)
        #expect(command.status == 0, "\(command.output)")
    }

    struct Limit: CustomTestStringConvertible, Sendable {
        var testDescription: String
        var source: String
        /// What the compiler says.
        var sentence: String
    }

    /// What Swift on Linux does not compile. Each stands in the documentation's article Limits, with the cure.
    static let limits = [
        Limit(
            testDescription: "B-P2: optional calls of a delegate's methods",
            source: "func f(d: CBCentralManagerDelegate, c: CBCentralManager) { d.centralManagerDidUpdateState?(c) }",
            sentence: "cannot use optional chaining on non-optional value"),
        Limit(
            testDescription: "Key-value observing",
            source: "func f(p: CBPeripheral) { p.observe(\\.state) { _, _ in } }",
            sentence: "has no member 'observe'"),
        Limit(
            testDescription: "Selectors", source: "let selector = #selector(CBPeripheral.readRSSI)",
            sentence: "can only be used with the Objective-C runtime"),
        Limit(
            testDescription: "An override in an extension",
            source: "extension CBService { override open var description: String { \"\" } }",
            sentence: "cannot be overridden from extension"),
        Limit(
            testDescription: "Imports of a header", source: "import CoreBluetooth.CBCharacteristic",
            sentence: "no such module"),
    ]

    @Test("B-P2: what cannot be had on Linux fails as the documentation says", arguments: limits)
    func limitFails(limit: Limit) throws {
        let folder = try TemporaryFolder()
        let file = folder.url.appending(path: "Limit.swift")
        try Data("import CoreBluetooth\n\(limit.source)\n".utf8).write(to: file)
        let command = try Self.typecheck([file.path], "5")
        #expect(command.status != 0)
        #expect(command.output.contains(limit.sentence), "\(command.output)")
    }

    @Test("B-P1: a delegate's method that only a subclass declares is not called")
    func subclass() {
        class Base: NSObject, CBCentralManagerDelegate {
            var calls: [String] = []
            func centralManagerDidUpdateState(_ central: CBCentralManager) { calls.append("base") }
        }
        final class Derived: Base {
            override func centralManagerDidUpdateState(_ central: CBCentralManager) { calls.append("derived") }
            func centralManager(_ central: CBCentralManager, willRestoreState dict: [String: Any]) {
                calls.append("unreachable")
            }
        }
        let delegate = Derived()
        let manager = CBCentralManager(delegate: nil, queue: nil)
        let known: any CBCentralManagerDelegate = delegate
        known.centralManager(manager, willRestoreState: [:])
        known.centralManagerDidUpdateState(manager)
        #expect(delegate.calls == ["derived"])
    }

    @Test("B-P5: CFAbsoluteTime, CFUUID and dispatch_queue_t are there")
    func names() throws {
        let time: CFAbsoluteTime = CFAbsoluteTimeGetCurrent()
        #expect(abs(time - Date().timeIntervalSinceReferenceDate) < 5)
        let queue: dispatch_queue_t = DispatchQueue(label: "names")
        #expect(queue.label == "names")
        let uuid = try #require(CFUUIDCreate(nil))
        #expect(CBUUID(cfuuid: uuid).uuidString.count == 36)
        let octets = unsafe withUnsafeBytes(of: CFUUIDGetUUIDBytes(uuid)) { unsafe Data($0) }
        #expect(CBUUID(cfuuid: uuid) == CBUUID(data: octets))
    }

    @Test("B-P6: values in dictionaries are cast as on Apple's systems")
    func casts() {
        let advertisement: [String: Any] = [
            CBAdvertisementDataIsConnectable: NSNumber(value: true),
            CBAdvertisementDataTxPowerLevelKey: NSNumber(value: -4), CBAdvertisementDataLocalNameKey: "name",
            CBAdvertisementDataServiceDataKey: [CBUUID(string: "180F"): Data([1])],
        ]
        #expect(advertisement[CBAdvertisementDataIsConnectable] as? Bool == true)
        #expect(advertisement[CBAdvertisementDataIsConnectable] as? NSNumber == 1)
        #expect(advertisement[CBAdvertisementDataTxPowerLevelKey] as? Int == -4)
        #expect(advertisement[CBAdvertisementDataLocalNameKey] as? NSString == "name")
        let data = advertisement[CBAdvertisementDataServiceDataKey] as? [CBUUID: Data]
        #expect(data?[CBUUID(string: "0000180F-0000-1000-8000-00805F9B34FB")] == Data([1]))
    }

    @Test("What Apple's Dispatch has and Linux's has not")
    func dispatch() {
        #expect((NSEC_PER_SEC, NSEC_PER_MSEC) == (1_000_000_000, 1_000_000))
        #expect((NSEC_PER_USEC, USEC_PER_SEC) == (1_000, 1_000_000))
        let time = DispatchTime(uptimeNanoseconds: 5_000_000_000)
        #expect(time.distance(to: time.advanced(by: .milliseconds(3))) == .nanoseconds(3_000_000))
        #expect(time.distance(to: DispatchTime(uptimeNanoseconds: 4_000_000_000)) == .nanoseconds(-1_000_000_000))
        #expect(time.advanced(by: .seconds(-1)) < time)
        #expect(time.distance(to: .distantFuture) == .never)
    }

    /// Looks at sources as the compiler of an outside package does, without settings.
    static func typecheck(_ files: [String], _ languageMode: String) throws -> Command {
        try Command(
            [
                "swiftc", "-typecheck", "-swift-version", languageMode, "-module-name", "Outside", "-I",
                Package.products().appending(path: "Modules").path, "-module-cache-path",
                Package.products().appending(path: "ModuleCache").path,
            ] + Package.moduleMaps() + files)
    }
}
