import ATT
import BluetoothTypes

/// A request that the server does not do: why, and at which attribute.
struct Refusal: Error, Equatable {
    var code: ATTErrorCode
    var handle: UInt16

    init(_ code: ATTErrorCode, at handle: UInt16) {
        self.code = code
        self.handle = handle
    }
}

/// The requests that ask for structure. They need nothing but the database.
extension AttributeDatabase {
    /// Source: Core 6.0, Vol 3, Part F, 3.4.3.1: the range rule that all five searches share.
    static func range(_ start: UInt16, _ end: UInt16) throws(Refusal) -> ClosedRange<UInt16> {
        guard start > 0, start <= end else { throw Refusal(.invalidHandle, at: start) }
        return start...end
    }

    /// Source: Core 6.0, Vol 3, Part F, 3.4.3.1 and 3.4.3.2.
    func answer(_ request: FindInformationRequest, mtu: Int) throws(Refusal) -> FindInformationResponse {
        let found = slice(try Self.range(request.startingHandle, request.endingHandle))
        guard let first = found.first else { throw Refusal(.attributeNotFound, at: request.startingHandle) }
        let width = first.type.octets.count
        var response = FindInformationResponse()
        response.format = width == 2 ? .uuid16 : .uuid128
        response.attributes = found.prefix((mtu - 2) / (2 + width)).prefix { $0.type.octets.count == width }
            .map { FindInformationResponse.Attribute(handle: $0.handle, type: $0.type) }
        return response
    }

    /// What can't be read does not match. Source: Core 6.0, Vol 3, Part F, 3.4.3.3 and 3.4.3.4.
    func answer(
        _ request: FindByTypeValueRequest, mtu: Int, security: GATTLinkSecurity
    ) throws(Refusal) -> FindByTypeValueResponse {
        let range = try Self.range(request.startingHandle, request.endingHandle)
        let type = BluetoothUUID.uuid16(request.type)
        var groups: [FindByTypeValueResponse.Group] = []
        for attribute in slice(range) where attribute.type == type && attribute.content == .stored(request.value) {
            guard groups.count < (mtu - 1) / 4 else { break }
            guard (try? self.attribute(attribute.handle, for: .read, on: security)) != nil else { continue }
            groups.append(FindByTypeValueResponse.Group(handle: attribute.handle, end: attribute.groupEnd))
        }
        guard !groups.isEmpty else { throw Refusal(.attributeNotFound, at: request.startingHandle) }
        return FindByTypeValueResponse(groups: groups)
    }

    /// The groups are services only (Core 6.0, Vol 3, Part G, 2.5.3). Source: Part F, 3.4.4.9 and 3.4.4.10.
    func answer(
        _ request: ReadByGroupTypeRequest, mtu: Int, security: GATTLinkSecurity
    ) throws(Refusal) -> ReadByGroupTypeResponse {
        let range = try Self.range(request.startingHandle, request.endingHandle)
        let type = request.groupType
        guard type == GATTAttributeType.primaryService || type == GATTAttributeType.secondaryService else {
            throw Refusal(.unsupportedGroupType, at: request.startingHandle)
        }
        var groups: [ReadByGroupTypeResponse.Group] = []
        var room = mtu - 2
        for candidate in slice(range) where candidate.type == type {
            guard case .stored(let value) = candidate.content else { continue }
            do throws(ATTErrorCode) {
                _ = try attribute(candidate.handle, for: .read, on: security)
            } catch {
                guard groups.isEmpty else { break }
                throw Refusal(error, at: candidate.handle)
            }
            let shown = Array(value.prefix(min(mtu - 6, 251)))
            room -= 4 + shown.count
            guard room >= 0, groups.isEmpty || groups[0].value.count == shown.count else { break }
            groups.append(.init(handle: candidate.handle, end: candidate.groupEnd, value: shown))
        }
        guard !groups.isEmpty else { throw Refusal(.attributeNotFound, at: request.startingHandle) }
        return ReadByGroupTypeResponse(groups: groups)
    }
}
