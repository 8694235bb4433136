import Testing

/// Sizes, words and habits that the compiler does not know.
@Suite("Shape")
struct ShapeTests {
    static let protocolTargets: Set = [
        "ByteCodec", "BluetoothTypes", "HCI", "LinkLayer", "L2CAP", "ATT", "GATT", "GAP", "VirtualController", "Host",
    ]
    static let clocks: Set = ["await", "async", "Task", "Date", "ContinuousClock", "DispatchQueue", "sleep"]

    @Test("Protocol code neither suspends nor reads a clock", arguments: try Source.all(in: "Sources"))
    func sansIO(source: Source) {
        guard Self.protocolTargets.contains(source.target) else { return }
        for line in source.lines {
            for word in line.code.split(whereSeparator: { !$0.isLetter && $0 != "_" }) {
                #expect(
                    !Self.clocks.contains(String(word)),
                    "\(source.path):\(line.number): \(word). Take the time as an argument and answer in effects.")
            }
        }
    }

    @Test("Files fit in a head, lines on a screen", arguments: try Source.all(in: "Sources", "Tests", "Examples"))
    func sizes(source: Source) {
        #expect(source.lines.count <= 401, "\(source.path) has over 400 lines. Split it where its ideas part.")
        for line in source.lines where line.text.count > 120 && !line.text.contains("\"") {
            Issue.record("\(source.path):\(line.number) is longer than 120 columns.")
        }
    }

    @Test("Functions fit on a screen", arguments: try Source.all(in: "Sources", "Examples"))
    func functions(source: Source) {
        for function in source.functions where function.length > 60 {
            Issue.record("\(source.path):\(function.line) is a function of \(function.length) lines; 60 are the most.")
        }
    }

    @Test("Nothing is left for later, nothing is forced", arguments: try Source.all(in: "Sources", "Examples"))
    func marks(source: Source) {
        for line in source.lines {
            for mark in ["TO" + "DO", "FIX" + "ME", "XX" + "X:", "try!", "fatalError(\"not impl"] {
                #expect(!line.text.contains(mark), "\(source.path):\(line.number): \(mark). Finish it, or take it out.")
            }
        }
    }

    @Test("Whoever overrules the compiler says who guards what", arguments: try Source.all(in: "Sources", "Examples"))
    func unchecked(source: Source) {
        for (index, line) in source.lines.enumerated() {
            guard line.code.contains("@unchecked Sendable") || line.code.contains("nonisolated(unsafe)") else {
                continue
            }
            let near = source.lines[max(0, index - 12)...min(source.lines.count - 1, index + 3)]
            #expect(
                near.contains { $0.text.contains("//") },
                "\(source.path):\(line.number): add a comment that says which thread or lock guards the state.")
        }
    }

    @Test("No path of one machine", arguments: try Source.all(in: "Sources", "Tests", "Examples"))
    func paths(source: Source) {
        for line in source.lines {
            for folder in ["/wo" + "rk/", "/ho" + "me/", "/ro" + "ot/"] {
                #expect(!line.text.contains(folder), "\(source.path):\(line.number) names a folder of one machine.")
            }
        }
    }
}

extension Source {
    /// Where functions begin and how many lines they take, by the indentation that the formatter keeps.
    var functions: [(line: Int, length: Int)] {
        var found: [(line: Int, length: Int)] = []
        for (index, line) in lines.enumerated() {
            let words = line.code.split(whereSeparator: { !$0.isLetter })
            guard words.contains("func") || words.first == "init", !line.text.hasPrefix("//") else { continue }
            // A requirement of a protocol has no body: nothing opens one before the next declaration.
            let rest = lines[(index + 1)...].prefix { !$0.code.contains("func ") && !$0.text.isEmpty }
            guard line.code.hasSuffix("{") || rest.contains(where: { $0.code.hasSuffix("{") }) else { continue }
            let indent = line.text.prefix { $0 == " " }
            let end = lines[index...].first { $0.text == indent + "}" }
            if let end, !line.text.hasSuffix("}") { found.append((line.number, end.number - line.number + 1)) }
        }
        return found
    }
}
