import Backends
import BluetoothTypes
import EventLoop
import Foundation
import HCITransport
import ProtocolTestKit
import Synchronization
import Testing

/// An air and bare sockets on it. Octets: Core 6.0, Vol 4, Part E.
@Suite("Serving an air", .timeLimit(.minutes(60)), .serialized)
struct AirServerTests {
    private static let reset = hex("01 03 0C 00")
    private static let readAddress = hex("01 09 10 00")

    @Test("Each connection has a controller of its own, with an address from the seed and its number")
    func controllers() throws {
        let air = try Air()
        let hosts = [AirHost(port: air.port), AirHost(port: air.port)]
        var addresses: [[UInt8]] = []
        for host in hosts {
            #expect(host.exchange(Self.reset) == hex("0E 04 01 03 0C 00"))
            let answer = host.exchange(Self.readAddress)
            #expect(answer.starts(with: hex("0E 0A 01 09 10 00")))
            addresses.append(Array(answer.dropFirst(6)))
        }
        #expect(addresses[0] != addresses[1])
        let other = try Air()
        #expect(Array(AirHost(port: other.port).exchange(Self.readAddress).dropFirst(6)) == addresses[0])
        let seeded = try Air { $0.seed = 7 }
        #expect(Array(AirHost(port: seeded.port).exchange(Self.readAddress).dropFirst(6)) != addresses[0])
    }

    @Test("Hosts hear each other, and hear nothing more of one that has gone")
    func oneAir() throws {
        let air = try Air()
        let advertiser = AirHost(port: air.port)
        // Own address, channels and types as they are by default, every 20 ms; data "02 01 06"; on.
        _ = advertiser.exchange(hex("01 06 20 0F 20 00 20 00 00 00 00 00 00 00 00 00 00 07 00"))
        _ = advertiser.exchange(hex("01 08 20 20 03 02 01 06") + [UInt8](repeating: 0, count: 28))
        #expect(advertiser.exchange(hex("01 0A 20 01 01")) == hex("0E 04 01 0A 20 00"))

        let scanner = AirHost(port: air.port)
        // All events; passive, without pause; every report.
        _ = scanner.exchange(hex("01 01 0C 08 FF FF FF FF FF FF FF 3F"))
        _ = scanner.exchange(hex("01 0B 20 07 00 10 00 10 00 00 00"))
        #expect(scanner.exchange(hex("01 0C 20 02 01 00")) == hex("0E 04 01 0C 20 00"))
        let report = scanner.event()
        #expect(report.starts(with: hex("3E 0F 02 01 00 00")))
        #expect(report.dropFirst(12).starts(with: hex("03 02 01 06")))

        advertiser.close()
        air.wait { $0 == .closed(1, reason: "The host closed the connection.") }
        // What was on its way before is read up to the answer; behind it there is nothing.
        _ = scanner.exchange(hex("01 0C 20 02 00 00"))
        scanner.write(hex("01 0C 20 02 01 01"))
        scanner.write(Self.readAddress)
        var rest: [[UInt8]] = []
        repeat { rest.append(scanner.event()) } while !rest.last!.starts(with: hex("0E 0A 01 09 10")) && rest.last != []
        let enabled = rest.lastIndex { $0.starts(with: hex("0E 04 01 0C 20 00")) }
        #expect(enabled.map { rest.count - $0 } == 2)
    }

    @Test(
        "A hostile host is sent away with the reason; the others do not notice",
        arguments: [
            (Array("GET / HTTP/1.1\r\n".utf8), "Octet 0x47 at offset 0 begins no HCI packet, so this is not H4."),
            (hex("01 03 0C 00 09"), "Octet 0x09 at offset 4 begins no HCI packet, so this is not H4."),
            (hex("04 0E 04 01 03 0C 00"), "It sent an HCI event, which only controllers send."),
            (
                hex("02 40 00 FF FF"),
                "The packet of type 2 at offset 0 announces 65535 octets, which is more than anybody sends, so this is "
                    + "not H4."
            ),
        ])
    func hostile(octets: [UInt8], reason: String) throws {
        let air = try Air()
        let good = AirHost(port: air.port)
        #expect(good.exchange(Self.reset) == hex("0E 04 01 03 0C 00"))
        let bad = AirHost(port: air.port)
        bad.write(octets)
        air.wait { $0 == .closed(2, reason: reason) }
        #expect(good.exchange(Self.reset) == hex("0E 04 01 03 0C 00"))
    }

