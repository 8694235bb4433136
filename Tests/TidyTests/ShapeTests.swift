import Foundation
import Testing

/// Sizes, words and habits that the compiler does not know.
@Suite("Shape")
struct ShapeTests {
    /// Layers 0 to 3 without the two that are there to wait: the event loop and the transports.
    static let protocolTargets: Set = [
        "ByteCodec", "BluetoothTypes", "BluetoothCrypto", "HCI", "LinkLayer", "L2CAP", "ATT", "SMP", "GATT", "GAP",
        "VirtualController", "HostInterface", "Host",
    ]
    static let banned: Set<Substring> = [
        "await", "async", "Task", "Thread", "Date", "ContinuousClock", "SuspendingClock", "DispatchQueue",
        "DispatchTime", "sleep", "usleep", "clock_gettime", "SystemRandomNumberGenerator",
    ]

    @Test("Protocol code neither suspends nor reads a clock", arguments: try Source.all(in: "Sources"))
    func sansIO(source: Source) {
        guard Self.protocolTargets.contains(source.target) else { return }
        for line in source.lines {
            for word in line.words where Self.banned.contains(word) {
                Issue.record(
                    """
                    \(source.at(line)): no \(word) in protocol code. Take time and chance as arguments, and answer in \
                    effects.
                    """)
            }
        }
    }

    @Test("Files fit in a head, lines on a screen", arguments: try Source.all(in: "Sources", "Tests", "Examples"))
    func sizes(source: Source) {
        let count = source.lines.last?.text.isEmpty == true ? source.lines.count - 1 : source.lines.count
        #expect(count <= 400, "\(source.path) has \(count) lines; 400 are the most. Split it where its ideas part.")
        for line in source.lines where line.text.count > 120 {
            Issue.record("\(source.at(line)) has \(line.text.count) columns; 120 are the most. Break the line.")
        }
    }

    @Test("Functions fit on a screen", arguments: try Source.all(in: "Sources", "Tests", "Examples"))
    func functions(source: Source) {
        for function in source.functions where function.length > 60 {
            Issue.record(
                """
                \(source.path):\(function.line): \(function.name) has \(function.length) lines; 60 are the most. Give \
                its parts names.
                """)
        }
    }

    @Test("Nothing is left for later, nothing is forced", arguments: try Source.all(in: "Sources", "Tests", "Examples"))
    func marks(source: Source) {
        for line in source.lines {
            for mark in ["TO" + "DO", "FIX" + "ME", "XX" + "X:"] where line.text.contains(mark) {
                Issue.record("\(source.at(line)): \(mark). Finish it, or file an issue and take the words out.")
            }
            #expect(!line.code.contains("try!"), "\(source.at(line)): handle the error, or pass it on.")
            #expect(
                !line.text.contains("fatalError(\"not " + "implemented"),
                "\(source.at(line)): build it, or take it out of the interface.")
        }
    }

    @Test("Whoever overrules the compiler says who guards what", arguments: try Source.all(in: "Sources", "Examples"))
    func unchecked(source: Source) {
        for (index, line) in source.lines.enumerated() {
            guard line.code.contains("@unchecked Sendable") || line.code.contains("nonisolated(unsafe)") else {
                continue
            }
            let near = source.lines[max(0, index - 8)...min(source.lines.count - 1, index + 4)]
            #expect(
                near.contains { $0.text.contains("//") },
                "\(source.at(line)): add a comment that says which thread or lock guards the state.")
        }
    }

    @Test("No file names a folder of one machine")
    func paths() throws {
        let folders = ["/wo" + "rk/", "/ho" + "me/", "/ro" + "ot/", "/Us" + "ers/"]
        let top = try FileManager.default.contentsOfDirectory(atPath: Tree.root.path)
        let areas = top.filter { ![".git", ".build", ".cache"].contains($0) }.sorted()
        for path in areas.flatMap({ Tree.files(in: $0) }) + areas {
            // What is not text names nothing.
            guard let text = try? String(contentsOf: Tree.root.appending(path: path), encoding: .utf8) else { continue }
            for folder in folders where text.contains(folder) {
                Issue.record("\(path) names a folder of one machine (\(folder)). Find it at run time instead.")
            }
        }
    }
}
