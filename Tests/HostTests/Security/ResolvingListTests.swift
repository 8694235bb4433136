import BluetoothCrypto
import BluetoothTypes
import EventLoop
import Host
import HostInterface
import Simulation
import Testing
import VirtualController

/// Bonded peers that the controller finds behind their private addresses. Sections are those of Core 6.0, Vol 4,
/// Part E.
@Suite("The controller's resolving list")
struct ResolvingListTests {
    /// Longer than an address lasts.
    private static let nextAddress = Duration.seconds(960)

    /// The opcodes of a host's commands.
    private final class Commands {
        private(set) var opcodes: [Int] = []

        init(of client: TestClient) {
            client.device.device.hciFault = { [unowned self] direction, packet in
                if direction == .hostToController, packet[0] == 0x01 {
                    opcodes.append(Int(packet[1]) | Int(packet[2]) << 8)
                }
                return [packet]
            }
        }

        func clear() { opcodes = [] }

        /// LE Add Device To and Remove Device From Resolving List, LE Set Address Resolution Enable, LE Set Privacy
        /// Mode.
        var ofList: [Int] { opcodes.filter { [0x2027, 0x2028, 0x202D, 0x204E].contains($0) } }
        /// LE Set Scan Enable, and its extended form.
        var scans: Bool { opcodes.contains { [0x200C, 0x2042].contains($0) } }
    }

