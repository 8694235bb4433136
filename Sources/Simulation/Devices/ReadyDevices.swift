package import BluetoothTypes
package import HostInterface

// The devices of the tutorials, as scripts.

extension BluetoothUUID {
    // The vendor's own services and characteristics, in the range that many cheap devices use.
    package static let lockService = BluetoothUUID.uuid16(0xFFF0)
    package static let plainCharacteristic = BluetoothUUID.uuid16(0xFFF1)
    package static let lockBattery = BluetoothUUID.uuid16(0xFFF4)
    package static let lockInstruction = BluetoothUUID.uuid16(0xFFF6)
    // Bluetooth SIG, Assigned Numbers, 3.4 and 3.8.
    package static let deviceInformation = BluetoothUUID.uuid16(0x180A)
    package static let systemID = BluetoothUUID.uuid16(0x2A23)
    package static let modelNumber = BluetoothUUID.uuid16(0x2A24)
    package static let manufacturerName = BluetoothUUID.uuid16(0x2A29)
    package static let batteryService = BluetoothUUID.uuid16(0x180F)
    package static let batteryLevel = BluetoothUUID.uuid16(0x2A19)
    package static let heartRateService = BluetoothUUID.uuid16(0x180D)
    package static let heartRateMeasurement = BluetoothUUID.uuid16(0x2A37)
    package static let userDescription = BluetoothUUID.uuid16(0x2901)
}

extension PeripheralScript {
    /// A lock: takes "unlock" and "lock", reports its battery, and tells its address in its System ID.
    package static func smartLock(
        name: String, address: DeviceAddress, advertisedServices: [BluetoothUUID] = [],
        advertisingTime: Duration? = nil, batteryInterval: Duration = .seconds(2)
    ) -> PeripheralScript {
        PeripheralScript(
            advertisement: AdvertisementContent(localName: name, services: advertisedServices),
            advertisingTime: advertisingTime,
            services: [
                .deviceInformation(address: address, model: "KL-940"),
                ServiceDefinition(
                    uuid: .lockService,
                    characteristics: [
                        CharacteristicDefinition(.lockBattery, [.read, .notify]),
                        CharacteristicDefinition(.lockInstruction, [.write]),
                    ]),
                ServiceDefinition(
                    uuid: .batteryService, characteristics: [CharacteristicDefinition(.batteryLevel, [.read])]),
            ],
            values: [.lockBattery: [0x5F], .batteryLevel: [0x5F]],
            reactions: [.lockInstruction: turnBolt],
            series: [
                ValueSeries(characteristic: .lockBattery, interval: batteryInterval) { number in
                    [UInt8(max(0, 0x5F - number / 2))]
                } meaning: { value in
                    value.first.map { "battery at \($0) %" }
                }
            ])
    }

    /// The bolt follows the two instructions; 0x80 is the first error code that an application may define
    /// (Core 6.0, Vol 3, Part F, 3.4.1.1).
    private static func turnBolt(_ device: ScriptedPeripheral, _ value: [UInt8]) -> UInt8 {
        switch String(decoding: value, as: UTF8.self) {
        case "unlock": device.tell("the bolt draws back: open", value)
        case "lock": device.tell("the bolt shoots: locked", value)
        default:
            device.tell("an instruction that it does not know", value)
            return 0x80
        }
        return 0
    }

    /// A sensor that tells its address in its manufacturer data, under the company number for tests (0xFFFF), and
    /// counts on `FFF1`.
    package static func addressBeacon(name: String, address: DeviceAddress) -> PeripheralScript {
        PeripheralScript(
            advertisement: AdvertisementContent(
                localName: name, services: [.lockService],
                manufacturerData: [0xFF, 0xFF] + address.octets.reversed()),
            services: [
                ServiceDefinition(
                    uuid: .lockService,
                    characteristics: [
                        CharacteristicDefinition(
                            .plainCharacteristic, [.read, .write, .writeWithoutResponse, .notify],
                            descriptors: [
                                DescriptorDefinition(uuid: .userDescription, value: Array("a counter".utf8))
                            ])
                    ])
            ],
            values: [.plainCharacteristic: Array("nothing written yet".utf8)],
            series: [
                ValueSeries(characteristic: .plainCharacteristic, interval: .milliseconds(500)) { number in
                    [UInt8(truncatingIfNeeded: number)]
                }
            ])
    }

    /// A tag that only shows itself: no name, no connection, the manufacturer's data.
    package static func tag(company: UInt16, data: [UInt8]) -> PeripheralScript {
        let number = [UInt8(truncatingIfNeeded: company), UInt8(company >> 8)]
        return PeripheralScript(
            advertisement: AdvertisementContent(manufacturerData: number + data, isConnectable: false))
    }

    /// A chest strap that nobody here looks for: another name on the air.
    package static func heartRateSensor(name: String, address: DeviceAddress) -> PeripheralScript {
        PeripheralScript(
            advertisement: AdvertisementContent(localName: name, services: [.heartRateService]),
            services: [
                .deviceInformation(address: address, model: "Strap"),
                ServiceDefinition(
                    uuid: .heartRateService,
                    characteristics: [CharacteristicDefinition(.heartRateMeasurement, [.notify])]),
            ],
            series: [
                // Flags of 0: the rate is one octet (Heart Rate Service 1.0, 3.1).
                ValueSeries(characteristic: .heartRateMeasurement, interval: .seconds(1)) { number in
                    [0, UInt8(60 + number % 7)]
                }
            ])
    }
}

/// A script with a place to play it.
package struct ReadyDevice {
    package let name: String
    package let address: DeviceAddress
    package let position: Position
    package let script: PeripheralScript

    /// A few devices to scan for, at several distances from the origin.
    package static var neighbourhood: [ReadyDevice] {
        func device(
            _ number: UInt64, _ name: String, at x: Double, _ y: Double, _ script: (DeviceAddress) -> PeripheralScript
        ) -> ReadyDevice {
            let address = DeviceAddress(0xC0DE_0000_0030 + number)
            return ReadyDevice(name: name, address: address, position: Position(x: x, y: y), script: script(address))
        }
        return [
            device(1, "lock", at: 3, 0) { .smartLock(name: "KL940704079", address: $0) },
            device(2, "second lock", at: 9, 4) {
                .smartLock(name: "KL-940", address: $0, advertisedServices: [.lockService])
            },
            device(3, "strap", at: 1, 1) { .heartRateSensor(name: "Strap", address: $0) },
            device(4, "sensor", at: 30, 10) { .addressBeacon(name: "Sensor", address: $0) },
            device(5, "beacon", at: 60, 0) { _ in .tag(company: 0x0499, data: [0x05, 0x12, 0xFC, 0x53, 0x94]) },
        ]
    }
}

extension ServiceDefinition {
    /// Device Information with System ID, model and manufacturer.
    package static func deviceInformation(address: DeviceAddress, model: String) -> ServiceDefinition {
        // The 48 bits of the address around the filler FF FE, least significant octet first.
        let octets = address.octets
        let systemID = octets[0...2] + [0xFE, 0xFF] + octets[3...5]
        return ServiceDefinition(
            uuid: .deviceInformation,
            characteristics: [
                CharacteristicDefinition(.systemID, [.read], value: Array(systemID)),
                CharacteristicDefinition(.modelNumber, [.read], value: Array(model.utf8)),
                CharacteristicDefinition(.manufacturerName, [.read], value: Array("Simulated Devices".utf8)),
            ])
    }
}
