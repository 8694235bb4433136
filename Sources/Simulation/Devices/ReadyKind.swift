package import BluetoothTypes
import HostInterface

/// Devices that are ready to be put into a world, by name.
package enum ReadyKind: String, CaseIterable, Sendable {
    case smartLock, heartRateStrap, thermometer, battery, counter, firmwareTarget
    /// Locks that tell their address in their System ID, in the three ways that are met: as the specification says,
    /// the other way round, and with zeros in the middle.
    case systemIDLock, systemIDLockReversed, systemIDLockZeroFilled
    case iBeacon, eddystone
    /// Breaks every rule that a peer can break and still be found.
    case outlaw

    package func script(name: String, address: DeviceAddress) -> PeripheralScript {
        switch self {
        case .smartLock: .smartLock(name: name, address: address)
        case .heartRateStrap: .heartRateSensor(name: name, address: address)
        case .thermometer: .thermometer(name: name)
        case .battery: .battery(name: name)
        case .counter: .addressBeacon(name: name, address: address)
        case .firmwareTarget: .firmwareTarget(name: name, address: address)
        case .systemIDLock: .lock(name: name, systemID: address.octets[0...2] + [0xFE, 0xFF] + address.octets[3...5])
        case .systemIDLockReversed:
            .lock(
                name: name,
                systemID: address.octets[3...5].reversed() + [0xFF, 0xFE] + address.octets[0...2].reversed())
        case .systemIDLockZeroFilled:
            .lock(name: name, systemID: address.octets[0...2] + [0, 0] + address.octets[3...5])
        case .iBeacon: .iBeacon
        case .eddystone: .eddystone
        case .outlaw: .smartLock(name: name, address: address, advertisedServices: [.lockService])
        }
    }

    /// What is wrong with it from the start, and how likely each time.
    package var faults: [(SimulatedFault, Double)] {
        guard self == .outlaw else { return [] }
        return [
            (.malformedAdvertisement, 1), (.smallPackets, 1), (.notifiesTwice, 0.5), (.notificationsVanish, 0.2),
            (.duplicateHandles, 0.2), (.illegalAnswers, 0.2), (.errorsWithoutMeaning, 0.2), (.echoesWrongly, 0.2),
            (.truncatesLongReads, 0.2), (.answersAtSecond29, 0.02), (.neverAnswers, 0.02), (.writesVanish, 0.2),
            (.demandsParameters, 0.2), (.vanishesAtConnection, 0.2), (.refusesPairing, 0.5),
        ]
    }
}

extension BluetoothUUID {
    // Bluetooth SIG, Assigned Numbers, 3.4, 3.8 and 3.11.
    fileprivate static let healthThermometer = BluetoothUUID.uuid16(0x1809)
    fileprivate static let temperatureMeasurement = BluetoothUUID.uuid16(0x2A1C)
    fileprivate static let temperatureType = BluetoothUUID.uuid16(0x2A1D)
    fileprivate static let firmwareRevision = BluetoothUUID.uuid16(0x2A26)
    fileprivate static let eddystoneService = BluetoothUUID.uuid16(0xFEAA)
    // The vendor's own.
    package static let updateService = BluetoothUUID.uuid16(0xFFD0)
    package static let updateControl = BluetoothUUID.uuid16(0xFFD1)
    package static let updateData = BluetoothUUID.uuid16(0xFFD2)
}

extension PeripheralScript {
    /// Health Thermometer Service 1.0, 3.1: flags of 0 (Celsius, no time), and a FLOAT of IEEE 11073-20601: tenths.
    fileprivate static func thermometer(name: String) -> PeripheralScript {
        func measurement(_ number: Int) -> [UInt8] {
            let tenths = 365 + [0, 1, 2, 3, 2, 1][number % 6]
            return [0, UInt8(tenths & 0xFF), UInt8(tenths >> 8), 0, 0xFF]
        }
        return PeripheralScript(
            advertisement: AdvertisementContent(localName: name, services: [.healthThermometer]),
            services: [
                ServiceDefinition(
                    uuid: .healthThermometer,
                    characteristics: [
                        CharacteristicDefinition(.temperatureMeasurement, [.indicate]),
                        // 2: in the body.
                        CharacteristicDefinition(.temperatureType, [.read], value: [0x02]),
                    ])
            ],
            series: [
                ValueSeries(characteristic: .temperatureMeasurement, interval: .seconds(2), value: measurement) {
                    value in
                    value.count > 2 ? "\(Int(value[1]) + Int(value[2]) << 8) tenths of a degree" : nil
                }
            ])
    }

