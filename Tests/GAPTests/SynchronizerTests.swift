import BluetoothTypes
import EventLoop
import GAP
import HCI
import ProtocolTestKit
import Testing

@Suite("Synchronizer — Core 6.0, Vol 4, Part E, 7.8.67 to 7.8.69")
struct SynchronizerTests {
    private static let first = DeviceAddress(1)
    private static let second = DeviceAddress(2)
    /// Create Sync for set 7 of device 1 or 2, timeout 1 s, and its cancelling (Vol 4, Part E, 7.8.67, 7.8.68).
    private static let createFirst = "01 44 20 0E 00 07 00 01 00 00 00 00 00 00 00 64 00 00"
    private static let createSecond = "01 44 20 0E 00 07 00 02 00 00 00 00 00 00 00 64 00 00"
    private static let cancel = "01 45 20 00"

    private static func heard(_ device: DeviceAddress, interval: UInt16 = 80) -> Synchronizer.Input {
        .heard(device, advertiser: PeriodicAdvertiser(address: device, identifier: 7), interval: interval)
    }

    private static func established(_ status: HCIErrorCode, _ sync: UInt16 = 1) -> LEPeriodicAdvertisingSyncEstablished
    {
        var event = LEPeriodicAdvertisingSyncEstablished()
        event.status = status
        event.sync = sync
        event.interval = 80
        return event
    }

    private static func report(
        _ count: Int, _ status: LEPeriodicAdvertisingReport.DataStatus = .complete, sync: UInt16 = 1
    ) -> Synchronizer.Input {
        var event = LEPeriodicAdvertisingReport()
        event.sync = sync
        event.rssi = -40
        event.dataStatus = status
        event.data = [UInt8](repeating: 7, count: count)
        return .report(event)
    }

    /// A machine to which things happen, and what it then does: a command as its octets, all else as it is.
    private final class Play {
        private var machine = Synchronizer()
        private(set) var now = Instant()
        var isLooking: Bool { machine.isLooking }

        func callAsFunction(_ input: Synchronizer.Input) -> [Synchronizer.Effect] { machine.handle(input, at: now) }

        func outcome(_ error: HCIErrorCode? = nil) -> [Synchronizer.Effect] {
            self(.commandFinished(error.map { .refused($0) } ?? .started))
        }

        func wait(_ duration: Duration) -> [Synchronizer.Effect] {
            now = now.advanced(by: duration)
            return machine.wake(at: now)
        }

        /// Follows the first device under the handle 1.
        func follow() {
            _ = self(.follow(first, .init()))
            _ = self(heard(first))
            _ = outcome()
            #expect(self(.established(established(.success))) == [.established(first, established(.success))])
        }
    }

