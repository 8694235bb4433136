import BluetoothToolkit
import BluetoothTypes
import CoreBluetooth
package import Foundation
import Simulation

/// A device as data, in the words of the toolkit: what `ble serve` is told to be.
package struct Profile: Sendable {
    struct Characteristic: Sendable {
        var definition: LocalCharacteristic
        var behaviour: DeviceProfile.Characteristic
    }

    struct Service: Sendable {
        var definition: LocalService
        var characteristics: [Characteristic]
    }

    var name: String
    /// The services to advertise.
    var advertised: [BluetoothUUID]
    var services: [Service]

    struct Malformed: Error {
        /// Line and column, path, what is wrong and what to do.
        var sentence: String
    }

    /// - Throws: ``Malformed`` with a sentence that names the place.
    package init(json: Data) throws {
        let profile: DeviceProfile
        do throws(JSONProblem) { profile = try DeviceProfile(json: json) } catch {
            throw Malformed(sentence: "\(error)")
        }
        name = profile.name
        advertised = profile.advertised
        services = profile.services.map { service in
            let characteristics = service.characteristics.map(Self.characteristic)
            return Service(
                definition: LocalService(CBUUID(service.uuid), characteristics: characteristics.map(\.definition)),
                characteristics: characteristics)
        }
    }

    private static func characteristic(_ behaviour: DeviceProfile.Characteristic) -> Characteristic {
        var definition = LocalCharacteristic(
            CBUUID(behaviour.uuid), CBCharacteristicProperties(rawValue: UInt(behaviour.properties.rawValue)),
            userDescription: behaviour.description)
        if behaviour.isEncrypted {
            if definition.permissions.contains(.readable) { definition.permissions.insert(.readEncryptionRequired) }
            if definition.permissions.contains(.writeable) { definition.permissions.insert(.writeEncryptionRequired) }
            if definition.properties.contains(.notify) { definition.properties.insert(.notifyEncryptionRequired) }
        }
        return Characteristic(definition: definition, behaviour: behaviour)
    }
}
