import BluetoothSimulation
import CoreBluetooth
import Testing

@testable import Thermometer

final class FakeThermometer: NSObject, CBPeripheralManagerDelegate {
    private var manager: CBPeripheralManager!
    private let temperature = CBMutableCharacteristic(
        type: CBUUID(string: "2A6E"), properties: [.read, .notify], value: nil, permissions: .readable)

    override init() {
        super.init()
        manager = CBPeripheralManager(delegate: self, queue: nil)
    }

    func peripheralManagerDidUpdateState(_ peripheral: CBPeripheralManager) {
        guard peripheral.state == .poweredOn else { return }
        let service = CBMutableService(type: CBUUID(string: "181A"), primary: true)
        service.characteristics = [temperature]
        peripheral.add(service)
    }

    func peripheralManager(_ peripheral: CBPeripheralManager, didAdd service: CBService, error: (any Error)?) {
        peripheral.startAdvertising([CBAdvertisementDataServiceUUIDsKey: [service.uuid]])
    }

    func peripheralManager(
        _ peripheral: CBPeripheralManager, central: CBCentral, didSubscribeTo characteristic: CBCharacteristic
    ) {
        peripheral.updateValue(Data([0x66, 0x08]), for: temperature, onSubscribedCentrals: nil)  // 21.5
    }
}

@Test func readsTheTemperatureAndNoticesTheLoss() {
    let world = BluetoothWorld(seed: 7)
    let phone = world.addDevice("Phone")
    let thermometer = world.addDevice("Thermometer", at: .init(x: 3))
    let fake = thermometer.run { FakeThermometer() }
    let reader = phone.run { ThermometerReader() }

    #expect(world.run(until: { reader.degrees == [21.5] }, within: .seconds(10)))
    #expect(reader.isConnected)

    thermometer.removeBattery()
    world.run(for: .seconds(10))
    #expect(!reader.isConnected)
    _ = fake
}
