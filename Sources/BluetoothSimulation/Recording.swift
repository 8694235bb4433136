import Foundation
import Simulation
import Synchronization

/// What a world did last: its air, what passed between hosts and controllers, and the story.
///
///     let recording = world.record()
///     ...
///     if !app.isConnected { try recording.write(to: "/tmp/lost") }
///
/// With Swift Testing, the trait `.recordsFailures` of `BluetoothSimulationTesting` does this for every world of a
/// test that fails.
public final class WorldRecording {
    private let recorder: FlightRecorder
    private let reports: ReportList

    init(_ recorder: FlightRecorder, _ reports: ReportList) {
        self.recorder = recorder
        self.reports = reports
    }

    /// What has happened, as a person would tell it, a line for each thing, and below what the module had to say to the
    /// apps' developers.
    public var story: String {
        let reported = reports.all.map { Story.Line(time: $0.time, device: $0.device, what: "! " + $0.text) }
        return (recorder.story + reported).map { $0.text + "\n" }.joined()
    }

    /// Writes `air.pcap`, a `.btsnoop` for each device, and `story.txt` into a folder, which is made if it is missing.
    ///
    /// Only its owner may read the files, for they hold whatever the traffic holds.
    public func write(to folder: String) throws {
        let files = FileManager.default
        try files.createDirectory(
            atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        for (name, content) in recorder.files {
            let path = folder + "/" + name
            guard files.createFile(atPath: path, contents: Data(content), attributes: [.posixPermissions: 0o600]) else {
                throw CocoaError(.fileWriteUnknown, userInfo: [NSFilePathErrorKey: path])
            }
        }
    }
}

extension BluetoothWorld {
    /// Keeps what happens from now on.
    ///
    /// - Parameter length: how much of the past the captures have; the story is kept whole.
    public func record(keeping length: Duration = .seconds(30)) -> WorldRecording {
        let recorder = FlightRecorder(of: world, keeping: length)
        onTell { [weak recorder] device, what, octets in recorder?.add(device, what, octets) }
        return WorldRecording(recorder, reportList)
    }
}

/// The recordings of all worlds that are made while something runs.
package final class WorldRecordings: Sendable {
    /// Where worlds that are made now are recorded.
    @TaskLocal package static var current: WorldRecordings?

    // `@unchecked`: the mutex guards the list, and whoever runs worlds writes the recordings. They are read by the
    // caller for whom `current` was set, and only after the work that it was set for has returned.
    private struct Kept: @unchecked Sendable {
        var recordings: [WorldRecording] = []
    }

    private let kept = Mutex(Kept())

    package init() {}

    func add(_ world: BluetoothWorld) {
        let made = Kept(recordings: [world.record()])
        kept.withLock { $0.recordings += made.recordings }
    }

    package var stories: [String] { kept.withLock { $0 }.recordings.map(\.story) }
    package var isEmpty: Bool { kept.withLock { $0.recordings.isEmpty } }

    /// Writes each into a folder of its own, and gives the stories.
    package func write(to folder: String) throws -> [String] {
        let all = kept.withLock { $0 }
        for (index, recording) in all.recordings.enumerated() {
            try recording.write(to: all.recordings.count == 1 ? folder : "\(folder)/world-\(index + 1)")
        }
        return all.recordings.map(\.story)
    }
}
