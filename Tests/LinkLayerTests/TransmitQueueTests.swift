import Testing

@testable import LinkLayer

@Suite("Transmit queue")
struct TransmitQueueTests {
    @Test("Control PDUs come before data, data keeps its order, the last fragment completes a packet")
    func order() {
        var queue = TransmitQueue()
        queue.append([UInt8](0..<60)[...], isContinuation: false)
        queue.append([UInt8](60..<70)[...], isContinuation: true)
        queue.append(control: [0x12])
        #expect(queue.nextCount == 1)
        var out: [TransmitQueue.Outgoing] = []
        while !queue.isEmpty { out.append(queue.removeNext()) }
        #expect(out.map(\.kind) == [.control, .start, .continuation, .continuation, .continuation])
        #expect(out.map(\.payload.count) == [1, 27, 27, 6, 10])
        #expect(out.map(\.completesPacket) == [false, false, false, true, true])
        #expect(out.dropFirst().flatMap(\.payload) == [UInt8](0..<70))
        #expect(queue.removeNext().payload.isEmpty)
    }

    @Test("A queue that is filled and emptied for long keeps its order and its size")
    func fifo() {
        var fifo = Fifo<Int>()
        var next = 0
        for number in 0..<10_000 {
            fifo.append(number)
            if number % 3 != 0 {
                #expect(fifo.first == next)
                fifo.removeFirst()
                next += 1
            }
        }
        #expect(fifo.count == 10_000 - next)
        while let first = fifo.first {
            #expect(first == next)
            fifo.removeFirst()
            next += 1
        }
        #expect(next == 10_000)
    }
}
