import EventLoop
import HCITransport

/// Keeps the last seconds of a world, all the time: the air, what passed between each host and its controller, and the
/// story; to be written down when something has gone wrong.
///
/// It belongs to the world's thread.
package final class FlightRecorder {
    private struct Entry {
        var time: Instant
        var octets: [UInt8]
    }

    /// Of one kind, the oldest first; those before `first` are gone.
    private struct Track {
        var entries: [Entry] = []
        var first = 0

        mutating func add(_ entry: Entry, keeping length: Duration) {
            entries.append(entry)
            while first < entries.count, entries[first].time.duration(to: entry.time) > length { first += 1 }
            if first > 1024, first > entries.count / 2 {
                entries.removeFirst(first)
                first = 0
            }
        }
    }

    private let length: Duration
    private var airCapture = AirCapture()
    private var air = Track()
    private var hosts: [Int: (name: String, track: Track)] = [:]
    private var lines: [Story.Line] = []
    private var teller: Story?

    /// - Parameter length: how much of the past it keeps. The story is kept whole, up to 100,000 lines.
    package init(of world: World, keeping length: Duration = .seconds(30)) {
        self.length = length
        world.addAirTap { [weak self] packet in
            guard let self else { return }
            air.add(Entry(time: packet.start, octets: airCapture.record(packet)), keeping: length)
        }
        world.addHCITap { [weak self] now, device, direction, packet in
            guard let self else { return }
            hosts[device.number, default: (device.name, Track())].track.add(
                Entry(time: now, octets: HCICapture.record(packet, direction, at: now)), keeping: length)
        }
        teller = Story(of: world) { [weak self] line in
            guard let self else { return }
            lines.append(line)
            if lines.count > 100_000 { lines.removeFirst(50_000) }
        }
    }

    /// Notes something that is not on the air.
    package func add(_ device: String, _ what: String, _ octets: [UInt8]? = nil) { teller?.add(device, what, octets) }

    /// What has happened, in order.
    package var story: [Story.Line] { lines }

    /// What it has: names of files and what they hold.
    package var files: [(name: String, content: [UInt8])] {
        var files = [("air.pcap", AirCapture.header + air.entries[air.first...].flatMap(\.octets))]
        for number in hosts.keys.sorted() {
            guard let (name, track) = hosts[number] else { continue }
            let letters = name.map { $0.isLetter && $0.isASCII || $0.isNumber && $0.isASCII ? $0 : "-" }
            files.append(
                (
                    "\(number)-\(String(letters)).btsnoop",
                    BTSnoop.header + track.entries[track.first...].flatMap(\.octets)
                ))
        }
        files.append(("story.txt", lines.flatMap { Array(($0.text + "\n").utf8) }))
        return files
    }
}
