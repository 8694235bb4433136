import ATT
import BluetoothTypes

/// Core 6.0, Vol 3, Part G, 4.3.1.
struct ExchangeMTU: ClientProcedure {
    let ownRxMTU: Int

    func start(mtu: Int) -> ProcedureStep {
        .request(ExchangeMTURequest(clientRxMTU: UInt16(truncatingIfNeeded: ownRxMTU)).pdu)
    }

    func proceed(_ parameters: ArraySlice<UInt8>, mtu: Int) throws(GATTFailure) -> ProcedureStep {
        try .finish(.mtu(Int(decode(ExchangeMTUResponse.self, parameters).serverRxMTU)))
    }

    /// A server that does not know the request keeps the default.
    func proceed(refused code: ATTErrorCode) throws(GATTFailure) -> ProcedureStep {
        guard code == .requestNotSupported else { throw .refused(code) }
        return .finish(.mtu(ATTLimits.defaultMTU))
    }
}

/// Core 6.0, Vol 3, Part G, 7.3: by its UUID, so that it can be asked for by a client that knows no handles yet.
struct ReadDatabaseHash: ClientProcedure {
    func start(mtu: Int) -> ProcedureStep {
        .request(ReadByTypeRequest(from: 0x0001, through: 0xFFFF, type: GATTAttributeType.databaseHash).pdu)
    }

    func proceed(_ parameters: ArraySlice<UInt8>, mtu: Int) throws(GATTFailure) -> ProcedureStep {
        let value = try decode(ReadByTypeResponse.self, parameters).attributes.first?.value ?? []
        guard value.count == 16 else { throw .illegalAnswer("a Database Hash of \(value.count) octets") }
        return .finish(.value(value))
    }

    func proceed(refused code: ATTErrorCode) throws(GATTFailure) -> ProcedureStep {
        guard code == .attributeNotFound else { throw .refused(code) }
        return .finish(.value([]))
    }
}

/// Reads a value whole: a first answer that fills ATT_MTU may not be all, and blobs follow until one is short.
///
/// Source: Core 6.0, Vol 3, Part G, 4.8.1 and 4.8.3.
struct Read: ClientProcedure {
    let handle: UInt16
    private var value: [UInt8] = []
    private var hasFirstPart = false

    init(_ handle: UInt16) { self.handle = handle }

    func start(mtu: Int) -> ProcedureStep { .request(ReadRequest(handle: handle).pdu) }

    mutating func proceed(_ parameters: ArraySlice<UInt8>, mtu: Int) throws(GATTFailure) -> ProcedureStep {
        hasFirstPart = true
        // An answer longer than ATT_MTU is believed up to there; what lies behind is asked for again.
        value += parameters.prefix(mtu - 1)
        guard parameters.count >= mtu - 1, value.count < ATTLimits.maximumValueLength else {
            return .finish(.value(Array(value.prefix(ATTLimits.maximumValueLength))))
        }
        return .request(ReadBlobRequest(handle: handle, offset: UInt16(value.count)).pdu)
    }

    /// Some servers say at the exact end of a value that there is nothing more, instead of sending an empty part.
    func proceed(refused code: ATTErrorCode) throws(GATTFailure) -> ProcedureStep {
        guard hasFirstPart, code == .attributeNotLong || code == .invalidOffset else { throw .refused(code) }
        return .finish(.value(value))
    }
}

/// Core 6.0, Vol 3, Part G, 4.8.2.
struct ReadByUUID: ClientProcedure {
    let uuid: BluetoothUUID
    private var progress: SearchProgress
    private var found: [GATTValue] = []

    init(_ uuid: BluetoothUUID, in range: ClosedRange<UInt16>) {
        self.uuid = uuid
        progress = SearchProgress(range)
    }

    func start(mtu: Int) -> ProcedureStep { step() }

    mutating func proceed(_ parameters: ArraySlice<UInt8>, mtu: Int) throws(GATTFailure) -> ProcedureStep {
        let response = try decode(ReadByTypeResponse.self, parameters)
        guard !response.attributes.isEmpty else { throw .illegalAnswer("ReadByTypeResponse that holds nothing") }
        for attribute in response.attributes {
            try progress.pass(attribute.handle, through: attribute.handle)
            found.append(GATTValue(handle: attribute.handle, value: attribute.value))
        }
        return step()
    }

    /// Once there is something to show, no error behind it makes that less true.
    func proceed(refused code: ATTErrorCode) throws(GATTFailure) -> ProcedureStep {
        guard !found.isEmpty else { throw .refused(code) }
        return .finish(.values(found))
    }

    private func step() -> ProcedureStep {
        guard let next = progress.next else { return .finish(.values(found)) }
        return .request(ReadByTypeRequest(from: next, through: progress.end, type: uuid.travelForm).pdu)
    }
}

/// Core 6.0, Vol 3, Part G, 4.8.4 and 4.8.5.
struct ReadMultiple: ClientProcedure {
    let handles: [UInt16]
    let isVariable: Bool

    func start(mtu: Int) throws(GATTFailure) -> ProcedureStep {
        guard handles.count >= 2, 1 + 2 * handles.count <= mtu else {
            throw .invalidParameters("\(handles.count) handles to read at once; 2...\((mtu - 1) / 2) are possible")
        }
        return .request(
            isVariable
                ? ReadMultipleVariableRequest(handles: handles).pdu : ReadMultipleRequest(handles: handles).pdu)
    }

    func proceed(_ parameters: ArraySlice<UInt8>, mtu: Int) throws(GATTFailure) -> ProcedureStep {
        guard isVariable else { return .finish(.value(Array(parameters))) }
        let tuples = try decode(ReadMultipleVariableResponse.self, parameters).tuples
        guard tuples.count <= handles.count else {
            throw .illegalAnswer("\(tuples.count) values for \(handles.count) handles")
        }
        return .finish(.values(zip(handles, tuples).map { GATTValue(handle: $0, value: $1.value) }))
    }
}
