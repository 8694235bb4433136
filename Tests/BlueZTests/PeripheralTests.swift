import CoreBluetooth
import Foundation
import Testing

/// Our peripheral, for bleak on BlueZ as the central: Tests/BlueZ/peer_full.py looks at it from the other side.
@Suite("Our peripheral, BlueZ's central", .enabled(if: Machine.isHere), .timeLimit(.minutes(3)))
struct PeripheralTests {
    @Test("Everything a central can do with it, until it says \"done\"")
    func serves() throws {
        let server = Server()
        try server.log.wait(for: "advertising ok", seconds: 40)
        print("SERVING")
        try server.log.wait(for: "subscribed BB03", seconds: 60)
        try server.log.wait(for: "unsubscribed BB03")
        try server.log.wait(for: "subscribed BB04")
        try server.log.wait(for: "unsubscribed BB04")
        try server.log.wait(for: "written BB02 done", seconds: 40)
        let long = (0..<500).map { UInt8(truncatingIfNeeded: $0 * 7) }
        #expect(server.value(of: "BB05") == Data(long))
        #expect(server.value(of: "BB02") == Data("done".utf8))
    }

    @Test("A value for encrypted links only: BlueZ pairs for it, and comes back with the bond")
    func pairs() throws {
        let server = Server()
        try server.log.wait(for: "advertising ok", seconds: 40)
        print("SERVING")
        for _ in 0..<2 { try server.log.wait(for: "written BB02 done", seconds: 60) }
    }
}

private final class Server: NSObject, CBPeripheralManagerDelegate, @unchecked Sendable {
    // `@unchecked`: the manager's queue alone touches what changes.
    let log = Log()
    private var manager: CBPeripheralManager!
    private let queue = DispatchQueue(label: "peripheral")
    private var values: [CBUUID: Data] = [:]
    /// What is yet to be sent to a subscriber.
    private var due: [(CBMutableCharacteristic, [Data])] = []

    override init() {
        super.init()
        manager = CBPeripheralManager(delegate: self, queue: queue)
    }

    func value(of uuid: String) -> Data? { queue.sync { values[CBUUID(string: uuid)] } }

    private static func characteristic(
        _ uuid: String, _ properties: CBCharacteristicProperties, _ value: Data? = nil
    ) -> CBMutableCharacteristic {
        var permissions: CBAttributePermissions = []
        if properties.contains(.read) { permissions.insert(.readable) }
        if properties.contains(.write) { permissions.insert(.writeable) }
        return CBMutableCharacteristic(
            type: CBUUID(string: uuid), properties: properties, value: value, permissions: permissions)
    }

    func peripheralManagerDidUpdateState(_ peripheral: CBPeripheralManager) {
        guard peripheral.state == .poweredOn else { return }
        let fixed = Self.characteristic("BB01", .read, Data("hello from Swift".utf8))
        fixed.descriptors = [
            CBMutableDescriptor(type: CBUUID(string: CBUUIDCharacteristicUserDescriptionString), value: "a constant")
        ]
        let service = CBMutableService(type: CBUUID(string: "BB00"), primary: true)
        service.characteristics = [
            fixed, Self.characteristic("BB02", [.read, .write, .writeWithoutResponse]),
            Self.characteristic("BB03", .notify), Self.characteristic("BB04", .indicate),
            Self.characteristic("BB05", [.read, .write]), Self.characteristic("BB06", [.read, .write]),
            CBMutableCharacteristic(
                type: CBUUID(string: "BB07"), properties: .read, value: Data("a secret".utf8),
                permissions: .readEncryptionRequired),
        ]
        peripheral.add(service)
    }

    func peripheralManager(_ peripheral: CBPeripheralManager, didAdd service: CBService, error: (any Error)?) {
        peripheral.startAdvertising([
            CBAdvertisementDataLocalNameKey: "Server", CBAdvertisementDataServiceUUIDsKey: [service.uuid],
        ])
    }

    func peripheralManagerDidStartAdvertising(_ peripheral: CBPeripheralManager, error: (any Error)?) {
        log.add("advertising \(error.map { "\($0)" } ?? "ok")")
    }

    func peripheralManager(_ peripheral: CBPeripheralManager, didReceiveRead request: CBATTRequest) {
        let value = values[request.characteristic.uuid, default: Data()]
        guard request.offset <= value.count else {
            return peripheral.respond(to: request, withResult: .invalidOffset)
        }
        request.value = value.dropFirst(request.offset)
        peripheral.respond(to: request, withResult: .success)
    }

    func peripheralManager(_ peripheral: CBPeripheralManager, didReceiveWrite requests: [CBATTRequest]) {
        guard requests[0].characteristic.uuid != CBUUID(string: "BB06") else {
            return peripheral.respond(to: requests[0], withResult: .unlikelyError)
        }
        for request in requests {
            let uuid = request.characteristic.uuid
            values[uuid] = values[uuid, default: Data()].prefix(request.offset) + (request.value ?? Data())
        }
        peripheral.respond(to: requests[0], withResult: .success)
        let uuid = requests[0].characteristic.uuid
        log.add("written \(uuid) \(String(decoding: values[uuid] ?? Data(), as: UTF8.self))")
    }

    func peripheralManager(
        _ peripheral: CBPeripheralManager, central: CBCentral, didSubscribeTo characteristic: CBCharacteristic
    ) {
        log.add("subscribed \(characteristic.uuid)")
        // The kernel of the central is asked for other parameters of the link, and lets us have them.
        peripheral.setDesiredConnectionLatency(.low, for: central)
        guard let characteristic = characteristic as? CBMutableCharacteristic else { return }
        due.append((characteristic, (0..<5).map { Data([UInt8($0)]) }))
        sendDue()
    }

    func peripheralManager(
        _ peripheral: CBPeripheralManager, central: CBCentral, didUnsubscribeFrom characteristic: CBCharacteristic
    ) { log.add("unsubscribed \(characteristic.uuid)") }

    func peripheralManagerIsReady(toUpdateSubscribers peripheral: CBPeripheralManager) { sendDue() }

    private func sendDue() {
        while let (characteristic, values) = due.first {
            for (index, value) in values.enumerated() {
                guard manager.updateValue(value, for: characteristic, onSubscribedCentrals: nil) else {
                    due[0].1 = Array(values[index...])
                    return
                }
            }
            due.removeFirst()
        }
    }
}
