public import CoreBluetooth
import BluetoothTypes
import HostInterface

/// Advertises what Apple's API does not let a program say: service data, manufacturer data, more than 31 octets, and on
/// the coded PHY, which reaches farther. It goes on beside `CBPeripheralManager.startAdvertising`.
///
/// It is heard by devices that have extended advertising of Bluetooth 5; phones show it to their programs, older ones
/// do not. Completions are called on the manager's queue.
///
///     let advertiser = ExtendedAdvertiser(manager: manager)
///     var advertisement = ExtendedAdvertiser.Advertisement()
///     advertisement.serviceData = [.init(service: CBUUID(string: "FE9F"), data: reading)]
///     advertiser.start(advertisement) { error in … }
public struct ExtendedAdvertiser {
    /// What is advertised: 1650 octets in all, 238 if it is connectable, and 254 in one part.
    public struct Advertisement {
        /// What a service says in the advertisement itself.
        public struct ServiceData {
            public var service: CBUUID
            public var data: Data

            public init(service: CBUUID, data: Data) {
                self.service = service
                self.data = data
            }
        }

        public var localName: String?
        public var services: [CBUUID] = []
        public var serviceData: [ServiceData] = []
        /// The company identifier, least significant octet first, and the data.
        public var manufacturerData: Data?
        public var isConnectable = false
        /// Whether it goes on the coded PHY.
        public var isLongRange = false
        /// Whether it says at which power it is sent, for receivers that judge distances: three octets.
        public var includesTransmitPower = false

        public init() {}
    }

    /// The manager beside which it advertises.
    public let manager: CBPeripheralManager

    public init(manager: CBPeripheralManager) { self.manager = manager }

    /// Puts an advertisement on the air until ``stop(completion:)``, or until the radio goes off.
    ///
    /// - Parameters:
    ///   - advertisement: what it says, and how.
    ///   - completion: gets `nil` when it is on the air; a `CBError` if the radio has no extended advertising or not
    ///     the coded PHY, the advertisement is too long, or another one of this manager is on the air.
    public func start(_ advertisement: Advertisement, completion: @escaping ((any Error)?) -> Void = { _ in }) {
        let content = AdvertisementContent(
            localName: advertisement.localName, services: advertisement.services.map(\.bluetoothUUID),
            serviceData: advertisement.serviceData.map {
                AdvertisingData.ServiceData(service: $0.service.bluetoothUUID, data: Array($0.data))
            },
            manufacturerData: advertisement.manufacturerData.map { Array($0) },
            isConnectable: advertisement.isConnectable)
        let wanted = ExtendedAdvertisement(
            content, isOnCoded: advertisement.isLongRange,
            tellsTransmitPower: advertisement.includesTransmitPower)
        manager.askHost(.startExtendedAdvertising(wanted)) { answer in
            if case .success = answer { completion(nil) } else { completion(answer.problem) }
        }
    }

    /// Takes it off the air.
    public func stop(completion: @escaping ((any Error)?) -> Void = { _ in }) {
        manager.askHost(.stopExtendedAdvertising) { answer in
            if case .success = answer { completion(nil) } else { completion(answer.problem) }
        }
    }
}
