import ATT

/// The fault "table moved silently": the attribute table stands sixteen handles higher than before, as after a
/// firmware update that put a service in front, and no Service Changed said so.
///
/// Whoever uses the old handles meets other attributes, or none; whoever discovers anew finds everything.
enum MovedTable {
    private static let distance: UInt16 = 16

    /// A request as the host below sees it, in its own numbers.
    static func request(_ pdu: [UInt8], _ opcode: ATTOpcode) -> [UInt8] {
        var pdu = pdu
        switch opcode {
        case .readRequest, .readBlobRequest, .writeRequest, .writeCommand, .prepareWriteRequest, .signedWriteCommand:
            lower(&pdu, at: 1)
        case .findInformationRequest, .findByTypeValueRequest, .readByTypeRequest, .readByGroupTypeRequest:
            guard pdu.count >= 5 else { break }
            // A range that lies before the table has nothing in it, like one behind it.
            guard FaultyLine.word(pdu, at: 3) > distance else {
                pdu.replaceSubrange(1..<5, with: [0xFF, 0xFF, 0xFF, 0xFF])
                break
            }
            if FaultyLine.word(pdu, at: 1) <= distance { set(&pdu, at: 1, to: distance + 1) }
            lower(&pdu, at: 1)
            lower(&pdu, at: 3)
        default: break
        }
        return pdu
    }

    /// An answer or a value in the numbers of the table that moved.
    ///
    /// - Parameter type: which attribute type was asked for.
    static func answer(_ pdu: [UInt8], _ opcode: ATTOpcode, to type: UInt16) -> [UInt8] {
        var pdu = pdu
        switch opcode {
        case .errorResponse: raise(&pdu, at: 2)
        case .handleValueNotification, .handleValueIndication, .prepareWriteResponse: raise(&pdu, at: 1)
        case .findInformationResponse where pdu.count > 1:
            for place in stride(from: 2, to: pdu.count, by: pdu[1] == 1 ? 4 : 18) { raise(&pdu, at: place) }
        case .findByTypeValueResponse:
            for place in stride(from: 1, to: pdu.count, by: 2) { raise(&pdu, at: place) }
        case .readByTypeResponse where pdu.count > 1 && pdu[1] >= 2:
            for place in stride(from: 2, to: pdu.count, by: Int(pdu[1])) {
                raise(&pdu, at: place)
                // Declarations name handles in their values (Core 6.0, Vol 3, Part G, 3.2 and 3.3.1).
                if type == 0x2803 { raise(&pdu, at: place + 3) }
                if type == 0x2802 {
                    raise(&pdu, at: place + 2)
                    raise(&pdu, at: place + 4)
                }
            }
        case .readByGroupTypeResponse where pdu.count > 1 && pdu[1] >= 4:
            for place in stride(from: 2, to: pdu.count, by: Int(pdu[1])) {
                raise(&pdu, at: place)
                raise(&pdu, at: place + 2)
            }
        default: break
        }
        return pdu
    }

    private static func lower(_ pdu: inout [UInt8], at place: Int) {
        let handle = FaultyLine.word(pdu, at: place)
        if handle != 0xFFFF { set(&pdu, at: place, to: handle > distance ? handle - distance : 0) }
    }

    private static func raise(_ pdu: inout [UInt8], at place: Int) {
        let handle = FaultyLine.word(pdu, at: place)
        if handle != 0, handle < 0xFFFF - distance { set(&pdu, at: place, to: handle + distance) }
    }

    private static func set(_ pdu: inout [UInt8], at place: Int, to handle: UInt16) {
        guard place + 1 < pdu.count else { return }
        pdu[place] = UInt8(handle & 0xFF)
        pdu[place + 1] = UInt8(handle >> 8)
    }
}
