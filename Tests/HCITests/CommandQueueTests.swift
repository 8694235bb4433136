import EventLoop
import HCI
import ProtocolTestKit
import Testing

@Suite("Command queue — Core 6.0, Vol 4, Part E, 4.4")
struct CommandQueueTests {
    @Test("A command waits until the one before it has its answer")
    func oneAtATime() {
        Scene.play(HCICommandQueue()) { queue in
            queue.submit(1, Reset().packet)
            queue.expect(.send(Reset().packet))
            queue.submit(2, LERand().packet)
            queue.complete(.reset, "00")
            queue.expect(.finish(id: 1, .completed(returnParameters: [0])))
            queue.expect(.send(LERand().packet))
            queue.complete(.leRand, "0C")
            queue.expect(.finish(id: 2, .refused(.commandDisallowed)))
        }
    }

    @Test("Command Status finishes a command too, whether it accepts or refuses")
    func status() {
        Scene.play(HCICommandQueue()) { queue in
            queue.submit(1, LECreateConnection().packet)
            queue.expect(.send(LECreateConnection().packet))
            queue.input(.status(CommandStatus(status: .success, opcode: .leCreateConnection)), #_sourceLocation)
            queue.expect(.finish(id: 1, .started))
            queue.submit(2, LECreateConnection().packet)
            queue.expect(.send(LECreateConnection().packet))
            queue.input(
                .status(CommandStatus(status: .commandDisallowed, opcode: .leCreateConnection)), #_sourceLocation)
            queue.expect(.finish(id: 2, .refused(.commandDisallowed)))
        }
    }

    // attacks.json, HCI-05 (Zephyr, CVE-2023-1901 and CVE-2023-1902).
    @Test("A second completion of one command resumes nothing")
    func completedTwice() {
        Scene.play(HCICommandQueue()) { queue in
            queue.submit(1, Reset().packet)
            queue.expect(.send(Reset().packet))
            queue.submit(2, LERand().packet)
            queue.complete(.reset, "00")
            queue.expect(.finish(id: 1, .completed(returnParameters: [0])))
            queue.expect(.send(LERand().packet))
            queue.complete(.reset, "00")
            queue.expect(.reportStray(.reset))
        }
    }

    @Test("Without a credit nothing is sent; a completion of no command grants one — 7.7.14")
    func credits() {
        Scene.play(HCICommandQueue()) { queue in
            queue.submit(1, Reset().packet)
            queue.expect(.send(Reset().packet))
            queue.complete(.reset, "00", credits: 0)
            queue.expect(.finish(id: 1, .completed(returnParameters: [0])))
            queue.submit(2, LERand().packet)
            queue.complete(.none, "", credits: 1)
            queue.expect(.send(LERand().packet))
        }
    }

    @Test("Two may be outstanding if both sides allow it")
    func twoOutstanding() {
        Scene.play(HCICommandQueue(limit: 2)) { queue in
            queue.complete(.none, "", credits: 5)
            queue.submit(1, Reset().packet)
            queue.expect(.send(Reset().packet))
            queue.submit(2, LERand().packet)
            queue.expect(.send(LERand().packet))
            queue.submit(3, ReadAddress().packet)
            queue.complete(.leRand, "00", credits: 5)
            queue.expect(.finish(id: 2, .completed(returnParameters: [0])))
            queue.expect(.send(ReadAddress().packet))
        }
    }

    @Test("A controller that does not answer for ten seconds is lost, and every command with it")
    func hangs() {
        Scene.play(HCICommandQueue()) { queue in
            queue.submit(1, Reset().packet)
            queue.expect(.send(Reset().packet))
            queue.submit(2, LERand().packet)
            queue.wait(.milliseconds(9_999))
            queue.wait(.milliseconds(1))
            queue.expect(.finish(id: 1, .timedOut))
            queue.expect(.finish(id: 2, .timedOut))
            queue.expect(.controllerHangs(.reset))
            queue.complete(.reset, "00")  // Too late.
            queue.submit(3, LERand().packet)
            queue.expect(.finish(id: 3, .timedOut))
        }
    }

    @Test("A credit that never comes is a controller that hangs")
    func creditNeverComes() {
        Scene.play(HCICommandQueue()) { queue in
            queue.submit(1, Reset().packet)
            queue.expect(.send(Reset().packet))
            queue.complete(.reset, "00", credits: 0)
            queue.expect(.finish(id: 1, .completed(returnParameters: [0])))
            queue.submit(2, LERand().packet)
            queue.wait(.seconds(10))
            queue.expect(.finish(id: 2, .timedOut))
            queue.expect(.controllerHangs(.leRand))
        }
    }
}

extension Scene<HCICommandQueue> {
    fileprivate mutating func submit(_ id: UInt32, _ packet: [UInt8], at location: SourceLocation = #_sourceLocation) {
        input(.submit(id: id, packet: packet), location)
    }

    fileprivate mutating func complete(
        _ opcode: HCIOpcode, _ parameters: String, credits: UInt8 = 1, at location: SourceLocation = #_sourceLocation
    ) {
        input(
            .complete(CommandComplete(opcode: opcode, returnParameters: hex(parameters)[...], credits: credits)),
            location)
    }
}
