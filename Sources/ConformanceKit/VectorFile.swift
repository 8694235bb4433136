package import Foundation

/// A file of one of the formats that this library plays, told apart by what is in it.
package enum VectorFile {
    case gattScripts(GATTScripts)
    case advertisements(Advertisements)
    case uuidStrings(UUIDStrings)
    case cryptoVectors(CryptoVectors)
    case pairingTranscripts(PairingTranscripts)
    case attacks(Attacks)
    case channelScripts(ChannelScripts)

    /// - Throws: ``VectorFileError`` if the file is not JSON, of no known format, or damaged.
    package init(_ data: Data) throws(VectorFileError) {
        let content: Any
        do {
            content = try JSONSerialization.jsonObject(with: data)
        } catch {
            throw VectorFileError("It is damaged: not JSON.")
        }
        guard let object = content as? [String: Any] else {
            throw VectorFileError("The format is not known: its JSON is no object.")
        }
        switch Set(object.keys).subtracting(["meta"]) {
        case ["databases", "cases"]: self = .gattScripts(try Self.decode(data))
        case ["advertisements"]: self = .advertisements(try Self.decode(data))
        case ["valid", "malformed"]: self = .uuidStrings(try Self.decode(data))
        case ["vectors", "sm_io_matrix"]: self = .cryptoVectors(try Self.decode(data))
        case ["cases", "short_scripts"]: self = .pairingTranscripts(try Self.decode(data))
        case ["rows"]: self = .attacks(try Self.decode(data))
        case ["bluez_cases", "nimble_scenarios"]: self = .channelScripts(try Self.decode(data))
        default:
            let keys = object.keys.sorted().joined(separator: ", ")
            throw VectorFileError("The format is not known: keys \(keys.isEmpty ? "none" : keys).")
        }
    }

    /// - Throws: ``VectorFileError`` also if there is no such file, or it can't be read.
    package init(path: String) throws(VectorFileError) {
        let url = URL(filePath: path)
        guard FileManager.default.fileExists(atPath: path) else { throw VectorFileError("There is no such file.") }
        let isDirectory = try? url.resourceValues(forKeys: [.isDirectoryKey]).isDirectory
        if isDirectory == true { throw VectorFileError("It is a directory, not a file.") }
        let data: Data
        do {
            data = try Data(contentsOf: url)
        } catch {
            throw VectorFileError("It can't be read: \(error.localizedDescription)")
        }
        try self.init(data)
    }

    /// Plays all of it.
    package func play() throws(VectorFileError) -> ConformanceReport {
        switch self {
        case .gattScripts(let scripts): try scripts.play()
        case .advertisements(let advertisements): advertisements.play()
        case .uuidStrings(let strings): strings.play()
        case .cryptoVectors(let vectors): vectors.play()
        case .pairingTranscripts(let transcripts): transcripts.play()
        case .attacks(let attacks): attacks.play()
        case .channelScripts(let scripts): scripts.play()
        }
    }

    private static func decode<Content: Decodable>(_ data: Data) throws(VectorFileError) -> Content {
        do {
            return try JSONDecoder().decode(Content.self, from: data)
        } catch let error as DecodingError {
            throw VectorFileError("It is damaged: \(describe(error)).")
        } catch {
            throw VectorFileError("It is damaged: \(error).")
        }
    }

    private static func describe(_ error: DecodingError) -> String {
        let (context, text): (DecodingError.Context, String) =
            switch error {
            case .typeMismatch(let type, let context): (context, "no \(type)")
            case .valueNotFound(let type, let context): (context, "null instead of \(type)")
            case .keyNotFound(let key, let context): (context, "\(key.stringValue) is missing")
            case .dataCorrupted(let context): (context, context.debugDescription)
            @unknown default: (DecodingError.Context(codingPath: [], debugDescription: ""), "\(error)")
            }
        let path = context.codingPath.map { key in key.intValue.map { "[\($0)]" } ?? key.stringValue }
        return path.isEmpty ? text : "\(path.joined(separator: ".")): \(text)"
    }
}
