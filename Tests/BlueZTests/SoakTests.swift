import CoreBluetooth
import Foundation
import Testing

/// Months, in minutes: connections without end, while the adapter is unplugged and BlueZ is started anew in between.
@Suite("Soak", .enabled(if: Machine.isHere), .timeLimit(.minutes(9)))
struct SoakTests {
    private let central = Central()
    private var log: Log { central.log }

    @Test("Two hundred reconnects, with unplugging and restarts in between: memory and descriptors are at their level")
    func reconnects() throws {
        try log.wait(for: "state poweredOn")
        var peripheral = try central.find("VM-Periph")
        var level: Usage?
        for round in 1...200 {
            try central.connect(peripheral)
            if round % 10 == 0 {
                let echo = try central.subscribe(to: CBUUID(string: "AA03"), of: peripheral)
                _ = try log.wait(forValues: 1, of: echo.uuid)
                log.forgetValues()
            }
            if round % 50 == 25 {
                try Machine.unplug()
                try log.wait(for: "state resetting")
                try Machine.plugIn()
                try log.wait(for: "state poweredOn")
                peripheral = try central.find("VM-Periph")
            } else {
                central.manager.cancelPeripheralConnection(peripheral)
                try log.wait(for: "disconnected")
            }
            if round % 70 == 0 {
                try Machine.restartBlueZ()
                peripheral = try central.find("VM-Periph", seconds: 60)
            }
            // By then whatever is made once has been made.
            if round == 80 { level = try Usage() }
        }
        let end = try Usage()
        let before = try #require(level)
        #expect(end.descriptors == before.descriptors)
        #expect(end.threads <= before.threads + 2)
        #expect(
            end.kilobytes <= before.kilobytes + 2048, "\(before.kilobytes) kB before, \(end.kilobytes) kB at the end")
    }
}

/// What this process has of the system.
private struct Usage {
    var descriptors: Int
    var threads: Int
    /// Memory of its own: neither the program's text nor what it shares.
    var kilobytes: Int

    init() throws {
        descriptors = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count
        threads = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/task").count
        let status = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
        let line = status.split(separator: "\n").first { $0.hasPrefix("RssAnon:") }
        kilobytes = line?.split(whereSeparator: \.isWhitespace).compactMap { Int($0) }.first ?? 0
    }
}
