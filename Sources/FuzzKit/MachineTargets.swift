import ATT
import BluetoothCrypto
import BluetoothTypes
import EventLoop
import GAP
import GATT
import HCI
import L2CAP
import SMP

/// The machines of one protocol each, without anything around them.
enum MachineTargets {
    static func signalling(_ script: Script) {
        for role in [Signalling.Role.central, .peripheral] {
            var machine = Signalling(role: role)
            var reassembler = Reassembler()
            var now = Instant()
            for (choice, octets) in script {
                if choice & 0x80 != 0 { _ = machine.handle(.requestUpdate(ParameterUpdateRequest()), at: now) }
                if choice & 1 == 0 {
                    _ = machine.handle(.receive(octets[...]), at: now)
                } else {
                    _ = reassembler.receive(octets[...], isStart: choice & 2 == 0)
                }
                now = now.advanced(by: .seconds(Int(choice >> 2 & 7)))
                _ = machine.wake(at: now)
            }
        }
    }

    /// Both ends of a link with channels: each step is a call of one of the two, a PDU that comes through, or one of
    /// the fuzzer's own.
    static func channels(_ script: Script) {
        let roles = [Signalling.Role.central, .peripheral]
        var ends = roles.map { Signalling(role: $0, capacity: ChannelCapacity(mtu: 100, mps: 64, window: 256)) }
        for index in ends.indices { ends[index].offers = [ChannelOffer(spsm: 0x80)] }
        var waiting: [[Signalling.Input]] = [[], []]
        var now = Instant()
        func handle(_ index: Int, _ input: Signalling.Input) {
            for effect in ends[index].handle(input, at: now) {
                switch effect {
                case .send(let payload): waiting[1 - index].append(.receive(payload[...]))
                case .sendFrame(let pdu, _):
                    let channel = ChannelID(rawValue: UInt16(pdu[2]) | UInt16(pdu[3]) << 8)
                    waiting[1 - index].append(.receiveFrame(channel, pdu[4...]))
                case .update, .updateFinished, .opened, .openFailed, .accepted, .received, .closed, .reconfigured,
                    .peerTakesMore:
                    break
                }
            }
        }
        for (choice, octets) in script {
            let index = Int(choice & 1)
            let channel = ChannelID(rawValue: 0x40 + UInt16(octets.first ?? 0) % 8)
            switch choice >> 1 & 0x0F {
            case 0...3: if !waiting[index].isEmpty { handle(index, waiting[index].removeFirst()) }
            case 4: handle(index, .open(id: 1, spsm: 0x80, mode: .leCreditBased, count: 1))
            case 5: handle(index, .open(id: 2, spsm: 0x80, mode: .enhanced, count: 1 + octets.count % 5))
            case 6:
                // Longer SDUs are this side's own mistake.
                let room = ends[index].information(channel)?.peerMTU ?? 0
                handle(index, .send(channel, Array(octets.prefix(room)), token: 1))
            case 7: handle(index, .read(channel, octets.count))
            case 8: handle(index, .close(channel))
            case 9:
                let more = UInt16(octets.count)
                handle(index, .reconfigure(id: 3, [channel], mtu: 100 + more, mps: 64 + more))
            case 10, 11: handle(index, .receiveFrame(channel, octets[...]))
            case 12: for end in ends.indices { _ = ends[end].wake(at: now) }
            default: handle(index, .receive(octets[...]))
            }
            now = now.advanced(by: .seconds(Int(choice >> 5)))
        }
    }

    static func advertisingReports(_ script: Script) {
        var scanner = Scanner(capacity: 4)
        let now = Instant()
        _ = scanner.handle(.want(Scanner.Configuration()), at: now)
        for _ in 0..<2 { _ = scanner.handle(.commandFinished(.completed(returnParameters: [0])), at: now) }
        for (choice, octets) in script {
            let subevent = choice & 1 == 0 ? LESubeventCode.advertisingReport : .extendedAdvertisingReport
            guard let event = try? ControllerEvent(subevent: subevent, parameters: octets[...]) else { continue }
            switch event {
            case .advertisingReports(let reports): _ = scanner.handle(.reports(reports), at: now)
            case .extendedAdvertisingReports(let reports): for report in reports { _ = report.data.count }
            default: break
            }
        }
    }

    // MARK: ATT

    private static func database() -> AttributeDatabase {
        var database = AttributeDatabase.standard(deviceName: "fuzz")
        let permissions: GATTPermissions = [.readable, .writeable]
        let asked = GATTCharacteristicDefinition(
            uuid: .uuid16(0xFFF1), properties: GATTProperties(rawValue: 0x3E), permissions: permissions)
        let kept = GATTCharacteristicDefinition(
            uuid: .uuid128(1 << 100), properties: .read, permissions: .readable,
            value: Array(repeating: 5, count: 300))
        let service = GATTServiceDefinition(uuid: .uuid16(0xFFF0), characteristics: [asked, kept])
        _ = try? database.add(service)
        return database
    }

    static func attServer(_ script: Script) {
        var (database, bearer, now) = (database(), GATTConnection(), Instant())
        for (choice, octets) in script {
            let place = toggle(choice, octets, of: &bearer, &database, at: now)
            for effect in bearer.handle(.receive(octets[...], on: place), database: &database, at: now) {
                respond(to: effect, choice, &bearer, &database, at: now)
            }
            if choice & 0x40 != 0 {
                _ = bearer.handle(.indicate(id: 1, handle: 3, value: octets), database: &database, at: now)
            }
            now = now.advanced(by: .seconds(Int(choice & 7)))
            _ = bearer.wake(at: now)
        }
        _ = bearer.handle(.linkLost, database: &database, at: now)
    }

