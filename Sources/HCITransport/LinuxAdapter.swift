package import BluetoothTypes
import EventLoop
import Glibc
package import HCI

/// An adapter of this machine, as the kernel sees it. Nothing here needs a privilege, but for ``features``.
package struct LinuxAdapter: Equatable, Sendable {
    /// How a person names one.
    package enum Name: Equatable, Sendable, CustomStringConvertible {
        case index(UInt16)
        case address(DeviceAddress)

        package var description: String {
            switch self {
            case .index(let index): "hci\(index)"
            case .address(let address): "the adapter \(address)"
            }
        }
    }

    /// The N of hciN.
    package var index: UInt16
    /// `nil` for a controller without a public address.
    package var address: DeviceAddress?
    /// How it is attached: USB, UART, and so on.
    package var bus: String
    /// Whether somebody uses it: the kernel's host, or a program with a host of its own.
    package var isUp: Bool
    /// By rfkill, in software or by a switch.
    package var isBlocked: Bool
    /// What the kernel's host knows; `nil` while a program has the adapter for itself.
    package var information: Information?
    /// `nil` if the kernel does not let us read them. The kernel has them in its debug files, for root.
    package var features: LEFeatures?
    package var owner: AdapterOwner?

    package struct Information: Equatable, Sendable {
        /// As in Read Local Version Information.
        package var version: UInt8
        package var manufacturer: UInt16
        package var name: String
        package var supportsLowEnergy: Bool

        package init(version: UInt8, manufacturer: UInt16, name: String, supportsLowEnergy: Bool) {
            (self.version, self.manufacturer) = (version, manufacturer)
            (self.name, self.supportsLowEnergy) = (name, supportsLowEnergy)
        }
    }

    package var name: String { "hci\(index)" }

    package init(index: UInt16, address: DeviceAddress?, bus: String, isUp: Bool = false, isBlocked: Bool = false) {
        (self.index, self.address, self.bus, self.isUp, self.isBlocked) = (index, address, bus, isUp, isBlocked)
    }
}

// MARK: - Looking

extension LinuxAdapter {
    /// Whether the kernel lets this process take over adapters.
    package static var mayTakeOver: Bool { LinuxHCI.mayTakeOver() }

    /// All adapters, by number.
    package static func all() throws(TransportError) -> [LinuxAdapter] {
        let socket = try LinuxHCI.socket()
        defer { close(socket) }
        return try indices(socket).compactMap { look(at: $0, socket) }
    }

    /// The adapter that a name means; `nil` if it is not there.
    package static func named(_ name: Name) throws(TransportError) -> LinuxAdapter? {
        try all().first { $0.has(name) }
    }

    package func has(_ name: Name) -> Bool {
        switch name {
        case .index(let index): self.index == index
        case .address(let address): self.address?.value == address.value
        }
    }

    /// `struct hci_dev_list_req`: a count in 16 bits, then, from octet 4 on, 8 octets each, the number first.
    private static func indices(_ socket: Int32) throws(TransportError) -> [UInt16] {
        var words = [UInt32](repeating: 0, count: 1 + 2 * LinuxHCI.mostAdapters)
        words[0] = UInt32(LinuxHCI.mostAdapters)
        guard unsafe ioctl(socket, LinuxHCI.getDeviceList, &words) == 0 else {
            throw .system("Listing the adapters", reason: systemError())
        }
        let count = min(Int(words[0] & 0xFFFF), LinuxHCI.mostAdapters)
        return (0..<count).map { UInt16(truncatingIfNeeded: words[1 + 2 * $0]) }.sorted()
    }

