import Dispatch
import FaultRunKit
import Foundation
import Glibc
import Synchronization

/// `faultrun`: many worlds, each with its seed.
struct FaultRunCommand {
    static let help = """
        Lets two hosts pair, read, write, notify and stream while links drop, packets vanish, a peer misbehaves, bonds
        are lost, controllers reset and batteries fall out, and checks what must hold all the same: each request ends
        once, no event comes after its link's end, no write with response is lost or doubled, channels bring what was
        sent, in order, what is for encrypted links is used on such ones only, nothing waits for ever, nothing is kept.

        usage: faultrun [--seeds N] [--from SEED] [--seed SEED [--trace]]

          --seeds N      how many worlds, one after the other from --from on; 1000 unless told
          --from SEED    the first seed; 0 unless told
          --seed SEED    this one world
          --trace        with --seed: prints each step

        exit status: 0 everything held; 1 something did not, and the seed that shows it is printed; 2 wrong usage
        """

    let arguments: [String]

    private struct Options {
        var first: UInt64 = 0
        var count: UInt64 = 1000
        var isTraced = false
    }

    private struct Usage: Error {
        let text: String
    }

    func run() -> Int32 {
        if arguments.contains("--help") || arguments.contains("-h") {
            print(Self.help)
            return 0
        }
        do throws(Usage) {
            let options = try parse()
            return options.isTraced ? trace(options.first) : run(options)
        } catch {
            try? FileHandle.standardError.write(contentsOf: Data("faultrun: \(error.text) Try --help.\n".utf8))
            return 2
        }
    }

    private func parse() throws(Usage) -> Options {
        var options = Options()
        var rest = arguments[...]
        while let option = rest.popFirst() {
            switch option {
            case "--seeds": options.count = try number(after: option, &rest)
            case "--from": options.first = try number(after: option, &rest)
            case "--seed":
                options.first = try number(after: option, &rest)
                options.count = 1
            case "--trace": options.isTraced = true
            default: throw Usage(text: "There is no option \(option).")
            }
        }
        if options.isTraced, options.count != 1 { throw Usage(text: "--trace is for one --seed.") }
        guard options.count > 0, options.first.addingReportingOverflow(options.count).overflow == false else {
            throw Usage(text: "--seeds is at least 1, and the last seed below 2^64.")
        }
        return options
    }

    private func number(after option: String, _ rest: inout ArraySlice<String>) throws(Usage) -> UInt64 {
        guard let text = rest.popFirst(), let number = UInt64(text) else {
            throw Usage(text: "\(option) needs a number.")
        }
        return number
    }

    private func trace(_ seed: UInt64) -> Int32 {
        let outcome = FaultRun(seed: seed) { print($0) }.run()
        return report(Tally([outcome]), seeds: 1)
    }

    // MARK: Many

    /// Worlds are strangers to each other, so each processor plays its own. The first part warms up; by the end of
    /// the last, memory must be where it was after the first.
    private func run(_ options: Options) -> Int32 {
        let tally = Mutex(Tally())
        var done: UInt64 = 0
        var level: Int?
        while done < options.count {
            let part = Int(min(250, options.count - done))
            let first = options.first + done
            DispatchQueue.concurrentPerform(iterations: part) { index in
                let outcome = FaultRun(seed: first + UInt64(index)).run()
                tally.withLock { $0.add(outcome) }
            }
            done += UInt64(part)
            if level == nil { level = Self.octetsInUse }
            progress(done, of: options.count)
        }
        let growth = Self.octetsInUse - (level ?? 0)
        var total = tally.withLock { $0 }
        if options.count > 250, growth > Self.tolerableGrowth {
            total.complaints.append("memory grew by \(growth) octets after the first 250 worlds")
        }
        return report(total, seeds: options.count)
    }

    /// Allocators keep some of what was freed in pieces; a world that leaks leaks more than this in a few runs.
    private static let tolerableGrowth = 4 << 20

    /// What of this process lies in memory, in octets (proc(5), statm).
    private static var octetsInUse: Int {
        let fields = (try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8))?.split(separator: " ")
        return (fields.flatMap { $0.count > 1 ? Int($0[1]) : nil } ?? 0) * Int(getpagesize())
    }

    private func progress(_ done: UInt64, of count: UInt64) {
        guard isatty(2) == 1 else { return }
        try? FileHandle.standardError.write(contentsOf: Data("\r\(done) of \(count) worlds".utf8))
        if done == count { try? FileHandle.standardError.write(contentsOf: Data("\n".utf8)) }
    }

    private func report(_ tally: Tally, seeds: UInt64) -> Int32 {
        for outcome in tally.failed.prefix(10) {
            print("seed \(outcome.seed):")
            for violation in outcome.violations.prefix(5) { print("    \(violation)") }
            print("    repeat it with: swift run -c release faultrun --seed \(outcome.seed) --trace")
        }
        for complaint in tally.complaints { print(complaint) }
        print("\(tally.requests) requests, \(tally.events) events, \(tally.faults) faults in \(seeds) worlds:")
        let reached = tally.reached
        print(
            "    \(reached.encryptions) links encrypted, \(reached.bonds) bonds, \(reached.writes) values written, "
                + "\(reached.reliableWrites) times several at once")
        print(
            "    \(reached.values) values heard, \(reached.channels) ends of channels, \(reached.streamed) octets, "
                + "\(reached.enlargements) channels enlarged, up to \(reached.bearers) bearers, "
                + "\(reached.periodicReports) periodic packets")
        let failed = tally.failed.count + tally.complaints.count
        print("\(Int(seeds) - tally.failed.count) passed, \(failed) failed")
        return failed == 0 ? 0 : 1
    }
}

/// What many worlds came to.
private struct Tally {
    var requests = 0
    var events = 0
    var faults = 0
    var reached = FaultRun.Reached()
    var failed: [FaultRun.Outcome] = []
    /// Of all worlds together.
    var complaints: [String] = []

    init(_ outcomes: [FaultRun.Outcome] = []) { for outcome in outcomes { add(outcome) } }

    mutating func add(_ outcome: FaultRun.Outcome) {
        requests += outcome.requests
        events += outcome.events
        faults += outcome.faults
        reached = reached + outcome.reached
        guard !outcome.violations.isEmpty else { return }
        failed.append(outcome)
        failed.sort { $0.seed < $1.seed }
    }
}