    /// On which bearer a step is: the fixed one, or one of two others, which come and go.
    private static func toggle(
        _ choice: UInt8, _ octets: [UInt8], of bearer: inout GATTConnection, _ database: inout AttributeDatabase,
        at now: Instant
    ) -> GATTBearerID {
        guard choice & 0x08 != 0 else { return .fixed }
        let id = GATTBearerID(rawValue: 0x40 + UInt16(choice & 0x20) >> 5)
        if !bearer.hasBearer(id) {
            _ = bearer.handle(.bearerOpened(id, mtu: 64 + octets.count), database: &database, at: now)
        } else if octets.isEmpty {
            _ = bearer.handle(.bearerClosed(id), database: &database, at: now)
        }
        return id
    }

    private static func respond(
        to effect: GATTEffect, _ choice: UInt8, _ bearer: inout GATTConnection, _ database: inout AttributeDatabase,
        at now: Instant
    ) {
        guard choice & 0x80 == 0 else { return }
        let error: ATTErrorCode? = choice & 0x10 == 0 ? nil : .unlikelyError
        switch effect {
        case .readRequested(let request):
            let value = Array(repeating: choice, count: Int(choice))
            _ = bearer.handle(.respond(id: request.id, error: error, value: value), database: &database, at: now)
        case .writeRequested(let request):
            _ = bearer.handle(.respond(id: request.id, error: error, value: []), database: &database, at: now)
        default: break
        }
    }

    static func attClient(_ script: Script) {
        var (database, bearer, now, id) = (database(), GATTConnection(), Instant(), UInt64(0))
        for (choice, octets) in script {
            if choice & 0x80 != 0 {
                id += 1
                _ = bearer.handle(.submit(id: id, procedure(choice)), database: &database, at: now)
            }
            let place = toggle(choice & 0x40 != 0 ? choice | 0x08 : 0, octets, of: &bearer, &database, at: now)
            _ = bearer.handle(.receive(octets[...], on: place), database: &database, at: now)
            now = now.advanced(by: .seconds(Int(choice >> 4 & 3)))
            _ = bearer.wake(at: now)
        }
        _ = bearer.handle(.linkLost, database: &database, at: now)
    }

    private static func procedure(_ choice: UInt8) -> GATTProcedure {
        let characteristic = GATTCharacteristic(
            uuid: .uuid16(0xFFF1), declaration: 2, value: 3, end: 9, properties: GATTProperties(rawValue: 0x3E))
        return switch choice & 0x0F {
        case 0: .exchangeMTU
        case 1: .discoverPrimaryServices(only: nil)
        case 2: .discoverPrimaryServices(only: [.uuid16(0xFFF0), .uuid128(7)])
        case 3: .findIncludedServices(1...0xFFFF)
        case 4: .discoverCharacteristics(1...0xFFFF)
        case 5: .discoverDescriptors(characteristic)
        case 6: .read(3)
        case 7: .readByUUID(.uuid16(0x2A00), 1...0xFFFF)
        case 8: .readMultiple([3, 5])
        case 9: .readMultipleVariable([3, 5])
        case 10: .write(3, value: [1])
        case 11: .writeLong(3, value: Array(repeating: 1, count: 100))
        case 12: .reliableWrite([GATTWritePart(handle: 3, offset: 0, value: Array(repeating: 1, count: 40))])
        default: .subscribe(characteristic, .notifications)
        }
    }

    // MARK: SMP

    /// An honest pairing, disturbed: each step lets one PDU of it through, or puts in one of the fuzzer's.
    static func securityManager(_ script: Script) {
        var pair = [SecurityManager.Role.central, .peripheral].map(machine)
        var waiting: [[[UInt8]]] = [[], []]
        var now = Instant()
        func handle(_ index: Int, _ input: SecurityManager.Input) {
            for effect in pair[index].handle(input, at: now) {
                switch effect {
                case .send(let pdu): waiting[1 - index].append(pdu)
                case .needsUser(.enterPasskey): _ = pair[index].handle(.passkeyEntered(123_456), at: now)
                case .needsUser(.displayPasskey): break
                case .needsUser: _ = pair[index].handle(.confirmed(true), at: now)
                case .encrypt, .answerLongTermKey, .bonded, .finished, .failed: break
                }
            }
        }
        handle(0, .secure(authenticated: false))
        for (choice, octets) in script {
            let index = Int(choice & 1)
            switch choice >> 1 & 7 {
            case 0, 1, 2: if !waiting[index].isEmpty { handle(index, .receive(waiting[index].removeFirst()[...])) }
            case 3: handle(index, .encryptionChanged(choice & 0x80 == 0 ? .encrypted : .keyMissing))
            case 4: handle(index, .longTermKeyRequested(random: UInt64(choice >> 6), diversifier: 0))
            default: handle(index, .receive(octets[...]))
            }
            now = now.advanced(by: .seconds(Int(choice >> 4 & 3)))
            for side in pair.indices { _ = pair[side].wake(at: now) }
        }
    }

    private static func machine(_ role: SecurityManager.Role) -> SecurityManager {
        let own: UInt64 = role == .central ? 1 : 2
        return SecurityManager(
            role: role, local: DeviceAddress(own), remote: DeviceAddress(3 - own),
            configuration: SecurityConfiguration(
                identity: Identity(address: DeviceAddress(own), resolvingKey: SecretKey(UInt128(own)))),
            random: SeededGenerator(seed: own))
    }
}
