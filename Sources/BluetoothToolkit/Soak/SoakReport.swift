import Foundation

/// What a stability test found. Times are in seconds, latencies in milliseconds there and back, strengths in dBm.
public struct SoakReport: Sendable, Equatable, Codable {
    /// How a set of numbers lies.
    public struct Distribution: Sendable, Equatable, Codable {
        public var count = 0
        public var minimum = 0.0
        public var median = 0.0
        public var percentile90 = 0.0
        public var percentile99 = 0.0
        public var maximum = 0.0
        public var mean = 0.0

        public init() {}

        init(of values: some Collection<Double>) {
            guard !values.isEmpty else { return }
            let sorted = values.sorted()
            // The nearest rank: a value that really occurred.
            func rank(_ part: Double) -> Double { sorted[max(0, Int((part * Double(sorted.count)).rounded(.up)) - 1)] }
            count = sorted.count
            minimum = sorted[0]
            median = rank(0.5)
            percentile90 = rank(0.9)
            percentile99 = rank(0.99)
            maximum = sorted[sorted.count - 1]
            mean = sorted.reduce(0, +) / Double(sorted.count)
        }
    }

    /// The same for numbers that need not be kept.
    public struct Range: Sendable, Equatable, Codable {
        public var count = 0
        public var minimum = 0.0
        public var maximum = 0.0
        public var mean = 0.0

        mutating func add(_ value: Double) {
            minimum = count == 0 ? value : min(minimum, value)
            maximum = count == 0 ? value : max(maximum, value)
            count += 1
            mean += (value - mean) / Double(count)
        }
    }

    public struct Disconnect: Sendable, Equatable, Codable {
        /// Since the test began.
        public var time: Double
        public var cause: String
        /// `nil` if it did not come back.
        public var secondsToReconnect: Double?
    }

    /// A stretch of the test, for plots. Packets count where they were sent.
    public struct Slice: Sendable, Equatable, Codable {
        public var sent = 0
        public var lost = 0
        var latencies = 0
        var latencySum = 0.0
        public var worstLatency = 0.0
        var rssiCount = 0
        var rssiSum = 0.0

        /// `nil` if nothing was sent.
        public var lossPercent: Double? { sent > 0 ? 100 * Double(lost) / Double(sent) : nil }
        public var meanLatency: Double? { latencies > 0 ? latencySum / Double(latencies) : nil }
        public var meanRSSI: Double? { rssiCount > 0 ? rssiSum / Double(rssiCount) : nil }
    }

    /// One condition of the verdict.
    public struct Check: Sendable, Equatable, Codable {
        public var name: String
        public var passed: Bool
        public var text: String
    }

    static let sliceCount = 120

    public internal(set) var seconds = 0.0
    public let plannedSeconds: Double
    public let intervalSeconds: Double
    public let maximumLoss: Double
    public let maximumDisconnects: Int
    public internal(set) var sent = 0
    /// Packets whose time came while there was no link. They are not lost, for they were never sent.
    public internal(set) var notSent = 0
    /// Packets that came back, each counted once.
    public internal(set) var received = 0
    public internal(set) var lost = 0
    public internal(set) var duplicates = 0
    /// Packets that came back behind a later one.
    public internal(set) var reordered = 0
    /// Packets that came back after they had been given up; they count as lost.
    public internal(set) var late = 0
    /// Echoes of packets that this test never sent.
    public internal(set) var foreign = 0
    public internal(set) var latency = Distribution()
    /// How much the latency moves from packet to packet, smoothed as in RFC 3550.
    public internal(set) var jitter = 0.0
    public internal(set) var rssi = Range()
    public internal(set) var disconnects: [Disconnect] = []
    public internal(set) var slices: [Slice]
    /// Why the test ended before its time; `nil` if it did not.
    public internal(set) var endedEarly: String?

    init(_ plan: SoakPlan) {
        plannedSeconds = plan.duration / .seconds(1)
        intervalSeconds = plan.interval / .seconds(1)
        maximumLoss = plan.maximumLoss
        maximumDisconnects = plan.maximumDisconnects
        slices = Array(repeating: Slice(), count: Self.sliceCount)
    }

    var sliceDuration: Duration { .seconds(max(plannedSeconds, 0.001) / Double(Self.sliceCount)) }

    // MARK: The verdict

    /// 0...1; packets still under way do not count.
    public var lossRate: Double { received + lost > 0 ? Double(lost) / Double(received + lost) : 0 }

    public var checks: [Check] {
        [
            Check(
                name: "loss", passed: lossRate <= maximumLoss && received > 0,
                text: "\(lost) of \(received + lost) packets lost: \(percent(lossRate)), "
                    + (received > 0 ? "at most \(percent(maximumLoss))" : "none came back")),
            Check(
                name: "disconnects", passed: disconnects.count <= maximumDisconnects,
                text: "\(disconnects.count) disconnects, at most \(maximumDisconnects)"),
            Check(
                name: "duration", passed: endedEarly == nil,
                text: endedEarly.map { "ended after \(fixed(seconds, 1)) s: \($0)" }
                    ?? "\(fixed(seconds, 1)) s as planned"),
        ]
    }

    public var passed: Bool { checks.allSatisfy(\.passed) }
}

func fixed(_ value: Double, _ digits: Int) -> String { String(format: "%.\(digits)f", value) }

/// With two digits behind the point.
func percent(_ part: Double) -> String { fixed(part * 100, 2) + " %" }
