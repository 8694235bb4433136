import BluetoothExtensions
import BluetoothToolkit
import CoreBluetooth
import Foundation

/// The calls of `BluetoothSecurity` for async code. They end with the radio's answer, or when they are cancelled.
extension BluetoothSecurity {
    func secure(_ peripheral: RemotePeripheral, authenticated: Bool) async throws -> LinkSecurity {
        try await answer {
            self.secure(peripheral.coreBluetoothPeripheral, authenticated: authenticated, completion: $0)
        }
    }

    func bonds() async throws -> [BondedPeer] { try await answer { self.listBonds(completion: $0) } }

    func removeBond(of peer: UUID) async throws {
        try await answer { done in self.removeBond(of: peer) { done($0.map { .failure($0) } ?? .success(())) } }
    }

    func export(as format: BondFileFormat) async throws -> [BondDocument] {
        try await answer { self.exportBonds(as: format, completion: $0) }
    }

    func take(_ documents: [BondDocument], as format: BondFileFormat) async throws {
        try await answer { done in
            self.importBonds(documents, as: format) { done($0.map { .failure($0) } ?? .success(())) }
        }
    }

    private func answer<Value: Sendable>(
        _ ask: (@escaping (Result<Value, any Error>) -> Void) -> Void
    ) async throws -> Value {
        let (answers, source) = EventSource<Value>.make(.oldest(1))
        ask { result in
            switch result {
            case .success(let value): source.send(value)
            case .failure(let error): source.finish(error)
            }
        }
        for try await answer in answers { return answer }
        throw CancellationError()
    }
}
