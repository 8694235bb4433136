import BluetoothTypes
import ByteCodec
import EventLoop
import HCI
import HCITransport
import HostInterface

// What goes wrong with commands and events: in controllers, on the line, and where a firmware tells its own
// controller the wrong thing.

extension FaultyLine {
    func alter(command packet: [UInt8], _ opcode: HCIOpcode, _ parameters: ArraySlice<UInt8>) -> [[UInt8]] {
        switch opcode {
        case .reset:
            let hangs = strikes(.hangsAfterReset)
            forgetLinks()
            isHanging = hangs
        case .leSetAdvertisingParameters, .leSetExtendedAdvertisingParameters, .leSetAdvertisingData,
            .leSetExtendedAdvertisingData:
            return [advertising(opcode, parameters) ?? packet]
        case .leSetAdvertisingEnable, .leSetExtendedAdvertisingEnable:
            if parameters.first == 1, !links.isEmpty, strikes(.connectedElsewhere) { return refuse(opcode) }
        case .leSetScanEnable, .leSetExtendedScanEnable:
            if parameters.first == 1, strikes(.scanRefused) { return refuse(opcode) }
        case .leRemoteConnectionParameterRequestReply where strikes(.refusesConnectionParameters):
            let handle = UInt16(parameters[parameters.startIndex]) | UInt16(parameters[parameters.startIndex + 1]) << 8
            command(
                LERemoteConnectionParameterRequestNegativeReply(handle: handle).packet,
                .leRemoteConnectionParameterRequestNegativeReply)
            return accept(opcode, [UInt8(truncatingIfNeeded: handle), UInt8(handle >> 8)])
        default: break
        }
        return [packet]
    }

    /// Flags, then a structure that announces more octets than there are (Core 6.0, Vol 3, Part C, 11): the name's.
    private static let malformedAdvertisement: [UInt8] = [
        0x02, 0x01, 0x06, 0x03, 0x03, 0xF0, 0xFF, 0x1D, 0x09, 0x4B, 0x4C,
    ]

    /// What a firmware tells its controller of an advertisement, in legacy or extended commands; `nil` if it stays.
    private func advertising(_ opcode: HCIOpcode, _ parameters: ArraySlice<UInt8>) -> [UInt8]? {
        do throws(PacketError) {
            switch opcode {
            case .leSetAdvertisingParameters: return alter(try LESetAdvertisingParameters(octets: parameters))
            case .leSetExtendedAdvertisingParameters:
                return alter(try LESetExtendedAdvertisingParameters(octets: parameters))
            case .leSetAdvertisingData:
                var command = try LESetAdvertisingData(octets: parameters)
                return alter(advertisement: &command.data) ? command.packet : nil
            case .leSetExtendedAdvertisingData:
                var command = try LESetExtendedAdvertisingData(octets: parameters)
                // Where data comes in pieces, only the first is known to begin with a structure (7.8.54).
                guard command.operation == .complete || command.operation == .first else { return nil }
                return alter(advertisement: &command.data) ? command.packet : nil
            default: return nil
            }
        } catch {
            return nil
        }
    }

    private func alter(_ parameters: LESetAdvertisingParameters) -> [UInt8]? {
        var command = parameters
        guard command.type == .connectable else { return nil }
        if strikes(.notConnectable) { command.type = .scannable }
        if strikes(.ignoresConnections) { command.filterPolicy = Self.connectionsFromAcceptList }
        return command.packet
    }

    private func alter(_ parameters: LESetExtendedAdvertisingParameters) -> [UInt8]? {
        var command = parameters
        guard command.properties.contains(.connectable), !command.properties.contains(.directed) else { return nil }
        if strikes(.notConnectable) { command.properties.remove(.connectable) }
        if strikes(.ignoresConnections) { command.filterPolicy = Self.connectionsFromAcceptList }
        return command.packet
    }

