import Host
import Testing

@Suite("Sharing the controller's buffers — Core 6.0, Vol 4, Part E, 4.1.1")
struct ACLSchedulerTests {
    @Test("No more packets are out than the controller has buffers")
    func credits() {
        var scheduler = ACLScheduler(bufferCount: 2, bufferLength: 27)
        scheduler.addLink(0x40)
        for number in UInt8(1)...3 { scheduler.enqueue([number], on: 0x40, token: nil) }
        #expect(scheduler.next()?.octets == [0x02, 0x40, 0x00, 0x01, 0x00, 1])
        #expect(scheduler.next()?.octets == [0x02, 0x40, 0x00, 0x01, 0x00, 2])
        #expect(scheduler.next() == nil)
        scheduler.complete(1, on: 0x40)
        #expect(scheduler.next()?.octets == [0x02, 0x40, 0x00, 0x01, 0x00, 3])
    }

    @Test("A PDU is cut to the buffers' length, and told when its last packet is handed over")
    func fragments() {
        var scheduler = ACLScheduler(bufferCount: 4, bufferLength: 27)
        scheduler.addLink(0x01)
        scheduler.enqueue([UInt8](repeating: 7, count: 30), on: 0x01, token: 5)
        let first = scheduler.next()
        // PB flag 0b00 begins a PDU, 0b01 continues it (Core 6.0, Vol 4, Part E, 5.4.2).
        #expect(first?.octets.prefix(5) == [0x02, 0x01, 0x00, 27, 0])
        #expect(first?.token == nil)
        let second = scheduler.next()
        #expect(second?.octets == [0x02, 0x01, 0x10, 3, 0, 7, 7, 7])
        #expect(second?.token == 5)
    }

    @Test("Links take turns")
    func fairness() {
        var scheduler = ACLScheduler(bufferCount: 4, bufferLength: 27)
        scheduler.addLink(1)
        scheduler.addLink(2)
        for _ in 0..<3 { scheduler.enqueue([1], on: 1, token: nil) }
        scheduler.enqueue([2], on: 2, token: nil)
        #expect((0..<4).compactMap { _ in scheduler.next()?.handle } == [1, 2, 1, 1])
    }

    @Test("The buffers of a link that has ended are free again")
    func linkEnds() {
        var scheduler = ACLScheduler(bufferCount: 1, bufferLength: 27)
        scheduler.addLink(1)
        scheduler.addLink(2)
        scheduler.enqueue([1], on: 1, token: nil)
        scheduler.enqueue([2], on: 2, token: nil)
        #expect(scheduler.next()?.handle == 1)
        #expect(scheduler.next() == nil)
        scheduler.removeLink(1)
        #expect(scheduler.next()?.handle == 2)
    }

    @Test("A controller that reports more than it was given gives no buffers away")
    func overreport() {
        var scheduler = ACLScheduler(bufferCount: 1, bufferLength: 27)
        scheduler.addLink(1)
        scheduler.complete(9, on: 1)
        for _ in 0..<2 { scheduler.enqueue([1], on: 1, token: nil) }
        #expect(scheduler.next() != nil)
        #expect(scheduler.next() == nil)
    }

    @Test("A lane that never runs empty holds what waits, and not what was sent")
    func neverEmpty() {
        var scheduler = ACLScheduler(bufferCount: 1, bufferLength: 27)
        scheduler.addLink(1)
        scheduler.enqueue([0], on: 1, token: 0)
        for number in UInt64(1)...1000 {
            scheduler.enqueue([UInt8(truncatingIfNeeded: number)], on: 1, token: number)
            let packet = scheduler.next()
            #expect(packet?.token == number - 1)
            #expect(packet?.octets.last == UInt8(truncatingIfNeeded: number - 1))
            scheduler.complete(1, on: 1)
        }
        // Nobody asks for what has been sent, so only a look inside shows it.
        let held = Mirror(reflecting: scheduler).descendant("lanes", 0, "pdus") as? [Any]
        #expect((held?.count).map { $0 < 100 } == true)
        #expect(scheduler.unacknowledgedPackets(on: 1) == 1)
    }

    @Test("Answers that a peer does not take are counted; what clients send is not")
    func waitingAnswers() {
        var scheduler = ACLScheduler(bufferCount: 1, bufferLength: 27)
        scheduler.addLink(1)
        for _ in 0..<3 { scheduler.enqueue([1], on: 1, token: nil) }
        scheduler.enqueue([1], on: 1, token: 7)
        #expect(scheduler.waitingAnswers(on: 1) == 3)
        _ = scheduler.next()
        #expect(scheduler.waitingAnswers(on: 1) == 2)
        #expect(scheduler.waitingAnswers(on: 2) == 0)
    }
}
