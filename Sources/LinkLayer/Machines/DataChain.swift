import EventLoop

/// Data that one packet does not hold goes on in AUX_CHAIN_IND packets. Core 6.0, Vol 6, Part B, 2.3.4.
extension ExtendedPayload {
    /// Takes as much of the data as fits and, if some is left, points to the packet that is to hold it: on a channel by
    /// chance, after the longest packet that this one can be.
    ///
    /// - Returns: what is left.
    mutating func take(
        _ data: ArraySlice<UInt8>, mode: RadioMode, using generator: inout SeededGenerator
    ) -> ArraySlice<UInt8> {
        auxiliary = nil
        if data.count > room {
            // The pointer is there before its room is reckoned with: it takes some itself.
            auxiliary = AuxiliaryPointer(
                channel: UInt8.random(in: 0...36, using: &generator),
                offset: mode.duration(payloadCount: 255) + ExtendedAdvertiser.auxiliarySpace + .microseconds(30),
                phy: mode.phy)
        }
        let taken = data.prefix(room)
        self.data = taken
        return data.dropFirst(taken.count)
    }
}
