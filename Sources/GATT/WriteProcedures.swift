import ATT

/// Core 6.0, Vol 3, Part G, 4.9.3.
struct Write: ClientProcedure {
    let handle: UInt16
    let value: [UInt8]

    func start(mtu: Int) -> ProcedureStep { .request(WriteRequest(handle: handle, value: value).pdu) }

    func proceed(_ parameters: ArraySlice<UInt8>, mtu: Int) throws(GATTFailure) -> ProcedureStep {
        _ = try decode(WriteResponse.self, parameters)
        return .finish(.done)
    }
}

/// Prepares part after part, compares each echo, and executes. After an error, or an echo that differs, the peer's
/// queue is cancelled, and that error is the outcome. Where an earlier one may have left parts in it, it is cancelled
/// first: else they would be executed too.
///
/// Source: Core 6.0, Vol 3, Part G, 4.9.4 and 4.9.5; Part F, 3.4.6.3.
struct QueuedWrite: ClientProcedure {
    private enum Stage {
        /// Whatever the peer answers to an Execute Write Request, its queue is empty then.
        case emptying(mtu: Int)
        case preparing(PrepareWriteRequest)
        case executing
        case cancelling(GATTFailure)
    }

    /// What still has to be prepared, the next one last.
    private var parts: [GATTWritePart]
    private var stage = Stage.executing
    /// Whether the peer's queue may hold parts of another write.
    private let findsLeftovers: Bool

    init(_ parts: [GATTWritePart], findsLeftovers: Bool) {
        self.parts = parts.reversed()
        self.findsLeftovers = findsLeftovers
    }

    mutating func start(mtu: Int) throws(GATTFailure) -> ProcedureStep {
        guard !parts.isEmpty else { throw .invalidParameters("a reliable write without parts") }
        guard findsLeftovers else { return step(mtu: mtu) }
        stage = .emptying(mtu: mtu)
        return .request(ExecuteWriteRequest(.cancel).pdu)
    }

    mutating func proceed(_ parameters: ArraySlice<UInt8>, mtu: Int) throws(GATTFailure) -> ProcedureStep {
        switch stage {
        case .emptying:
            return step(mtu: mtu)
        case .preparing(let request):
            do throws(GATTFailure) {
                guard try decode(PrepareWriteResponse.self, parameters).echo == request else {
                    throw .illegalAnswer("the Prepare Write Response echoes something else than was sent")
                }
                return step(mtu: mtu)
            } catch {
                return cancel(because: error)
            }
        case .executing:
            return .finish(.done)
        case .cancelling(let failure):
            throw failure
        }
    }

    mutating func proceed(refused code: ATTErrorCode) throws(GATTFailure) -> ProcedureStep {
        switch stage {
        case .emptying(let mtu): return step(mtu: mtu)
        case .preparing: return cancel(because: .refused(code))
        case .executing: throw .refused(code)
        case .cancelling(let failure): throw failure
        }
    }

    private mutating func step(mtu: Int) -> ProcedureStep {
        guard var part = parts.popLast() else {
            stage = .executing
            return .request(ExecuteWriteRequest(.write).pdu)
        }
        let room = mtu - 5
        let request = PrepareWriteRequest(
            handle: part.handle, offset: UInt16(part.offset), part: Array(part.value.prefix(room)))
        if part.value.count > room {
            part.value.removeFirst(room)
            part.offset += room
            parts.append(part)
        }
        stage = .preparing(request)
        return .request(request.pdu)
    }

    private mutating func cancel(because failure: GATTFailure) -> ProcedureStep {
        stage = .cancelling(failure)
        return .request(ExecuteWriteRequest(.cancel).pdu)
    }
}

/// Writes a characteristic's configuration descriptor, having found it first if need be.
///
/// Source: Core 6.0, Vol 3, Part G, 3.3.3.3 and 4.12.3.
struct Subscribe: ClientProcedure {
    let characteristic: GATTCharacteristic
    let subscription: GATTSubscription
    private(set) var descriptor: UInt16?
    private var progress: SearchProgress

    init(_ characteristic: GATTCharacteristic, _ subscription: GATTSubscription, descriptor: UInt16?) {
        self.characteristic = characteristic
        self.subscription = subscription
        self.descriptor = descriptor
        progress = SearchProgress(behind: characteristic.value, through: characteristic.end)
    }

    func start(mtu: Int) throws(GATTFailure) -> ProcedureStep { try step() }

    mutating func proceed(_ parameters: ArraySlice<UInt8>, mtu: Int) throws(GATTFailure) -> ProcedureStep {
        guard descriptor == nil else {
            _ = try decode(WriteResponse.self, parameters)
            return .finish(.done)
        }
        let attributes = try decode(FindInformationResponse.self, parameters).attributes
        guard !attributes.isEmpty else { throw .illegalAnswer("FindInformationResponse that holds nothing") }
        for attribute in attributes {
            try progress.pass(attribute.handle, through: attribute.handle)
        }
        let type = GATTAttributeType.clientCharacteristicConfiguration
        descriptor = attributes.first { $0.type == type }?.handle
        return try step()
    }

    func proceed(refused code: ATTErrorCode) throws(GATTFailure) -> ProcedureStep {
        throw descriptor == nil && code == .attributeNotFound ? .noConfigurationDescriptor : .refused(code)
    }

    private func step() throws(GATTFailure) -> ProcedureStep {
        if let descriptor {
            return .request(WriteRequest(handle: descriptor, value: subscription.octets).pdu)
        }
        guard let next = progress.next else { throw .noConfigurationDescriptor }
        return .request(FindInformationRequest(from: next, through: progress.end).pdu)
    }
}
