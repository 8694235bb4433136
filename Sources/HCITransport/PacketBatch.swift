import Glibc

/// Several packets in one system call, over a socket that keeps them apart: sendmmsg(2).
enum PacketBatch {
    /// How many packets one call takes.
    static let most = 64

    /// `struct mmsghdr`: a message, and how many octets of it were sent.
    @unsafe private struct Entry {
        var header: msghdr
        var sent: UInt32 = 0
    }

    private typealias SendMany = @convention(c) (Int32, UnsafeMutableRawPointer?, UInt32, Int32) -> Int32

    /// Glibc has it for whoever defines _GNU_SOURCE, which its Swift module does not.
    private static let sendMany: SendMany = {
        guard let symbol = unsafe dlsym(nil, "sendmmsg") else { preconditionFailure("There is no sendmmsg.") }
        return unsafe unsafeBitCast(symbol, to: SendMany.self)
    }()

    /// Hands packets to the system, in order.
    ///
    /// - Returns: how many it took; less than 0 if it took none, and `errno` says why.
    static func send(_ packets: ArraySlice<[UInt8]>, to socket: Int32) -> Int {
        let flags = Int32(MSG_NOSIGNAL)
        if packets.count == 1, let packet = packets.first {
            let count = unsafe packet.withUnsafeBytes { octets in
                unsafe Glibc.send(socket, octets.baseAddress, octets.count, flags)
            }
            return count < 0 ? -1 : 1
        }
        // One buffer, so that nothing points into arrays that may move.
        var octets: [UInt8] = []
        octets.reserveCapacity(packets.reduce(0) { $0 + $1.count })
        for packet in packets { octets += packet }
        return unsafe octets.withUnsafeMutableBytes { octets in
            var start = 0
            var pieces: [iovec] = unsafe []
            for packet in packets {
                unsafe pieces.append(
                    iovec(iov_base: octets.baseAddress.map { unsafe $0 + start }, iov_len: packet.count))
                start += packet.count
            }
            return unsafe pieces.withUnsafeMutableBufferPointer { pieces in
                var entries = unsafe pieces.indices.map { index in
                    var header = unsafe msghdr()
                    unsafe header.msg_iov = unsafe pieces.baseAddress.map { unsafe $0 + index }
                    unsafe header.msg_iovlen = 1
                    return unsafe Entry(header: header)
                }
                return unsafe Int(sendMany(socket, &entries, UInt32(entries.count), flags))
            }
        }
    }
}
