public import CoreBluetooth

/// A characteristic whose values have a type.
// `@unchecked`: `CBUUID` does not change.
public struct KnownCharacteristic<Value: Sendable>: @unchecked Sendable {
    public let service: CBUUID
    public let characteristic: CBUUID
    /// `nil` for what is no such value.
    public let decode: @Sendable (Data) -> Value?

    public init(_ characteristic: String, in service: String, decode: @escaping @Sendable (Data) -> Value?) {
        self.service = CBUUID(string: service)
        self.characteristic = CBUUID(string: characteristic)
        self.decode = decode
    }

    func value(_ data: Data) throws -> Value {
        guard let value = decode(data) else {
            throw ToolkitError.protocolViolation("\(characteristic) has the value \(Array(data))")
        }
        return value
    }
}

extension RemotePeripheral {
    /// Reads the value.
    ///
    /// - Throws: ``ToolkitError/protocolViolation(_:)`` if it makes no sense.
    public func read<Value>(
        _ known: KnownCharacteristic<Value>, within limit: Duration? = Central.defaultLimit
    ) async throws -> Value {
        let deadline = Deadline(limit, by: time)
        let found = try await characteristic(known.characteristic, in: known.service, within: deadline.left)
        return try known.value(try await read(found, within: deadline.left))
    }

    /// Subscribes, and returns the values that come.
    public func values<Value>(
        of known: KnownCharacteristic<Value>, buffer: BufferPolicy = .newest(256),
        within limit: Duration? = Central.defaultLimit
    ) async throws -> KnownValues<Value> {
        let deadline = Deadline(limit, by: time)
        let found = try await characteristic(known.characteristic, in: known.service, within: deadline.left)
        return KnownValues(
            events: try await values(of: found, buffer: buffer, within: deadline.left), characteristic: known)
    }
}

/// The values of a characteristic as they come. One that makes no sense ends the stream with
/// ``ToolkitError/protocolViolation(_:)``.
public struct KnownValues<Value: Sendable>: AsyncSequence, Sendable {
    let events: Events<Data>
    let characteristic: KnownCharacteristic<Value>

    public struct AsyncIterator: AsyncIteratorProtocol {
        var iterator: Events<Data>.AsyncIterator
        let characteristic: KnownCharacteristic<Value>

        public mutating func next() async throws -> Value? { try await iterator.next().map(characteristic.value) }
    }

    public func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(iterator: events.makeAsyncIterator(), characteristic: characteristic)
    }

    public var dropped: Int { events.dropped }
}
