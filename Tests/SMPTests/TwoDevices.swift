import BluetoothCrypto
import BluetoothTypes
import EventLoop
import SMP

/// Two Security Managers, the link between them, and the persons who hold the devices.
struct TwoDevices {
    typealias Role = SecurityManager.Role

    /// One side: its machine, and what it told its owner.
    struct Device {
        var machine: SecurityManager
        var bond: Bond?
        var finished: [LinkSecurity] = []
        var failures: [SecurityFailure] = []
        var questions: [SecurityManager.UserQuestion] = []
        /// What it sent, by code.
        var sent: [[UInt8]] = []
    }

    var central: Device
    var peripheral: Device
    var now = Instant()
    /// What the persons type where both type.
    var agreedPasskey: UInt32 = 123_456
    /// How far off a person types the passkey that the other device shows.
    var typingError: UInt32 = 0
    var confirms = true
    /// What becomes of a PDU on its way; `nil` if it is lost.
    var tamper: (Role, [UInt8]) -> [UInt8]? = { _, octets in octets }
    private var queue: [(to: Role, input: SecurityManager.Input)] = []
    private var shownPasskey: UInt32?
    private var linkKey: LongTermKey?

    static let centralAddress = DeviceAddress(0x4011_2233_4455, kind: .random)
    static let peripheralAddress = DeviceAddress(0x00A7_1370_2DCF)

    init(
        central: (inout SecurityConfiguration) -> Void = { _ in },
        peripheral: (inout SecurityConfiguration) -> Void = { _ in }, bonds: (Bond?, Bond?) = (nil, nil),
        seed: UInt64 = 1
    ) {
        var generator = SeededGenerator(seed: seed)
        var ours = Self.configuration(identity: 0x0000_5612_3737, key: 0xAAAA)
        var theirs = Self.configuration(identity: 0x0000_0000_0B0B, key: 0xBBBB)
        central(&ours)
        peripheral(&theirs)
        self.central = Device(
            machine: SecurityManager(
                role: .central, local: Self.centralAddress, remote: Self.peripheralAddress, configuration: ours,
                bond: bonds.0, random: generator.split()))
        self.peripheral = Device(
            machine: SecurityManager(
                role: .peripheral, local: Self.peripheralAddress, remote: Self.centralAddress, configuration: theirs,
                bond: bonds.1, random: generator.split()))
    }

    private static func configuration(identity: UInt64, key: UInt128) -> SecurityConfiguration {
        SecurityConfiguration(identity: Identity(address: DeviceAddress(identity), resolvingKey: SecretKey(key)))
    }

    subscript(role: Role) -> Device {
        get { role == .central ? central : peripheral }
        set { if role == .central { central = newValue } else { peripheral = newValue } }
    }

    /// Lets one side do something, then both sides and the link until nothing moves.
    mutating func input(_ input: SecurityManager.Input, to role: Role) {
        queue.append((role, input))
        var steps = 0
        while !queue.isEmpty {
            steps += 1
            precondition(steps < 1000, "They talk for ever.")
            let next = queue.removeFirst()
            let effects = self[next.to].machine.handle(next.input, at: now)
            for effect in effects { carryOut(effect, of: next.to) }
        }
    }

    mutating func secure(_ role: Role = .central, authenticated: Bool = false) {
        input(.secure(authenticated: authenticated), to: role)
    }

    mutating func wait(_ duration: Duration) {
        now = now.advanced(by: duration)
        for role in [Role.central, .peripheral] {
            let effects = self[role].machine.wake(at: now)
            for effect in effects { carryOut(effect, of: role) }
        }
    }

    private mutating func carryOut(_ effect: SecurityManager.Effect, of role: Role) {
        let other = role == .central ? Role.peripheral : .central
        switch effect {
        case .send(let octets):
            self[role].sent.append(octets)
            if let octets = tamper(role, octets) { queue.append((other, .receive(octets[...]))) }
        case .encrypt(let key):
            linkKey = key
            queue.append((other, .longTermKeyRequested(random: key.random, diversifier: key.diversifier)))
        case .answerLongTermKey(let key):
            let status: SecurityManager.EncryptionStatus =
                key == nil ? .keyMissing : key == linkKey?.key ? .encrypted : .failed
            queue.append((.peripheral, .encryptionChanged(status)))
            queue.append((.central, .encryptionChanged(status)))
        case .needsUser(let question):
            self[role].questions.append(question)
            ask(question, of: role)
        case .bonded(let bond): self[role].bond = bond
        case .finished(let security): self[role].finished.append(security)
        case .failed(let failure): self[role].failures.append(failure)
        }
    }

    private mutating func ask(_ question: SecurityManager.UserQuestion, of role: Role) {
        let other = role == .central ? Role.peripheral : .central
        switch question {
        case .displayPasskey(let passkey):
            shownPasskey = passkey
            if self[other].questions.contains(.enterPasskey) { type(passkey, on: other) }
        case .enterPasskey:
            let otherTypes = self[other].machine.configuration.ioCapability == .keyboardOnly
            if let shownPasskey {
                type(shownPasskey, on: role)
            } else if otherTypes, self[role].machine.configuration.ioCapability == .keyboardOnly {
                type(agreedPasskey, on: role)
            }
        case .compare, .confirm:
            queue.append((role, .confirmed(confirms)))
        }
    }

    private mutating func type(_ passkey: UInt32, on role: Role) {
        queue.append((role, .passkeyEntered((passkey + typingError) % 1_000_000)))
    }
}

extension SecurityConfiguration {
    mutating func use(
        _ capability: IOCapability, mitm: Bool = true, secure: Bool = true
    ) {
        ioCapability = capability
        authentication = [.bonding]
        if mitm { authentication.insert(.mitm) }
        if secure { authentication.insert(.secureConnections) }
    }
}
