import EventLoop
import GAP
import HCI
import ProtocolTestKit
import Testing

@Suite("Advertiser — Core 6.0, Vol 4, Part E, 7.8.5 to 7.8.9")
struct AdvertiserTests {
    private static let enable = LESetAdvertisingEnable(true).packet
    private static let disable = LESetAdvertisingEnable(false).packet

    @Test("Parameters, data, scan response, enable; then it is on the air")
    func starts() {
        Scene.play(Advertiser()) { advertiser in
            advertiser.start(content("AA"))
            advertiser.input(.want(nil), #_sourceLocation)
            advertiser.expect(.command(Self.disable))
            advertiser.done()
            advertiser.expect(.stopped)
        }
    }

    @Test("A connection takes it off the air, and it is put back at once")
    func returnsAfterConnection() {
        Scene.play(Advertiser()) { advertiser in
            advertiser.start(content("AA"))
            advertiser.input(.connected, #_sourceLocation)
            advertiser.expect(.command(Self.enable))
            advertiser.done()  // On the air, and nobody is told twice.
        }
    }

    @Test("Where the controller cannot advertise beside a link, it returns when the link ends")
    func returnsAfterDisconnection() {
        Scene.play(Advertiser()) { advertiser in
            advertiser.start(content("AA"))
            advertiser.input(.connected, #_sourceLocation)
            advertiser.expect(.command(Self.enable))
            advertiser.refused(.commandDisallowed)
            advertiser.input(.disconnected, #_sourceLocation)
            advertiser.expect(.command(Self.enable))
            advertiser.done()
        }
    }

    @Test("A connection that comes before Enable is answered takes it off the air too")
    func connectionOvertakesAnswer() {
        Scene.play(Advertiser()) { advertiser in
            advertiser.prepare(content("AA"))
            advertiser.input(.connected, #_sourceLocation)
            advertiser.done()
            advertiser.expect(.started)
            advertiser.expect(.command(Self.enable))
            advertiser.done()
        }
    }

    @Test("A refusal is reported once, and the wish forgotten")
    func refused() {
        Scene.play(Advertiser()) { advertiser in
            advertiser.prepare(content("AA"))
            advertiser.refused(.commandDisallowed)
            advertiser.expect(.failed(.init(opcode: .leSetAdvertisingEnable, error: .commandDisallowed)))
            advertiser.input(.disconnected, #_sourceLocation)
            advertiser.start(content("BB"))
        }
    }

    @Test("Other content replaces what is on the air, which must go off it first")
    func replaced() {
        Scene.play(Advertiser()) { advertiser in
            advertiser.start(content("AA"))
            advertiser.input(.want(content("BB")), #_sourceLocation)
            advertiser.expect(.command(Self.disable))
            advertiser.done()
            advertiser.expectSetUp(content("BB"))
            advertiser.done()
            advertiser.expect(.started)
        }
    }

    @Test("A wish taken back while it is being fulfilled leaves nothing on the air")
    func takenBack() {
        Scene.play(Advertiser()) { advertiser in
            advertiser.input(.want(content("AA")), #_sourceLocation)
            advertiser.expect(.command(parameters().packet))
            advertiser.input(.want(nil), #_sourceLocation)
            advertiser.done()
            advertiser.expect(.stopped)

            advertiser.prepare(content("AA"))
            advertiser.input(.want(nil), #_sourceLocation)
            advertiser.done()
            advertiser.expect(.command(Self.disable))
            advertiser.done()
            advertiser.expect(.stopped)
        }
    }
}

private func content(_ octets: String) -> Advertiser.Configuration {
    var configuration = Advertiser.Configuration()
    configuration.advertisingData = hex(octets)
    return configuration
}

private func parameters() -> LESetAdvertisingParameters {
    var command = LESetAdvertisingParameters()
    command.intervalMin = 160
    command.intervalMax = 160
    return command
}

extension Scene<Advertiser> {
    fileprivate mutating func done(at location: SourceLocation = #_sourceLocation) {
        input(.commandFinished(.completed(returnParameters: [0])), location)
    }

    fileprivate mutating func refused(_ error: HCIErrorCode, at location: SourceLocation = #_sourceLocation) {
        input(.commandFinished(.refused(error)), location)
    }

    fileprivate mutating func start(_ content: Advertiser.Configuration) {
        prepare(content)
        done()
        expect(.started)
    }

    /// Up to the enable command in flight.
    fileprivate mutating func prepare(_ content: Advertiser.Configuration) {
        input(.want(content), #_sourceLocation)
        expectSetUp(content)
    }

    fileprivate mutating func expectSetUp(_ content: Advertiser.Configuration) {
        expect(.command(parameters().packet))
        done()
        expect(.command(LESetAdvertisingData(data: content.advertisingData).packet))
        done()
        expect(.command(LESetScanResponseData().packet))
        done()
        expect(.command(LESetAdvertisingEnable(true).packet))
    }
}
