import BluetoothTypes
import BondFiles
public import CoreBluetooth
import HostInterface

/// How bonds are written down, by this package and by others.
public enum BondFileFormat: Sendable {
    /// This package's own: one file of JSON, with everything that is kept of a bond, for the same adapter.
    case ours
    /// Google's Bumble: one file of JSON.
    case bumble
    /// BlueZ: a file `ADAPTER/PEER/info` for each bond, below `/var/lib/bluetooth`.
    case blueZ

    var hostValue: BondFormat {
        switch self {
        case .ours: .ours
        case .bumble: .bumble
        case .blueZ: .blueZ
        }
    }
}

/// A file with keys in it. Keep it where nobody else can read it.
public struct BondDocument: Sendable {
    /// Below the folder of the format.
    public var path: String
    public var contents: Data

    public init(path: String, contents: Data) {
        self.path = path
        self.contents = contents
    }
}

extension BluetoothSecurity {
    /// All bonds in one of the forms.
    public func exportBonds(
        as format: BondFileFormat, completion: @escaping (Result<[BondDocument], any Error>) -> Void
    ) {
        ask(.listBonds) { [weak self] answer in
            guard case .success(.bonds(let records)) = answer, let adapter = self?.manager?.adapterAddress else {
                return completion(.failure(answer.problem))
            }
            let files = format.hostValue.files(of: records, adapter: adapter)
            completion(.success(files.map { BondDocument(path: $0.path, contents: Data($0.contents)) }))
        }
    }

    /// Takes bonds that were made with the same adapter, in place of those with the same peers. All of
    /// them, or none.
    public func importBonds(
        _ documents: [BondDocument], as format: BondFileFormat, completion: @escaping ((any Error)?) -> Void
    ) {
        guard let adapter = manager?.adapterAddress else { return completion(CBError(.notConnected)) }
        let files = documents.map { BondFile(path: $0.path, contents: Array($0.contents)) }
        let records: [BondRecord]
        do throws(BondFileError) {
            records = try format.hostValue.records(in: files, adapter: adapter)
        } catch {
            return completion(
                CBError(.invalidParameters, userInfo: [NSLocalizedFailureReasonErrorKey: error.description]))
        }
        ask(.importBonds(records)) { answer in
            if case .success = answer { completion(nil) } else { completion(answer.problem) }
        }
    }
}
