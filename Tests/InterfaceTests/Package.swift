import Foundation

/// The package that is tested, and where its products lie.
enum Package {
    static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()

    /// The folder of the running test, which is the folder of all products.
    static func products() throws -> URL {
        let program = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        return URL(filePath: program).deletingLastPathComponent()
    }

    /// The C modules that a client of the package must find, as compiler options.
    static func moduleMaps() throws -> [String] {
        let maps = try [root.appending(path: "Sources"), products()].flatMap { folder in
            try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
                .map { $0.appending(path: "module.modulemap") }
        }
        return maps.filter { FileManager.default.fileExists(atPath: $0.path) }.map(\.path).sorted()
            .flatMap { ["-Xcc", "-fmodule-map-file=\($0)"] }
    }

    static var target: String {
        #if arch(arm64)
            "aarch64-unknown-linux-gnu"
        #else
            "x86_64-unknown-linux-gnu"
        #endif
    }
}

/// A command, its output and how it ended.
struct Command {
    var status: Int32
    var output: String

    /// Runs a program found on `PATH` to its end.
    init(_ arguments: [String], in folder: URL = Package.root) throws {
        let process = Process()
        let pipe = Pipe()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = arguments
        process.currentDirectoryURL = folder
        process.standardOutput = pipe
        process.standardError = pipe
        process.standardInput = FileHandle.nullDevice
        try process.run()
        output = String(decoding: pipe.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        status = process.terminationStatus
    }
}

/// A folder that goes with the test.
struct TemporaryFolder: ~Copyable {
    let url: URL

    init() throws {
        url = FileManager.default.temporaryDirectory.appending(path: "interface-\(UUID().uuidString)")
        try FileManager.default.createDirectory(
            at: url, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    }

    deinit { try? FileManager.default.removeItem(at: url) }
}
