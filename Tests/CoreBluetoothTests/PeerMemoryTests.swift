import Backends
import BluetoothTypes
import CoreBluetooth
import HostInterface
import Testing

/// Devices may show a new address every minute, for ever.
@Suite("Central: the peers that a manager remembers")
struct PeerMemoryTests {
    private let adapter = DeviceAddress(0x02_0000_0000_01)

    private func peer(_ number: Int) -> PeerID {
        PeerID(DeviceAddress(0x4000_0000_0000 | UInt64(number), kind: .random))
    }

    @Test("They are bounded, and who is connected or in use stays")
    func bounded() {
        var memory = PeerMemory()
        memory.remember(PeerKnowledge(peer: peer(0), isConnected: true)) { _ in false }
        for number in 1..<3 * PeerMemory.capacity {
            memory.remember(UUID(), of: peer(number), seenBy: adapter) { $0 == peer(1) }
        }
        #expect(memory.count <= PeerMemory.capacity)
        #expect(memory.knowledge[peer(0)] != nil)
        #expect(memory.identifier(of: peer(1), seenBy: adapter) != nil)
        #expect(memory.identifier(of: peer(2), seenBy: adapter) == nil)
        #expect(memory.identifier(of: peer(3 * PeerMemory.capacity - 1), seenBy: adapter) != nil)
    }

    @Test("Identifiers belong to the adapter that made them")
    func adapters() {
        var memory = PeerMemory()
        memory.remember(UUID(), of: peer(1), seenBy: adapter) { _ in false }
        #expect(memory.identifier(of: peer(1), seenBy: DeviceAddress(0x02_0000_0000_02)) == nil)
    }

    @Test("A crowd that passes by takes no identity away: the app's object stays, and a forgotten peer is the same")
    func identity() throws {
        let host = ScriptedHost()
        let app = host.launch { CentralApp() }
        host.powerOn()
        app.manager.scanForPeripherals(withServices: nil)
        host.answer(.done)
        host.tell(discovery())
        let lock = app.peripheral
        app.keepsPeripherals = false
        host.tell(discovery(peer(1)))
        let passer = UUID(peer: peer(1), seenBy: ScriptedHost.address)
        for number in 2..<PeerMemory.capacity + 100 { host.tell(discovery(peer(number))) }
        #expect(app.manager.retrievePeripherals(withIdentifiers: [lock.identifier]).first === lock)
        host.tell(discovery(peer(1)))
        #expect(app.manager.retrievePeripherals(withIdentifiers: [passer]).map(\.identifier) == [passer])
    }
}
