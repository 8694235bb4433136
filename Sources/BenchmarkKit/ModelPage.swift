import Simulation

/// Documentation/RadioModel.md: what our worlds do at a distance, beside what the formulas say.
package struct ModelPage {
    package struct Row {
        package var distance: Double
        package var expected: Double
        package var measured: Double
    }

    package private(set) var text = ""

    /// Measures all of it.
    ///
    /// - Parameter seeds: how many worlds for each figure.
    package init(seeds: Int, onMeasurement: (Measurement) -> Void) {
        text = Self.introduction(seeds: seeds)
        func add(_ rows: [Row], _ title: String, _ unit: String, digits: Int) {
            text += "\n## \(title)\n\n| distance, m | formula, \(unit) | measured, \(unit) |\n| --- | --- | --- |\n"
            for row in rows {
                text += "| \(row.distance.text(digits: 0)) | \(row.expected.text(digits: digits)) |"
                text += " \(row.measured.text(digits: digits)) |\n"
                let name = "\(title.lowercased().replacing(" ", with: "_"))_\(row.distance.text(digits: 0))m"
                onMeasurement(Measurement(name: name, value: row.measured, unit: unit))
                onMeasurement(Measurement(name: name + "_formula", value: row.expected, unit: unit))
            }
        }
        add(Self.strengths(seeds: seeds), "Strength", "dBm", digits: 2)
        add(Self.losses(seeds: seeds), "Loss of advertisements", "%", digits: 2)
        add(Self.connecting(seeds: seeds), "Time to connect", "ms", digits: 1)
        add(Self.lifetimes(seeds: seeds), "Time to the supervision timeout", "ms", digits: 0)
    }

    private static let environment = RadioEnvironment.openAir

    package static func strengths(seeds: Int, distances: [Double] = [1, 10, 100, 400]) -> [Row] {
        distances.map { distance in
            let experiment = DistanceExperiment(environment, distance: distance)
            let sum = (1...seeds).reduce(0) { $0 + experiment.advertisements(seed: UInt64($1)).strength }
            let model = DistanceModel(environment, distance: distance)
            return Row(distance: distance, expected: model.strength, measured: sum / Double(seeds))
        }
    }

    package static func losses(seeds: Int, distances: [Double] = [300, 400, 500, 600, 700, 800, 1000, 1200]) -> [Row] {
        distances.map { distance in
            let experiment = DistanceExperiment(environment, distance: distance)
            let all = (1...seeds).map { experiment.advertisements(seed: UInt64($0)) }
            let (sent, intact) = all.reduce((0, 0)) { ($0.0 + $1.sent, $0.1 + $1.intact) }
            let model = DistanceModel(environment, distance: distance)
                .reception(payloadCount: DistanceModel.advertisementLength)
            return Row(
                distance: distance, expected: 100 * (1 - model.intact),
                measured: 100 * (1 - Double(intact) / Double(sent)))
        }
    }

    package static func connecting(seeds: Int, distances: [Double] = [1, 400, 500, 550, 600, 650]) -> [Row] {
        distances.map { distance in
            let experiment = DistanceExperiment(environment, distance: distance)
            let times = (1...seeds).compactMap { experiment.timeToConnect(seed: UInt64($0)) }
            return Row(
                distance: distance, expected: DistanceModel(environment, distance: distance).timeToConnect,
                measured: times.reduce(0, +) / Double(times.count))
        }
    }

    package static func lifetimes(seeds: Int, distances: [Double] = [750, 800, 850, 900, 1000, 2000]) -> [Row] {
        distances.map { distance in
            let experiment = DistanceExperiment(environment, distance: distance)
            let times = (1...seeds).compactMap { experiment.lifetime(seed: UInt64($0)) }
            let model = DistanceModel(environment, distance: distance)
            return Row(
                distance: distance, expected: model.lifetime(interval: 11.25, timeout: 100),
                measured: times.reduce(0, +) / Double(times.count))
        }
    }

    private static func introduction(seeds: Int) -> String {
        """
        # The radio's model

        Written by `benchmark model --page Documentation/RadioModel.md`, \(seeds) worlds for each figure; a test does
        the same with fewer.

        A packet's strength is the sender's power, less the loss of the distance, with antennas, bodies, shadowing and
        fading; the sensitivity is where one bit in a thousand is wrong, and from there the error rate follows as that
        of frequency shift keying without a phase reference. All constants with their sources are in
        `Sources/Simulation/Radio/RadioEnvironment.swift`, the formulas beside them, and those of the tables below in
        `Sources/BenchmarkKit/DistanceModel.swift`. The tables are of open air, LE 1M and 0 dBm.

        What else is modelled:

        - **Shadowing**: normally distributed in dB over all links and places, the same in both directions, correlated
          over the distance that a device moves; a function of seed, link and places, not of the order of events.
        - **Interference**: a packet is lost where all others on its channel together are less than 21 dB weaker (Core
          6.0, Vol 6, Part A, 4.2) at any time while it lasts. Channels beside it do not count.
        - **Wi-Fi**: bursts at computed times raise the noise of the receivers, on the channels within its band, for the
          bits that they meet.
        - **RSSI**: all the power on the channel and an error of the receiver; 127 where it has no measure.
        - **Bodies and antennas**: a gain for each device, and what a body takes on its side.

        """
    }
}
