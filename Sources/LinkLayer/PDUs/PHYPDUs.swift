package import ByteCodec

/// LL_PHY_REQ and LL_PHY_RSP: the PHYs that the sender would like. Core 6.0, Vol 6, Part B, 2.4.2.22.
package struct PHYWishes: Packet {
    /// Bits of ``RadioPHY``.
    package var transmit: UInt8 = 0
    package var receive: UInt8 = 0

    package init() {}

    package init(transmit: UInt8, receive: UInt8) {
        self.transmit = transmit
        self.receive = receive
    }

    package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {
        try coder.integer("TX_PHYS", &transmit)
        try coder.integer("RX_PHYS", &receive)
    }
}

/// LL_PHY_UPDATE_IND: what the central has chosen. Core 6.0, Vol 6, Part B, 2.4.2.23.
package struct PHYUpdateIndication: Packet {
    /// The bit of a ``RadioPHY``; 0 for no change.
    package var centralToPeripheral: UInt8 = 0
    package var peripheralToCentral: UInt8 = 0
    /// The event counter at which the change begins.
    package var instant: UInt16 = 0

    package init() {}

    package mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {
        try coder.integer("PHY_C_TO_P", &centralToPeripheral)
        try coder.integer("PHY_P_TO_C", &peripheralToCentral)
        try coder.integer("Instant", &instant)
    }
}
