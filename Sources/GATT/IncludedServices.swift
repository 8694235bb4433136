import ATT
import BluetoothTypes

/// Finds the include declarations of a service. One that names a service with a 128-bit UUID has no room for it, so
/// that service's own declaration is read.
///
/// Source: Core 6.0, Vol 3, Part G, 4.5.1.
struct IncludedServices: ClientProcedure {
    private var progress: SearchProgress
    private var found: [GATTInclude] = []
    /// Indices in `found` of the services whose UUID must still be read.
    private var nameless: ArraySlice<Int> = []

    init(in range: ClosedRange<UInt16>) { progress = SearchProgress(range) }

    func start(mtu: Int) -> ProcedureStep { step() }

    mutating func proceed(_ parameters: ArraySlice<UInt8>, mtu: Int) throws(GATTFailure) -> ProcedureStep {
        if let index = nameless.popFirst() {
            guard parameters.count == 16, let uuid = BluetoothUUID(octets: parameters) else {
                throw .illegalAnswer("an included service's UUID of \(parameters.count) octets")
            }
            found[index].service.uuid = uuid
            return step()
        }
        let response = try decode(ReadByTypeResponse.self, parameters)
        guard !response.attributes.isEmpty else { throw .illegalAnswer("ReadByTypeResponse that holds nothing") }
        let known = found.count
        for attribute in response.attributes {
            try progress.pass(attribute.handle, through: attribute.handle)
            try found.append(include(attribute))
        }
        if response.attributes[0].value.count == 4 { nameless = (known..<found.count).map(\.self)[...] }
        return step()
    }

    func proceed(refused code: ATTErrorCode) throws(GATTFailure) -> ProcedureStep {
        guard nameless.isEmpty, code == .attributeNotFound else { throw .refused(code) }
        return .finish(.includes(found))
    }

    private func step() -> ProcedureStep {
        if let index = nameless.first {
            return .request(ReadRequest(handle: found[index].service.handles.lowerBound).pdu)
        }
        guard let next = progress.next else { return .finish(.includes(found)) }
        let type = GATTAttributeType.include
        return .request(ReadByTypeRequest(from: next, through: progress.end, type: type).pdu)
    }

    /// The value of a declaration: first handle, end group handle, and a 16-bit UUID or none (3.2).
    private func include(_ attribute: ReadByTypeResponse.Attribute) throws(GATTFailure) -> GATTInclude {
        let value = attribute.value
        guard value.count == 4 || value.count == 6 else {
            throw .illegalAnswer("an include declaration of \(value.count) octets")
        }
        let first = UInt16(value[0]) | UInt16(value[1]) << 8
        let last = UInt16(value[2]) | UInt16(value[3]) << 8
        guard first > 0, first <= last else { throw .illegalAnswer("an included service from \(first) to \(last)") }
        let uuid = BluetoothUUID(octets: value[4...]) ?? .uuid128(0)
        return GATTInclude(declaration: attribute.handle, service: GATTService(uuid: uuid, handles: first...last))
    }
}
