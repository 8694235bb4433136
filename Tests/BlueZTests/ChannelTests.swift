import CoreBluetooth
import Foundation
import Testing

/// L2CAP channels: the kernel's sockets at the other end, by Tests/BlueZ/peer_channel.py.
@Suite("Channels with the kernel", .enabled(if: Machine.isHere), .serialized, .timeLimit(.minutes(2)))
struct ChannelTests {
    private static let octets = Data((0..<20_000).map { UInt8(truncatingIfNeeded: $0 * 31 / 7) })

    @Test("Opened by our central: all that is written comes back")
    func opened() throws {
        let central = Central()
        try central.log.wait(for: "state poweredOn")
        let peripheral = try central.find("VM-Periph")
        try central.connect(peripheral)
        peripheral.openL2CAPChannel(0x0081)
        try central.log.wait(for: "channel ok")
        let channel = try #require(central.channel)
        #expect(channel.psm == 0x0081)
        #expect(try Self.exchange(Self.octets, over: channel) == Self.octets)
        central.manager.cancelPeripheralConnection(peripheral)
        try central.log.wait(for: "disconnected ok")
    }

    @Test("Published by our peripheral: the kernel opens it, and all that it writes comes back to it")
    func published() throws {
        let server = ChannelServer()
        let line = try server.log.wait(for: "published", seconds: 40)
        print("PSM \(line.split(separator: " ")[1])")
        try server.log.wait(for: "opened", seconds: 60)
        let channel = try #require(server.channel)
        try Self.echo(Self.octets.count, over: channel)
    }

    /// Writes as there is room, reads as something comes.
    private static func exchange(_ octets: Data, over channel: CBL2CAPChannel) throws -> Data {
        var received = Data()
        var rest = octets
        try move(over: channel) { input, output in
            received += Self.read(input)
            rest = rest.dropFirst(Self.write(rest, output))
            return received.count >= octets.count
        }
        return received
    }

    private static func echo(_ count: Int, over channel: CBL2CAPChannel) throws {
        var due = Data()
        var left = count
        try move(over: channel) { input, output in
            due += Self.read(input)
            let written = Self.write(due, output)
            due = due.dropFirst(written)
            left -= written
            return left <= 0
        }
        // What was written last is on its way when the other side has it.
        Thread.sleep(forTimeInterval: 2)
    }

    private static func move(
        over channel: CBL2CAPChannel, until isDone: (InputStream, OutputStream) -> Bool
    ) throws {
        let input: InputStream = try #require(channel.inputStream)
        let output: OutputStream = try #require(channel.outputStream)
        input.open()
        output.open()
        let end = Date(timeIntervalSinceNow: 60)
        while !isDone(input, output) {
            try #require(Date() < end, "Not all octets came within a minute.")
            Thread.sleep(forTimeInterval: 0.005)
        }
    }

    private static func read(_ stream: InputStream) -> Data {
        guard stream.hasBytesAvailable else { return Data() }
        var buffer = [UInt8](repeating: 0, count: 4096)
        let count = unsafe stream.read(&buffer, maxLength: buffer.count)
        return Data(buffer.prefix(max(0, count)))
    }

    private static func write(_ octets: Data, _ stream: OutputStream) -> Int {
        guard !octets.isEmpty, stream.hasSpaceAvailable else { return 0 }
        let chunk = [UInt8](octets.prefix(4096))
        return max(0, unsafe stream.write(chunk, maxLength: chunk.count))
    }
}

private final class ChannelServer: NSObject, CBPeripheralManagerDelegate, @unchecked Sendable {
    // `@unchecked`: the manager's queue alone writes, before the log says so.
    let log = Log()
    private(set) var channel: CBL2CAPChannel?
    private var manager: CBPeripheralManager!

    override init() {
        super.init()
        manager = CBPeripheralManager(delegate: self, queue: DispatchQueue(label: "channels"))
    }

    func peripheralManagerDidUpdateState(_ peripheral: CBPeripheralManager) {
        guard peripheral.state == .poweredOn else { return }
        peripheral.publishL2CAPChannel(withEncryption: false)
        peripheral.startAdvertising([CBAdvertisementDataLocalNameKey: "Channels"])
    }

    func peripheralManager(
        _ peripheral: CBPeripheralManager, didPublishL2CAPChannel PSM: CBL2CAPPSM, error: (any Error)?
    ) { log.add(error.map { "failed \($0)" } ?? "published \(PSM)") }

    func peripheralManager(_ peripheral: CBPeripheralManager, didOpen channel: CBL2CAPChannel?, error: (any Error)?) {
        self.channel = channel
        log.add("opened")
    }
}
