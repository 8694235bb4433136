import BluetoothTypes
import ByteCodec
import Glibc

/// Questions to the kernel's own Bluetooth host, over its management socket. Those here need no privilege.
///
/// Source: BlueZ, doc/mgmt.rst: the packet's structure, and command 0x0004.
struct ManagementSocket: ~Copyable {
    private let socket: Int32

    init() throws(TransportError) { socket = try Self.open() }

    private static func open() throws(TransportError) -> Int32 {
        let socket = try LinuxHCI.socket()
        let address = SocketAddress.hci(adapter: LinuxHCI.noAdapter, channel: LinuxHCI.controlChannel, name: "")
        guard unsafe address.with({ unsafe Glibc.bind(socket, $0, $1) }) == 0 else {
            let reason = systemError()
            close(socket)
            throw .system("Opening the management socket", reason: reason)
        }
        return socket
    }

    deinit { close(socket) }

    /// What the kernel's host knows of an adapter; `nil` if it does not have it, because a program's own host does.
    func readInformation(adapter: UInt16) -> ControllerInformation? {
        var request = ManagementHeader(code: ManagementHeader.readInformation, adapter: adapter).octets
        let sent = unsafe request.withUnsafeMutableBytes { unsafe send(socket, $0.baseAddress, $0.count, 0) }
        guard sent == request.count else { return nil }
        while let (header, parameters) = next() {
            guard header.adapter == adapter, let answer = try? ManagementAnswer(octets: parameters),
                answer.command == ManagementHeader.readInformation
            else { continue }
            switch header.code {
            case ManagementHeader.commandComplete where answer.status == 0:
                return try? ControllerInformation(octets: answer.rest)
            case ManagementHeader.commandComplete, ManagementHeader.commandStatus: return nil
            default: continue
            }
        }
        return nil
    }

    /// The next event; `nil` if none comes within a second.
    private func next() -> (ManagementHeader, ArraySlice<UInt8>)? {
        var entries = [pollfd(fd: socket, events: Int16(POLLIN), revents: 0)]
        guard unsafe poll(&entries, 1, 1000) == 1 else { return nil }
        var buffer = [UInt8](repeating: 0, count: 2048)
        let count = unsafe buffer.withUnsafeMutableBytes { unsafe recv(socket, $0.baseAddress, $0.count, 0) }
        guard count >= ManagementHeader.length,
            let header = try? ManagementHeader(octets: buffer[..<ManagementHeader.length])
        else { return nil }
        return (header, buffer[ManagementHeader.length..<count])
    }
}

private struct ManagementHeader: Packet {
    static let length = 6
    static let readInformation: UInt16 = 0x0004
    static let commandComplete: UInt16 = 0x0001
    static let commandStatus: UInt16 = 0x0002

    var code: UInt16 = 0
    var adapter: UInt16 = 0
    var parameterLength: UInt16 = 0

    init() {}

    init(code: UInt16, adapter: UInt16) {
        self.code = code
        self.adapter = adapter
    }

    mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {
        try coder.integer("Code", &code)
        try coder.integer("Controller_Index", &adapter)
        try coder.integer("Parameter_Length", &parameterLength)
    }
}

private struct ManagementAnswer: Packet {
    var command: UInt16 = 0
    var status: UInt8 = 0
    var rest: ArraySlice<UInt8> = []

    mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {
        try coder.integer("Command_Opcode", &command)
        try coder.integer("Status", &status)
        try coder.remainder("Return_Parameters", &rest)
    }
}

/// The return parameters of Read Controller Information.
struct ControllerInformation: Packet {
    struct Settings: OptionSet {
        let rawValue: UInt32
        static let powered = Settings(rawValue: 1 << 0)
        static let lowEnergy = Settings(rawValue: 1 << 9)
    }

    var address = DeviceAddress(0)
    /// As in Read Local Version Information.
    var version: UInt8 = 0
    var manufacturer: UInt16 = 0
    var supported: UInt32 = 0
    var current: UInt32 = 0
    var classOfDevice: [UInt8] = [0, 0, 0]
    /// Ended by a zero.
    var name: [UInt8] = []
    var shortName: [UInt8] = []

    var supportedSettings: Settings { Settings(rawValue: supported) }
    var currentSettings: Settings { Settings(rawValue: current) }

    mutating func fields(_ coder: inout some FieldCoder) throws(PacketError) {
        try coder.address("Address", &address)
        try coder.integer("Bluetooth_Version", &version)
        try coder.integer("Manufacturer", &manufacturer)
        try coder.integer("Supported_Settings", &supported)
        try coder.integer("Current_Settings", &current)
        try coder.octets("Class_Of_Device", &classOfDevice, count: 3)
        try coder.octets("Name", &name, count: 249)
        try coder.octets("Short_Name", &shortName, count: 11)
    }
}
