/// Why something cannot be kept, or not be read again. Each describes itself in a sentence for a person.
package enum StorageError: Error, Equatable, Sendable, CustomStringConvertible {
    /// The place is not this user's alone.
    case unsafePlace(path: String, reason: String)
    /// The place cannot be made, opened, read or written.
    case unavailable(path: String, reason: String)
    /// The file was written by a later version of this program.
    case newerVersion(path: String, found: Int, known: Int)
    /// What the file holds is not what was written into it.
    case damaged(path: String, reason: String)
    /// Other processes kept it locked for longer than ``Database/patience``.
    case busy(path: String)

    package var description: String {
        switch self {
        case .unsafePlace(let path, let reason): "\(path) is not safe to keep things in: \(reason)."
        case .unavailable(let path, let reason): "\(path) cannot be used: \(reason)."
        case .newerVersion(let path, let found, let known):
            "\(path) has the format \(found) of a later version; this one knows formats up to \(known). Use that "
                + "version, or move the file away."
        case .damaged(let path, let reason): "\(path) is damaged: \(reason)."
        case .busy(let path): "\(path) is locked by another program."
        }
    }
}
