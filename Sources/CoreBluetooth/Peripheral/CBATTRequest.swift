import Backends
import HostInterface

/// A central's read, or one part of its write.
// `@unchecked`: `lock` guards the value.
open class CBATTRequest: NSObject, @unchecked Sendable {
    let exchange: RequestExchange
    private let lock = NSLock()
    private let sender: CBCentral
    private let target: CBCharacteristic
    private let position: Int
    private var content: Data?

    init(_ exchange: RequestExchange, central: CBCentral, characteristic: CBCharacteristic, offset: Int, value: Data?) {
        self.exchange = exchange
        sender = central
        target = characteristic
        position = offset
        content = value
        super.init()
    }

    /// Who asks.
    open var central: CBCentral { sender }

    /// What is read or written.
    open var characteristic: CBCharacteristic { target }

    /// From which octet of the value on.
    open var offset: Int { position }

    /// What is written; of a read, what the app answers: the value from ``offset`` on.
    open var value: Data? {
        get { lock.withLock { content } }
        set { lock.withLock { content = newValue } }
    }

    open override var description: String {
        "<CBATTRequest: \(address(of: self)) central = \(central), characteristic = \(characteristic), "
            + "offset = \(offset), value = \(value.map { "0x" + hexadecimal($0) } ?? "(null)")>"
    }
}

/// What all parts of one write share: the question behind them, answered once.
// `@unchecked`: `isAnswered` is guarded by the manager's lock.
final class RequestExchange: @unchecked Sendable {
    let id: ServerRequestID
    let isRead: Bool
    let needsResponse: Bool
    let line: HostLine
    /// The power-on in which it was asked.
    private let epoch: Int?
    private var isAnswered = false
    private var isReported = false

    init(id: ServerRequestID, isRead: Bool, needsResponse: Bool, line: HostLine) {
        self.id = id
        self.isRead = isRead
        self.needsResponse = needsResponse
        self.line = line
        epoch = line.epoch
    }

    /// True at the first call.
    func answerOnce() -> Bool {
        line.lock.withLock {
            defer { isAnswered = true }
            return !isAnswered
        }
    }

    /// Asks again in 30 s, if the app has not answered in its callback, but kept the request.
    func remindLater() {
        guard needsResponse, !line.lock.withLock({ isAnswered }) else { return }
        line.place.schedule(after: .seconds(30)) { [weak self] in self?.remind() }
    }

    private func remind() {
        let isLate = line.lock.withLock {
            defer { isReported = true }
            return !isAnswered && !isReported && isOpen
        }
        if isLate { report("has not been answered for 30 seconds; the central has given up by its ATT timeout") }
    }

    deinit {
        // The app has let go of the request: nobody can answer it any more.
        guard needsResponse && !isAnswered && !isReported && isOpen else { return }
        report("was never answered; the central waits until its ATT timeout of 30 seconds")
    }

    /// Whether the central can still be told: with the radio, or the manager, the link has gone.
    private var isOpen: Bool { epoch != nil && line.epoch == epoch }

    private func report(_ what: String) {
        line.warn(
            "A \(isRead ? "read" : "write") request \(what). Call respondToRequest:withResult: exactly once for each "
                + "request")
    }
}
