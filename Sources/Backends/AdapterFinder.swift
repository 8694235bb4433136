import BluetoothTypes
import HCITransport

/// Finds the adapter that a radio's address means, again when it was unplugged and has another number now.
final class AdapterFinder: @unchecked Sendable {
    // `@unchecked`: `known`, all that changes, is touched in `open` alone, by the thread that has the radio's loop;
    // what is opened there checks that it is (`RealTimeLoop.checkIsolated`).
    private let name: LinuxAdapter.Name?
    /// The adapter that was opened the last time.
    private var known: DeviceAddress?

    /// - Parameter name: `nil` for the first that can be used.
    init(_ name: LinuxAdapter.Name?) { self.name = name }

    func open(on loop: RealTimeLoop) throws(TransportError) -> PacketTransport {
        let all = try LinuxAdapter.all()
        let candidates: [LinuxAdapter]
        if let again = all.first(where: { known != nil && $0.address == known }) {
            candidates = [again]
        } else if let name {
            candidates = all.filter { $0.has(name) }
        } else {
            candidates = all
        }
        return try open(oneOf: candidates, on: loop)
    }

    /// Why one of several cannot be opened is told of the one that is nearest to being usable.
    private func open(oneOf candidates: [LinuxAdapter], on loop: RealTimeLoop) throws(TransportError) -> PacketTransport
    {
        var failure = TransportError.noAdapter(name.map { "\($0)" })
        for adapter in candidates {
            do throws(TransportError) {
                let transport = try PacketTransport.open(adapter: adapter, on: loop)
                known = adapter.address
                return transport
            } catch {
                if rank(error) < rank(failure) { failure = error }
            }
        }
        throw failure
    }

    private func rank(_ error: TransportError) -> Int {
        switch error {
        case .noCapability: 0
        case .adapterSettling: 1
        case .blocked: 2
        case .adapterInUse: 3
        case .noAdapter: 5
        default: 4
        }
    }
}
