import BluetoothTypes
import ByteCodec
import EventLoop
import HCI
import HCITransport
import L2CAP

/// The line between a device's host and its controller, where faults live: it lets packets through, changes them,
/// holds them back or adds some, as a broken firmware, a broken controller or a broken cable would.
///
/// PDUs are put together from their fragments, changed, and cut anew. The books of the controller's buffers are kept
/// for both sides (Core 6.0, Vol 4, Part E, 4.1.1): the host gets a credit back for each packet that it spent, and
/// the controller is never sent more packets than it has buffers.
///
/// It belongs to the world's thread. What it draws by chance is its own, so that a fault changes nothing elsewhere.
package final class FaultyLine {
    unowned let owner: HostedDevice
    private var probabilities: [SimulatedFault: Double] = [:]
    private var chance: SeededGenerator
    var links: [UInt16: FaultyLink] = [:]
    /// Handles of links that are over; what still comes for them is let through.
    var endedLinks: Set<UInt16> = []
    /// Packets that the controller holds, and those that it has no room for yet.
    private var inController = 0
    private var waiting: [[UInt8]] = []
    /// Commands of ours whose answers are not the host's.
    var ownCommands: [HCIOpcode] = []
    /// What the fault "two events in one read" holds back, to be read with what comes next.
    var unread: [UInt8] = []
    var framer = H4Framer()
    /// Whether it hangs since its last reset.
    var isHanging = false
    /// The transmit power in dBm of before, while the transmitter is silent.
    var mutedPower: Double?
    /// Who has taken the peer, of the fault "connected elsewhere".
    var rival: RivalCentral?

    var world: World { owner.world }
    var device: Device { owner.device }

    init(_ owner: HostedDevice) {
        self.owner = owner
        chance = SeededGenerator(seed: owner.world.seed ^ owner.device.address.value << 8 ^ 0xFA17)
        owner.device.hciFault = { [unowned self] direction, packet in pass(packet, direction) }
    }

    // MARK: Which faults

    /// Puts a fault in, from now on.
    ///
    /// - Parameter probability: how likely it strikes each time it could, 0...1.
    package func begin(_ fault: SimulatedFault, probability: Double = 1) {
        world.note(fault, of: device, .begins)
        if !fault.isMomentary { probabilities[fault] = probability }
        began(fault)
    }

    /// Takes it out; without effect if it is not in.
    package func end(_ fault: SimulatedFault) {
        guard probabilities.removeValue(forKey: fault) != nil else { return }
        world.note(fault, of: device, .ends)
        ended(fault)
    }

    /// Whether a fault is in.
    package func has(_ fault: SimulatedFault) -> Bool { probabilities[fault] != nil }

    /// Whether it is in, and strikes this time.
    func strikes(_ fault: SimulatedFault) -> Bool {
        guard let probability = probabilities[fault] else { return false }
        if probability < 1, Double(chance.next() >> 11) / 9_007_199_254_740_992 >= probability { return false }
        world.note(fault, of: device, .strikes)
        return true
    }

    // MARK: Packets

    private func pass(_ packet: [UInt8], _ direction: HCIDirection) -> [[UInt8]] {
        guard !has(.adapterUnplugged) else { return [] }
        let parsed: HCIPacket
        do throws(PacketError) { parsed = try HCIPacket(packet) } catch { return [packet] }
        switch (parsed, direction) {
        case (.command(let opcode, let parameters), .hostToController):
            return alter(command: packet, opcode, parameters)
        case (.acl(let header, let payload), .hostToController):
            let packets = outgoing(payload, header)
            return admit(packets ?? [packet])
        case (.acl(let header, let payload), .controllerToHost):
            guard !isHanging else { return [] }
            return read(incoming(payload, header) ?? [packet])
        case (.event(.numberOfCompletedPackets, let parameters), .controllerToHost):
            return read(completed(parameters) ?? [packet])
        case (.event, .controllerToHost), (.leEvent, .controllerToHost):
            return read(alter(event: packet, parsed))
        case (.command, _), (.acl, _), (.event, _), (.leEvent, _), (.otherData, _): return [packet]
        }
    }

    /// Sends a command of our own to the controller; its answer is kept from the host.
    func command(_ packet: [UInt8], _ opcode: HCIOpcode) {
        ownCommands.append(opcode)
        world.inject(packet, of: device, .hostToController)
    }

    /// Tells the host something that the controller did not say.
    func tell(_ packet: [UInt8]) { world.inject(packet, of: device, .controllerToHost) }

    // MARK: PDUs

    /// What is known of a link; of one that was there before the faults, its beginning went by unseen.
    private func link(_ handle: UInt16) -> FaultyLink? {
        if let link = links[handle] { return link }
        guard !endedLinks.contains(handle) else { return nil }
        let link = FaultyLink(handle: handle, role: .peripheral)
        links[handle] = link
        return link
    }

    /// Takes what the host sends. `nil` lets it through as it is.
    private func outgoing(_ fragment: ArraySlice<UInt8>, _ header: ACLHeader) -> [[UInt8]]? {
        guard let link = link(header.handle) else { return nil }
        // In the middle of a PDU whose beginning went by unseen.
        guard header.boundary.isStart || link.heldFragments > 0 else { return nil }
        if header.boundary.isStart, link.heldFragments > 0 { giveBack(link.heldFragments, of: link) }
        link.heldFragments = header.boundary.isStart ? 1 : link.heldFragments + 1
        guard let pdu = link.outgoing.receive(fragment, isStart: header.boundary.isStart) else { return [] }
        let packets = alter(outgoing: Array(pdu.payload), pdu.channel, on: link).flatMap {
            cut($0, pdu.channel, of: link)
        }
        link.surplus += packets.count - link.heldFragments
        link.heldFragments = 0
        if link.surplus < 0 { giveBack(-link.surplus, of: link) }
        return packets
    }

    private func incoming(_ fragment: ArraySlice<UInt8>, _ header: ACLHeader) -> [[UInt8]]? {
        guard let link = link(header.handle) else { return nil }
        guard header.boundary.isStart || link.isReceiving else { return nil }
        link.isReceiving = true
        guard let pdu = link.incoming.receive(fragment, isStart: header.boundary.isStart) else { return [] }
        link.isReceiving = false
        return alter(incoming: Array(pdu.payload), pdu.channel, on: link).map {
            aclPacket(
                handle: header.handle, boundary: .firstFlushable, payload: l2capPDU($0, channel: pdu.channel))
        }
    }

    /// Sends a PDU that the host did not send, now or after `delay`, if the link is still there then.
    func send(_ payload: [UInt8], _ channel: ChannelID, on link: FaultyLink, after delay: Duration = .zero) {
        guard delay == .zero else {
            world.schedule(after: delay) { [weak self, weak link] in
                guard let self, let link, !link.hasEnded else { return }
                send(payload, channel, on: link)
            }
            return
        }
        let packets = cut(payload, channel, of: link)
        link.surplus += packets.count
        for packet in admit(packets) { world.inject(packet, of: device, .hostToController) }
    }

    private func cut(_ payload: [UInt8], _ channel: ChannelID, of link: FaultyLink) -> [[UInt8]] {
        let pdu = l2capPDU(payload, channel: channel)
        let length = Int(device.aclLength)
        return stride(from: 0, to: pdu.count, by: length).map { start in
            aclPacket(
                handle: link.handle, boundary: start == 0 ? .firstNonFlushable : .continuation,
                payload: pdu[start..<min(start + length, pdu.count)])
        }
    }

    // MARK: The controller's buffers

    /// - Returns: what the controller has room for now.
    private func admit(_ packets: [[UInt8]]) -> [[UInt8]] {
        waiting += packets
        let count = min(waiting.count, max(0, Int(device.aclCount) - inController))
        defer { waiting.removeFirst(count) }
        inController += count
        return Array(waiting.prefix(count))
    }

    private func giveBack(_ count: Int, of link: FaultyLink) {
        link.surplus = 0
        var event = NumberOfCompletedPackets()
        event.entries = [.init(handle: link.handle, count: UInt16(count))]
        tell(event.packet)
    }

    /// Packets have left the controller: some were the host's.
    private func completed(_ parameters: ArraySlice<UInt8>) -> [[UInt8]]? {
        var event: NumberOfCompletedPackets
        do throws(PacketError) { event = try NumberOfCompletedPackets(octets: parameters) } catch { return nil }
        var left: [NumberOfCompletedPackets.Entry] = []
        for var entry in event.entries {
            inController = max(0, inController - Int(entry.count))
            if let link = links[entry.handle], link.surplus > 0 {
                let own = min(link.surplus, Int(entry.count))
                link.surplus -= own
                entry.count -= UInt16(own)
            }
            if entry.count > 0 { left.append(entry) }
        }
        for packet in admit([]) { world.inject(packet, of: device, .hostToController) }
        guard !left.isEmpty, !isHanging, !strikes(.readinessNeverSignalled) else { return [] }
        event.entries = left
        return [event.packet]
    }

    /// A link has ended, and with it what the controller held for it.
    func dropPackets(of handle: UInt16) {
        waiting.removeAll { $0.count > 2 && UInt16($0[1]) | UInt16($0[2] & 0x0F) << 8 == handle }
        links.removeValue(forKey: handle)?.hasEnded = true
        endedLinks.insert(handle)
        if links.isEmpty { inController = 0 }
    }

    /// The controller has been reset.
    func forgetLinks() {
        unmuteTransmitter()
        for link in links.values { link.hasEnded = true }
        links = [:]
        endedLinks = []
        waiting = []
        inController = 0
        ownCommands = []
        isHanging = false
    }
}

/// What a faulty line knows of one link.
final class FaultyLink {
    let handle: UInt16
    let role: LinkRole
    /// Whatever the hosts have agreed on is shorter.
    var outgoing = Reassembler(maximumLength: 65535)
    var incoming = Reassembler(maximumLength: 65535)
    /// Fragments of the PDU that is being put together.
    var heldFragments = 0
    var isReceiving = false
    /// Packets that the controller got beyond those that the host sent: it must not hear of their completion.
    var surplus = 0
    var hasEnded = false
    /// The request that the peer's host waits with: its opcode, and what attribute type it asks for.
    var request: (opcode: UInt8, type: UInt16) = (0, 0)
    /// The confirmation of a subscription, until a value has gone before it.
    var heldConfirmation: [UInt8]?

    init(handle: UInt16, role: LinkRole) {
        self.handle = handle
        self.role = role
    }
}
