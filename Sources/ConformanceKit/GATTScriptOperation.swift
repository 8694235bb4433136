import ATT
import BluetoothCrypto
import BluetoothTypes
import GATT

extension GATTScripts.Operation {
    /// A PDU that the stack sends past the bearer, with a signature.
    var signedPDU: [UInt8]? {
        get throws(VectorFileError) {
            guard op == .signedWriteCommand else { return nil }
            guard let octets = csrk_source_byte_order?.octets, let key = SecretKey(wire: octets) else {
                throw VectorFileError("It is damaged: \(op.rawValue) without a key.")
            }
            let pdu = WriteCommand(handle: try need(handle, "handle"), value: try self.octets()).signedPDU
            let counter = try need(sign_counter, "sign_counter")
            return pdu + DataSignature(of: pdu[...], key: key, counter: counter).wire
        }
    }

    /// What the bearer is asked for; `nil` for ``signedPDU``, which the bearer has no part in.
    func input(id: UInt64) throws(VectorFileError) -> GATTConnection.Input? {
        switch op {
        case .signedWriteCommand: return nil
        case .exchangeMTU: return .submit(id: id, .exchangeMTU)
        case .discoverPrimaryServices: return .submit(id: id, .discoverPrimaryServices(only: nil))
        case .discoverPrimaryServicesByUUID:
            return .submit(id: id, .discoverPrimaryServices(only: [try need(uuid?.uuid, "uuid")]))
        case .findIncludedServices: return .submit(id: id, .findIncludedServices(try range()))
        case .read, .readLong: return .submit(id: id, .read(try need(handle, "handle")))
        case .readByUUID: return .submit(id: id, .readByUUID(try need(uuid?.uuid, "uuid"), try range()))
        case .readMultiple: return .submit(id: id, .readMultiple(try need(handles, "handles")))
        case .write: return .submit(id: id, .write(try need(handle, "handle"), value: try octets()))
        case .writeLong: return .submit(id: id, .writeLong(try need(handle, "handle"), value: try octets()))
        case .reliableWrite:
            let part = GATTWritePart(handle: try need(handle, "handle"), offset: 0, value: try octets())
            return .submit(id: id, .reliableWrite([part]))
        case .writeCommand, .signedWriteOnEncryptedLink:
            return .writeCommand(id: id, handle: try need(handle, "handle"), value: try octets())
        case .notify: return .notify(id: id, handle: try need(handle, "handle"), value: try octets())
        case .indicate: return .indicate(id: id, handle: try need(handle, "handle"), value: try octets())
        }
    }

    private func octets() throws(VectorFileError) -> [UInt8] { try need(value, "value").octets }

    private func range() throws(VectorFileError) -> ClosedRange<UInt16> {
        let (start, end) = (try need(start, "start"), try need(end, "end"))
        guard start <= end else { throw VectorFileError("It is damaged: \(op.rawValue) from \(start) to \(end).") }
        return start...end
    }

    private func need<Value>(_ value: Value?, _ name: String) throws(VectorFileError) -> Value {
        guard let value else { throw VectorFileError("It is damaged: \(op.rawValue) without \(name).") }
        return value
    }
}

extension GATTScripts.Expectation {
    /// Compares what the operation found with what the file says, as far as it says something.
    func compare(_ answer: GATTAnswer) throws(Mismatch) {
        if let value {
            guard case .value(let actual) = answer else {
                throw Mismatch(place: "the value", expected: value.octets.hexadecimal, actual: "\(answer)")
            }
            try Mismatch.check("the value", value.octets, actual, \.hexadecimal)
        }
        guard let found else { return }
        let actual = Item.items(of: answer)
        try Mismatch.check("how many were found", found.count, actual.count)
        for (index, (expected, actual)) in zip(found, actual).enumerated() {
            try Mismatch.check("item \(index + 1)", expected.item, actual.limited(to: expected.item)) { "\($0)" }
        }
    }

    /// One thing found, with the fields that its kind has.
    fileprivate struct Item: Equatable, CustomStringConvertible {
        var handle: UInt16?
        var start: UInt16?
        var end: UInt16?
        var uuid: BluetoothUUID?
        var value: [UInt8]?

        static func items(of answer: GATTAnswer) -> [Item] {
            switch answer {
            case .services(let services): services.map { Item($0) }
            case .includes(let includes): includes.map { Item($0.service, handle: $0.declaration) }
            case .values(let values): values.map { Item(handle: $0.handle, value: $0.value) }
            case .descriptors(let descriptors): descriptors.map { Item(handle: $0.handle, uuid: $0.uuid) }
            case .characteristics(let list): list.map { Item(handle: $0.declaration, end: $0.end, uuid: $0.uuid) }
            case .done, .mtu, .value: []
            }
        }

        init(
            handle: UInt16? = nil, start: UInt16? = nil, end: UInt16? = nil, uuid: BluetoothUUID? = nil,
            value: [UInt8]? = nil
        ) {
            (self.handle, self.start, self.end, self.uuid, self.value) = (handle, start, end, uuid, value)
        }

        init(_ service: GATTService, handle: UInt16? = nil) {
            self.init(
                handle: handle, start: service.handles.lowerBound, end: service.handles.upperBound, uuid: service.uuid)
        }

        /// Only the fields that `other` has too.
        func limited(to other: Item) -> Item {
            Item(
                handle: other.handle == nil ? nil : handle, start: other.start == nil ? nil : start,
                end: other.end == nil ? nil : end, uuid: other.uuid == nil ? nil : uuid,
                value: other.value == nil ? nil : value)
        }

        var description: String {
            [
                handle.map { "handle \($0)" }, start.map { "start \($0)" }, end.map { "end \($0)" },
                uuid.map { "uuid \($0)" }, value.map { "value \($0.hexadecimal)" },
            ].compactMap(\.self).joined(separator: ", ")
        }
    }
}

extension GATTScripts.Expectation.Found {
    fileprivate var item: GATTScripts.Expectation.Item {
        .init(handle: handle, start: start, end: end, uuid: uuid?.uuid, value: value?.octets)
    }
}
