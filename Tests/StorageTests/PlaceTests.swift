import Foundation
import Glibc
import Storage
import Testing

/// Where things are kept, and from whom.
@Suite("State directory")
struct PlaceTests {
    @Test("Its owner alone can read anything in it")
    func permissions() throws {
        let place = try Place()
        let directory = StateDirectory(path: place.file("deep/er"))
        let database = try directory.open(.notes)
        try database.add("a")
        let claim = try directory.claim("x")
        #expect(try place.permissions("deep") == 0o700)
        #expect(try place.permissions("deep/er") == 0o700)
        let names = try FileManager.default.contentsOfDirectory(atPath: place.file("deep/er"))
        #expect(Set(["notes.sqlite", "notes.sqlite-wal", "lock", "claims"]).isSubset(of: names))
        for name in names { #expect(try place.permissions("deep/er/\(name)") == 0o600, "\(name)") }
        _ = claim
    }

    @Test("The environment names it")
    func environment() {
        func path(_ variables: [String: String]) -> String? { StateDirectory.ofUser { variables[$0] }.path }
        #expect(path(["BLE_STATE": "here", "XDG_STATE_HOME": "/x", "HOME": "/h"]) == "here")
        #expect(path(["BLE_STATE": "", "XDG_STATE_HOME": "/x", "HOME": "/h"]) == "/x/swift-corebluetooth")
        #expect(path(["XDG_STATE_HOME": "x", "HOME": "/h"]) == "/h/.local/state/swift-corebluetooth")
        #expect(path([:]) == nil)
        #expect(throws: StorageError.self) { try StateDirectory.ofUser { _ in nil }.open(.notes) }
    }

    @Test("A folder that others may use is refused", arguments: [0o755, 0o770, 0o1777])
    func openFolder(mode: Int) throws {
        let place = try Place()
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: place.path)
        let error = #expect(throws: StorageError.self) { try place.directory.open(.notes) }
        guard case .unsafePlace = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(try place.names == [])
    }

    @Test("A folder or a file that is a link is refused", arguments: ["folder", "notes.sqlite", "lock"])
    func links(name: String) throws {
        let place = try Place()
        let elsewhere = try Place()
        try elsewhere.write(Data(), to: "target")
        let isFolder = name == "folder"
        try FileManager.default.createSymbolicLink(
            atPath: place.file(name), withDestinationPath: isFolder ? elsewhere.path : elsewhere.file("target"))
        let directory = isFolder ? StateDirectory(path: place.file(name)) : place.directory
        let error = #expect(throws: StorageError.self) { try directory.open(.notes) }
        guard case .unsafePlace = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(try Data(contentsOf: URL(filePath: elsewhere.file("target"))).isEmpty)
    }

    @Test("A file that others may read, or that has a second name, is refused")
    func readableFile() throws {
        let place = try Place()
        try place.directory.open(.notes).add("a")
        try FileManager.default.linkItem(atPath: place.file("notes.sqlite"), toPath: place.file("other"))
        #expect(throws: StorageError.self) { try place.directory.open(.notes) }
        try FileManager.default.removeItem(atPath: place.file("other"))
        try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: place.file("notes.sqlite"))
        #expect(throws: StorageError.self) { try place.directory.open(.notes) }
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: place.file("notes.sqlite"))
        #expect(try place.directory.open(.notes).notes == ["a"])
    }

    @Test("Another user's folder is refused", .enabled(if: geteuid() == 0))
    func foreignFolder() throws {
        let place = try Place()
        try #require(unsafe chown(place.path, 1234, 1234) == 0)
        let error = #expect(throws: StorageError.self) { try place.directory.open(.notes) }
        #expect(error == .unsafePlace(path: place.path, reason: "it belongs to another user"))
    }

    @Test("A place that cannot be made says why")
    func impossible() throws {
        let place = try Place()
        try place.write(Data(), to: "file")
        let error = #expect(throws: StorageError.self) {
            try StateDirectory(path: place.file("file/below")).open(.notes)
        }
        #expect(error == .unavailable(path: place.file("file/below"), reason: "Not a directory"))
    }

    @Test("A claim has one owner until it goes", arguments: [true, false])
    func claims(inMemory: Bool) throws {
        let place = try Place()
        let directory = inMemory ? StateDirectory.inMemory() : place.directory
        var first = try directory.claim("a")
        #expect(first != nil)
        #expect(try directory.claim("a") == nil)
        // As another process sees it.
        if !inMemory { #expect(try place.directory.claim("a") == nil) }
        #expect(try directory.claim("b") != nil)
        first = nil
        #expect(try directory.claim("a") != nil)
    }
}
