package import ByteCodec

/// Read Request. Source: Core 6.0, Vol 3, Part F, 3.4.4.3.
package struct ReadRequest: ATTParameters {
    package static let opcode = ATTOpcode.readRequest

    package var handle: UInt16 = 0

    package init() {}
    package init(handle: UInt16) { self.handle = handle }

    package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {
        try coder.integer("Attribute Handle", &handle)
    }
}

/// Read Response: the value, or its first ATT_MTU - 1 octets. Source: Core 6.0, Vol 3, Part F, 3.4.4.4.
package struct ReadResponse: ATTParameters {
    package static let opcode = ATTOpcode.readResponse

    package var value: [UInt8] = []

    package init() {}
    package init(value: [UInt8]) { self.value = value }

    package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {
        try coder.remainder("Attribute Value", &value)
    }
}

/// Read Blob Request: the value from an offset on. Source: Core 6.0, Vol 3, Part F, 3.4.4.5.
package struct ReadBlobRequest: ATTParameters {
    package static let opcode = ATTOpcode.readBlobRequest

    package var handle: UInt16 = 0
    package var offset: UInt16 = 0

    package init() {}

    package init(handle: UInt16, offset: UInt16) {
        self.handle = handle
        self.offset = offset
    }

    package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {
        try coder.integer("Attribute Handle", &handle)
        try coder.integer("Value Offset", &offset)
    }
}

/// Read Blob Response: at most ATT_MTU - 1 octets. Source: Core 6.0, Vol 3, Part F, 3.4.4.6.
package struct ReadBlobResponse: ATTParameters {
    package static let opcode = ATTOpcode.readBlobResponse

    package var part: [UInt8] = []

    package init() {}
    package init(part: [UInt8]) { self.part = part }

    package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {
        try coder.remainder("Part Attribute Value", &part)
    }
}

/// Read Multiple Request: two or more handles. Source: Core 6.0, Vol 3, Part F, 3.4.4.7.
package struct ReadMultipleRequest: ATTParameters {
    package static let opcode = ATTOpcode.readMultipleRequest

    package var handles: [UInt16] = []

    package init() {}
    package init(handles: [UInt16]) { self.handles = handles }

    package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {
        try coder.handleSet(&handles)
    }
}

/// Read Multiple Response: the values one behind the other, cut at ATT_MTU - 1 octets; where one ends only the
/// client knows. Source: Core 6.0, Vol 3, Part F, 3.4.4.8.
package struct ReadMultipleResponse: ATTParameters {
    package static let opcode = ATTOpcode.readMultipleResponse

    package var values: [UInt8] = []

    package init() {}
    package init(values: [UInt8]) { self.values = values }

    package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {
        try coder.remainder("Set Of Values", &values)
    }
}

/// Read Multiple Variable Request: two or more handles. Source: Core 6.0, Vol 3, Part F, 3.4.4.11.
package struct ReadMultipleVariableRequest: ATTParameters {
    package static let opcode = ATTOpcode.readMultipleVariableRequest

    package var handles: [UInt16] = []

    package init() {}
    package init(handles: [UInt16]) { self.handles = handles }

    package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {
        try coder.handleSet(&handles)
    }
}

/// Read Multiple Variable Response: each value with its length. The last one may be cut short by ATT_MTU, and its
/// length then says how long it really is. If the cut goes through a length, that value is left out here.
///
/// Source: Core 6.0, Vol 3, Part F, 3.4.4.12.
package struct ReadMultipleVariableResponse: ATTParameters {
    package static let opcode = ATTOpcode.readMultipleVariableResponse

    package struct Tuple: Equatable, Sendable {
        package var length: UInt16
        package var value: [UInt8]

        package init(length: UInt16, value: [UInt8]) {
            self.length = length
            self.value = value
        }
    }

    package var tuples: [Tuple] = []

    package init() {}
    package init(tuples: [Tuple]) { self.tuples = tuples }

    package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {
        let blank = Tuple(length: 0, value: [])
        var isLengthCut = false
        try coder.list("Length Value Tuple List", &tuples, blank: blank) { coder, tuple throws(PacketError) in
            var length = [UInt8(truncatingIfNeeded: tuple.length), UInt8(truncatingIfNeeded: tuple.length >> 8)]
            try coder.octets("Value Length", &length, upTo: 2)
            isLengthCut = length.count < 2
            guard !isLengthCut else { return }
            tuple.length = UInt16(length[0]) | UInt16(length[1]) << 8
            try coder.octets("Attribute Value", &tuple.value, upTo: Int(tuple.length))
        }
        if isLengthCut { tuples.removeLast() }
    }
}

extension FieldCoder {
    fileprivate mutating func handleSet(_ handles: inout [UInt16]) throws(PacketError) {
        try list("Set Of Handles", &handles, blank: 0) { coder, handle throws(PacketError) in
            try coder.integer("Attribute Handle", &handle)
        }
        guard handles.count >= 2 else { throw PacketError(.truncated, field: "Set Of Handles") }
    }
}
