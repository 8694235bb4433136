import Backends
import BenchmarkKit
import CoreBluetooth
import Dispatch
import EventLoop
import HCITransport
import Host

/// An app over Apple's API, against a controller whose peer answers at once (Benchmarks/hcipeer): what an operation
/// costs the whole process, up to the call of the app's delegate, on a queue of the app's own or on the main queue.
final class AppBenchmark: NSObject, @unchecked Sendable {
    // `@unchecked`: after `init` everything is touched on the app's queue alone, but for the semaphore.
    private let operation: HostBenchmark.Operation
    private let total: Int
    private let isOnMain: Bool
    private let done = DispatchSemaphore(value: 0)
    private let radio: AdapterRadio
    private var manager: CBCentralManager!
    private var peripheral: CBPeripheral?
    private var unexplored: [CBService] = []
    private var flood: [CBCharacteristic] = []
    private var count = 0
    private var begin = Usage.now
    private var end = Usage.now
    private var failure: String?
    private let value = Data(repeating: 0x77, count: 244)

    init(_ operation: HostBenchmark.Operation, total: Int, path: String, isOnMain: Bool) {
        self.operation = operation
        self.total = total
        self.isOnMain = isOnMain
        var configuration = HostConfiguration()
        configuration.preferredMTU = 247
        radio = AdapterRadio(
            place: path, kind: .socket, configuration: configuration, program: ProgramRun()
        ) { loop throws(TransportError) in try StreamTransport.connect(path: path, on: loop) }
        super.init()
        manager = SessionProvider.with(radio) {
            CBCentralManager(delegate: self, queue: isOnMain ? nil : DispatchQueue(label: "benchmark"))
        }
    }

    /// Runs to the end, a minute at most, and prints what it has measured.
    func run() {
        if isOnMain {
            DispatchQueue.global().asyncAfter(deadline: .now() + 60) { stop("no end within a minute") }
            dispatchMain()
        }
        if done.wait(timeout: .now() + 60) == .timedOut { failure = "no end within a minute" }
        report()
    }

    private func report() {
        if let failure { stop("app \(operation.rawValue): \(failure)") }
        let each = (end.processor - begin.processor) / Double(count) * 1_000_000
        let name = (isOnMain ? "app_on_main_" : "app_") + operation.rawValue
        BenchmarkKit.Measurement(name: name + "_count", value: Double(count), unit: "n").print()
        BenchmarkKit.Measurement(name: name + "_cpu", value: each, unit: "us").print()
        BenchmarkKit.Measurement(name: name + "_peak_memory", value: end.megabytes, unit: "MiB").print()
    }

    private func finish(_ problem: String? = nil) {
        failure = failure ?? problem
        end = Usage.now
        guard isOnMain else { return _ = done.signal() }
        report()
        exit(0)
    }

    private func step() {
        guard count < total else { return }
        count += 1
        if count == total { finish() }
    }
}

extension AppBenchmark: CBCentralManagerDelegate {
    func centralManagerDidUpdateState(_ central: CBCentralManager) {
        guard central.state == .poweredOn else { return }
        begin = Usage.now
        central.scanForPeripherals(
            withServices: nil, options: [CBCentralManagerScanOptionAllowDuplicatesKey: operation == .scan])
    }

    func centralManager(
        _ central: CBCentralManager, didDiscover found: CBPeripheral, advertisementData: [String: Any],
        rssi RSSI: NSNumber
    ) {
        if operation == .scan { return step() }
        guard peripheral == nil else { return }
        peripheral = found
        found.delegate = self
        central.stopScan()
        central.connect(found)
    }

    func centralManager(_ central: CBCentralManager, didConnect peripheral: CBPeripheral) {
        begin = Usage.now
        peripheral.discoverServices(nil)
    }

    func centralManager(
        _ central: CBCentralManager, didDisconnectPeripheral peripheral: CBPeripheral, error: (any Error)?
    ) {
        finish("the link ended: \(error.map { "\($0)" } ?? "as asked")")
    }
}

extension AppBenchmark: CBPeripheralDelegate {
    func peripheral(_ peripheral: CBPeripheral, didDiscoverServices error: (any Error)?) {
        unexplored = peripheral.services ?? []
        exploreNext(peripheral)
    }

    func peripheral(
        _ peripheral: CBPeripheral, didDiscoverCharacteristicsFor service: CBService, error: (any Error)?
    ) {
        flood += (service.characteristics ?? []).filter { $0.properties.contains(.notify) }
        exploreNext(peripheral)
    }

    /// As the other hosts are measured: services, then the characteristics of each, then the operation itself.
    private func exploreNext(_ peripheral: CBPeripheral) {
        if !unexplored.isEmpty { return peripheral.discoverCharacteristics(nil, for: unexplored.removeFirst()) }
        if operation == .discover {
            count = 1
            return finish()
        }
        begin = Usage.now
        switch operation {
        case .notify: peripheral.setNotifyValue(true, for: flood[0])
        case .read: peripheral.readValue(for: flood[0])
        case .write: writeOn(peripheral)
        case .scan, .discover: break
        }
    }

    func peripheral(
        _ peripheral: CBPeripheral, didUpdateValueFor characteristic: CBCharacteristic, error: (any Error)?
    ) {
        if let error { return finish("\(error)") }
        step()
        if operation == .read, count < total { peripheral.readValue(for: flood[0]) }
    }

    func peripheralIsReady(toSendWriteWithoutResponse peripheral: CBPeripheral) { writeOn(peripheral) }

    private func writeOn(_ peripheral: CBPeripheral) {
        while count < total, peripheral.canSendWriteWithoutResponse {
            peripheral.writeValue(value, for: flood[2], type: .withoutResponse)
            step()
        }
    }
}