    /// An Advertising_Filter_Policy (Core 6.0, Vol 4, Part E, 7.8.5 and 7.8.53); the list is empty.
    private static let connectionsFromAcceptList: UInt8 = 2

    /// - Returns: whether a fault struck.
    private func alter(advertisement data: inout [UInt8]) -> Bool {
        if strikes(.malformedAdvertisement) {
            data = Self.malformedAdvertisement
            return true
        }
        guard strikes(.swappedServiceUUID) else { return false }
        swapServices(&data)
        return true
    }

    /// The octets of each service's number in the other order: what comes of a table of 16-bit numbers in a firmware
    /// that copies it as it lies in memory.
    private func swapServices(_ data: inout [UInt8]) {
        var place = 0
        while place < data.count, data[place] > 0, place + Int(data[place]) < data.count {
            let end = place + Int(data[place])
            if data[place + 1] == 0x02 || data[place + 1] == 0x03 {
                for first in stride(from: place + 2, to: end, by: 2) { data.swapAt(first, first + 1) }
            }
            place = end + 1
        }
    }

    /// The command does not reach the controller; its answer is Command Disallowed.
    private func refuse(_ opcode: HCIOpcode) -> [[UInt8]] {
        complete(opcode, [HCIErrorCode.commandDisallowed.rawValue])
        return []
    }

    private func accept(_ opcode: HCIOpcode, _ parameters: [UInt8]) -> [[UInt8]] {
        complete(opcode, [HCIErrorCode.success.rawValue] + parameters)
        return []
    }

    private func complete(_ opcode: HCIOpcode, _ parameters: [UInt8]) {
        var answer = CommandComplete()
        answer.opcode = opcode
        answer.returnParameters = parameters[...]
        tell(answer.packet)
    }
}

// MARK: - Events

extension FaultyLine {
    func alter(event packet: [UInt8], _ parsed: HCIPacket) -> [[UInt8]] {
        guard !isHanging, !has(.controllerHangs) || !strikes(.controllerHangs) else { return [] }
        switch parsed {
        case .event(.disconnectionComplete, let parameters): return disconnected(packet, parameters)
        case .event(.commandComplete, let parameters):
            return isOwnAnswer(parameters, opcodeAt: 1) ? [] : [altered(completion: packet, parameters)]
        case .event(.commandStatus, let parameters): return isOwnAnswer(parameters, opcodeAt: 2) ? [] : [packet]
        case .leEvent(.connectionComplete, let parameters), .leEvent(.enhancedConnectionComplete, let parameters):
            return connected(packet, parameters)
        case .leEvent(.advertisingReport, let parameters):
            return heard(packet) { () throws(PacketError) in
                var event = try LEAdvertisingReport(octets: parameters)
                for index in event.reports.indices { event.reports[index].rssi = Self.noStrength }
                return event.packet
            }
        case .leEvent(.extendedAdvertisingReport, let parameters):
            return heard(packet) { () throws(PacketError) in
                var event = try LEExtendedAdvertisingReport(octets: parameters)
                for index in event.reports.indices { event.reports[index].rssi = Self.noStrength }
                return event.packet
            }
        case .event, .leEvent, .command, .acl, .otherData: return [packet]
        }
    }

    private func isOwnAnswer(_ parameters: ArraySlice<UInt8>, opcodeAt offset: Int) -> Bool {
        guard !ownCommands.isEmpty, let opcode = Self.opcode(parameters, at: offset),
            let index = ownCommands.firstIndex(of: opcode)
        else { return false }
        ownCommands.remove(at: index)
        return true
    }

    private static func opcode(_ parameters: ArraySlice<UInt8>, at offset: Int) -> HCIOpcode? {
        let first = parameters.startIndex + offset
        guard first + 1 < parameters.endIndex else { return nil }
        return HCIOpcode(rawValue: UInt16(parameters[first]) | UInt16(parameters[first + 1]) << 8)
    }

