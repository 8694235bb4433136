import Glibc
package import HCITransport
import Host
import HostInterface

/// Opens the radio that an address names.
package enum DefaultRadio {
    /// The variable of the environment that names a program's radio.
    package static let variable = "BLE_RADIO"

    /// The radio of `BLE_RADIO`, or, without it, the first usable adapter.
    package static func open() -> any SessionFactory {
        guard let text = unsafe getenv(variable) else { return unavailable(noRadio) }
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

    package static func open(_ address: RadioAddress) -> any SessionFactory {
        var configuration = HostConfiguration()
        configuration.fallbackAddress = .ofThisMachine
        switch address {
        case .tcp(let host, let port):
            return AdapterRadio(place: "\(address)", configuration: configuration) { loop throws(TransportError) in
                try StreamTransport.connect(host: host, port: port, on: loop)
            }
        case .unix(let path):
            return AdapterRadio(place: "\(address)", configuration: configuration) { loop throws(TransportError) in
                try StreamTransport.connect(path: path, on: loop)
            }
        case .simulated(world: nil): return SimulatedPlace.open()
        case .adapter(let name):
            return AdapterRadio(place: "\(address)", configuration: configuration) { loop throws(TransportError) in
                guard let adapter = try LinuxAdapter.named(name) else { throw .noAdapter("\(name)") }
                return try PacketTransport.open(adapter: adapter, on: loop)
            }
        case .serial(let device, let baud):
            return AdapterRadio(place: "\(address)", configuration: configuration) { loop throws(TransportError) in
                try StreamTransport.open(serial: device, baud: baud, on: loop)
            }
        case .simulated(.some):
            return unavailable(
                "The radio \(address) is of a kind that this version cannot open. Use simulated, tcp:HOST:PORT or "
                    + "unix:PATH.")
        }
    }

    private static let noRadio =
        "No radio is chosen and there is no adapter that this version can open. Set \(variable) to simulated, "
        + "tcp:HOST:PORT or unix:PATH."

    private static func unavailable(_ reason: String) -> UnavailableRadio {
        UnavailableRadio(state: .unsupported(reason: reason))
    }
}
