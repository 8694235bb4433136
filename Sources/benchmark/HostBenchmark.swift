import BenchmarkKit
import BluetoothTypes
import EventLoop
import Dispatch
import Glibc
import HCITransport
import Host
import HostInterface

/// One host alone, against a controller whose peer answers at once (Benchmarks/hcipeer): what an operation costs.
///
/// The client lives on the host's own loop, so that nothing but the host and its transport is measured.
final class HostBenchmark: LoopParticipant, @unchecked Sendable {
    // `@unchecked`: after `init` everything is touched on the loop's thread alone, but for the semaphore.
    enum Operation: String, CaseIterable {
        case notify
        case write
        case read
        case scan
        case discover
    }

    private let operation: Operation
    private let total: Int
    private let loop = RealTimeLoop()
    private let done = DispatchSemaphore(value: 0)
    private var transport: (any Transport)?
    private var host: Host!
    private var client: ClientID!
    private var number: UInt64 = 0
    private var peer: PeerID?
    private var characteristics: [RemoteCharacteristic] = []
    private var services: [RemoteService] = []
    private var count = 0
    private var begin = Usage.now
    private var end = Usage.now
    private var failure: String?

    init(_ operation: Operation, total: Int, path: String) {
        self.operation = operation
        self.total = total
        var configuration = HostConfiguration()
        configuration.preferredMTU = 247
        host = Host(configuration: configuration) { [unowned self] in transport?.send($0) }
        loop.add(self)
        loop.enqueue { [self] _ in open(path) }
        loop.start()
    }

    /// Runs to the end, a minute at most.
    func run() -> [Measurement] {
        if done.wait(timeout: .now() + 60) == .timedOut { failure = "no end within a minute" }
        loop.stop()
        if let failure { stop("host \(operation.rawValue): \(failure)") }
        let each = (end.processor - begin.processor) / Double(count) * 1_000_000
        return [
            Measurement(name: "host_\(operation.rawValue)_count", value: Double(count), unit: "n"),
            Measurement(name: "host_\(operation.rawValue)_cpu", value: each, unit: "us"),
            Measurement(name: "host_\(operation.rawValue)_peak_memory", value: end.megabytes, unit: "MiB"),
        ]
    }

    private func open(_ path: String) {
        do throws(TransportError) {
            let transport = try StreamTransport.connect(path: path, on: loop)
            self.transport = transport
            transport.open { [unowned self] in receive($0) }
        } catch {
            return end(because: "\(error)")
        }
        client = host.attach({ [unowned self] in hear($0) }, at: loop.now)
        host.powerOn(at: loop.now)
    }

    private func receive(_ event: TransportEvent) {
        switch event {
        case .packets(let packets):
            let now = loop.now
            for packet in packets { host.receive(packet, at: now) }
        case .closed(let error): end(because: "\(error)")
        }
    }

    var deadline: Instant? { host.deadline }
    func wake(at now: Instant) { host.wake(at: now) }
    func endTurn() {}

    private func end(because problem: String?) {
        failure = failure ?? problem
        end = Usage.now
        done.signal()
    }
}

// MARK: - The operations

extension HostBenchmark {
    private func submit(_ request: HostRequest) {
        loop.enqueue { [self] now in
            number += 1
            host.submit(request, number: RequestNumber(number), client: client, at: now)
        }
    }

    private func hear(_ event: HostEvent) {
        switch event {
        case .state(.poweredOn):
            begin = Usage.now
            submit(.startScan(ScanFilter(allowDuplicates: operation == .scan)))
        case .discovered(let discovery):
            if operation == .scan { return step() }
            guard peer == nil else { return }
            peer = discovery.peer
            submit(.stopScan)
            submit(.connect(discovery.peer))
        case .notified:
            if operation == .notify { step() }
        case .answer(_, let result): answered(result)
        default: break
        }
    }

    private func answered(_ result: Result<HostAnswer, HostFailure>) {
        guard let peer else { return }
        switch result {
        case .failure(let failure): end(because: "\(failure)")
        case .success(.connected):
            begin = Usage.now
            submit(.discoverServices(peer, only: nil))
        case .success(.services(let found)):
            services = found
            discoverNext()
        case .success(.characteristics(let found)):
            characteristics += found
            discoverNext()
        case .success(.value): step()
        case .success(.done):
            if operation == .write, count > 0 || !characteristics.isEmpty { step() }
        default: break
        }
    }

    /// As the peers are measured: services, then the characteristics of each, then the operation itself.
    private func discoverNext() {
        guard let peer else { return }
        if !services.isEmpty { return submit(.discoverCharacteristics(peer, of: services.removeFirst())) }
        if operation == .discover {
            count = 1
            return end(because: nil)
        }
        let flood = characteristics.filter { $0.properties & 0x10 != 0 }
        begin = Usage.now
        switch operation {
        case .notify: submit(.subscribe(peer, flood[0], .notifications))
        case .read: submit(.read(peer, flood[0].value))
        case .write: for _ in 0..<Self.depth { writeOnce() }
        case .scan, .discover: break
        }
    }

    /// Writes without response that wait for room.
    private static let depth = 32

    private func writeOnce() {
        guard let peer else { return }
        let target = characteristics.filter { $0.properties & 0x10 != 0 }[2].value
        submit(.write(peer, target, value: [UInt8](repeating: 0x77, count: 244), withResponse: false))
    }

    private func step() {
        guard count < total else { return }
        count += 1
        if count == total { return end(because: nil) }
        switch operation {
        case .read:
            if let peer { submit(.read(peer, characteristics.first { $0.properties & 0x10 != 0 }!.value)) }
        case .write: if count + Self.depth <= total { writeOnce() }
        case .notify, .scan, .discover: break
        }
    }
}

/// What the process has used so far.
struct Usage {
    /// Seconds of processor time, in user and kernel mode.
    var processor: Double
    /// The most that it ever held, in MiB.
    var megabytes: Double

    static var now: Usage {
        var usage = rusage()
        _ = unsafe getrusage(Int32(RUSAGE_SELF.rawValue), &usage)
        func seconds(_ time: timeval) -> Double { Double(time.tv_sec) + Double(time.tv_usec) / 1_000_000 }
        return Usage(
            processor: seconds(usage.ru_utime) + seconds(usage.ru_stime), megabytes: Double(usage.ru_maxrss) / 1024)
    }
}
