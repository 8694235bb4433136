import Dispatch
import Foundation
import Simulation
import Synchronization
import Testing

/// Examples/Worlds/digests.txt has one number for all that happens in each example. Debug and release builds, repeated
/// runs and loaded machines must come to the same; `./test --determinism` asks the release build.
@Suite("The same seed, the same octets")
struct DeterminismTests {
    private static let folder = WorldFileTests.root.appending(path: "Examples/Worlds")

    private static func digest(_ name: String, seed: UInt64? = nil) throws -> String {
        let file = try WorldFile.read(folder.appending(path: name + ".json").path)
        let played = PlayedWorld(file, seed: seed)
        let digest = WorldDigest(of: played.world)
        played.world.run(for: file.duration)
        return digest.text
    }

    private static let names = ["evening", "faulty", "paired"]

    @Test("The digests are those that are written down")
    func written() throws {
        let digests = try Self.names.map { try "\($0) \(Self.digest($0))\n" }.joined()
        let path = Self.folder.appending(path: "digests.txt")
        if ProcessInfo.processInfo.environment["REGENERATE"] == "1" {
            try digests.write(to: path, atomically: true, encoding: .utf8)
        }
        let written = try String(contentsOf: path, encoding: .utf8)
        #expect(
            digests == written,
            "A change of behaviour changes them: REGENERATE=1 ./test --filter DeterminismTests. Anything else must not."
        )
    }

    @Test("Again, on several threads at once, and with another seed")
    func repeated() throws {
        let first = try Self.digest("paired")
        let digests = Mutex<[String]>([])
        DispatchQueue.concurrentPerform(iterations: 4) { _ in
            let digest = (try? Self.digest("paired")) ?? "none"
            digests.withLock { $0.append(digest) }
        }
        #expect(digests.withLock { $0 } == Array(repeating: first, count: 4))
        #expect(try Self.digest("paired", seed: 12) != first)
    }

    @Test("Story, captures and digest only watch")
    func watching() throws {
        let file = try WorldFile.read(Self.folder.appending(path: "paired.json").path)
        let played = PlayedWorld(file)
        let digest = WorldDigest(of: played.world)
        var lines = 0
        let story = Story(of: played.world) { _ in lines += 1 }
        let recorder = FlightRecorder(of: played.world, keeping: .seconds(5))
        played.world.run(for: file.duration)
        withExtendedLifetime(story) {}
        #expect(try digest.text == Self.digest("paired"))
        #expect(lines > 100 && recorder.files.map(\.name).prefix(1) == ["air.pcap"])
    }
}
