public import CoreBluetooth

/// What centrals do with this device's services.
public enum LocalEvent: Sendable {
    case read(ReadRequest)
    case write(WriteRequest)
    case subscribed(RemoteCentral, PublishedCharacteristic)
    /// It does not listen any more, or has left.
    case unsubscribed(RemoteCentral, PublishedCharacteristic)
    /// A central has opened a channel that this device offers; hold it, or it is closed.
    case opened(Channel)
    /// The radio is not on any more; centrals are gone, and advertising has stopped.
    case radioGone(CBManagerState)
}

/// A question of a central that is answered once. If nobody does, its end answers, so that no central waits for its
/// timeout.
// `@unchecked`: `lock` guards the variable; CoreBluetooth's objects guard themselves.
public class LocalRequest: @unchecked Sendable {
    fileprivate let request: CBATTRequest
    private let manager: CBPeripheralManager
    private let lock = NSLock()
    private var isAnswered = false

    fileprivate init(_ request: CBATTRequest, of manager: CBPeripheralManager) {
        self.request = request
        self.manager = manager
    }

    deinit { answer(.unlikelyError) }

    public var central: RemoteCentral { RemoteCentral(central: request.central) }

    /// Refuses: with a code of the Attribute Protocol, or one of the program's own, 0x80...0x9F.
    public func refuse(_ code: CBATTError.Code) { answer(code) }

    fileprivate func answer(_ result: CBATTError.Code) {
        let isFirst = lock.withLock {
            defer { isAnswered = true }
            return !isAnswered
        }
        if isFirst, manager.state == .poweredOn { manager.respond(to: request, withResult: result) }
    }
}

/// A central reads a value.
public final class ReadRequest: LocalRequest, @unchecked Sendable {
    public var characteristic: PublishedCharacteristic {
        PublishedCharacteristic(characteristic: request.characteristic)
    }

    override init(_ request: CBATTRequest, of manager: CBPeripheralManager) { super.init(request, of: manager) }

    /// Answers with the value, the whole of it: the part that the central asks for is cut out here.
    public func respond(with value: Data) {
        guard request.offset <= value.count else { return refuse(.invalidOffset) }
        request.value = value.dropFirst(request.offset)
        answer(.success)
    }
}

/// A central writes: one value, or several parts that belong together.
public final class WriteRequest: LocalRequest, @unchecked Sendable {
    public struct Part: Sendable {
        public var characteristic: PublishedCharacteristic
        public var offset: Int
        public var value: Data
    }

    /// To be applied all or not at all, in this order.
    public let parts: [Part]

    init(_ first: CBATTRequest, all requests: [CBATTRequest], of manager: CBPeripheralManager) {
        parts = requests.map {
            Part(
                characteristic: PublishedCharacteristic(characteristic: $0.characteristic), offset: $0.offset,
                value: $0.value ?? Data())
        }
        super.init(first, of: manager)
    }

    /// Confirms the write; a write without response needs it not, and takes no harm.
    public func accept() { answer(.success) }

    /// The value written to each characteristic, with the parts of a long write put together.
    ///
    /// - Parameter current: what a part that starts in the middle is written into.
    /// - Returns: `nil` if a part leaves a gap, or makes a value of more than 512 octets; refuse it then.
    public func values(
        over current: (PublishedCharacteristic) -> Data = { _ in Data() }
    ) -> [(PublishedCharacteristic, Data)]? {
        var result: [(PublishedCharacteristic, Data)] = []
        for part in parts {
            let index = result.firstIndex { $0.0 == part.characteristic }
            let before = index.map { result[$0].1 } ?? (part.offset == 0 ? Data() : current(part.characteristic))
            guard part.offset <= before.count, part.offset + part.value.count <= 512 else { return nil }
            let value =
                Data(before.prefix(part.offset)) + part.value
                + Data(before.dropFirst(part.offset + part.value.count))
            if let index { result[index].1 = value } else { result.append((part.characteristic, value)) }
        }
        return result
    }
}