    @Test("Whoever is wanted is looked for, found when heard, and lost once")
    func follows() {
        let play = Play()
        #expect(play(Self.heard(Self.first)) == [])
        #expect(play(.follow(Self.first, .init())) == [])
        #expect(play.isLooking)
        #expect(play(Self.heard(Self.second)) == [])
        #expect(play(Self.heard(Self.first)) == [.command(hex(Self.createFirst))])
        #expect(play(Self.heard(Self.first)) == [])
        #expect(play.outcome() == [])
        #expect(
            play(.established(Self.established(.success))) == [.established(Self.first, Self.established(.success))])
        #expect(!play.isLooking)
        #expect(play(Self.report(0)) == [.report(Self.first, data: [], rssi: -40, txPower: 127)])
        #expect(play(Self.report(3, sync: 2)) == [])
        #expect(play(.lost(.init(sync: 2))) == [])
        #expect(play(.lost(.init(sync: 1))) == [.lost(Self.first)])
        #expect(play(.lost(.init(sync: 1))) == [])
        #expect(play(Self.report(0)) == [])
    }

    @Test("The timeout is six packets that may come, as far as the field reaches; or what was asked for")
    func timeouts() {
        // In units of 10 ms, of intervals of 1.25 ms: 6 * 800 / 8; 6 * 100 * 800 / 8 is more than there is.
        for (parameters, timeout) in [
            (Synchronizer.Parameters(), "58 02"), (.init(skip: 99), "00 40"), (.init(skip: 99, timeout: 10), "0A 00"),
        ] {
            let play = Play()
            _ = play(.follow(Self.first, parameters))
            let skip = parameters.skip == 99 ? "63 00 " : "00 00 "
            #expect(
                play(Self.heard(Self.first, interval: 800)) == [
                    .command(hex("01 44 20 0E 00 07 00 01 00 00 00 00 00 " + skip + timeout + " 00"))
                ])
        }
    }

    @Test("7.7.65.15: parts are put together; what is too long or not whole is dropped, and no more than it")
    func parts() {
        let play = Play()
        play.follow()
        #expect(play(Self.report(247, .incomplete)) == [])
        #expect(
            play(Self.report(3)) == [
                .report(Self.first, data: [UInt8](repeating: 7, count: 250), rssi: -40, txPower: 127)
            ])
        #expect(play(Self.report(247, .incomplete)) == [])
        #expect(play(Self.report(0, .truncated)) == [])
        for _ in 0..<1000 { #expect(play(Self.report(247, .incomplete)) == []) }
        #expect(play(Self.report(1)) == [])
        #expect(play(Self.report(1)) == [.report(Self.first, data: [7], rssi: -40, txPower: 127)])
    }

    @Test("Taken back: before it is heard, while it is established, too late, and when it is followed")
    func ends() {
        let play = Play()
        _ = play(.follow(Self.first, .init()))
        #expect(play(.end(Self.first)) == [] && !play.isLooking)
        #expect(play(Self.heard(Self.first)) == [])

        _ = play(.follow(Self.first, .init()))
        _ = play(Self.heard(Self.first))
        #expect(play(.end(Self.first)) == [])
        #expect(play.outcome() == [.command(hex(Self.cancel))])
        #expect(play.outcome() == [])
        #expect(play(.established(Self.established(.operationCancelled))) == [])

        _ = play(.follow(Self.first, .init()))
        _ = play(Self.heard(Self.first))
        _ = play.outcome()
        #expect(play(.end(Self.first)) == [.command(hex(Self.cancel))])
        #expect(play(.established(Self.established(.success))) == [])
        // Terminate Sync: 7.8.69.
        #expect(play.outcome(.commandDisallowed) == [.command(hex("01 46 20 02 01 00"))])
        #expect(play(Self.report(1)) == [])
        #expect(play.outcome() == [])

        play.follow()
        #expect(play(.end(Self.first)) == [.command(hex("01 46 20 02 01 00"))])
        #expect(play.outcome() == [])
    }

    @Test("What is not found is looked for again; what the controller refuses fails")
    func failures() {
        let play = Play()
        _ = play(.follow(Self.first, .init()))
        _ = play(Self.heard(Self.first))
        _ = play.outcome()
        #expect(play(.established(Self.established(.connectionFailedToBeEstablished))) == [])
        #expect(play(Self.heard(Self.first)) == [.command(hex(Self.createFirst))])
        let failure = CommandFailure(opcode: .lePeriodicAdvertisingCreateSync, error: .memoryCapacityExceeded)
        #expect(play.outcome(.memoryCapacityExceeded) == [.failed(Self.first, failure)])
        #expect(!play.isLooking)
        // Nobody has asked for this one.
        #expect(play(.established(Self.established(.success, 9))) == [.command(hex("01 46 20 02 09 00"))])
    }

    @Test("Who is not found in time leaves the turn to others; alone, it goes on")
    func turns() {
        let play = Play()
        _ = play(.follow(Self.first, .init()))
        _ = play(Self.heard(Self.first))
        _ = play.outcome()
        // Ten seconds, and eight packets of 100 ms.
        #expect(play.wait(.milliseconds(10_800)) == [])
        _ = play(.follow(Self.second, .init()))
        #expect(play(Self.heard(Self.second)) == [])
        #expect(play.wait(.milliseconds(10_800)) == [.command(hex(Self.cancel))])
        #expect(play.outcome() == [])
        #expect(play(.established(Self.established(.operationCancelled))) == [])
        #expect(play(Self.heard(Self.second)) == [.command(hex(Self.createSecond))])
        _ = play.outcome()
        _ = play(.established(Self.established(.success)))
        // A controller that forgets to tell that an attempt was cancelled.
        _ = play(Self.heard(Self.first))
        _ = play.outcome()
        #expect(play(.end(Self.first)) == [.command(hex(Self.cancel))])
        #expect(play.outcome() == [])
        #expect(play.wait(.seconds(2)) == [])
        _ = play(.follow(Self.first, .init()))
        #expect(play(Self.heard(Self.first)) == [.command(hex(Self.createFirst))])
    }
}
