// One import, and names of Foundation, CoreFoundation and Dispatch through it.
import CoreBluetooth

final class Logbook: NSObject {
    private let queue: dispatch_queue_t = DispatchQueue(label: "logbook", qos: .utility, attributes: [])
    private let began: CFAbsoluteTime = CFAbsoluteTimeGetCurrent()
    private var lines: [(Date, String)] = []
    static let changed = Notification.Name("LogbookChanged")

    func add(_ line: String) {
        queue.sync { lines.append((Date(), line)) }
        NotificationCenter.default.post(name: Logbook.changed, object: self, userInfo: ["line": line])
    }

    var age: TimeInterval { CFAbsoluteTimeGetCurrent() - began }

    func observe(_ body: @escaping @Sendable (Notification) -> Void) -> any NSObjectProtocol {
        NotificationCenter.default.addObserver(forName: Logbook.changed, object: nil, queue: .main, using: body)
    }

    func save() throws {
        let text = queue.sync { lines.map { "\($0.0.timeIntervalSince1970) \($0.1)" }.joined(separator: "\n") }
        UserDefaults.standard.set(text.data(using: .utf8), forKey: "logbook")
        let data = try JSONEncoder().encode(["text": text])
        _ = try JSONSerialization.jsonObject(with: data) as? [String: String]
    }
}

/// Waits, as programs of the time before async did.
final class Patience {
    private let semaphore = DispatchSemaphore(value: 0)
    private var timer: Timer?
    private var source: (any DispatchSourceTimer)?

    func wait(seconds: Double) -> Bool {
        let nanoseconds = UInt64(seconds * Double(NSEC_PER_SEC))
        let end = DispatchTime(uptimeNanoseconds: DispatchTime.now().uptimeNanoseconds + nanoseconds)
        let outcome = semaphore.wait(timeout: end)
        let late = end.distance(to: DispatchTime.now())
        if case .nanoseconds(let count) = late, count > Int(50 * NSEC_PER_MSEC) { return false }
        return outcome == .success
    }

    func start(on queue: DispatchQueue) {
        timer = Timer.scheduledTimer(withTimeInterval: 0.5, repeats: true) { timer in timer.invalidate() }
        RunLoop.current.add(Timer(timeInterval: 1, repeats: false) { _ in }, forMode: .default)
        let source = DispatchSource.makeTimerSource(queue: queue)
        source.schedule(deadline: .now() + .milliseconds(100), repeating: 1.0)
        source.setEventHandler { [weak self] in self?.semaphore.signal() }
        source.resume()
        self.source = source
    }
}

func identifiers(_ text: String) -> [CBUUID] {
    let old: CFUUID = CFUUIDCreate(nil)
    let bytes: [UInt8] = [0x18, 0x0F]
    return [
        CBUUID(string: text), CBUUID(nsuuid: UUID()), CBUUID(data: Data(bytes)), CBUUID(cfuuid: old),
        CBUUID(string: CBUUIDClientCharacteristicConfigurationString),
    ]
}
