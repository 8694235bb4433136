import ATT
import BluetoothTypes
import ByteCodec
import EventLoop
import HCI
import L2CAP

/// What happens in a world, as a person would tell it: read from the octets between hosts and controllers, so that it
/// says what was on the air, whatever the programs believe.
///
/// It belongs to the world's thread.
package final class Story {
    package struct Line: Equatable, Sendable {
        /// Since the world began.
        package var time: Duration
        package var device: String
        package var what: String
        package var octets: [UInt8]?

        package init(time: Duration, device: String, what: String, octets: [UInt8]? = nil) {
            self.time = time
            self.device = device
            self.what = what
            self.octets = octets
        }

        /// `   2.421 s  Phone         write FFF6  75 6E 6C 6F 63 6B  "unlock"`
        package var text: String {
            let milliseconds = Int64(time / .milliseconds(1))
            let fraction = String(milliseconds % 1000)
            let seconds = "\(milliseconds / 1000)." + String(repeating: "0", count: 3 - fraction.count) + fraction
            let stamp = String(repeating: " ", count: max(0, 8 - seconds.count)) + seconds + " s  "
            let name = device.count < 14 ? device + String(repeating: " ", count: 14 - device.count) : device + " "
            guard let octets else { return stamp + name + what }
            let digits = octets.prefix(20).map { hexadecimal($0) }.joined(separator: " ")
            let text = octets.count > 1 && octets.allSatisfy { (0x20..<0x7F).contains($0) }
            return stamp + name + what + "  " + (octets.isEmpty ? "(empty)" : digits)
                + (octets.count > 20 ? " ... (\(octets.count) octets)" : "")
                + (text ? "  \"" + String(decoding: octets.prefix(40), as: UTF8.self) + "\"" : "")
        }
    }

    private final class LinkState {
        var peer: DeviceAddress
        var outgoing = Reassembler(maximumLength: 65535)
        /// Learnt from what servers say of themselves: Core 6.0, Vol 3, Part G, 3.3.1.
        var uuids: [UInt16: BluetoothUUID] = [:]
        init(peer: DeviceAddress) { self.peer = peer }
    }

    private struct LinkKey: Hashable {
        var device: Int
        var handle: UInt16
    }

    private var links: [LinkKey: LinkState] = [:]
    private let onLine: (Line) -> Void
    private unowned let world: World

    /// - Parameter onLine: is told each line as it happens.
    package init(of world: World, onLine: @escaping (Line) -> Void) {
        self.world = world
        self.onLine = onLine
        world.addHCITap { [weak self] now, device, direction, packet in
            self?.take(packet, of: device, direction)
        }
        world.addFaultTap { [weak self] _, device, fault, moment in
            switch moment {
            case .begins: self?.add(device, "! fault \(fault.rawValue)" + (fault.isMomentary ? "" : " begins"))
            case .ends: self?.add(device, "! fault \(fault.rawValue) ends")
            case .strikes: self?.add(device, "! \(fault.rawValue) strikes")
            }
        }
    }

    /// Something that is not on the air.
    package func add(_ device: String, _ what: String, _ octets: [UInt8]? = nil) {
        onLine(Line(time: world.now.sinceStart, device: device, what: what, octets: octets))
    }

    private func add(_ device: Device, _ what: String, _ octets: [UInt8]? = nil) { add(device.name, what, octets) }

    private func name(_ address: DeviceAddress) -> String {
        world.devices.first { $0.address.value == address.value }?.name ?? address.description
    }

    // MARK: Packets

    private func take(_ packet: [UInt8], of device: Device, _ direction: HCIDirection) {
        do throws(PacketError) {
            switch (try HCIPacket(packet), direction) {
            case (.acl(let header, let payload), .hostToController): take(payload, header, of: device)
            case (.event(let code, let parameters), .controllerToHost):
                take(try ControllerEvent(code: code, parameters: parameters), of: device)
            case (.leEvent(let code, let parameters), .controllerToHost):
                guard code != .advertisingReport, code != .extendedAdvertisingReport else { return }
                take(try ControllerEvent(subevent: code, parameters: parameters), of: device)
            case (.command(let opcode, let parameters), .hostToController): take(opcode, parameters, of: device)
            default: break
            }
        } catch {
            add(device, "a packet that makes no sense in its field \(error.field)", packet)
        }
    }

    private func take(_ opcode: HCIOpcode, _ parameters: ArraySlice<UInt8>, of device: Device) {
        switch opcode {
        case .leSetScanEnable, .leSetExtendedScanEnable:
            add(device, parameters.first == 1 ? "scans" : "stops scanning")
        case .leSetAdvertisingEnable, .leSetExtendedAdvertisingEnable:
            add(device, parameters.first == 1 ? "advertises" : "stops advertising")
        case .leCreateConnection, .leExtendedCreateConnection: add(device, "looks for a peer to connect to")
        default: break
        }
    }

    private func take(_ event: ControllerEvent, of device: Device) {
        switch event {
        case .connectionComplete(let event):
            guard event.status == .success else { return add(device, "no link: \(Self.words(event.status))") }
            links[LinkKey(device: device.number, handle: event.handle)] = LinkState(peer: event.peer)
            guard event.role == .central else { return }
            add(device, "has a link to \(name(event.peer)), every \(Double(event.interval) * 1.25) ms")
        case .disconnectionComplete(let event):
            // A link of before the story has no name.
            let peer = links.removeValue(forKey: LinkKey(device: device.number, handle: event.handle))?.peer
            add(device, "link to \(peer.map(name) ?? "its peer") ended: \(Self.words(event.reason))")
        case .encryptionChange(let event):
            let peer = links[LinkKey(device: device.number, handle: event.handle)].map { name($0.peer) } ?? "?"
            add(device, event.status == .success ? "link to \(peer) is encrypted" : "no encryption with \(peer)")
        case .connectionUpdateComplete(let event) where event.status == .success:
            add(device, "link parameters: every \(Double(event.interval) * 1.25) ms, latency \(event.latency)")
        case .hardwareError: add(device, "its controller reports a hardware error")
        default: break
        }
    }

    private static func words(_ code: HCIErrorCode) -> String {
        switch code.rawValue {
        case 0x08: "nothing heard for too long (0x08)"
        case 0x13: "the other side ended it (0x13)"
        case 0x15: "the other side switches off (0x15)"
        case 0x16: "ended here (0x16)"
        case 0x3B: "the parameters were refused (0x3B)"
        case 0x3D: "a packet was not authentic (0x3D)"
        case 0x3E: "never established (0x3E)"
        default: "0x" + hexadecimal(code.rawValue)
        }
    }

    // MARK: PDUs

    private func take(_ fragment: ArraySlice<UInt8>, _ header: ACLHeader, of device: Device) {
        guard let link = links[LinkKey(device: device.number, handle: header.handle)],
            let pdu = link.outgoing.receive(fragment, isStart: header.boundary.isStart), let first = pdu.payload.first
        else { return }
        let octets = Array(pdu.payload)
        switch pdu.channel {
        case .attribute: attribute(octets, ATTOpcode(rawValue: first), link, device)
        case .securityManager where first == 0x01: add(device, "asks \(name(link.peer)) to pair")
        case .securityManager where first == 0x05: add(device, "pairing failed", Array(octets.dropFirst()))
        default: break
        }
    }

    private func attribute(_ pdu: [UInt8], _ opcode: ATTOpcode, _ link: LinkState, _ device: Device) {
        func handle(at place: Int) -> UInt16 { FaultyLine.word(pdu, at: place) }
        // A client has learnt from the other side's answers, which its own line does not show; both share one table.
        func uuid(_ handle: UInt16) -> String {
            (link.uuids[handle] ?? other(link, device)?.uuids[handle])?.description ?? "handle \(handle)"
        }
        switch opcode {
        case .readRequest: add(device, "read \(uuid(handle(at: 1)))")
        case .writeRequest: add(device, "write \(uuid(handle(at: 1)))", Array(pdu.dropFirst(3)))
        case .writeCommand: add(device, "write without response \(uuid(handle(at: 1)))", Array(pdu.dropFirst(3)))
        case .readResponse: add(device, "value", Array(pdu.dropFirst()))
        case .writeResponse: add(device, "written")
        case .handleValueNotification: add(device, "notify \(uuid(handle(at: 1)))", Array(pdu.dropFirst(3)))
        case .handleValueIndication: add(device, "indicate \(uuid(handle(at: 1)))", Array(pdu.dropFirst(3)))
        case .exchangeMTUResponse: add(device, "accepts an MTU of up to \(handle(at: 1))")
        case .readByGroupTypeRequest: add(device, "asks \(name(link.peer)) for its services")
        case .errorResponse where pdu.count == 5 && pdu[4] != 0x0A:
            add(device, "refuses: error 0x\(hexadecimal(pdu[4])) for \(uuid(handle(at: 2)))")
        case .readByTypeResponse: learn(from: pdu, link)
        default: break
        }
    }

    private func other(_ link: LinkState, _ device: Device) -> LinkState? {
        guard let peer = world.devices.first(where: { $0.address.value == link.peer.value }) else { return nil }
        // At most a handful of links a device; the smallest handle is as good as any.
        let keys = links.keys.filter { $0.device == peer.number }.sorted { $0.handle < $1.handle }
        return keys.lazy.compactMap { self.links[$0] }.first { $0.peer.value == device.address.value }
    }

    /// Declarations of characteristics: properties, the value's handle, its type.
    private func learn(from pdu: [UInt8], _ link: LinkState) {
        guard pdu.count > 1, pdu[1] == 7 || pdu[1] == 21 else { return }
        for place in stride(from: 2, through: pdu.count - Int(pdu[1]), by: Int(pdu[1])) {
            let type = pdu[(place + 5)..<(place + Int(pdu[1]))]
            link.uuids[FaultyLine.word(pdu, at: place + 3)] = BluetoothUUID(octets: type)
        }
    }
}

private func hexadecimal(_ octet: UInt8) -> String {
    (octet < 16 ? "0" : "") + String(octet, radix: 16, uppercase: true)
}
