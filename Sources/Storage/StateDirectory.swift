import Glibc
import Synchronization

/// Where the databases of one user's programs lie: a folder that only its owner may enter, or the memory of this
/// process.
package final class StateDirectory: Sendable {
    private enum Place: Sendable {
        case memory
        case folder(path: String)
        case nowhere(StorageError)
    }

    private struct Contents {
        var databases: [String: Database] = [:]
        /// What is claimed here, of a place in memory.
        var claims: Set<String> = []
    }

    private let place: Place
    private let contents = Mutex(Contents())

    private init(_ place: Place) { self.place = place }

    /// - Parameter path: it is made when the first database is opened.
    package convenience init(path: String) { self.init(.folder(path: path)) }

    /// A place that goes with the object.
    package static func inMemory() -> StateDirectory { StateDirectory(.memory) }

    /// The variable of the environment that names the folder.
    package static let variable = "BLE_STATE"

    /// This user's: the folder that `BLE_STATE` names, else `swift-corebluetooth` in `XDG_STATE_HOME`, else in
    /// `~/.local/state` (XDG Base Directory Specification 0.8).
    package static func ofThisUser() -> StateDirectory {
        ofUser { name in unsafe getenv(name).map { unsafe String(cString: $0) } }
    }

    /// The folder that `BLE_STATE` names; `nil` without it.
    package static func ofEnvironment() -> StateDirectory? {
        guard let path = unsafe getenv(variable).map({ unsafe String(cString: $0) }), !path.isEmpty else { return nil }
        return StateDirectory(path: path)
    }

    /// - Parameter environment: the value of a variable.
    package static func ofUser(_ environment: (String) -> String?) -> StateDirectory {
        if let path = environment(variable), !path.isEmpty { return StateDirectory(path: path) }
        let name = "swift-corebluetooth"
        // A relative path is invalid there, and to be ignored.
        if let path = environment("XDG_STATE_HOME"), path.hasPrefix("/") {
            return StateDirectory(path: "\(path)/\(name)")
        }
        if let home = environment("HOME"), home.hasPrefix("/") {
            return StateDirectory(path: "\(home)/.local/state/\(name)")
        }
        return StateDirectory(
            .nowhere(
                .unavailable(path: "~", reason: "there is no home folder; set \(variable) to a folder for what is kept")
            ))
    }

    /// Where it is; `nil` if in memory, or nowhere.
    package var path: String? { if case .folder(let path) = place { path } else { nil } }

    // MARK: Databases

    /// Opens a database, or makes it; once a process, whoever asks.
    ///
    /// - Parameter report: takes a sentence if a damaged file was set aside and an empty one taken in its place.
    package func open(_ schema: Schema, report: (String) -> Void = { _ in }) throws(StorageError) -> Database {
        try contents.withLock { contents throws(StorageError) in
            if let known = contents.databases[schema.name] { return known }
            let database: Database
            switch place {
            case .memory: database = try Database(path: ":memory:", schema: schema)
            case .folder(let path): database = try Self.open(schema, in: PrivateFolder(path: path), report)
            case .nowhere(let error): throw error
            }
            contents.databases[schema.name] = database
            return database
        }
    }

    private static func open(
        _ schema: Schema, in folder: PrivateFolder, _ report: (String) -> Void
    ) throws(StorageError) -> Database {
        // One process at a time: two must not set the same file aside, nor one the other's new file.
        let lock = try folder.open("lock")
        defer { close(lock) }
        guard flock(lock, LOCK_EX) == 0 else {
            throw .unavailable(path: folder.file("lock"), reason: unsafe String(cString: strerror(errno)))
        }
        let name = "\(schema.name).sqlite"
        do throws(StorageError) {
            return try openFile(name, schema, in: folder)
        } catch .damaged(let path, let reason) {
            let other = try setAside(name, in: folder)
            report("\(path) is damaged: \(reason). It is now \(other), and an empty one takes its place.")
            return try openFile(name, schema, in: folder)
        }
    }

    private static func openFile(
        _ name: String, _ schema: Schema, in folder: PrivateFolder
    ) throws(StorageError) -> Database {
        // Made here, so that there is no moment at which others may read it; SQLite gives its other files the same
        // permissions.
        close(try folder.open(name))
        return try Database(path: folder.file(name), schema: schema)
    }

    /// How many damaged files of one name are kept; of more the last is written over.
    private static let mostSetAside = 8

    private static func setAside(_ name: String, in folder: PrivateFolder) throws(StorageError) -> String {
        let names = (1...mostSetAside).map { "\(name).damaged-\($0)" }
        let other = names.first { !folder.exists($0) } ?? names[mostSetAside - 1]
        try folder.rename(name, to: other)
        // What SQLite has not written into the file yet belongs to it; its index is made anew.
        try folder.rename("\(name)-wal", to: "\(other)-wal")
        folder.remove("\(name)-shm")
        return other
    }

    // MARK: Claims

    /// Makes the caller the only one, of all processes that use this place, who has `name`, until the claim is let
    /// go of or the process ends, however it ends.
    ///
    /// - Returns: `nil` if somebody else has it.
    package func claim(_ name: String) throws(StorageError) -> Claim? {
        switch place {
        case .memory:
            return contents.withLock { $0.claims.insert(name).inserted } ? Claim { [self] in release(name) } : nil
        case .folder(let path):
            // One octet of a file for each name, by a number that two names have in common once in 2^31 times.
            let file = try PrivateFolder(path: path).open("claims")
            guard lockOctet(at: Self.number(of: name), of: file) else {
                close(file)
                return nil
            }
            return Claim { close(file) }
        case .nowhere(let error): throw error
        }
    }

    private func release(_ name: String) { contents.withLock { _ = $0.claims.remove(name) } }

    /// FNV-1a, cut to what a file offset can be.
    private static func number(of name: String) -> off_t {
        let hash = name.utf8.reduce(UInt64(0xCBF2_9CE4_8422_2325)) { ($0 ^ UInt64($1)) &* 0x0000_0100_0000_01B3 }
        return off_t(hash >> 2)
    }
}

/// That somebody is the only one. It ends with the object.
package final class Claim: Sendable {
    private let end: @Sendable () -> Void

    fileprivate init(_ end: @escaping @Sendable () -> Void) { self.end = end }

    deinit { end() }
}

/// Locks one octet of an open file, for as long as the file stays open; false if it is locked already.
private func lockOctet(at offset: off_t, of file: Int32) -> Bool {
    // F_OFD_SETLK of fcntl(2), whose name Swift does not import: the lock belongs to this opening of the file, and
    // not to the process.
    let setLock: Int32 = 37
    var lock = Glibc.flock()
    lock.l_type = Int16(F_WRLCK)
    lock.l_whence = Int16(SEEK_SET)
    lock.l_start = offset
    lock.l_len = 1
    return unsafe fcntl(file, setLock, &lock) == 0
}
