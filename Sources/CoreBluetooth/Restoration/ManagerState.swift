import Backends
import HostInterface

/// What both managers do to be found again: they have a place in the program's store, by their role and the restore
/// identifier that the app gave them, and keep a record there.
extension HostLine {
    enum Role: String {
        case central
        case peripheral
    }

    /// Takes the place that the options name.
    ///
    /// - Returns: whether there is one; see ``restoration``.
    func claimPlace(as role: Role, of manager: CBManager, _ option: Any?) -> Bool {
        guard let option else { return false }
        guard let identifier = option as? String, !identifier.isEmpty, identifier.utf8.count <= longestIdentifier else {
            misuse(
                "\(manager) has a restore identifier that is not a String of 1 to \(longestIdentifier) octets; its "
                    + "state is not kept")
            return false
        }
        restoration = program.restoration.claim(role: role.rawValue, identifier: identifier)
        if restoration == nil {
            misuse(
                "\(manager) has the restore identifier \(identifier) of another manager that is alive; its state is "
                    + "not kept")
        }
        return restoration != nil
    }

    /// The record that was left, if there is one and it can be read.
    func restoredRecord<Record: Decodable>(_ type: Record.Type) -> Record? {
        guard let octets = restoration?.record else { return nil }
        do {
            return try JSONDecoder().decode(type, from: Data(octets))
        } catch {
            note("What was kept to be restored cannot be read and is left out: \(error)")
            return nil
        }
    }

    /// From now on `record` is kept whenever what it shows has changed; `nil` is nothing to be restored.
    func keepRecord<Record: Encodable>(_ record: @escaping () -> Record?) {
        let encoder = JSONEncoder()
        // The same state is to be the same octets.
        encoder.outputFormatting = [.sortedKeys]
        lock.keep = { [weak self] in
            guard let restoration = self?.restoration else { return }
            restoration.keep(record().flatMap { try? encoder.encode($0) }.map { Array($0) })
        }
    }
}

/// In octets: so long a name is a mistake.
private let longestIdentifier = 1024

/// Carries what `willRestoreState` is told to the queue where it is told.
// `@unchecked`: nobody changes it on the way.
struct RestoredState: @unchecked Sendable {
    var dictionary: [String: Any]
}
