import BluetoothCrypto
import BluetoothTypes
import EventLoop
import SMP

/// A Security Manager, the person and the controller of its device.
struct PairingPlayer {
    var machine: SecurityManager
    /// What the person reads or types.
    var passkey: UInt32?
    var comparison: UInt32?
    /// The key with which the link must be encrypted.
    var linkKey: SecretKey?
    var place = "start"

    private(set) var isEncrypted = false
    private(set) var sent: [[UInt8]] = []
    private(set) var bond: Bond?
    private(set) var finished: LinkSecurity?
    private(set) var failures: [SecurityFailure] = []
    /// With which this side wants, or lets, the link be encrypted.
    private(set) var offered: SecretKey?

    init(machine: SecurityManager, passkey: UInt32? = nil, comparison: UInt32? = nil) {
        self.machine = machine
        self.passkey = passkey
        self.comparison = comparison
    }

    mutating func handle(_ input: SecurityManager.Input) throws(Mismatch) {
        for effect in machine.handle(input, at: Instant()) {
            switch effect {
            case .send(let octets): sent.append(octets)
            case .encrypt(let key): offered = key.key
            case .answerLongTermKey(let key): offered = key
            case .needsUser(let question): try answer(question)
            case .bonded(let bond): self.bond = bond
            case .finished(let security): finished = security
            case .failed(let failure): failures.append(failure)
            }
        }
    }

    private mutating func answer(_ question: SecurityManager.UserQuestion) throws(Mismatch) {
        switch question {
        case .displayPasskey(let shown): try Mismatch.check("\(place), passkey", passkey, shown, Self.text)
        case .enterPasskey: if let passkey { try handle(.passkeyEntered(passkey)) }
        case .compare(let shown):
            try Mismatch.check("\(place), comparison", comparison, shown, Self.text)
            try handle(.confirmed(true))
        case .confirm: try handle(.confirmed(true))
        }
    }

    private static func text(_ number: UInt32?) -> String { number.map { "\($0)" } ?? "none" }

    /// The controllers encrypt the link.
    mutating func encrypt() throws(Mismatch) {
        if machine.role == .peripheral { try handle(.longTermKeyRequested(random: 0, diversifier: 0)) }
        try Mismatch.check("\(place), link key", true, offered == linkKey)
        isEncrypted = true
        try handle(.encryptionChanged(.encrypted))
    }

    mutating func take() -> [UInt8]? { sent.isEmpty ? nil : sent.removeFirst() }

    mutating func takeKey() -> SecretKey? {
        defer { offered = nil }
        return offered
    }

    mutating func expect(_ octets: [UInt8]) throws(Mismatch) {
        try Mismatch.check(place, octets, take() ?? [], \.hexadecimal)
    }

    func expectQuiet() throws(Mismatch) {
        try Mismatch.check(place, "silence", sent.isEmpty ? "silence" : sent.map(\.hexadecimal).joined(separator: ", "))
    }
}