    /// A battery that loses one percent every ten seconds, whoever listens.
    fileprivate static func battery(name: String) -> PeripheralScript {
        PeripheralScript(
            advertisement: AdvertisementContent(localName: name, services: [.batteryService]),
            services: [
                ServiceDefinition(
                    uuid: .batteryService,
                    characteristics: [CharacteristicDefinition(.batteryLevel, [.read, .notify])])
            ],
            values: [.batteryLevel: [100]],
            series: [
                ValueSeries(characteristic: .batteryLevel, interval: .seconds(10), runsAlways: true) { number in
                    [UInt8(max(0, 99 - number))]
                }
            ])
    }

    fileprivate static func lock(name: String, systemID: some Sequence<UInt8>) -> PeripheralScript {
        var script = smartLock(name: name, address: DeviceAddress(0))
        script.services[0] = ServiceDefinition(
            uuid: .deviceInformation,
            characteristics: [
                CharacteristicDefinition(.systemID, [.read], value: Array(systemID)),
                CharacteristicDefinition(.modelNumber, [.read], value: Array("KL-940".utf8)),
            ])
        return script
    }

    /// Apple, Proximity Beacon Specification R1: UUID, major 1, minor 2, -59 dBm at one metre.
    fileprivate static var iBeacon: PeripheralScript {
        let uuid: [UInt8] = [
            0xE2, 0xC5, 0x6D, 0xB5, 0xDF, 0xFB, 0x48, 0xD2, 0xB0, 0x60, 0xD0, 0xF5, 0xA7, 0x10, 0x96, 0xE0,
        ]
        return tag(company: 0x004C, data: [0x02, 0x15] + uuid + [0x00, 0x01, 0x00, 0x02, 0xC5])
    }

    /// Google, Eddystone-URL: frame 0x10, -20 dBm at no distance, `https://` as 0x03, `.org/` as 0x01.
    fileprivate static var eddystone: PeripheralScript {
        var content = AdvertisementContent(services: [.eddystoneService], isConnectable: false)
        content.serviceData = [
            AdvertisingData.ServiceData(
                service: .eddystoneService, data: [0x10, 0xEC, 0x03] + Array("example".utf8) + [0x01])
        ]
        return PeripheralScript(advertisement: content)
    }

    /// Takes a firmware: FFD1 gets `01` and the length (32 bits, least significant octet first), FFD2 the data in
    /// pieces, and FFD1 `02`, which is answered by the notification `02 00` if all is there, else `02 01`. At `03` it
    /// restarts, is away for two seconds, and comes back with version 2.0.0 and, as such devices do, with another
    /// attribute table and no word about that.
    fileprivate static func firmwareTarget(name: String, address: DeviceAddress) -> PeripheralScript {
        let progress = UpdateProgress()
        return PeripheralScript(
            advertisement: AdvertisementContent(localName: name, services: [.updateService]),
            services: [
                ServiceDefinition(
                    uuid: .updateService,
                    characteristics: [
                        CharacteristicDefinition(.updateControl, [.write, .notify]),
                        CharacteristicDefinition(.updateData, [.writeWithoutResponse]),
                        CharacteristicDefinition(.firmwareRevision, [.read]),
                    ])
            ],
            values: [.firmwareRevision: Array("1.0.0".utf8)],
            reactions: [
                .updateData: { _, value in
                    progress.received += value.count
                    return 0
                },
                .updateControl: { device, value in progress.control(value, of: device) },
            ])
    }
}

private final class UpdateProgress {
    var expected = 0
    var received = 0

    func control(_ value: [UInt8], of device: ScriptedPeripheral) -> UInt8 {
        switch value.first {
        case 0x01 where value.count == 5:
            expected = value[1...].reversed().reduce(0) { $0 << 8 | Int($1) }
            received = 0
            device.tell("it expects a firmware of \(expected) octets", value)
        case 0x02 where value.count == 1:
            let isWhole = expected > 0 && received == expected
            device.tell(isWhole ? "the firmware is there" : "it has \(received) of \(expected) octets", value)
            device.set([(.updateControl, [0x02, isWhole ? 0 : 1])], after: .milliseconds(50))
        case 0x03 where value.count == 1 && expected > 0 && received == expected:
            device.tell("it restarts with the new firmware", value)
            device.restart(awayFor: .seconds(2)) {
                $0.set([(.firmwareRevision, Array("2.0.0".utf8))], after: .zero)
                $0.addFault(.tableMovedSilently)
            }
        // The first code that an application may define (Core 6.0, Vol 3, Part F, 3.4.1.1).
        default: return 0x80
        }
        return 0
    }
}
