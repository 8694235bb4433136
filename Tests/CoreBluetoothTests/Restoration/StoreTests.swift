import BluetoothSimulation
import CoreBluetooth
import Testing

/// Where the state lies, and what is found there.
@Suite("Restoration: the store")
struct StoreTests {
    /// A folder of a test's own, which goes with it.
    private final class Folder {
        let path = NSTemporaryDirectory() + "restoration-" + UUID().uuidString
        deinit { try? FileManager.default.removeItem(atPath: path) }

        func file(_ name: String) -> String { "\(path)/\(name)" }

        func write(_ text: String, to name: String) {
            for ending in ["-wal", "-shm"] { try? FileManager.default.removeItem(atPath: file(name + ending)) }
            #expect(
                FileManager.default.createFile(
                    atPath: file(name), contents: Data(text.utf8), attributes: [.posixPermissions: 0o600]))
        }
    }

    /// Plays a first life that ends connected and subscribed.
    private func live(in folder: Folder, phone: String = "Phone") throws {
        let lives = TwoLives(folder: folder.path, phoneName: phone)
        lives.publish()
        lives.startApp()
        try lives.subscribe()
        lives.phone.killApp()
        lives.lock.killApp()
    }

    @Test("The state is in files that their owner alone can read, and another world finds it there")
    func files() throws {
        let folder = Folder()
        try live(in: folder)
        for name in try FileManager.default.contentsOfDirectory(atPath: folder.path) {
            let attributes = try FileManager.default.attributesOfItem(atPath: folder.file(name))
            #expect((attributes[.posixPermissions] as? NSNumber)?.intValue == 0o600, "\(name)")
        }
        let next = TwoLives(seed: 8, folder: folder.path)
        next.startLock()
        next.startApp()
        next.run(until: "didConnect connected")
        #expect(next.app.log == ["willRestore unknown connecting", "state poweredOn", "didConnect connected"])
        #expect(next.app.characteristic("FFF1").isNotifying)
    }

    @Test("Another program finds nothing under the same identifier")
    func otherProgram() throws {
        let folder = Folder()
        try live(in: folder)
        let next = TwoLives(folder: folder.path, phoneName: "Another phone")
        next.startApp()
        next.rest()
        #expect(next.app.log == ["state poweredOn"])
    }

    @Test("Another identifier finds nothing, and the one of the other role neither")
    func otherIdentifier() throws {
        let folder = Folder()
        try live(in: folder)
        let next = TwoLives(folder: folder.path)
        next.startApp("another")
        let manager = next.phone.run {
            PeripheralApp(options: [CBPeripheralManagerOptionRestoreIdentifierKey: "phone"])
        }
        next.rest()
        #expect(next.app.log == ["state poweredOn"] && manager.log == ["state poweredOn"])
    }

    @Test("A damaged store is set aside with a sentence, and kept anew")
    func damaged() throws {
        let folder = Folder()
        try live(in: folder)
        folder.write("this is no database, whatever it was", to: "restoration.sqlite")
        let next = TwoLives(folder: folder.path)
        next.startLock()
        next.startApp()
        next.rest()
        #expect(next.app.take() == ["state poweredOn"])
        #expect(next.world.reports.contains { $0.text.contains("restoration.sqlite.damaged-1") })
        next.app.manager.scanForPeripherals(withServices: nil)
        next.restartApp()
        next.powerOn()
        #expect(next.app.log.first == "willRestore unknown ")
    }

    @Test("A store of a later version is left alone: nothing is restored, and a sentence says so")
    func newer() throws {
        let folder = Folder()
        try live(in: folder)
        // The header's user version, octets 60 to 63 (sqlite.org/fileformat2.html, 1.3).
        let url = URL(filePath: folder.file("restoration.sqlite"))
        var content = try Data(contentsOf: url)
        content[63] = 99
        folder.write("", to: "restoration.sqlite")
        try content.write(to: url)
        let next = TwoLives(folder: folder.path)
        next.startApp()
        next.powerOn()
        #expect(next.app.take() == ["state poweredOn"])
        #expect(next.world.reports.contains { $0.text.contains("the format 99 of a later version") })
        // It lives without it, and what it keeps lasts as long as the process.
        next.app.manager.scanForPeripherals(withServices: nil)
        next.rest()
        #expect(try Data(contentsOf: url) == content)
    }

    @Test("A folder that others may enter is not used, and a sentence says so")
    func openFolder() throws {
        let folder = Folder()
        try FileManager.default.createDirectory(
            atPath: folder.path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o755])
        try live(in: folder)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == [])
    }

    @Test("Two managers with one identifier: the second one has none")
    func twice() throws {
        let lives = TwoLives()
        lives.publish()
        lives.startApp()
        try lives.connect()
        let second = lives.phone.run { CentralApp(options: [CBCentralManagerOptionRestoreIdentifierKey: "phone"]) }
        lives.world.run(for: .seconds(1))
        #expect(lives.misuses.count { $0.contains("the restore identifier phone of another manager") } == 1)
        second.manager.scanForPeripherals(withServices: nil)
        lives.restartApp()
        lives.rest()
        #expect(lives.app.log.first == "willRestore unknown connecting" && !lives.app.manager.isScanning)
        #expect(!second.log.contains { $0.hasPrefix("willRestore") })
    }

    @Test("B-A8: managers with identifiers of their own have states of their own")
    func severalManagers() throws {
        let lives = TwoLives()
        lives.publish()
        lives.startApp()
        try lives.connect()
        let start = { lives.phone.run { CentralApp(options: [CBCentralManagerOptionRestoreIdentifierKey: "scan"]) } }
        let scanner = start()
        lives.world.run(for: .seconds(1))
        scanner.manager.scanForPeripherals(withServices: nil)
        lives.restartApp()
        let again = start()
        lives.run(until: "didConnect connected")
        #expect(lives.app.log.first == "willRestore unknown connecting" && !lives.app.manager.isScanning)
        #expect(again.log.prefix(2) == ["willRestore unknown ", "state poweredOn"] && again.manager.isScanning)
    }

    @Test("A manager that the app lets go of is not restored, and its identifier is free")
    func released() throws {
        let lives = TwoLives()
        lives.startApp()
        lives.powerOn()
        var app: CentralApp? = lives.phone.run {
            CentralApp(options: [CBCentralManagerOptionRestoreIdentifierKey: "other"])
        }
        lives.world.run(for: .seconds(1))
        app?.manager.scanForPeripherals(withServices: nil)
        app = nil
        app = lives.phone.run { CentralApp(options: [CBCentralManagerOptionRestoreIdentifierKey: "other"]) }
        lives.world.run(for: .seconds(1))
        #expect(app?.log == ["state poweredOn"])
        #expect(lives.misuses == [])
    }

    @Test("An identifier that is none is a misuse")
    func nonsense() throws {
        let lives = TwoLives()
        let app = lives.phone.run { CentralApp(options: [CBCentralManagerOptionRestoreIdentifierKey: 7]) }
        lives.rest()
        #expect(app.log == ["state poweredOn"] && lives.misuses.count == 1)
    }

    @Test("B-A6, B-C9, B-C10: identifiers and names that were read outlive the app")
    func names() throws {
        let lives = TwoLives()
        lives.publish()
        lives.startApp(nil)
        try lives.connect()
        lives.run(until: "didUpdateName Door lock")
        let identifier = lives.app.peripheral.identifier
        lives.restartApp(nil)
        lives.powerOn()
        let known = lives.app.manager.retrievePeripherals(withIdentifiers: [UUID(), identifier])
        #expect(known.map(\.identifier) == [identifier] && known.map(\.name) == ["Door lock"])
        // The name that was read wins over the advertised one, in later scans of later runs too.
        try lives.find()
        #expect(lives.app.peripheral.name == "Door lock" && lives.app.peripheral.identifier == identifier)
    }
}
