package import ByteCodec

/// Exchange MTU Request: how long a PDU the client can take.
///
/// Source: Core 6.0, Vol 3, Part F, 3.4.2.1.
package struct ExchangeMTURequest: ATTParameters {
    package static let opcode = ATTOpcode.exchangeMTURequest

    package var clientRxMTU: UInt16 = 23

    package init() {}
    package init(clientRxMTU: UInt16) { self.clientRxMTU = clientRxMTU }

    package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {
        try coder.integer("Client Rx MTU", &clientRxMTU)
    }
}

/// Exchange MTU Response: how long a PDU the server can take.
///
/// Source: Core 6.0, Vol 3, Part F, 3.4.2.2.
package struct ExchangeMTUResponse: ATTParameters {
    package static let opcode = ATTOpcode.exchangeMTUResponse

    package var serverRxMTU: UInt16 = 23

    package init() {}
    package init(serverRxMTU: UInt16) { self.serverRxMTU = serverRxMTU }

    package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {
        try coder.integer("Server Rx MTU", &serverRxMTU)
    }
}
