import Backends
import CoreBluetooth
import HostInterface
import Synchronization
import Testing

@Suite("Queues")
struct QueueTests {
    /// Tells on which queue it is called.
    final class App: NSObject, CBCentralManagerDelegate, Sendable {
        static let key = DispatchSpecificKey<String>()
        let calls = Mutex<[String]>([])

        func centralManagerDidUpdateState(_ central: CBCentralManager) {
            let queue = DispatchQueue.getSpecific(key: Self.key) ?? "another"
            calls.withLock { $0.append("\(queue) \(central.state)") }
        }
    }

    @Test("C16, B-A1: calls come on the app's queue", arguments: [false, true])
    func ownQueue(isConcurrent: Bool) {
        let queue = DispatchQueue(label: "parser", attributes: isConcurrent ? .concurrent : [])
        queue.setSpecific(key: App.key, value: "own")
        let app = App()
        let radio = UnavailableRadio(state: .poweredOff)
        let manager = SessionProvider.with(radio) { CBCentralManager(delegate: app, queue: queue) }
        while app.calls.withLock({ $0.isEmpty }) { queue.sync(flags: .barrier) {} }
        #expect(app.calls.withLock { $0 } == ["own poweredOff"])
        withExtendedLifetime(manager) {}
    }

    @Test("B2: without permission the class says so too")
    func authorization() {
        let radio = UnavailableRadio(state: .unauthorized(reason: "a test"))
        SessionProvider.with(radio) {
            #expect(CBManager.authorization == .denied)
            #expect(CBPeripheralManager.authorizationStatus() == .denied)
        }
    }
}
