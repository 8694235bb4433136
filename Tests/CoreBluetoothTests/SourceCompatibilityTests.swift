// An app as apps are written, which knows CoreBluetooth only. That it compiles is most of the test.
import CoreBluetooth

class HabitualCentral: NSObject, CBCentralManagerDelegate {
    var manager: CBCentralManager!
    var found: [UUID: CBPeripheral] = [:]
    var battery: [CBPeripheral: Data] = [:]
    var confirmed = 0
    let parsing: dispatch_queue_t = DispatchQueue(label: "parsing")

    override init() {
        super.init()
        manager = CBCentralManager(
            delegate: self, queue: nil,
            options: [
                CBCentralManagerOptionShowPowerAlertKey: NSNumber(value: true),
                CBCentralManagerOptionRestoreIdentifierKey: "central",
            ])
    }

    func centralManagerDidUpdateState(_ central: CBCentralManager) {
        switch central.state {
        case .unknown, .resetting, .unsupported: break
        case .unauthorized:
            switch CBManager.authorization {
            case .notDetermined, .restricted, .denied, .allowedAlways: break
            @unknown default: break
            }
        case .poweredOff: found.removeAll()
        case .poweredOn:
            central.scanForPeripherals(
                withServices: [CBUUID(string: "FFF0")],
                options: [CBCentralManagerScanOptionAllowDuplicatesKey: true])
        @unknown default: break
        }
        if #available(iOS 13.1, macOS 10.15, *) { _ = central.authorization }
    }

    func centralManager(
        _ central: CBCentralManager, didDiscover peripheral: CBPeripheral, advertisementData: [String: Any],
        rssi RSSI: NSNumber
    ) {
        guard RSSI.intValue > -80, found[peripheral.identifier] == nil else { return }
        guard (advertisementData[CBAdvertisementDataIsConnectable] as? NSNumber)?.boolValue == true else { return }
        guard let services = advertisementData[CBAdvertisementDataServiceUUIDsKey] as? [CBUUID],
            services.contains(CBUUID(string: "0000fff0-0000-1000-8000-00805f9b34fb"))
        else { return }
        found[peripheral.identifier] = peripheral
        peripheral.delegate = self
        central.stopScan()
        central.connect(peripheral, options: [CBConnectPeripheralOptionNotifyOnDisconnectionKey: true])
    }

    func centralManager(_ central: CBCentralManager, didConnect peripheral: CBPeripheral) {
        peripheral.discoverServices(nil)
    }

    func centralManager(
        _ central: CBCentralManager, didDisconnectPeripheral peripheral: CBPeripheral, error: (any Error)?
    ) {
        if let error = error as? CBError {
            switch error.code {
            case .connectionTimeout, .peripheralDisconnected: central.connect(peripheral)
            case CBError.connectionFailed: break
            default: break
            }
        }
        if let error = error as NSError?, error.domain == CBErrorDomain,
            error.code == CBError.Code.connectionTimeout.rawValue
        {
            found[peripheral.identifier] = nil
        }
    }

    func centralManager(_ central: CBCentralManager, willRestoreState dict: [String: Any]) {
        let peripherals = dict[CBCentralManagerRestoredStatePeripheralsKey] as? [CBPeripheral]
        peripherals?.forEach { $0.delegate = self }
    }
}

extension HabitualCentral: CBPeripheralDelegate {
    func peripheral(_ peripheral: CBPeripheral, didDiscoverServices error: (any Error)?) {
        guard let services = peripheral.services else { return }
        for service in services { peripheral.discoverCharacteristics(nil, for: service) }
    }

    func peripheral(
        _ peripheral: CBPeripheral, didDiscoverCharacteristicsFor service: CBService, error: (any Error)?
    ) {
        service.characteristics?.forEach { characteristic in
            if characteristic.properties.contains(.notify) { peripheral.setNotifyValue(true, for: characteristic) }
            if characteristic.properties.contains([.read, .write]) {
                peripheral.writeValue(
                    "unlock".data(using: .utf8)!, for: characteristic,
                    type: characteristic.properties.contains(.write) ? .withResponse : .withoutResponse)
            }
            peripheral.discoverDescriptors(for: characteristic)
        }
    }

    func peripheral(
        _ peripheral: CBPeripheral, didUpdateValueFor characteristic: CBCharacteristic, error: (any Error)?
    ) {
        guard error == nil, characteristic.service?.peripheral === peripheral else { return }
        battery[peripheral] = characteristic.value
    }

    func peripheral(
        _ peripheral: CBPeripheral, didWriteValueFor characteristic: CBCharacteristic, error: (any Error)?
    ) {
        if let error = error as? CBATTError, error.code == .writeNotPermitted { return }
        confirmed += 1
    }

    func peripheral(_ peripheral: CBPeripheral, didOpen channel: CBL2CAPChannel?, error: (any Error)?) {
        channel?.inputStream.open()
        channel?.outputStream?.close()
    }
}

class HabitualPeripheral: NSObject, CBPeripheralManagerDelegate {
    lazy var manager = CBPeripheralManager(
        delegate: self, queue: nil, options: [CBPeripheralManagerOptionShowPowerAlertKey: true])
    let characteristic = CBMutableCharacteristic(
        type: CBUUID(string: "FFF1"), properties: [.read, .write, .notify], value: nil,
        permissions: [.readable, .writeable])

    func peripheralManagerDidUpdateState(_ peripheral: CBPeripheralManager) {
        guard peripheral.state == .poweredOn else { return }
        let service = CBMutableService(type: CBUUID(string: "FFF0"), primary: true)
        service.characteristics = [characteristic]
        peripheral.add(service)
    }

    func peripheralManager(_ peripheral: CBPeripheralManager, didAdd service: CBService, error: (any Error)?) {
        peripheral.startAdvertising([
            CBAdvertisementDataLocalNameKey: "KL940704079", CBAdvertisementDataServiceUUIDsKey: [service.uuid],
        ])
    }

    func peripheralManager(_ peripheral: CBPeripheralManager, didReceiveWrite requests: [CBATTRequest]) {
        for request in requests where request.characteristic.uuid.isEqual(characteristic.uuid) {
            characteristic.value = request.value
        }
        peripheral.respond(to: requests[0], withResult: .success)
        peripheral.updateValue(Data([0x64]), for: characteristic, onSubscribedCentrals: nil)
    }

    func peripheralManager(_ peripheral: CBPeripheralManager, didReceiveRead request: CBATTRequest) {
        request.value = characteristic.value?.subdata(in: request.offset..<(characteristic.value?.count ?? 0))
        peripheral.respond(to: request, withResult: CBATTError.success)
    }
}

/// The least that the compiler asks for.
class SilentCentral: NSObject, CBCentralManagerDelegate, CBPeripheralDelegate {
    func centralManagerDidUpdateState(_ central: CBCentralManager) {}
}

/// Tests of apps do this; Apple advises against it.
class UUIDSubclass: CBUUID, @unchecked Sendable {
    override var uuidString: String { "subclass" }
}
