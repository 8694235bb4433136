import BenchmarkKit
import Foundation
import Glibc

/// Ends the program with a sentence.
func stop(_ problem: String, status: Int32 = 1) -> Never {
    let line = Array("benchmark: \(problem)\n".utf8)
    _ = unsafe write(STDERR_FILENO, line, line.count)
    exit(status)
}

/// Writes a page of the documentation.
func write(_ text: String, to path: String) {
    do {
        try text.write(toFile: path, atomically: true, encoding: .utf8)
    } catch {
        stop("\(path): \(error)")
    }
}

let usage = """
    Usage: benchmark air
           benchmark limits [--page PATH]
           benchmark model [--page PATH]
           benchmark scale [--page PATH] [--count ADVERTISERS [--apart]]
           benchmark crowd
           benchmark host OPERATION --radio unix:PATH [--count N]
           benchmark app OPERATION --radio unix:PATH [--count N] [--queue main]
           benchmark work OPERATION [--count N]

    Prints figures as 'name value unit', a line each.

      air     two hosts of ours over the virtual radio: how much of a link's limit they fill, and what a simulated
              minute costs
      limits  two of our controllers, whatever the hosts, and then two of our hosts: throughput on each PHY, with and
              without long packets and encryption, beside what the physics allows; --page writes it as a page
      model   strength, loss, connecting and supervision against distance, beside what the radio's formulas say, over
              a thousand worlds each
      scale   what a simulated half hour of a link costs, and a minute of many advertisers; --page writes a page, and a
              plot beside it; --count does one point of the plot alone, for a profiler, and
              with --apart one of the line of devices that are far apart
      crowd   ten phones in a room that connect to three devices each: when the last link comes, in simulated time
      host    one host of ours against Benchmarks/hcipeer at PATH: what an operation costs. OPERATION is one of
              notify, write, read, scan, discover
      app     the same for an app over Apple's API, up to the call of its delegate on a queue of its own, or on the
              main queue
      work    a host's own work, without transport and controller, for Benchmarks/budgets to count. OPERATION is one of
              \(WorkBenchmark.Operation.allCases.map(\.rawValue).joined(separator: ", "))
    """

/// The words that are no options, and the options with their values.
struct Arguments {
    private(set) var words = Array(CommandLine.arguments.dropFirst())

    mutating func option(_ name: String) -> String? {
        guard let index = words.firstIndex(of: name) else { return nil }
        guard index + 1 < words.count else { stop("\(name) needs a value.\n\(usage)", status: 2) }
        defer { words.removeSubrange(index...index + 1) }
        return words[index + 1]
    }

    mutating func flag(_ name: String) -> Bool {
        guard let index = words.firstIndex(of: name) else { return false }
        words.remove(at: index)
        return true
    }
}

/// Two hosts on each kind of link.
func measureHosts() {
    for row in HostedLink.rows {
        for interval in LinkCase.intervals {
            let row = row.with(interval: interval)
            let result = row.measure(seconds: 5)
            row.measurements(result).forEach { $0.print() }
            let name = row.name + "_real_seconds_per_simulated_minute"
            Measurement(name: name, value: result.realSecondsPerMinute, unit: "s").print()
        }
    }
}

func run() {
    var arguments = Arguments()
    let radio = arguments.option("--radio")
    let page = arguments.option("--page")
    let queue = arguments.option("--queue")
    let isApart = arguments.flag("--apart")
    guard queue == nil || queue == "main" else { stop("The one queue to choose is main.\n\(usage)", status: 2) }
    let count = arguments.option("--count").map { text in
        guard let count = Int(text), count > 0 else { stop("--count needs a number above 0, not \(text).", status: 2) }
        return count
    }
    switch (arguments.words.first, arguments.words.dropFirst().first) {
    case (nil, _), ("air", nil):
        measureHosts()
    case ("limits", nil):
        let limits = LimitsPage(seconds: 5) { $0.forEach { $0.print() } }
        if let page { write(limits.text, to: page) }
    case ("scale", nil) where count != nil:
        ScalePage.point(count!, isApart: isApart) { $0.print() }
    case ("scale", nil):
        let scale = ScalePage { $0.print() }
        if let page {
            write(scale.text, to: page)
            write(scale.plot, to: page.replacing(".md", with: ".svg"))
        }
    case ("crowd", nil):
        for scans in [false, true] {
            let times = CrowdBenchmark(phones: 10, devices: 3, scans: scans).run(seed: 1, for: .seconds(60))
            let name = "crowd_10_phones_30_devices_" + (scans ? "scanning" : "quiet")
            Measurement(name: name + "_links", value: Double(times.count), unit: "n").print()
            Measurement(name: name + "_last", value: times.last ?? 0, unit: "s").print()
        }
    case ("model", nil):
        let model = ModelPage(seeds: count ?? 1000) { $0.print() }
        if let page { write(model.text, to: page) }
    case (let who?, let name?) where who == "host" || who == "app":
        guard let operation = HostBenchmark.Operation(rawValue: name) else {
            stop("There is no operation \(name).\n\(usage)", status: 2)
        }
        guard let radio, radio.hasPrefix("unix:") else {
            stop("\(who) needs --radio unix:PATH.\n\(usage)", status: 2)
        }
        let path = String(radio.dropFirst("unix:".count))
        let count = count ?? 20_000
        if who == "host" {
            HostBenchmark(operation, total: count, path: path).run().forEach { $0.print() }
        } else {
            AppBenchmark(operation, total: count, path: path, isOnMain: queue == "main").run()
        }
    case ("work", let name?):
        guard let operation = WorkBenchmark.Operation(rawValue: name) else {
            stop("There is no operation \(name).\n\(usage)", status: 2)
        }
        let heard = WorkBenchmark().run(operation, count: count ?? 1000)
        Measurement(name: "work_\(name)_events", value: Double(heard), unit: "n").print()
    case ("--help", _), ("-h", _): print(usage)
    default: stop("These words make no benchmark: \(arguments.words.joined(separator: " ")).\n\(usage)", status: 2)
    }
}

run()