    /// The strength is the last octet of Read RSSI's answer.
    private func altered(completion packet: [UInt8], _ parameters: ArraySlice<UInt8>) -> [UInt8] {
        guard Self.opcode(parameters, at: 1) == .readRSSI, strikes(.noRSSI) else { return packet }
        return packet.dropLast() + [UInt8(Self.noStrength)]
    }

    /// An RSSI that is not available (Core 6.0, Vol 4, Part E, 7.7.65.2).
    private static let noStrength: Int8 = 127

    /// What a scanner has heard; what makes no sense is left as it is.
    private func heard(_ packet: [UInt8], withoutRSSI: () throws(PacketError) -> [UInt8]) -> [[UInt8]] {
        if strikes(.scanIsSilent) { return [] }
        guard strikes(.noRSSI) else { return [packet] }
        do throws(PacketError) { return [try withoutRSSI()] } catch { return [packet] }
    }

    private func connected(_ packet: [UInt8], _ parameters: ArraySlice<UInt8>) -> [[UInt8]] {
        guard parameters.count >= 4, parameters.first == HCIErrorCode.success.rawValue else { return [packet] }
        let start = parameters.startIndex
        let handle = UInt16(parameters[start + 1]) | UInt16(parameters[start + 2]) << 8
        let link = FaultyLink(handle: handle, role: LinkRole(rawValue: parameters[start + 3]) ?? .peripheral)
        links[handle]?.hasEnded = true
        links[handle] = link
        endedLinks.remove(handle)
        guard link.role == .peripheral else { return [packet] }
        if strikes(.vanishesAtConnection) { muteTransmitter() }
        if strikes(.demandsParameters) { demandParameters(on: link) }
        if strikes(.hangsUpAtOnce) { hangUp(link, .remoteUserTerminated, after: .milliseconds(100)) }
        return [packet]
    }

    /// Its supply breaks down under the load: nobody hears it until the link has ended.
    private func muteTransmitter() {
        guard mutedPower == nil else { return }
        mutedPower = device.transmitPower
        device.transmitPower = -300
    }

    func unmuteTransmitter() {
        guard let power = mutedPower else { return }
        mutedPower = nil
        device.transmitPower = power
    }

    func hangUp(_ link: FaultyLink, _ reason: HCIErrorCode, after delay: Duration) {
        world.schedule(after: delay) { [weak self, weak link] in
            guard let self, let link, !link.hasEnded else { return }
            command(Disconnect(handle: link.handle, reason: reason).packet, .disconnect)
        }
    }

    private func disconnected(_ packet: [UInt8], _ parameters: ArraySlice<UInt8>) -> [[UInt8]] {
        guard parameters.count >= 3 else { return [packet] }
        let start = parameters.startIndex
        unmuteTransmitter()
        dropPackets(of: UInt16(parameters[start + 1]) | UInt16(parameters[start + 2]) << 8)
        if strikes(.disconnectEventSwallowed) { return [] }
        if strikes(.subscriptionsLostAtReboot) {
            // Once the host has put its books in order.
            world.schedule(after: .milliseconds(1)) { [weak owner] in owner?.changeBonds { $0.subscriptions = [] } }
        }
        return [packet]
    }

    /// What is read from the line: one packet at a time, or, by the fault, two at once, which are cut apart as any
    /// stream is.
    func read(_ packets: [[UInt8]]) -> [[UInt8]] {
        guard has(.twoEventsInOneRead) || !unread.isEmpty else { return packets }
        var taken: [[UInt8]] = []
        for packet in packets {
            guard unread.isEmpty, strikes(.twoEventsInOneRead) else {
                taken += framer.receive(unread + packet).map { Array($0) }
                unread = []
                continue
            }
            unread = packet
            // Nothing else may come: then it is read alone.
            world.schedule(after: .milliseconds(5)) { [weak self] in self?.readRest(packet) }
        }
        return taken
    }

    private func readRest(_ packet: [UInt8]) {
        guard unread == packet else { return }
        unread = []
        for whole in framer.receive(packet) { tell(Array(whole)) }
    }
}
