public import CoreBluetooth

extension RemotePeripheral {
    // MARK: Reading

    /// Reads the value, however long. While notifications of it come, one of them may be what is returned:
    /// CoreBluetooth does not tell the two apart.
    public func read(
        _ characteristic: RemoteCharacteristic, within limit: Duration? = Central.defaultLimit
    ) async throws -> Data {
        let object = characteristic.characteristic
        let answer = try await ask(.read, object, within: limit) { [self] in
            try checkCurrent(characteristic.linkNumber)
        } start: {
            $0.readValue(for: object)
        }
        guard case .data(let data) = answer else { return Data() }
        return data
    }

    /// Reads the descriptor: a `String`, an `NSNumber` or `Data`, by its kind, put into words.
    public func read(
        _ descriptor: RemoteDescriptor, within limit: Duration? = Central.defaultLimit
    ) async throws -> DescriptorValue {
        let object = descriptor.descriptor
        _ = try await ask(.read, object, within: limit) { [self] in
            try checkCurrent(descriptor.linkNumber)
        } start: {
            $0.readValue(for: object)
        }
        return DescriptorValue(object.value)
    }

    /// In dBm.
    public func readRSSI(within limit: Duration? = Central.defaultLimit) async throws -> Int {
        guard case .number(let strength) = try await ask(.rssi, nil, within: limit, start: { $0.readRSSI() })
        else { throw ToolkitError.notConnected }
        return strength
    }

    // MARK: Writing

    /// Writes the value, and returns when the peer has confirmed it.
    ///
    /// A write that is given up while it is on its way may arrive, or not.
    public func write(
        _ data: Data, to characteristic: RemoteCharacteristic, within limit: Duration? = Central.defaultLimit
    ) async throws {
        let object = characteristic.characteristic
        _ = try await ask(.write, object, within: limit) { [self] in
            try checkCurrent(characteristic.linkNumber)
            try checkLength(data, .withResponse)
        } start: {
            $0.writeValue(data, for: object, type: .withResponse)
        }
    }

    /// Writes the value without asking the peer to confirm it, and returns when it is handed to the system: as soon as
    /// there is room.
    public func writeWithoutResponse(
        _ data: Data, to characteristic: RemoteCharacteristic, within limit: Duration? = Central.defaultLimit
    ) async throws {
        try Task.checkCancellation()
        let deadline = Deadline(limit, by: time)
        while true {
            let call = Call<Void>()
            let isSent = try lock.withLock {
                try checkLink()
                try checkCurrent(characteristic.linkNumber)
                try checkLength(data, .withoutResponse)
                guard characteristic.properties.contains(.writeWithoutResponse) else {
                    throw CBATTError(.requestNotSupported)
                }
                guard peripheral.canSendWriteWithoutResponse else {
                    roomCalls.append(call)
                    return false
                }
                peripheral.writeValue(data, for: characteristic.characteristic, type: .withoutResponse)
                return true
            }
            if isSent { return }
            defer { lock.withLock { roomCalls.removeAll { $0 === call } } }
            try await call.value(within: deadline.left, by: time)
        }
    }

    public func write(
        _ data: Data, to descriptor: RemoteDescriptor, within limit: Duration? = Central.defaultLimit
    ) async throws {
        let object = descriptor.descriptor
        _ = try await ask(.write, object, within: limit) { [self] in
            try checkCurrent(descriptor.linkNumber)
            guard descriptor.uuid != CBUUID(string: CBUUIDClientCharacteristicConfigurationString) else {
                throw CBATTError(.writeNotPermitted)
            }
        } start: {
            $0.writeValue(data, for: object)
        }
    }

    private func checkLength(_ data: Data, _ type: CBCharacteristicWriteType) throws {
        let limit = peripheral.maximumWriteValueLength(for: type)
        if data.count > limit { throw ToolkitError.tooLong(octets: data.count, limit: limit) }
    }
}

/// What a descriptor holds.
public enum DescriptorValue: Equatable, Sendable, CustomStringConvertible {
    case text(String)
    case number(Int)
    case data(Data)
    case nothing

    init(_ value: Any?) {
        self =
            switch value {
            case let text as String: .text(text)
            case let data as Data: .data(data)
            case let number as NSNumber: .number(number.intValue)
            default: .nothing
            }
    }

    public var description: String {
        switch self {
        case .text(let text): text
        case .number(let number): String(number)
        case .data(let data): data.map { String(format: "%02X", $0) }.joined(separator: " ")
        case .nothing: ""
        }
    }
}
