import Foundation

/// Why there is no world: `office.json:12:5: devices[2].position: it must be ...`.
package struct WorldFileError: Error, Equatable, Sendable, CustomStringConvertible {
    package let description: String
}

extension WorldFile {
    /// Reads a file, and the profiles that it names, which count from its folder.
    package static func read(_ path: String) throws(WorldFileError) -> WorldFile {
        let url = URL(fileURLWithPath: path)
        let octets: Data
        do { octets = try Data(contentsOf: url) } catch {
            throw WorldFileError(description: "\(path) cannot be read: \(fileTrouble(error))")
        }
        do throws(JSONProblem) {
            return try WorldFile(json: octets) { name in
                let profile = URL(fileURLWithPath: name, relativeTo: url.deletingLastPathComponent())
                do { return Array(try Data(contentsOf: profile)) } catch { return nil }
            }
        } catch {
            throw WorldFileError(description: "\(path):\(error)")
        }
    }
}
