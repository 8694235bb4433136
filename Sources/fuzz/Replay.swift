import Foundation
import FuzzKit
import Glibc

/// `fuzz TARGET FILE...`: plays inputs, as many as there are, each once.
struct Replay {
    static let help = """
        Plays fuzzers' inputs against a part of the stack: a trap shows the bug.

        usage: fuzz TARGET FILE|FOLDER...

        targets: \(FuzzTarget.allCases.map(\.rawValue).joined(separator: " "))

        exit status: 0 all were survived; 2 a file can't be read, or wrong usage; a trap ends it by its signal
        To look for new inputs: ./test --fuzz MINUTES
        """

    let arguments: [String]

    func run() -> Int32 {
        if arguments.contains("--help") || arguments.contains("-h") {
            print(Self.help)
            return 0
        }
        guard let name = arguments.first, let target = FuzzTarget(rawValue: name), arguments.count > 1 else {
            complain("Which target, and which files? Try --help.")
            return 2
        }
        var count = 0
        for path in arguments.dropFirst() {
            do {
                for file in try files(at: path) {
                    target.run(Array(try Data(contentsOf: file)))
                    count += 1
                }
            } catch {
                complain("\(path) can't be read: \(error.localizedDescription)")
                return 2
            }
        }
        print("\(count) inputs survived by \(target.rawValue)")
        return 0
    }

    private func files(at path: String) throws -> [URL] {
        let url = URL(filePath: path)
        guard try url.resourceValues(forKeys: [.isDirectoryKey]).isDirectory == true else { return [url] }
        return try FileManager.default.contentsOfDirectory(at: url, includingPropertiesForKeys: nil)
            .sorted { $0.lastPathComponent < $1.lastPathComponent }
    }

    private func complain(_ text: String) {
        try? FileHandle.standardError.write(contentsOf: Data("fuzz: \(text)\n".utf8))
    }
}
