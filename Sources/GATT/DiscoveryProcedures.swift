import ATT
import BluetoothTypes

/// A search through handles: how to ask, and how to read the answer. It asks again behind what the last answer covered,
/// until the range is searched or the peer says Attribute Not Found.
///
/// Each is a type of its own and none is generic: to make a generic type of a constrained one, which a program does
/// when it first needs it, takes longer than a search.
protocol Search: ClientProcedure {
    associatedtype Item: Sendable
    associatedtype Response: ATTParameters

    var progress: SearchProgress { get set }
    /// What was found so far.
    var found: [Item] { get set }

    func request(from start: UInt16, through end: UInt16) -> [UInt8]
    func items(of response: Response) throws(GATTFailure) -> [Item]
    /// First and last handle that an item takes up.
    func extent(of item: Item) -> (first: UInt16, last: UInt16)
    /// All that was found, at the end of the search.
    func answer(_ items: [Item], through end: UInt16) -> GATTAnswer
}

extension Search {
    func start(mtu: Int) -> ProcedureStep { step() }

    mutating func proceed(_ parameters: ArraySlice<UInt8>, mtu: Int) throws(GATTFailure) -> ProcedureStep {
        let new = try items(of: decode(Response.self, parameters))
        guard !new.isEmpty else { throw .illegalAnswer("\(Response.self) that holds nothing") }
        for item in new {
            let extent = extent(of: item)
            try progress.pass(extent.first, through: extent.last)
        }
        found += new
        return step()
    }

    func proceed(refused code: ATTErrorCode) throws(GATTFailure) -> ProcedureStep {
        guard code == .attributeNotFound else { throw .refused(code) }
        return finish()
    }

    private func step() -> ProcedureStep {
        guard let next = progress.next else { return finish() }
        return .request(request(from: next, through: progress.end))
    }

    private func finish() -> ProcedureStep { .finish(answer(found, through: progress.end)) }
}

/// Core 6.0, Vol 3, Part G, 4.4.1.
struct AllPrimaryServices: Search {
    var progress = SearchProgress(0x0001...0xFFFF)
    var found: [ReadByGroupTypeResponse.Group] = []
    /// `nil` means all.
    let only: [BluetoothUUID]?

    init(only: [BluetoothUUID]?) { self.only = only }

    func request(from start: UInt16, through end: UInt16) -> [UInt8] {
        ReadByGroupTypeRequest(from: start, through: end, groupType: GATTAttributeType.primaryService).pdu
    }

    func items(of response: ReadByGroupTypeResponse) throws(GATTFailure) -> [ReadByGroupTypeResponse.Group] {
        guard response.length == 6 || response.length == 20 else {
            throw .illegalAnswer("a service with a UUID of \(response.length - 4) octets")
        }
        return response.groups
    }

    func extent(of group: ReadByGroupTypeResponse.Group) -> (first: UInt16, last: UInt16) {
        (group.handle, group.end)
    }

    func answer(_ groups: [ReadByGroupTypeResponse.Group], through end: UInt16) -> GATTAnswer {
        let services = groups.compactMap { group in
            BluetoothUUID(octets: group.value[...]).map { GATTService(uuid: $0, handles: group.handle...group.end) }
        }
        return .services(services.filter { only?.contains($0.uuid) ?? true })
    }
}

/// Core 6.0, Vol 3, Part G, 4.4.2.
struct PrimaryServicesByUUID: Search {
    var progress = SearchProgress(0x0001...0xFFFF)
    var found: [FindByTypeValueResponse.Group] = []
    let uuid: BluetoothUUID

    init(uuid: BluetoothUUID) { self.uuid = uuid }

    func request(from start: UInt16, through end: UInt16) -> [UInt8] {
        FindByTypeValueRequest(from: start, through: end, type: 0x2800, value: uuid.travelForm.octets).pdu
    }

    func items(of response: FindByTypeValueResponse) -> [FindByTypeValueResponse.Group] { response.groups }

    func extent(of group: FindByTypeValueResponse.Group) -> (first: UInt16, last: UInt16) {
        (group.handle, group.end)
    }

    func answer(_ groups: [FindByTypeValueResponse.Group], through end: UInt16) -> GATTAnswer {
        .services(groups.map { GATTService(uuid: uuid, handles: $0.handle...$0.end) })
    }
}

/// Core 6.0, Vol 3, Part G, 4.6.1.
struct Characteristics: Search {
    var progress: SearchProgress
    var found: [GATTCharacteristic] = []

    init(in range: ClosedRange<UInt16>) { progress = SearchProgress(range) }

    func request(from start: UInt16, through end: UInt16) -> [UInt8] {
        ReadByTypeRequest(from: start, through: end, type: GATTAttributeType.characteristic).pdu
    }

    /// The value of a declaration: properties, value handle, UUID (3.3.1).
    func items(of response: ReadByTypeResponse) throws(GATTFailure) -> [GATTCharacteristic] {
        var items: [GATTCharacteristic] = []
        for attribute in response.attributes {
            let value = attribute.value
            guard value.count == 5 || value.count == 19, let uuid = BluetoothUUID(octets: value[3...]) else {
                throw .illegalAnswer("a characteristic declaration of \(value.count) octets")
            }
            let valueHandle = UInt16(value[1]) | UInt16(value[2]) << 8
            guard valueHandle > attribute.handle else {
                throw .illegalAnswer("the value at handle \(valueHandle) of a declaration at \(attribute.handle)")
            }
            items.append(
                GATTCharacteristic(
                    uuid: uuid, declaration: attribute.handle, value: valueHandle, end: valueHandle,
                    properties: GATTProperties(rawValue: value[0])))
        }
        return items
    }

    func extent(of item: GATTCharacteristic) -> (first: UInt16, last: UInt16) { (item.declaration, item.declaration) }

    func answer(_ items: [GATTCharacteristic], through end: UInt16) -> GATTAnswer {
        var items = items
        for index in items.indices {
            let last = index + 1 < items.endIndex ? items[index + 1].declaration - 1 : end
            items[index].end = max(items[index].value, last)
        }
        return .characteristics(items)
    }
}

/// Core 6.0, Vol 3, Part G, 4.7.1.
struct Descriptors: Search {
    var progress: SearchProgress
    var found: [FindInformationResponse.Attribute] = []

    init(of characteristic: GATTCharacteristic) {
        progress = SearchProgress(behind: characteristic.value, through: characteristic.end)
    }

    func request(from start: UInt16, through end: UInt16) -> [UInt8] {
        FindInformationRequest(from: start, through: end).pdu
    }

    func items(of response: FindInformationResponse) -> [FindInformationResponse.Attribute] { response.attributes }

    func extent(of item: FindInformationResponse.Attribute) -> (first: UInt16, last: UInt16) {
        (item.handle, item.handle)
    }

    func answer(_ items: [FindInformationResponse.Attribute], through end: UInt16) -> GATTAnswer {
        .descriptors(items.map { GATTDescriptor(uuid: $0.type, handle: $0.handle) })
    }
}

extension BluetoothUUID {
    /// As the caller spelt it, but in one of the two widths that ATT knows.
    var travelForm: BluetoothUUID {
        switch self {
        case .uuid16, .uuid128: self
        case .uuid32: .uuid128(full)
        }
    }
}
