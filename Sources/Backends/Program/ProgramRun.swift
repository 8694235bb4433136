import Foundation
package import Storage
import Synchronization

/// One run of a program, from its start to its end, and what it keeps beyond.
///
/// A program is told apart by where its executable lies. In a simulated world a device has one program, which a test
/// may end and start again.
package final class ProgramRun: Sendable {
    /// What the adapters of this user know of peers.
    package let peers: PeerDirectory
    /// What this program's managers are to find again.
    package let restoration: RestorationStore
    private let ended = Atomic(false)

    /// - Parameters:
    ///   - name: of the program: another one finds other states.
    ///   - report: takes a sentence if something cannot be kept or found again.
    package init(of name: String, state: StateDirectory, report: @escaping @Sendable (String) -> Void) {
        peers = PeerDirectory(KeptDatabase(PeerDirectory.schema, in: state, report: report))
        restoration = RestorationStore(
            program: name, state: state, KeptDatabase(RestorationStore.schema, in: state, report: report),
            report: report)
    }

    /// A run of which nothing is kept.
    package convenience init() { self.init(of: "", state: .inMemory()) { _ in } }

    /// This process, and what this user's programs keep.
    package static func ofThisProcess() -> ProgramRun {
        ProgramRun(of: nameOfThisProcess, state: .ofThisUser()) {
            writeToStandardError("[CoreBluetooth] WARNING: \($0)")
        }
    }

    /// Where its executable lies.
    static var nameOfThisProcess: String {
        let executable = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        return executable ?? ProcessInfo.processInfo.processName
    }

    /// Whether the program has ended: nobody is told anything any more, and nothing that is left of it is kept.
    package var isOver: Bool { ended.load(ordering: .relaxed) }

    /// Ends the run, as a kill does.
    package func end() {
        ended.store(true, ordering: .relaxed)
        restoration.end()
    }
}

/// A database that is opened when it is first needed. Where it cannot be, its place is taken by one in memory, with a
/// sentence about it: a program without a home still has Bluetooth.
final class KeptDatabase: Sendable {
    private let schema: Schema
    private let state: StateDirectory
    private let report: @Sendable (String) -> Void
    private let opened = Mutex<Database?>(nil)
    private let hasFailed = Atomic(false)

    init(_ schema: Schema, in state: StateDirectory, report: @escaping @Sendable (String) -> Void) {
        self.schema = schema
        self.state = state
        self.report = report
    }

    /// Does something with the database. The first thing that goes wrong is reported.
    ///
    /// - Returns: `nil` if it went wrong.
    func attempt<Result: Sendable>(_ body: (Database) throws(StorageError) -> Result) -> Result? {
        do throws(StorageError) {
            return try body(database())
        } catch {
            if !hasFailed.exchange(true, ordering: .relaxed) { report("What this run learns is not kept: \(error)") }
            return nil
        }
    }

    private func database() throws(StorageError) -> Database {
        try opened.withLock { opened throws(StorageError) in
            if let opened { return opened }
            let database: Database
            do throws(StorageError) {
                database = try state.open(schema, report: report)
            } catch {
                report("What this run learns is not kept: \(error)")
                database = try StateDirectory.inMemory().open(schema)
            }
            opened = database
            return database
        }
    }
}
