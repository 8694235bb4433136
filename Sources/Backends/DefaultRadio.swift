import Glibc
package import HCITransport
import Host
import HostInterface

/// Opens the radio that an address names.
package enum DefaultRadio {
    /// The variable of the environment that names a program's radio.
    package static let variable = "BLE_RADIO"

    /// The variable that names a file in which the traffic with a real controller is recorded.
    package static let captureVariable = "BLE_CAPTURE"

    /// The radio of `BLE_RADIO`, or, without it, the first usable adapter.
    package static func open() -> any SessionFactory {
        guard let text = unsafe getenv(variable) else { return open(nil) }
        return open(unsafe String(cString: text))
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

    /// - Parameter address: `nil` for the first usable adapter.
    package static func open(_ address: RadioAddress?) -> any SessionFactory {
        var configuration = HostConfiguration()
        configuration.fallbackAddress = .ofThisMachine
        guard let address else { return adapter(nil, place: anyAdapter, configuration) }
        switch address {
        case .tcp(let host, let port):
            return AdapterRadio(
                place: "\(address)", kind: .socket, configuration: configuration, capture: capture
            ) { loop throws(TransportError) in
                try StreamTransport.connect(host: host, port: port, on: loop)
            }
        case .unix(let path):
            return AdapterRadio(
                place: "\(address)", kind: .socket, configuration: configuration, capture: capture
            ) { loop throws(TransportError) in
                try StreamTransport.connect(path: path, on: loop)
            }
        case .adapter(let name): return adapter(name, place: "\(address)", configuration)
        case .serial(let device, let baud):
            return AdapterRadio(
                place: "\(address)", kind: .device, configuration: configuration, capture: capture
            ) { loop throws(TransportError) in
                try StreamTransport.open(serial: device, baud: baud, on: loop)
            }
        case .simulated(world: nil): return SimulatedPlace.open()
        case .simulated(.some):
            return unavailable(
                "The radio \(address) is of a kind that this version cannot open. Use simulated, hci:NUMBER, "
                    + "serial:DEVICE@BAUD, tcp:HOST:PORT or unix:PATH.")
        }
    }

    private static var capture: String? { unsafe getenv(captureVariable).map { unsafe String(cString: $0) } }

    private static func adapter(
        _ name: LinuxAdapter.Name?, place: String, _ configuration: HostConfiguration
    ) -> AdapterRadio {
        let finder = AdapterFinder(name)
        return AdapterRadio(
            place: place, kind: .device, configuration: configuration, isForbidden: !LinuxAdapter.mayTakeOver,
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
