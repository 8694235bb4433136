public import CoreBluetooth
import BluetoothTypes
import HostInterface

/// Advertises what Apple's API does not let a program say: service data, manufacturer data, more than 31 octets, and on
/// the coded PHY, which reaches farther. It goes on beside `CBPeripheralManager.startAdvertising`.
///
/// With ``Advertisement/periodic`` it also says something at fixed times, to listeners that sleep in between:
/// ``PeriodicSynchronization`` follows that, and ``update(_:completion:)`` changes what it says.
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

            fileprivate var hostValue: AdvertisingData.ServiceData {
                AdvertisingData.ServiceData(service: service.bluetoothUUID, data: Array(data))
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
        /// What is said at fixed times besides; the advertisement is then not connectable, and announces it.
        public var periodic: Periodic?

        public init() {}
    }

    /// What is said at fixed times: 1650 octets in all, and 254 in one part.
    public struct Periodic {
        /// From one packet to the next, in seconds; 0.0075...81.91875.
        public var interval = 0.1
        public var localName: String?
        public var services: [CBUUID] = []
        public var serviceData: [Advertisement.ServiceData] = []
        /// The company identifier, least significant octet first, and the data.
        public var manufacturerData: Data?

        public init() {}

        fileprivate var content: AdvertisementContent {
            AdvertisementContent(
                localName: localName, services: services.map(\.bluetoothUUID),
                serviceData: serviceData.map(\.hostValue),
                manufacturerData: manufacturerData.map { Array($0) }, isConnectable: false)
        }

        fileprivate var hostValue: PeriodicAdvertisement {
            PeriodicAdvertisement(content, interval: UInt16(max(0, min(interval / 0.00125, 65_535)).rounded()))
        }
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
            serviceData: advertisement.serviceData.map(\.hostValue),
            manufacturerData: advertisement.manufacturerData.map { Array($0) },
            isConnectable: advertisement.isConnectable)
        let wanted = ExtendedAdvertisement(
            content, isOnCoded: advertisement.isLongRange,
            tellsTransmitPower: advertisement.includesTransmitPower, periodic: advertisement.periodic?.hostValue)
        manager.askHost(.startExtendedAdvertising(wanted)) { answer in
            if case .success = answer { completion(nil) } else { completion(answer.problem) }
        }
    }

    /// Changes what is said at fixed times. Up to 252 octets go out with one of the next packets, and whoever follows
    /// them goes on doing so; with more the packets begin anew.
    ///
    /// - Parameters:
    ///   - periodic: what to say; the interval stays the one of the start.
    ///   - completion: gets `nil` when it is on the air; a `CBError` if nothing is said at fixed times.
    public func update(_ periodic: Periodic, completion: @escaping ((any Error)?) -> Void = { _ in }) {
        manager.askHost(.updatePeriodicAdvertising(periodic.content)) { answer in
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
