import BluetoothTypes
import Glibc

/// What the kernel's Bluetooth offers by sockets and calls, in the numbers of its interface.
///
/// Source: Linux, include/net/bluetooth/{bluetooth,hci,hci_sock}.h; none of it changes, programs depend on it.
enum LinuxHCI {
    /// AF_BLUETOOTH and BTPROTO_HCI.
    static let family: Int32 = 31
    static let hciProtocol: Int32 = 1

    /// HCI_CHANNEL_RAW is 0, and is what an unbound socket is.
    static let userChannel: UInt16 = 1
    static let controlChannel: UInt16 = 3
    /// HCI_DEV_NONE.
    static let noAdapter: UInt16 = 0xFFFF
    /// HCI_MAX_DEV.
    static let mostAdapters = 16

    /// `_IOR('H', 210, int)` and `_IOR('H', 211, int)`.
    static let getDeviceList: UInt = 0x8004_48D2
    static let getDeviceInformation: UInt = 0x8004_48D3

    /// A socket that is bound to nothing yet, for questions that need no privilege.
    static func socket() throws(TransportError) -> Int32 {
        let type = Int32(SOCK_RAW.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
        let socket = Glibc.socket(family, type, hciProtocol)
        guard socket >= 0 else {
            switch errno {
            // In a network namespace, and without the module.
            case EAFNOSUPPORT, EPROTONOSUPPORT, ESOCKTNOSUPPORT: throw .noBluetooth
            case EPERM, EACCES: throw .notPermitted("The kernel's Bluetooth socket")
            default: throw .system("Opening a Bluetooth socket", reason: systemError())
            }
        }
        return socket
    }

    /// The kernel's own judgement on whether this process may take an adapter over: it looks at the capability before
    /// it looks whether the adapter is there.
    static func mayTakeOver() -> Bool {
        guard let socket = try? socket() else { return true }
        defer { close(socket) }
        let nobody = SocketAddress.hci(adapter: noAdapter - 1, channel: userChannel, name: "")
        let result = unsafe nobody.with { unsafe Glibc.bind(socket, $0, $1) }
        return result == 0 || (errno != EPERM && errno != EACCES)
    }
}