    /// `struct hci_dev_info`: the number in octets 0 and 1, the address in 10 to 15, flags in 16 to 19, the bus in 20.
    private static func look(at index: UInt16, _ socket: Int32) -> LinuxAdapter? {
        var octets = [UInt8](repeating: 0, count: 92)
        octets[0] = UInt8(truncatingIfNeeded: index)
        octets[1] = UInt8(truncatingIfNeeded: index >> 8)
        guard unsafe ioctl(socket, LinuxHCI.getDeviceInformation, &octets) == 0 else { return nil }
        let address = octets[10..<16].reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        var adapter = LinuxAdapter(
            index: index, address: address == 0 ? nil : DeviceAddress(address), bus: busName(octets[20] & 0x0F),
            isUp: octets[16] & 1 != 0, isBlocked: isBlocked(index))
        let answer = (try? ManagementSocket())?.readInformation(adapter: index)
        adapter.information = answer.map { Information($0) }
        if adapter.isUp { adapter.owner = .find(isUserChannel: answer == nil) }
        adapter.features = features(index)
        return adapter
    }

    private static func isBlocked(_ index: UInt16) -> Bool {
        let folder = "/sys/class/bluetooth/hci\(index)"
        return SystemFile.names(in: folder).filter { $0.hasPrefix("rfkill") }.contains { name in
            ["soft", "hard"].contains { SystemFile.number("\(folder)/\(name)/\($0)") == 1 }
        }
    }

    /// The line `LE: 40 39 00 f0 01 00 00 00` of the kernel's debug file.
    private static func features(_ index: UInt16) -> LEFeatures? {
        let text = SystemFile.text("/sys/kernel/debug/bluetooth/hci\(index)/features")
        guard let line = text?.split(separator: "\n").first(where: { $0.hasPrefix("LE:") }) else { return nil }
        let octets = line.dropFirst(3).split(separator: " ").compactMap { UInt8($0, radix: 16) }
        guard octets.count == 8, octets.contains(where: { $0 != 0 }) else { return nil }
        return LEFeatures(rawValue: octets.reversed().reduce(0) { $0 << 8 | UInt64($1) })
    }

    /// Linux, include/net/bluetooth/hci.h: HCI_VIRTUAL and so on.
    private static func busName(_ bus: UInt8) -> String {
        let names = ["virtual", "USB", "PC Card", "UART", "RS232", "PCI", "SDIO", "SPI", "I2C", "SMD", "VirtIO"]
        return Int(bus) < names.count ? names[Int(bus)] : "bus \(bus)"
    }
}

extension LinuxAdapter.Information {
    init(_ answer: ControllerInformation) {
        self.init(
            version: answer.version, manufacturer: answer.manufacturer,
            name: String(decoding: answer.name.prefix { $0 != 0 }, as: UTF8.self),
            supportsLowEnergy: answer.supportedSettings.contains(.lowEnergy))
    }
}

// MARK: - Taking

extension PacketTransport {
    /// Takes an adapter over from the kernel, for as long as the transport is open: its user channel.
    ///
    /// The kernel wants CAP_NET_ADMIN for it, an adapter that nobody uses, and no rfkill.
    package static func open(adapter: LinuxAdapter, on loop: RealTimeLoop) throws(TransportError) -> PacketTransport {
        let socket = try LinuxHCI.socket()
        let address = SocketAddress.hci(
            adapter: adapter.index, channel: LinuxHCI.userChannel, name: adapter.name)
        guard unsafe address.with({ unsafe Glibc.bind(socket, $0, $1) }) == 0 else {
            let code = errno
            _ = Glibc.close(socket)
            throw refusal(code, of: adapter)
        }
        return PacketTransport(socket, name: adapter.name, on: loop)
    }

    /// Source: Linux, net/bluetooth/hci_sock.c and hci_core.c: what binding and switching on can say.
    private static func refusal(_ code: Int32, of adapter: LinuxAdapter) -> TransportError {
        switch code {
        case EPERM, EACCES: .noCapability(adapter.name)
        case ENODEV: .noAdapter(adapter.name)
        // Neither ours nor anybody's: the kernel sets it up.
        case EBUSY where !adapter.isUp: .adapterSettling(adapter.name)
        case EBUSY, EUSERS: .adapterInUse(adapter.name, by: adapter.owner ?? .find(isUserChannel: code == EUSERS))
        case ERFKILL: .blocked(adapter.name)
        default: .system("Taking \(adapter.name) over", reason: systemError(code))
        }
    }
}
