import ATT
import BluetoothTypes

/// A read of one value or of several, which stops wherever the owner must be asked for one.
///
/// Source: Core 6.0, Vol 3, Part F, 3.4.4.
struct ReadJob: Sendable {
    private enum Form {
        case whole
        case blob(offset: Int)
        case byType
        case multiple
        case multipleVariable
    }

    enum Step {
        /// Only the owner knows the value from `offset` on.
        case ask(handle: UInt16, offset: Int)
        case answer([UInt8])
    }

    private let form: Form
    private let mtu: Int
    /// What is still to be read, the one that is being read first.
    private var handles: ArraySlice<UInt16>
    private var found: [(handle: UInt16, value: [UInt8])] = []
    /// How many octets the answer can still take.
    private var room: Int
    /// Whether Database Hash is among what was read.
    private(set) var hasReadHash = false

    /// Where the reading is now.
    var current: UInt16 { handles.first ?? 0 }

    private init(_ form: Form, _ handles: [UInt16], mtu: Int) {
        self.form = form
        self.mtu = mtu
        self.handles = handles[...]
        if case .byType = form { room = mtu - 2 } else { room = mtu - 1 }
    }

    init(_ request: ReadRequest, mtu: Int) {
        self.init(.whole, [request.handle], mtu: mtu)
    }

    init(_ request: ReadBlobRequest, mtu: Int) {
        self.init(.blob(offset: Int(request.offset)), [request.handle], mtu: mtu)
    }

    init(_ request: ReadByTypeRequest, mtu: Int, in database: AttributeDatabase) throws(Refusal) {
        let range = try AttributeDatabase.range(request.startingHandle, request.endingHandle)
        let matching = database.slice(range).lazy.filter { $0.type == request.type }
        let handles = matching.prefix((mtu - 2) / 2).map(\.handle)
        guard !handles.isEmpty else { throw Refusal(.attributeNotFound, at: request.startingHandle) }
        self.init(.byType, Array(handles), mtu: mtu)
    }

    /// All of the handles must be readable, or none is read.
    init(
        multiple handles: [UInt16], isVariable: Bool, mtu: Int, in database: AttributeDatabase,
        security: GATTLinkSecurity
    ) throws(Refusal) {
        for handle in handles {
            do throws(ATTErrorCode) {
                _ = try database.attribute(handle, for: .read, on: security)
            } catch {
                throw Refusal(error, at: handle)
            }
        }
        self.init(isVariable ? .multipleVariable : .multiple, handles, mtu: mtu)
    }

    /// Reads on until the owner must be asked, or the answer is complete.
    mutating func run(
        _ database: AttributeDatabase, for client: ServedClient
    ) throws(Refusal) -> Step {
        while let handle = handles.first, room > 0 {
            do throws(ATTErrorCode) {
                switch try database.attribute(handle, for: .read, on: client.security).content {
                case .stored(let value):
                    try take(value, from: offset)
                case .configuration(let characteristic, _):
                    try take((client.configurations[characteristic] ?? []).octets, from: offset)
                case .clientFeatures:
                    try take([client.features.rawValue], from: offset)
                case .databaseHash:
                    try take(database.hash, from: offset)
                    hasReadHash = true
                case .dynamic:
                    return .ask(handle: handle, offset: offset)
                }
            } catch {
                try fail(error)
            }
        }
        return .answer(answer)
    }

    /// The owner's answer: the value from the offset on that was asked for.
    mutating func supply(_ value: [UInt8]) throws(Refusal) {
        do throws(ATTErrorCode) {
            // No value is longer (Core 6.0, Vol 3, Part F, 3.2.9).
            try take(Array(value.prefix(ATTLimits.maximumValueLength)), from: 0)
        } catch {
            try fail(error)
        }
    }

    /// The current value can't be had. A search that has found something ends with that; every other read is refused.
    mutating func fail(_ code: ATTErrorCode) throws(Refusal) {
        guard case .byType = form, !found.isEmpty else { throw Refusal(code, at: current) }
        handles = []
    }

    private var offset: Int {
        if case .blob(let offset) = form { offset } else { 0 }
    }

    private mutating func take(_ value: [UInt8], from offset: Int) throws(ATTErrorCode) {
        guard offset <= value.count else { throw .invalidOffset }
        switch form {
        case .whole, .blob, .multiple:
            append(Array(value[offset...].prefix(room)), overhead: 0)
        case .multipleVariable:
            append(value, overhead: 2)
        case .byType:
            let shown = Array(value.prefix(min(mtu - 4, 253)))
            guard found.isEmpty || found[0].value.count == shown.count, shown.count + 2 <= room else {
                handles = []
                return
            }
            append(shown, overhead: 2)
        }
    }

    private mutating func append(_ value: [UInt8], overhead: Int) {
        guard let handle = handles.popFirst() else { return }
        found.append((handle, value))
        room -= overhead + value.count
    }

    private var answer: [UInt8] {
        switch form {
        case .whole: return ReadResponse(value: found[0].value).pdu
        case .blob: return ReadBlobResponse(part: found[0].value).pdu
        case .byType:
            return ReadByTypeResponse(attributes: found.map { .init(handle: $0.handle, value: $0.value) }).pdu
        case .multiple: return ReadMultipleResponse(values: found.flatMap(\.value)).pdu
        case .multipleVariable:
            let tuples = found.map { found in
                ReadMultipleVariableResponse.Tuple(length: UInt16(found.value.count), value: found.value)
            }
            return Array(ReadMultipleVariableResponse(tuples: tuples).pdu.prefix(mtu))
        }
    }
}
