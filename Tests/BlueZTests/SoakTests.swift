import CoreBluetooth
import Foundation
import Testing

/// Months, in minutes: connections without end, while the adapter is unplugged and BlueZ is started anew in between.
@Suite("Soak", .enabled(if: Machine.isHere), .timeLimit(.minutes(9)))
struct SoakTests {
    private let central = Central()
    private var log: Log { central.log }

    @Test(
        "Reconnects, with unplugging, power cycles and restarts in between: memory and descriptors are at their level")
    func reconnects() throws {
        try log.wait(for: "state poweredOn")
        var peripheral = try central.find("VM-Periph")
        var levels: [Usage] = []
        for round in 1...Self.rounds {
            try central.connect(peripheral)
            if round % 10 == 0 {
                let counter = try central.subscribe(to: CBUUID(string: "AA03"), of: peripheral)
                _ = try log.wait(forValues: 1, of: counter.uuid)
                log.forgetValues()
            }
            switch round % 50 {
            case 15, 35:
                try Machine.make(round % 50 == 15 ? .power : .bluetoothd)
                try log.wait(for: "disconnected")
                peripheral = try central.find("VM-Periph", seconds: 60)
            case 25:
                try Machine.make(.unplug)
                try log.wait(for: "state resetting")
                try Machine.make(.plug)
                try log.wait(for: "state poweredOn")
                peripheral = try central.find("VM-Periph")
            default:
                central.manager.cancelPeripheralConnection(peripheral)
                try log.wait(for: "disconnected")
            }
            if round % 50 == 0 { levels.append(try Usage.atRest()) }
        }
        print(
            levels.map { level in
                "\(level.kilobytes) kB, \(level.allocated) octets, \(level.descriptors.count), \(level.threads)"
            }.joined(separator: "\n"))
        // By the first of them, whatever is made once has been made.
        let (before, end) = (try #require(levels.first), try #require(levels.last))
        #expect(
            end.descriptors.count == before.descriptors.count,
            "\(before.descriptors) before, \(end.descriptors) at the end")
        // The one that has the loop, and its deputy: no callback goes on (Documentation/Decisions/0075).
        #expect(end.loopThreads <= 2, "\(end.threads) at the end")
        #expect(
            end.threads.count - end.loopThreads <= before.threads.count - before.loopThreads,
            "\(before.threads) before, \(end.threads) at the end")
        #expect(end.allocated <= before.allocated + 256 << 10, "\(levels.map(\.allocated)) octets")
        #expect(end.kilobytes <= before.kilobytes + 4096, "\(levels.map(\.kilobytes)) kB")
    }

    private static var rounds: Int {
        ProcessInfo.processInfo.environment["BLUEZ_VM_ROUNDS"].flatMap { Int($0) } ?? 200
    }
}

/// What this process has of the system.
private struct Usage {
    /// What each is open on, sorted.
    var descriptors: [String]
    /// Their names, sorted.
    var threads: [String]
    /// Memory of its own that is in use: neither the program's text nor what it shares.
    var kilobytes: Int
    /// What is allocated and not freed, in octets, in all of malloc's arenas.
    var allocated: Int

    init() throws {
        let files = FileManager.default
        descriptors = try files.contentsOfDirectory(atPath: "/proc/self/fd").sorted().compactMap { number in
            try? "\(number) \(files.destinationOfSymbolicLink(atPath: "/proc/self/fd/\(number)"))"
        }
        threads = Self.threads().values.sorted()
        let status = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
        let line = status.split(separator: "\n").first { $0.hasPrefix("RssAnon:") }
        kilobytes = line?.split(whereSeparator: \.isWhitespace).compactMap { Int($0) }.first ?? 0
        allocated = Self.allocated()
    }

    var loopThreads: Int { threads.count { $0 == "ble-loop" } }

    /// Dispatch lets a thread go when there was no work for it for five seconds; so once no thread has come or gone for
    /// longer, those that are left are here to stay.
    static func atRest() throws -> Usage {
        let end = Date(timeIntervalSinceNow: 60)
        var (before, since) = (threads(), Date())
        while Date() < min(end, since.addingTimeInterval(8)) {
            Thread.sleep(forTimeInterval: 0.5)
            let now = threads()
            guard now != before else { continue }
            (before, since) = (now, Date())
        }
        return try Usage()
    }

    private static func threads() -> [Int32: String] {
        let folder = "/proc/self/task"
        let all = (try? FileManager.default.contentsOfDirectory(atPath: folder).compactMap { Int32($0) }) ?? []
        // One of them may have ended since.
        let named = all.compactMap { thread in
            (try? String(contentsOfFile: "\(folder)/\(thread)/comm", encoding: .utf8)).map { name in
                (thread, name.trimmingCharacters(in: .newlines))
            }
        }
        return Dictionary(uniqueKeysWithValues: named)
    }

    /// malloc_info(3): behind the arenas, the sums of all of them: what the system gave, and what of it lies free.
    private static func allocated() -> Int {
        var text: UnsafeMutablePointer<CChar>?
        var count = 0
        guard let stream = unsafe open_memstream(&text, &count) else { return 0 }
        _ = unsafe malloc_info(0, stream)
        _ = unsafe fclose(stream)
        defer { unsafe free(text) }
        let sums = unsafe String(cString: text!).components(separatedBy: "</heap>").last ?? ""
        func size(_ element: String) -> Int {
            guard let place = sums.range(of: "<\(element)") else { return 0 }
            let number = sums[place.upperBound...].components(separatedBy: "size=\"").dropFirst().first
            return number.flatMap { Int($0.prefix(while: \.isNumber)) } ?? 0
        }
        let free = size("total type=\"fast\"") + size("total type=\"rest\"")
        return size("system type=\"current\"") + size("total type=\"mmap\"") - free
    }
}
