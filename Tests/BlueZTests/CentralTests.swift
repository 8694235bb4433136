import CoreBluetooth
import Foundation
import Testing

/// Our central and the GATT server that BlueZ offers (Scripts/bluez-vm/guest/tools/gatt-peripheral), which the
/// machine's script has started.
@Suite("Our central, BlueZ's peripheral", .enabled(if: Machine.isHere), .serialized, .timeLimit(.minutes(2)))
struct CentralTests {
    private static let service = CBUUID(string: "AA00")
    private static let text = CBUUID(string: "AA01")
    private static let echo = CBUUID(string: "AA02")
    private static let counter = CBUUID(string: "AA03")
    private static let indicated = CBUUID(string: "AA04")
    private static let long = CBUUID(string: "AA06")

    private let central = Central()
    private var log: Log { central.log }

    /// Connected, with everything discovered.
    private func peer() throws -> CBPeripheral {
        try log.wait(for: "state poweredOn")
        let peripheral = try central.find("VM-Periph", services: [Self.service])
        try central.connect(peripheral)
        peripheral.discoverServices(nil)
        try log.wait(for: "services ok")
        for service in peripheral.services ?? [] {
            peripheral.discoverCharacteristics(nil, for: service)
            try log.wait(for: "characteristics \(service.uuid) ok")
        }
        return peripheral
    }

    private func characteristic(_ uuid: CBUUID, of peripheral: CBPeripheral) throws -> CBCharacteristic {
        let all = (peripheral.services ?? []).flatMap { $0.characteristics ?? [] }
        return try #require(all.first { $0.uuid == uuid })
    }

    private func leave(_ peripheral: CBPeripheral) throws {
        central.manager.cancelPeripheralConnection(peripheral)
        try log.wait(for: "disconnected ok")
    }

    @Test("Scan: the name, the service and the manufacturer's data of its advertisement")
    func scan() throws {
        try log.wait(for: "state poweredOn")
        central.manager.scanForPeripherals(withServices: [Self.service])
        let line = try log.wait(for: "found VM-Periph")
        // gatt-peripheral: company 0xFFFF, data 1 2 3 4.
        #expect(line == "found VM-Periph [AA00] [255, 255, 1, 2, 3, 4]")
        central.manager.stopScan()
    }

    @Test("Its database, as it is there: services, properties, descriptors")
    func database() throws {
        let peripheral = try peer()
        let services = (peripheral.services ?? []).map(\.uuid)
        // GAP and GATT are there too, and belong to the system: an app does not see them on Apple's systems either.
        #expect(services.contains(Self.service) && !services.contains(CBUUID(string: "1801")))
        let ours = try #require(peripheral.services?.first { $0.uuid == Self.service })
        #expect(
            ours.characteristics?.map(\.uuid) == ["AA01", "AA02", "AA03", "AA04", "AA06"].map(CBUUID.init(string:)))
        #expect(try characteristic(Self.text, of: peripheral).properties == .read)
        #expect(try characteristic(Self.echo, of: peripheral).properties == [.read, .write, .writeWithoutResponse])
        #expect(try characteristic(Self.counter, of: peripheral).properties == .notify)
        #expect(try characteristic(Self.indicated, of: peripheral).properties == .indicate)
        let notified = try characteristic(Self.counter, of: peripheral)
        peripheral.discoverDescriptors(for: notified)
        try log.wait(for: "descriptors AA03 ok")
        #expect(notified.descriptors?.map(\.uuid) == [CBUUID(string: "2902")])
        try leave(peripheral)
    }

    @Test("Read, write, write without response, a read of 512 octets")
    func values() throws {
        let peripheral = try peer()
        peripheral.readValue(for: try characteristic(Self.text, of: peripheral))
        #expect(try log.wait(forValues: 1, of: Self.text) == [Data("hello from BlueZ".utf8)])
        let echo = try characteristic(Self.echo, of: peripheral)
        for (count, type) in [(7, CBCharacteristicWriteType.withResponse), (5, .withoutResponse), (300, .withResponse)]
        {
            let value = Data((0..<count).map { UInt8(truncatingIfNeeded: $0) })
            peripheral.writeValue(value, for: echo, type: type)
            if type == .withResponse { try log.wait(for: "written AA02 ok") }
            log.forgetValues()
            peripheral.readValue(for: echo)
            #expect(try log.wait(forValues: 1, of: Self.echo) == [value], "\(count) octets, \(type)")
        }
        // An attribute has 512 octets at most (Core 6.0, Vol 3, Part F, 3.2.9); BlueZ has more to say and is cut.
        peripheral.readValue(for: try characteristic(Self.long, of: peripheral))
        #expect(try log.wait(forValues: 1, of: Self.long) == [Data((0..<512).map { UInt8(truncatingIfNeeded: $0) })])
        peripheral.readRSSI()
        try log.wait(for: "signal")
        try leave(peripheral)
    }

    @Test("Notifications and indications, in order, until they are switched off")
    func notifications() throws {
        let peripheral = try peer()
        for uuid in [Self.counter, Self.indicated] {
            let characteristic = try characteristic(uuid, of: peripheral)
            peripheral.setNotifyValue(true, for: characteristic)
            try log.wait(for: "notifying \(uuid) true ok")
            let numbers = try log.wait(forValues: 3, of: uuid).prefix(3).map {
                $0.reversed().reduce(0) { $0 << 8 | Int($1) }
            }
            #expect(numbers == Array(numbers[0]..<numbers[0] + 3))
            peripheral.setNotifyValue(false, for: characteristic)
            try log.wait(for: "notifying \(uuid) false ok")
        }
        try leave(peripheral)
    }

    @Test("BlueZ ends the link, and the next connection works")
    func disconnectedByPeer() throws {
        let peripheral = try peer()
        try Machine.run("bluetoothctl", "disconnect", Machine.ownAddress)
        // CBError 7: "peripheral disconnected".
        try log.wait(for: "disconnected CBErrorDomain 7")
        try central.connect(try central.find("VM-Periph"))
        try leave(peripheral)
    }
}
