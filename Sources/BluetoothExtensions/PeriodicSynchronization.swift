public import CoreBluetooth
import BluetoothTypes
import HostInterface

/// Follows a device's periodic advertising: what it says in packets at fixed times, to any number of listeners, without
/// a connection and with their radios asleep in between. ``ExtendedAdvertiser`` says such things.
///
///     let synchronization = PeriodicSynchronization(to: peripheral, of: manager)
///     synchronization.start(
///         onReport: { report in print(report.serviceData) },
///         onLost: { print("It is gone.") },
///         completion: { result in … })
///
/// The device is one that a scan has found, or that is known by its identifier. A manager follows each device once: the
/// last start counts. All closures are called on the manager's queue.
public struct PeriodicSynchronization {
    /// The advertising that was found.
    public struct Train: Equatable, Sendable {
        /// From one packet to the next, in seconds; 0.0075...81.91875.
        public let interval: Double
        public let phy: LinkStatus.PHY?
    }

    /// What one packet said.
    public struct Report {
        /// Advertising data as it came: the structures of Core 6.0, Vol 3, Part C, 11, up to 1650 octets.
        public let data: Data
        /// In dBm; `nil` if the radio does not tell.
        public let rssi: Int?
        /// At which power it was sent, in dBm; `nil` where the device does not say.
        public let transmitPower: Int?
        public let localName: String?
        public let services: [CBUUID]
        public let serviceData: [CBUUID: Data]
        /// The company identifier, least significant octet first, and the data.
        public let manufacturerData: Data?

        init(_ report: PeriodicReport) {
            let content = AdvertisingData(octets: report.data)
            data = Data(report.data)
            rssi = report.rssi == Self.notAvailable ? nil : Int(report.rssi)
            transmitPower = report.transmitPower == Self.notAvailable ? nil : Int(report.transmitPower)
            localName = content.localName
            services = content.services.map { CBUUID($0) }
            serviceData = Dictionary(content.serviceData.map { (CBUUID($0.service), Data($0.data)) }) { _, last in last
            }
            manufacturerData = content.manufacturerData.first.map { Data($0.octets) }
        }

        /// Core 6.0, Vol 4, Part E, 7.7.65.15.
        private static let notAvailable: Int8 = 127
    }

    /// The device that is followed.
    public let peripheral: CBPeripheral
    /// The manager that found it.
    public let manager: CBCentralManager

    public init(to peripheral: CBPeripheral, of manager: CBCentralManager) {
        self.peripheral = peripheral
        self.manager = manager
    }

    /// Looks for the device's periodic advertising for as long as it takes, and follows it until ``stop(completion:)``,
    /// or until it is lost.
    ///
    /// - Parameters:
    ///   - skip: how many packets in a row the radio may leave out to save energy, 0...499.
    ///   - timeout: after so many seconds without a packet it is lost, 0.1...163.84; `nil` for six packets, a second at
    ///     least.
    ///   - onReport: gets what each packet says.
    ///   - onLost: is called when packets do not come any more, also because the radio goes off. Nothing follows; start
    ///     anew.
    ///   - completion: gets what was found; a `CBError` with the code `operationNotSupported` if the radio cannot do
    ///     it, `operationCancelled` if it was stopped before.
    public func start(
        skip: Int = 0, timeout: Double? = nil, onReport: @escaping (Report) -> Void,
        onLost: @escaping () -> Void = {}, completion: @escaping (Result<Train, any Error>) -> Void = { _ in }
    ) {
        let target = peripheral.hostPeer
        manager.observeTrain(of: target) { [weak manager] event in
            switch event {
            case .periodicReport(_, let report): onReport(Report(report))
            case .synchronizationLost:
                manager?.observeTrain(of: target, nil)
                onLost()
            default: break
            }
        }
        let preference = SynchronizationPreference(
            skip: UInt16(clamping: skip),
            timeout: timeout.map { UInt16(max(0, min($0 * 100, 65_535)).rounded()) })
        manager.askHost(.synchronize(target, preference)) { answer in
            guard case .success(.synchronized(let train)) = answer else { return completion(.failure(answer.problem)) }
            let interval = Double(train.interval) * 0.00125
            completion(.success(Train(interval: interval, phy: LinkStatus.PHY(rawValue: train.phy))))
        }
    }

    /// Ends it, or the search for it.
    ///
    /// - Parameter completion: is called when it is over; no report comes after this call.
    public func stop(completion: @escaping () -> Void = {}) {
        manager.observeTrain(of: peripheral.hostPeer, nil)
        manager.askHost(.endSynchronization(peripheral.hostPeer)) { _ in completion() }
    }
}
