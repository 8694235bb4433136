import BluetoothTypes

/// Which radio: the one form of words for it, in the environment variable `BLE_RADIO` and on the command line.
///
///     simulated                    the world that comes with the library
///     simulated:world.json         a world described in a file
///     hci:0                        a Linux adapter, by its number
///     hci:00:1A:7D:DA:71:13        the same, by its address, which stays when numbers change
///     serial:/dev/ttyACM0@1000000  a controller on a serial line, H4
///     tcp:localhost:6402           a controller on a TCP port, H4
///     unix:/tmp/controller         a controller on a Unix socket, H4
package enum RadioAddress: Equatable, Sendable {
    case simulated(world: String?)
    case adapter(LinuxAdapter.Name)
    case serial(device: String, baud: Int)
    case tcp(host: String, port: UInt16)
    case unix(path: String)

    /// Why some text names no radio.
    package struct Malformed: Error, Equatable, Sendable, CustomStringConvertible {
        package let description: String
    }

    package init(_ text: String) throws(Malformed) {
        let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        let kind = parts.first ?? ""
        let rest = parts.count == 2 ? String(parts[1]) : nil
        switch (kind, rest) {
        case ("simulated", nil): self = .simulated(world: nil)
        case ("simulated", let file?) where !file.isEmpty: self = .simulated(world: file)
        case ("hci", let number?):
            if let index = UInt16(number) {
                self = .adapter(.index(index))
            } else if let address = DeviceAddress(number) {
                self = .adapter(.address(address))
            } else {
                throw Self.malformed(text, Self.adapterForm)
            }
        case ("serial", let line?): self = try Self.serial(line, in: text)
        case ("tcp", let place?): self = try Self.tcp(place, in: text)
        case ("unix", let path?) where !path.isEmpty: self = .unix(path: path)
        case ("simulated", _): throw Self.malformed(text, "simulated:FILE, or simulated alone")
        case ("unix", _): throw Self.malformed(text, "unix:PATH")
        case ("hci", nil): throw Self.malformed(text, Self.adapterForm)
        case ("serial", nil): throw Self.malformed(text, "serial:DEVICE@BAUD, such as serial:/dev/ttyACM0@1000000")
        case ("tcp", nil): throw Self.malformed(text, "tcp:HOST:PORT, such as tcp:localhost:6402")
        default:
            throw Malformed(
                description: "\"\(text)\" names no radio. The kinds are simulated, hci:NUMBER, "
                    + "serial:DEVICE@BAUD, tcp:HOST:PORT and unix:PATH.")
        }
    }

    private static let adapterForm = "hci:NUMBER or hci:ADDRESS, such as hci:0"

    private static func malformed(_ text: String, _ form: String) -> Malformed {
        Malformed(description: "\"\(text)\" names no radio. It must have the form \(form).")
    }

    private static func serial(_ line: String, in text: String) throws(Malformed) -> RadioAddress {
        guard let at = line.lastIndex(of: "@"), at != line.startIndex, let baud = Int(line[line.index(after: at)...]),
            baud > 0
        else { throw malformed(text, "serial:DEVICE@BAUD, such as serial:/dev/ttyACM0@1000000") }
        return .serial(device: String(line[..<at]), baud: baud)
    }

    /// An IPv6 address stands in brackets: `tcp:[::1]:6402`.
    private static func tcp(_ place: String, in text: String) throws(Malformed) -> RadioAddress {
        guard let colon = place.lastIndex(of: ":"), let port = UInt16(place[place.index(after: colon)...]), port > 0
        else { throw malformed(text, "tcp:HOST:PORT, such as tcp:localhost:6402") }
        var host = place[..<colon]
        if host.hasPrefix("["), host.hasSuffix("]") { host = host.dropFirst().dropLast() }
        guard !host.isEmpty else { throw malformed(text, "tcp:HOST:PORT, such as tcp:localhost:6402") }
        return .tcp(host: String(host), port: port)
    }
}

extension RadioAddress: CustomStringConvertible {
    package var description: String {
        switch self {
        case .simulated(nil): "simulated"
        case .simulated(let world?): "simulated:\(world)"
        case .adapter(.index(let index)): "hci:\(index)"
        case .adapter(.address(let address)): "hci:\(address)"
        case .serial(let device, let baud): "serial:\(device)@\(baud)"
        case .tcp(let host, let port): host.contains(":") ? "tcp:[\(host)]:\(port)" : "tcp:\(host):\(port)"
        case .unix(let path): "unix:\(path)"
        }
    }
}
