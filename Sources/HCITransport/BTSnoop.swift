package import EventLoop
import Glibc
import HCI

/// The file format in which HCI traffic is kept, and which Wireshark and btmon read.
///
/// Source: the snoop format of RFC 1761 with the magic number `btsnoop`, datalink type 1002 (HCI UART, H4).
package enum BTSnoop {
    package enum Direction: Sendable {
        case toController
        case toHost
    }

    /// Microseconds from the format's year 0 to the beginning of 1970, as all readers of the format count them, which
    /// is twelve days more than the calendar has.
    static let epoch: Int64 = 0x00DC_DDB3_0F2F_8000

    /// What stands at the beginning of a file.
    package static var header: [UInt8] { Array("btsnoop".utf8) + [0] + bigEndian(UInt32(1)) + bigEndian(UInt32(1002)) }

    /// One packet in its H4 form.
    ///
    /// - Parameter time: microseconds since the beginning of 1970.
    package static func record(_ packet: some Collection<UInt8>, _ direction: Direction, time: Int64) -> [UInt8] {
        let length = UInt32(packet.count)
        let isData = packet.first == HCIPacketType.aclData.rawValue
        let flags: UInt32 = (direction == .toHost ? 1 : 0) | (isData ? 0 : 2)
        var record = bigEndian(length) + bigEndian(length) + bigEndian(flags) + bigEndian(UInt32(0))
        record += bigEndian(time + epoch)
        record += packet
        return record
    }

    private static func bigEndian<Value: FixedWidthInteger>(_ value: Value) -> [UInt8] {
        stride(from: Value.bitWidth - 8, through: 0, by: -8).map { UInt8(truncatingIfNeeded: value >> $0) }
    }
}

/// Opens a file to record traffic in, for its owner alone; what is there is replaced. A pipe is fine if somebody reads
/// from it; there is no waiting for one.
///
/// - Returns: the descriptor; below zero, `errno` says why there is none.
package func openRecord(_ path: String) -> Int32 {
    let flags = O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC
    let file = unsafe Glibc.open(path, flags | O_NONBLOCK, 0o600)
    if file >= 0 { _ = fcntl(file, F_SETFL, flags) }
    return file
}

/// A transport that writes down what passes through it.
///
/// Times in the file are the loop's, counted from the time of day at which the recording began.
package final class RecordingTransport: Transport, LoopParticipant {
    private let transport: any Transport
    private let loop: RealTimeLoop
    private let file: Int32
    /// The time of day at the loop's own zero, in microseconds since the beginning of 1970.
    private let origin: Int64
    private var records = BTSnoop.header

    /// - Parameter path: the file to write. One that is there is replaced; only its owner may read it, for it holds
    ///   whatever the traffic holds.
    package init(_ transport: any Transport, path: String, on loop: RealTimeLoop) throws(TransportError) {
        self.transport = transport
        self.loop = loop
        file = openRecord(path)
        guard file >= 0 else { throw .system("Opening the record \(path)", reason: systemError()) }
        var time = timespec()
        unsafe clock_gettime(CLOCK_REALTIME, &time)
        let today = Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1000
        origin = today - microseconds(loop.now)
    }

    deinit { if file >= 0 { _ = Glibc.close(file) } }

    package var deadline: Instant? { nil }
    package func wake(at now: Instant) {}

    package func open(_ deliver: @escaping (TransportEvent) -> Void) {
        loop.add(self)
        transport.open { [self] event in
            if case .packets(let packets) = event { for packet in packets { record(packet, .toHost) } }
            if case .closed = event { finish() }
            deliver(event)
        }
    }

    package func send(_ packet: [UInt8]) {
        record(packet[...], .toController)
        transport.send(packet)
    }

    package func close() {
        finish()
        transport.close()
    }

    package func endTurn() {
        // A full disk ends the record, not the traffic.
        var rest = records[...]
        while !rest.isEmpty {
            let count = unsafe rest.withUnsafeBytes { unsafe write(file, $0.baseAddress, $0.count) }
            guard count > 0 else { break }
            rest = rest.dropFirst(count)
        }
        records.removeAll(keepingCapacity: true)
    }

    private func finish() {
        endTurn()
        loop.remove(self)
    }

    private func record(_ packet: ArraySlice<UInt8>, _ direction: BTSnoop.Direction) {
        records += BTSnoop.record(packet, direction, time: origin + microseconds(loop.now))
    }
}

private func microseconds(_ instant: Instant) -> Int64 { Int64(instant.sinceStart / .microseconds(1)) }
