import BluetoothTypes
import BondFiles
import Glibc
package import HCITransport
import Host
import HostInterface
import Simulation
import Storage

/// Opens the radio that an address names.
package enum DefaultRadio {
    /// The variable of the environment that names a program's radio.
    package static let variable = "BLE_RADIO"

    /// The variable that names a file in which the traffic with a real controller is recorded.
    package static let captureVariable = "BLE_CAPTURE"

    /// The variable that gives this host a static random identity address, in place of the controller's own.
    package static let addressVariable = "BLE_ADDRESS"

    /// The variable that, if it is `1`, has this host show private addresses.
    package static let privacyVariable = "BLE_PRIVACY"

    /// The radio of `BLE_RADIO`, or, without it, the first usable adapter.
    package static func open() -> any SessionFactory {
        guard let text = value(of: variable) else { return open(nil) }
        return open(text)
    }

    /// - Parameter text: in the words of ``RadioAddress``. What names no radio that can be opened gives one whose
    ///   managers are `.unsupported`, with the reason.
    package static func open(_ text: String) -> any SessionFactory {
        do throws(RadioAddress.Malformed) {
            return open(try RadioAddress(text))
        } catch {
            return unavailable(error.description)
        }
    }

    /// - Parameters:
    ///   - address: `nil` for the first usable adapter.
    ///   - deviceName: the GAP Device Name; `nil` leaves it as it is.
    ///   - capture: the file of ``captureVariable``; `nil` leaves that to the environment.
    package static func open(
        _ address: RadioAddress?, deviceName: String? = nil, capture: String? = nil
    ) -> any SessionFactory {
        let capture = capture ?? value(of: captureVariable)
        var configuration = HostConfiguration()
        if let deviceName { configuration.deviceName = deviceName }
        configuration.fallbackAddress = .ofThisMachine
        if let text = value(of: addressVariable) {
            guard let address = DeviceAddress(text, kind: .random), address.value >> 46 == 0b11 else {
                return unavailable(
                    "\(addressVariable) is \(text), which is no static random address: it must look like "
                        + "F0:11:22:33:44:55, the two highest bits set.")
            }
            configuration.fallbackAddress = address
            configuration.ignoresPublicAddress = true
        }
        configuration.usesPrivateAddress = value(of: privacyVariable) == "1"
        guard let address else { return adapter(nil, place: anyAdapter, configuration, capture) }
        switch address {
        case .tcp(let host, let port):
            return AdapterRadio(
                place: "\(address)", kind: .socket, configuration: configuration, bonds: bonds, capture: capture
            ) { loop throws(TransportError) in
                try StreamTransport.connect(host: host, port: port, on: loop)
            }
        case .unix(let path):
            return AdapterRadio(
                place: "\(address)", kind: .socket, configuration: configuration, bonds: bonds, capture: capture
            ) { loop throws(TransportError) in
                try StreamTransport.connect(path: path, on: loop)
            }
        case .adapter(let name): return adapter(name, place: "\(address)", configuration, capture)
        case .serial(let device, let baud):
            return AdapterRadio(
                place: "\(address)", kind: .device, configuration: configuration, bonds: bonds, capture: capture
            ) { loop throws(TransportError) in
                try StreamTransport.open(serial: device, baud: baud, on: loop)
            }
        case .simulated(world: nil): return SimulatedPlace.open()
        case .simulated(let file?):
            do throws(WorldFileError) { return SimulatedPlace.open(try WorldFile.read(file)) } catch {
                return unavailable("The world of the radio \(address) cannot be made. \(error)")
            }
        }
    }

    /// Where this user's bonds are.
    private static var bonds: BondDatabase {
        BondDatabase(in: .ofThisUser()) { writeToStandardError("[CoreBluetooth] WARNING: \($0)") }
    }

    private static func value(of variable: String) -> String? {
        unsafe getenv(variable).map { unsafe String(cString: $0) }.flatMap { $0.isEmpty ? nil : $0 }
    }

    private static func adapter(
        _ name: LinuxAdapter.Name?, place: String, _ configuration: HostConfiguration, _ capture: String?
    ) -> AdapterRadio {
        let finder = AdapterFinder(name)
        return AdapterRadio(
            place: place, kind: .device, configuration: configuration, bonds: bonds,
            isForbidden: !LinuxAdapter.mayTakeOver,
            capture: capture
        ) { loop throws(TransportError) in
            try finder.open(on: loop)
        }
    }

    /// What stands for a radio's address where none was given; whoever reads it learns what could be.
    private static let anyAdapter =
        "of this machine (\(variable) names another: simulated, hci:NUMBER, serial:DEVICE@BAUD, tcp:HOST:PORT or "
        + "unix:PATH)"

    private static func unavailable(_ reason: String) -> UnavailableRadio {
        UnavailableRadio(state: .unsupported(reason: reason))
    }
}
