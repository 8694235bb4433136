package import CoreBluetooth
import Foundation

/// Scans, by the public API alone.
package final class Scanner: NSObject, CBCentralManagerDelegate {
    private let services: [CBUUID]?
    private let allowDuplicates: Bool
    private let onSighting: (Sighting) -> Void
    private let onProblem: (String) -> Void
    private var central: CBCentralManager?
    package private(set) var wasPoweredOn = false

    /// - Parameter onProblem: takes a sentence, if there is no radio to scan with.
    package init(
        services: [CBUUID]?, allowDuplicates: Bool, onSighting: @escaping (Sighting) -> Void,
        onProblem: @escaping (String) -> Void
    ) {
        self.services = services
        self.allowDuplicates = allowDuplicates
        self.onSighting = onSighting
        self.onProblem = onProblem
    }

    package func start() { central = CBCentralManager(delegate: self, queue: nil) }

    package func stop() { if central?.state == .poweredOn { central?.stopScan() } }

    package func centralManagerDidUpdateState(_ central: CBCentralManager) {
        switch central.state {
        case .poweredOn:
            wasPoweredOn = true
            central.scanForPeripherals(
                withServices: services, options: [CBCentralManagerScanOptionAllowDuplicatesKey: allowDuplicates])
        case .unsupported: onProblem("there is no Bluetooth Low Energy radio here, or it cannot be reached")
        case .unauthorized: onProblem("this program may not use the radio")
        case .unknown, .resetting, .poweredOff: break  // The time limit ends it, if nothing else follows.
        @unknown default: break
        }
    }

    package func centralManager(
        _ central: CBCentralManager, didDiscover peripheral: CBPeripheral, advertisementData: [String: Any],
        rssi RSSI: NSNumber
    ) {
        onSighting(Sighting(peripheral: peripheral, advertisementData: advertisementData, signal: RSSI))
    }
}