    @Test("A host that floods its controller with commands is sent away")
    func flood() throws {
        let air = try Air()
        let bad = AirHost(port: air.port)
        bad.write([[UInt8]](repeating: Self.reset, count: 16000).flatMap { $0 })
        air.wait { $0 == .closed(1, reason: "It sent more packets than a controller's credits allow.") }
    }

    @Test("Whoever leaves in the middle of a packet is named; one too many is refused")
    func limits() throws {
        let air = try Air { $0.maximumConnections = 1 }
        let first = AirHost(port: air.port)
        #expect(first.exchange(Self.reset) == hex("0E 04 01 03 0C 00"))
        let second = AirHost(port: air.port)
        #expect(second.event() == [])
        air.wait { $0 == .refused }
        first.write(hex("01 03"))
        first.close()
        air.wait { $0 == .closed(1, reason: "The host closed the connection in the middle of a packet.") }
        let third = AirHost(port: air.port)
        #expect(third.exchange(Self.reset) == hex("0E 04 01 03 0C 00"))
    }

    @Test("The Unix socket is its owner's alone, and gone at the end")
    func unixSocket() throws {
        let folder = NSTemporaryDirectory() + "/air-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let path = folder + "/socket"
        let air = try Air {
            $0.path = path
            $0.port = nil
        }
        let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? NSNumber
        #expect(mode?.intValue == 0o600)
        #expect(AirHost(path: path).exchange(Self.reset) == hex("0E 04 01 03 0C 00"))
        air.stop()
        #expect(!FileManager.default.fileExists(atPath: path))
    }

    @Test("A place that is taken is an error that names it")
    func addressInUse() throws {
        let air = try Air()
        #expect(throws: TransportError.addressInUse("127.0.0.1:\(air.port)")) { try Air { $0.port = air.port } }
    }

    @Test("The ready devices are on the air if they are asked for")
    func devices() throws {
        let air = try Air { $0.hasDevices = true }
        let lock = DeviceAddress(0xC0DE_0000_0031)
        air.wait { $0 == .device(name: "lock", lock) }
        let scanner = AirHost(port: air.port)
        _ = scanner.exchange(hex("01 01 0C 08 FF FF FF FF FF FF FF 3F"))
        _ = scanner.exchange(hex("01 0B 20 07 00 10 00 10 00 00 00"))
        _ = scanner.exchange(hex("01 0C 20 02 01 00"))
        var found = false
        while !found {
            let report = scanner.event()
            if report.isEmpty { break }
            found = report.count > 12 && Array(report[6..<12]) == lock.octets
        }
        #expect(found)
    }
}

/// A server that ends with the test, and what it told.
private final class Air {
    private struct Log {
        var events: [AirServer.Event] = []
    }

    private final class Shared: Sendable {
        let log = Mutex(Log())
        let news = DispatchSemaphore(value: 0)
    }

    private let shared = Shared()
    private let server: AirServer
    private var isRunning = true

    init(_ change: (inout AirServer.Settings) -> Void = { _ in }) throws {
        var settings = AirServer.Settings()
        settings.port = 0
        change(&settings)
        server = AirServer(settings) { [shared] _, event in
            shared.log.withLock { $0.events.append(event) }
            shared.news.signal()
        }
        do { try server.start() } catch {
            isRunning = false
            throw error
        }
    }

    deinit { stop() }

    func stop() {
        guard isRunning else { return }
        isRunning = false
        server.stop()
    }

    var port: UInt16 {
        for case .listening(.tcp("127.0.0.1", let port)) in shared.log.withLock({ $0.events }) { return port }
        preconditionFailure("It does not listen on the loopback address.")
    }

    /// Waits until there has been such an event.
    func wait(_ isIt: (AirServer.Event) -> Bool, _ location: SourceLocation = #_sourceLocation) {
        while !shared.log.withLock({ $0.events.contains(where: isIt) }) {
            if shared.news.wait(timeout: .now() + .seconds(AirHost.limit)) == .timedOut {
                Issue.record(
                    "There is no such event in \(shared.log.withLock { $0.events }).", sourceLocation: location)
                return
            }
        }
    }
}
