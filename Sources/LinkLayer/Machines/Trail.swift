import BluetoothTypes
import EventLoop

/// What leads from one packet of an extended advertisement to the next.
struct Trail: Sendable {
    let primary: RadioPHY
    let info: AdvertisingDataInfo?
    let channel: UInt8
    let phy: RadioPHY
    /// Between these two the packet starts.
    let start: Instant
    let end: Instant
    /// What is known of the advertiser from the packets before.
    var advertiser: DeviceAddress?
    var target: DeviceAddress?
    var mode: ExtendedPayload.Mode
    var txPower: Int8?
    var isScanResponse = false
    /// Whether part of the data has been reported.
    var hasBegun = false

    /// The radio waits on the packet's channel, so whoever points far ahead would keep it from everybody else.
    static let longestWait = Duration.milliseconds(100)

    /// `nil` if the packet points nowhere, or too far ahead.
    init?(_ payload: ExtendedPayload, from reception: Reception, primary: RadioPHY) {
        guard let pointer = payload.auxiliary, pointer.offset <= Self.longestWait else { return nil }
        self.primary = primary
        info = payload.info
        channel = pointer.channel
        phy = pointer.phy
        let margin = AirTiming.sleepClockJitter
        start = reception.start.advanced(by: pointer.offset - margin)
        end = reception.start.advanced(by: pointer.offset + pointer.unit + margin + pointer.phy.synchronization)
        advertiser = payload.advertiser
        target = payload.target
        mode = payload.mode
        txPower = payload.txPower
    }

    func listen() -> RadioOrder {
        .listen(channel: channel, phy: phy, accessAddress: advertisingAccessAddress, until: end)
    }

    /// Whether the packet is of the same set and data, as far as both say which.
    func leads(to payload: ExtendedPayload) -> Bool {
        guard let info, let other = payload.info else { return true }
        return info == other
    }
}
