import ByteCodec
package import EventLoop
import Glibc
import HCI
import HCITransport

/// A capture that is written while a world runs: all of its air, or what passes between one host and its controller.
///
/// Only its owner may read the file, for it holds whatever the traffic holds.
package final class CaptureFile {
    package struct Failure: Error, Equatable, Sendable {
        /// For a person.
        package var sentence: String

        package init(sentence: String) { self.sentence = sentence }
    }

    private let path: String
    private let file: Int32
    private var waiting: [UInt8]
    private var problem: String?

    private init(_ path: String, header: [UInt8]) throws(Failure) {
        self.path = path
        file = openRecord(path)
        waiting = header
        guard file >= 0 else {
            throw Failure(sentence: "\(path) cannot be written: \(fileTrouble(code: errno))")
        }
    }

    /// A btsnoop file of the host of `device`.
    package convenience init(hciOf device: Device, at path: String) throws(Failure) {
        try self.init(path, header: BTSnoop.header)
        device.owningWorld.addHCITap { [weak self] now, other, direction, packet in
            guard other === device else { return }
            self?.append(HCICapture.record(packet, direction, at: now))
        }
    }

    /// A pcap file of the link layer.
    package convenience init(airOf world: World, at path: String) throws(Failure) {
        try self.init(path, header: AirCapture.header)
        var capture = AirCapture()
        world.addAirTap { [weak self] packet in self?.append(capture.record(packet)) }
    }

    deinit { _ = close() }

    private func append(_ record: [UInt8]) {
        waiting += record
        if waiting.count >= 1 << 16 { flush() }
    }

    private func flush() {
        var rest = waiting[...]
        while !rest.isEmpty, problem == nil, !isClosed {
            let count = unsafe rest.withUnsafeBytes { unsafe write(file, $0.baseAddress, $0.count) }
            if count > 0 {
                rest = rest.dropFirst(count)
            } else if errno != EINTR {
                problem = "\(path) cannot be written: \(fileTrouble(code: errno))"
            }
        }
        waiting.removeAll(keepingCapacity: true)
    }

    private var isClosed = false

    /// Ends the file. What comes later is not in it.
    ///
    /// - Returns: a sentence, if not all of it could be written.
    package func close() -> String? {
        guard !isClosed else { return problem }
        flush()
        isClosed = true
        if file >= 0 { _ = Glibc.close(file) }
        return problem
    }
}

package enum HCICapture {
    /// A packet as a btsnoop file has it.
    package static func record(_ packet: [UInt8], _ direction: HCIDirection, at now: Instant) -> [UInt8] {
        let time = AirCapture.beginning * 1_000_000 + Int64(now.sinceStart / .microseconds(1))
        return BTSnoop.record(packet, direction == .hostToController ? .toController : .toHost, time: time)
    }
}

extension HCICapture {
    /// What a packet is, for a person.
    package static func words(for packet: [UInt8]) -> String {
        do throws(PacketError) {
            switch try HCIPacket(packet) {
            case .command(let opcode, _): return "command \(opcode)"
            case .acl(_, let payload): return "data of \(payload.count) octets"
            case .event(let code, _): return "event 0x\(String(code.rawValue, radix: 16, uppercase: true))"
            case .leEvent(let code, _): return "LE event 0x\(String(code.rawValue, radix: 16, uppercase: true))"
            case .otherData: return "data"
            }
        } catch {
            return "octets that are no packet"
        }
    }
}
