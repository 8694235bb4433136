package import BluetoothTypes
package import HostInterface

/// A simulated peripheral as data: what it shows, what it offers, how it reacts, and how its values change.
package struct PeripheralScript {
    package var advertisement: AdvertisementContent
    /// How long it advertises once it is switched on; `nil` is for ever.
    package var advertisingTime: Duration?
    package var services: [ServiceDefinition]
    /// What reads of the characteristics without a fixed value give at first.
    package var values: [BluetoothUUID: [UInt8]]
    /// What happens at a write, by characteristic. Without a reaction the value is taken and kept.
    package var reactions: [BluetoothUUID: WriteReaction]
    /// In this order; each runs while somebody is subscribed to its characteristic, or always.
    package var series: [ValueSeries]
    /// What values become, so long after the device was switched on, notified to who listens.
    package var timeline: [(after: Duration, characteristic: BluetoothUUID, value: [UInt8])] = []
    /// Whether what is written is notified to who listens.
    package var notifiesWrites = false
    /// Characteristics whose reads and writes are never answered: a fault.
    package var mute: Set<BluetoothUUID> = []

    /// Takes a written value. The result answers the write: 0 is success, else an error code of
    /// Core 6.0, Vol 3, Part F, 3.4.1.1.
    package typealias WriteReaction = (ScriptedPeripheral, [UInt8]) -> UInt8

    /// A value that changes by itself.
    package struct ValueSeries {
        package var characteristic: BluetoothUUID
        /// The time from a subscription to the first value, and from value to value.
        package var interval: Duration
        /// Whether it runs while nobody listens, too.
        package var runsAlways: Bool
        /// The value with number 0, 1, 2, ...; the count goes on over all subscriptions.
        package var value: (Int) -> [UInt8]
        /// What a person would say of the value; `nil` says nothing.
        package var meaning: ([UInt8]) -> String?

        package init(
            characteristic: BluetoothUUID, interval: Duration, runsAlways: Bool = false,
            value: @escaping (Int) -> [UInt8],
            meaning: @escaping ([UInt8]) -> String? = { _ in nil }
        ) {
            self.characteristic = characteristic
            self.interval = interval
            self.runsAlways = runsAlways
            self.value = value
            self.meaning = meaning
        }
    }

    package init(
        advertisement: AdvertisementContent, advertisingTime: Duration? = nil, services: [ServiceDefinition] = [],
        values: [BluetoothUUID: [UInt8]] = [:], reactions: [BluetoothUUID: WriteReaction] = [:],
        series: [ValueSeries] = []
    ) {
        self.advertisement = advertisement
        self.advertisingTime = advertisingTime
        self.services = services
        self.values = values
        self.reactions = reactions
        self.series = series
    }
}

extension CharacteristicDefinition {
    /// Properties of Core 6.0, Vol 3, Part G, 3.3.1.1, with the permissions that go with them.
    package init(
        _ uuid: BluetoothUUID, _ properties: CharacteristicProperties, value: [UInt8]? = nil,
        descriptors: [DescriptorDefinition] = []
    ) {
        var permissions: AttributePermissions = []
        if properties.contains(.read) { permissions.insert(.readable) }
        if !properties.isDisjoint(with: [.write, .writeWithoutResponse]) { permissions.insert(.writeable) }
        self.init(
            uuid: uuid, properties: properties.rawValue, permissions: permissions, value: value,
            descriptors: descriptors)
    }
}

/// Core 6.0, Vol 3, Part G, 3.3.1.1, as far as scripts use them.
package struct CharacteristicProperties: OptionSet, Sendable {
    package let rawValue: UInt8
    package init(rawValue: UInt8) { self.rawValue = rawValue }

    package static let read = CharacteristicProperties(rawValue: 0x02)
    package static let writeWithoutResponse = CharacteristicProperties(rawValue: 0x04)
    package static let write = CharacteristicProperties(rawValue: 0x08)
    package static let notify = CharacteristicProperties(rawValue: 0x10)
    package static let indicate = CharacteristicProperties(rawValue: 0x20)
}
