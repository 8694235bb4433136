public import Foundation

/// Where a receiver keeps what comes. One transfer uses it at a time.
public protocol TransferStore: AnyObject, Sendable {
    /// Gets ready for a transfer, whether a new one or one that was broken off.
    ///
    /// - Returns: how much of it is kept already, with the checksum of that.
    /// - Throws: ``TransferRefusal`` to refuse it.
    func begin(_ offer: TransferOffer) throws -> (offset: UInt32, checksum: Checksum)

    /// Takes what follows.
    func append(_ data: Data) throws

    /// Makes durable what was taken: from here on it outlives the process.
    func commit() throws

    /// The transfer is complete. Intact ones are put where they belong, others thrown away.
    ///
    /// - Returns: where it is.
    func finish(isIntact: Bool) throws -> URL?
}

/// Keeps transfers in a folder: `NAME.part` grows, `NAME.part.offset` says how much of it counts, and `NAME` appears
/// when all of it is there and intact. A file that exists already is not overwritten: the new one is numbered.
// `@unchecked`: `lock` guards the variables.
public final class FolderStore: TransferStore, @unchecked Sendable {
    public let folder: URL
    private let lock = NSLock()
    private var offer: TransferOffer?
    private var file: FileHandle?
    private var written: UInt32 = 0

    /// - Parameter folder: made if it is not there, for its owner only.
    public init(folder: URL) throws {
        self.folder = folder
        try FileManager.default.createDirectory(
            at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    }

    /// A name from the air as one of a file in this folder: nothing of a path is left of it.
    static func fileName(of offer: TransferOffer) -> String {
        let allowed = offer.name.unicodeScalars.map { scalar -> Character in
            let isPlain = CharacterSet.alphanumerics.contains(scalar) || " ._-+()".unicodeScalars.contains(scalar)
            return isPlain ? Character(scalar) : "_"
        }
        let name = String(allowed).drop { $0 == "." || $0 == " " }
        return name.isEmpty ? "transfer-" + String(offer.identifier, radix: 16) : String(name)
    }

    private func partURL(_ offer: TransferOffer) -> URL {
        // With the identifier, so that two contents of one name do not mix.
        folder.appendingPathComponent(
            ".\(Self.fileName(of: offer).utf8.count > 120 ? "transfer" : Self.fileName(of: offer))"
                + "-\(String(offer.identifier, radix: 16)).part")
    }

    private func offsetURL(_ offer: TransferOffer) -> URL { partURL(offer).appendingPathExtension("offset") }

    public func begin(_ offer: TransferOffer) throws -> (offset: UInt32, checksum: Checksum) {
        try lock.withLock {
            try file?.close()
            self.offer = offer
            let part = partURL(offer)
            if !FileManager.default.fileExists(atPath: part.path) {
                guard
                    FileManager.default.createFile(
                        atPath: part.path, contents: nil, attributes: [.posixPermissions: 0o600])
                else { throw TransferRefusal.storage }
            }
            let handle = try FileHandle(forUpdating: part)
            file = handle
            // What was written behind the offset may be there in part only.
            let text = try? String(contentsOf: offsetURL(offer), encoding: .utf8)
            let size = try handle.seekToEnd()
            written = min(text.flatMap { UInt32($0) } ?? 0, offer.length, UInt32(clamping: size))
            try handle.truncate(atOffset: UInt64(written))
            try handle.seek(toOffset: 0)
            var checksum = Checksum()
            while let piece = try handle.read(upToCount: 1 << 16), !piece.isEmpty { checksum.add(piece) }
            try handle.seek(toOffset: UInt64(written))
            return (written, checksum)
        }
    }

    public func append(_ data: Data) throws {
        try lock.withLock {
            try file?.write(contentsOf: data)
            written += UInt32(data.count)
        }
    }

    public func commit() throws {
        try lock.withLock {
            guard let offer, let file else { return }
            // First the content, then the word that it is there.
            try file.synchronize()
            try Data(String(written).utf8).write(to: offsetURL(offer), options: .atomic)
        }
    }

    public func finish(isIntact: Bool) throws -> URL? {
        try lock.withLock {
            guard let offer, let file else { return nil }
            try file.synchronize()
            try file.close()
            self.file = nil
            self.offer = nil
            defer { try? FileManager.default.removeItem(at: offsetURL(offer)) }
            guard isIntact else {
                try FileManager.default.removeItem(at: partURL(offer))
                return nil
            }
            let target = freeURL(Self.fileName(of: offer))
            try FileManager.default.moveItem(at: partURL(offer), to: target)
            return target
        }
    }

    private func freeURL(_ name: String) -> URL {
        var number = 1
        var target = folder.appendingPathComponent(name)
        while FileManager.default.fileExists(atPath: target.path) {
            number += 1
            let plain = (name as NSString).deletingPathExtension
            let suffix = (name as NSString).pathExtension
            target = folder.appendingPathComponent("\(plain) \(number)" + (suffix.isEmpty ? "" : ".\(suffix)"))
        }
        return target
    }
}

/// Where a sender takes from what it sends.
public protocol TransferSource: Sendable {
    var length: UInt32 { get }
    func read(at offset: UInt32, count: Int) throws -> Data
}

extension Data: TransferSource {
    public var length: UInt32 { UInt32(count) }
    public func read(at offset: UInt32, count: Int) throws -> Data {
        self[startIndex + Int(offset)..<startIndex + Int(offset) + count]
    }
}

/// A file to send; it must not change meanwhile.
// `@unchecked`: `lock` guards the file's position.
public final class FileSource: TransferSource, @unchecked Sendable {
    public let length: UInt32
    private let file: FileHandle
    private let lock = NSLock()

    /// - Throws: the system's error, ``ToolkitError/notARegularFile(_:)``, or ``ToolkitError/tooLong(octets:limit:)``
    ///   for a file of more than 4 GiB.
    public init(_ url: URL) throws {
        // To open a pipe would wait for whoever writes to it.
        let kind = try FileManager.default.attributesOfItem(atPath: url.resolvingSymlinksInPath().path)[.type]
        guard kind as? FileAttributeType == .typeRegular else { throw ToolkitError.notARegularFile(url.path) }
        file = try FileHandle(forReadingFrom: url)
        let size = try file.seekToEnd()
        guard size <= UInt32.max else { throw ToolkitError.tooLong(octets: Int(size), limit: Int(UInt32.max)) }
        length = UInt32(size)
    }

    deinit { try? file.close() }

    public func read(at offset: UInt32, count: Int) throws -> Data {
        try lock.withLock {
            try file.seek(toOffset: UInt64(offset))
            return try file.read(upToCount: count) ?? Data()
        }
    }
}

extension TransferSource {
    /// CRC-32 of all of it.
    func checksum() throws -> UInt32 {
        var checksum = Checksum()
        var offset: UInt32 = 0
        while offset < length {
            let piece = try read(at: offset, count: min(1 << 16, Int(length - offset)))
            guard !piece.isEmpty else { throw TransferRefusal.storage }
            checksum.add(piece)
            offset += UInt32(piece.count)
        }
        return checksum.value
    }
}