    private func find(_ peripheral: TestClient, by phone: TestClient, in world: TestWorld) throws -> PeerID {
        let start = phone.events.count
        #expect(phone.answer(.startScan(ScanFilter())) == .success(.done))
        world.run(.seconds(1))
        #expect(phone.answer(.stopScan) == .success(.done))
        return try #require(
            phone.events[start...].compactMap { if case .discovered(let found) = $0.event { found.peer } else { nil } }
                .last)
    }

    /// Pairs the phone with a peripheral that alone is on the air, and ends the link.
    private func bond(_ peripheral: TestClient, _ phone: TestClient, in world: TestWorld) throws -> PeerID {
        _ = peripheral.answer(.startAdvertising(AdvertisementContent(localName: "Lock")))
        let peer = try find(peripheral, by: phone, in: world)
        #expect(phone.answer(.connect(peer)) == .success(.connected(mtu: 517)))
        guard case .success(.link) = phone.answer(.security(.secure(peer, authenticated: false))) else {
            throw HostFailure.unknownPeer
        }
        world.run(.seconds(1))
        #expect(phone.answer(.disconnect(peer)) == .success(.done))
        _ = peripheral.answer(.stopAdvertising)
        world.run(.seconds(1))
        return peer
    }

    @Test("7.8.38, 7.8.44, 7.8.77: a bond goes into the list while nothing is on the air, and out of it with its end")
    func list() throws {
        let world = TestWorld()
        let phone = world.device("phone")
        let lock = world.device("lock", at: 2) { $0.usesPrivateAddress = true }
        let commands = Commands(of: phone)
        // A scan of somebody else goes on behind the change.
        let other = world.client(of: phone.device)
        #expect(other.answer(.startScan(ScanFilter(allowDuplicates: true))) == .success(.done))
        let peer = try bond(lock, phone, in: world)
        #expect(commands.ofList == [0x2027, 0x204E, 0x202D])
        other.clear()
        _ = lock.answer(.startAdvertising(AdvertisementContent(localName: "Lock")))
        world.run(.seconds(1))
        let heard = other.events.compactMap { if case .discovered(let found) = $0.event { found.peer } else { nil } }
        #expect(heard.count > 3 && Set(heard) == [peer])
        // The radio forgets the list, and is told it anew.
        commands.clear()
        phone.device.setPowered(false)
        world.run(.seconds(2))
        phone.device.setPowered(true)
        world.run(.seconds(2))
        #expect(commands.ofList == [0x2027, 0x204E, 0x202D])
        #expect(phone.answer(.security(.removeBond(peer))) == .success(.done))
        world.run(.seconds(2))
        #expect(commands.ofList.last == 0x2028)
    }

    @Test(
        "GAP/CONN/ACEP/BV-04-C: pending connects to private bonded peripherals need no scan, whatever they show by then"
    )
    func acceptList() throws {
        let world = TestWorld()
        let phone = world.device("phone")
        let locks = (1...2).map { number in
            world.device("lock \(number)", at: Double(number)) { $0.usesPrivateAddress = true }
        }
        let peers = try locks.map { try bond($0, phone, in: world) }
        let commands = Commands(of: phone)
        let numbers = peers.map { phone.ask(.connect($0)) }
        world.run(Self.nextAddress)
        for (lock, number) in zip(locks, numbers) {
            #expect(phone.answers(number).isEmpty)
            _ = lock.answer(.startAdvertising(AdvertisementContent(localName: "Lock")))
            world.run(.seconds(3))
            #expect(phone.answers(number) == [.success(.connected(mtu: 517))])
        }
        #expect(!commands.scans)
        // The bond's keys were right, for the addresses of the pairing do not count any more.
        for peer in peers {
            guard case .success(.link(let status)) = phone.answer(.readLink(peer)) else {
                throw HostFailure.unknownPeer
            }
            #expect(status.security != nil && status.isBonded)
        }
    }

    @Test("Whom the list does not hold is looked for by the host")
    func full() throws {
        let world = TestWorld()
        let phone = world.device("phone", controller: { $0.resolvingListSize = 1 })
        let locks = (1...2).map { number in
            world.device("lock \(number)", at: Double(number)) { $0.usesPrivateAddress = true }
        }
        let peers = try locks.map { try bond($0, phone, in: world) }
        let numbers = peers.map { phone.ask(.connect($0)) }
        world.run(Self.nextAddress)
        for lock in locks { _ = lock.answer(.startAdvertising(AdvertisementContent(localName: "Lock"))) }
        world.run(.seconds(20))
        for number in numbers { #expect(phone.answers(number) == [.success(.connected(mtu: 517))]) }
    }

    @Test("A new pairing on a link whose peer the controller has found goes by the addresses that were on the air")
    func pairsAnew() throws {
        let world = TestWorld()
        let phone = world.device("phone") { $0.usesPrivateAddress = true }
        let lock = world.device("lock", at: 2) { $0.usesPrivateAddress = true }
        let peer = try bond(lock, phone, in: world)
        guard case .success(.bonds(let bonds)) = lock.answer(.security(.listBonds)) else {
            throw HostFailure.unknownPeer
        }
        #expect(lock.answer(.security(.removeBond(bonds[0].peer))) == .success(.done))
        var policy = PairingPolicy()
        policy.lostBond = .pairAgain
        #expect(phone.answer(.security(.setPolicy(policy))) == .success(.done))
        _ = lock.answer(.startAdvertising(AdvertisementContent(localName: "Lock")))
        #expect(phone.answer(.connect(peer)) == .success(.connected(mtu: 517)))
        guard case .success(.link(let status)) = phone.answer(.security(.secure(peer, authenticated: false))) else {
            Issue.record("It did not pair.")
            return
        }
        #expect(status.security?.isSecureConnections == true)
    }

    enum Way: String, CaseIterable, CustomTestStringConvertible {
        case direct = "GAP/CONN/DCEP/BV-05-C"
        case auto = "GAP/CONN/ACEP/BV-03-C"
        case general = "GAP/CONN/GCEP/BV-05-C"

        var testDescription: String { rawValue }
    }

    @Test(
        "Directed advertising of a private bonded peer to this device's private address is taken",
        arguments: Way.allCases)
    func directed(way: Way) throws {
        let world = TestWorld()
        let phone = world.device("phone") { $0.usesPrivateAddress = true }
        let lock = world.device("lock", at: 2) { $0.usesPrivateAddress = true }
        let peer = try bond(lock, phone, in: world)
        guard case .success(.bonds(let own)) = phone.answer(.security(.listBonds)),
            case .success(.bonds(let theirs)) = lock.answer(.security(.listBonds)),
            let lockKey = own.first?.bond.resolvingKey, let phoneKey = theirs.first?.bond.resolvingKey
        else { throw HostFailure.unknownPeer }
        // In its place comes one that lets its controller make the addresses, and that does not encrypt.
        lock.device.device.removeFromAir()
        var policy = PairingPolicy()
        policy.encryptsAtOnce = false
        #expect(phone.answer(.security(.setPolicy(policy))) == .success(.done))
        let twin = RawAdvertiser(in: world.world, name: "twin", address: lock.peer.address.value)
        let target = (0..<6).map { UInt8(truncatingIfNeeded: phone.peer.address.value >> (8 * UInt64($0))) }
        twin.command([0x27, 0x20, 39, 0] + target + phoneKey.wire + lockKey.wire)
        twin.command("2D 20 01 01")
        // LE Set Advertising Parameters: directed, slowly, from a private address of the list.
        twin.command([0x06, 0x20, 15, 0xA0, 0, 0xA0, 0, 0x04, 0x02, 0] + target + [7, 0])
        let air = AirWatch(world.world)
        twin.command("0A 20 01 01")
        switch way {
        case .direct: break
        // With another one, who is not there, over the filter accept list.
        case .auto: phone.ask(.connect(PeerID(DeviceAddress(9))))
        case .general: #expect(try find(lock, by: phone, in: world) == peer)
        }
        #expect(phone.answer(.connect(peer)) == .success(.connected(mtu: 23)))
        // ADV_DIRECT_IND: Vol 6, Part B, 2.3.1.2. Both addresses are private ones.
        let packets = air.packets.filter { $0.sender == twin.device.number && $0.kind == 0x01 }
        #expect(
            !packets.isEmpty && packets.allSatisfy { $0.isResolvable && $0.data.count == 6 && $0.data[5] >> 6 == 0b01 })
    }
}
