import Backends
import EventLoop
import HCITransport
import Host
import HostInterface
import ProtocolTestKit
import Testing

/// What programs are shown, by Apple's words for the states, and B-B8: `.resetting` is transient, and an update
/// follows.
@Suite("The life of an adapter")
struct AdapterLifeTests {
    private typealias Life = Scene<AdapterLife>

    private static let inUse = TransportError.adapterInUse("hci1", by: AdapterOwner(kind: .kernel))

    private static func reason(_ error: TransportError) -> String { "The radio hci:1 cannot be opened. \(error)" }
    private static func lost(_ error: TransportError) -> String { "The radio hci:1 is lost. \(error)" }
    private static func failed(_ trouble: AdapterTrouble) -> String { "The radio hci:1 failed. \(trouble)" }

    private static func play(_ kind: AdapterLife.Kind = .device, _ scene: (inout Life) -> Void) {
        Life.play(AdapterLife(place: "hci:1", kind: kind)) { life in
            life.send(.begin)
            life.expect(.open)
            scene(&life)
        }
    }

    private static func playFromOn(_ kind: AdapterLife.Kind = .device, _ scene: (inout Life) -> Void) {
        play(kind) { life in
            life.comeUp()
            scene(&life)
        }
    }

    @Test("Unplugged and plugged in again: resetting, then a new set-up")
    func replugged() {
        Self.playFromOn { life in
            life.send(.closed(.unplugged("hci1")))
            life.expect(.note(Self.lost(.unplugged("hci1"))))
            life.expect(.show(.resetting))
            for _ in 0..<5 {
                life.wait(.seconds(1))
                life.expect(.open)
                life.send(.refused(.noAdapter("hci1")))
            }
            life.wait(.seconds(1))
            life.expect(.open)
            life.send(.refused(.adapterSettling("hci1")))
            life.wait(.milliseconds(200))
            life.expect(.open)
            life.comeUp()
        }
    }

    @Test("Unplugged for good: after half a minute the state says so, and it is looked for still")
    func gone() {
        Self.playFromOn { life in
            life.send(.closed(.unplugged("hci1")))
            life.expect(.note(Self.lost(.unplugged("hci1"))))
            life.expect(.show(.resetting))
            for second in 1...40 {
                life.wait(.seconds(1))
                life.expect(.open)
                life.send(.refused(.noAdapter("hci1")))
                if second == 30 { life.expect(.show(.unsupported(reason: Self.reason(.noAdapter("hci1"))))) }
            }
            life.wait(.seconds(1))
            life.expect(.open)
            life.comeUp()
        }
    }

    @Test("Blocked by rfkill: powered off, told once, until it is not")
    func blocked() {
        Self.play { life in
            life.send(.refused(.blocked("hci1")))
            life.expect(.note(Self.reason(.blocked("hci1"))))
            life.expect(.show(.poweredOff))
            for _ in 0..<3 {
                life.wait(.seconds(1))
                life.expect(.open)
                life.send(.refused(.blocked("hci1")))
            }
            life.wait(.seconds(1))
            life.expect(.open)
            life.comeUp()
        }
    }

    @Test("In somebody else's hands: unsupported with the owner's name, until it is free")
    func owned() {
        Self.play { life in
            life.send(.refused(Self.inUse))
            life.expect(.show(.unsupported(reason: Self.reason(Self.inUse))))
            life.wait(.seconds(1))
            life.expect(.open)
            life.send(.refused(Self.inUse))
            life.wait(.seconds(1))
            life.expect(.open)
            life.comeUp()
        }
    }

    @Test("Without the capability: unauthorized, and no second attempt")
    func forbidden() {
        Self.play { life in
            life.send(.refused(.noCapability("hci1")))
            life.expect(.show(.unauthorized(reason: Self.reason(.noCapability("hci1")))))
            life.wait(.seconds(600))
        }
        Self.play { life in
            life.send(.refused(.notPermitted("/dev/ttyUSB0")))
            life.expect(.show(.unauthorized(reason: Self.reason(.notPermitted("/dev/ttyUSB0")))))
            life.wait(.seconds(600))
        }
    }

    @Test("A controller that hangs is opened anew after pauses that double up to a minute")
    func hangs() {
        let trouble = AdapterTrouble.hangs(command: "LE Set Scan Enable")
        Self.playFromOn { life in
            life.send(.trouble(trouble))
            life.expect(.close)
            life.expect(.note(Self.failed(trouble)))
            life.expect(.show(.resetting))
            for (attempt, pause) in [1, 2, 4, 8, 16, 32, 60, 60].enumerated() {
                life.wait(.seconds(pause) - .milliseconds(1))
                life.wait(.milliseconds(1))
                life.expect(.open)
                life.send(.opened)
                life.expect(.powerOn)
                life.send(.trouble(.hangs(command: "Reset")))
                life.expect(.close)
                let reason = Self.failed(.hangs(command: "Reset"))
                if attempt == 0 { life.expect(.show(.unsupported(reason: reason))) }
            }
        }
    }

    @Test("A controller that has worked for a minute is met with patience again")
    func patience() {
        let trouble = AdapterTrouble.hangs(command: "Reset")
        Self.playFromOn { life in
            for _ in 0..<3 {
                life.wait(.seconds(60))
                life.send(.trouble(trouble))
                life.expect(.close)
                life.expect(.note(Self.failed(trouble)))
                life.expect(.show(.resetting))
                life.wait(.seconds(1))
                life.expect(.open)
                life.comeUp()
            }
        }
    }

    @Test("A hardware error is cured by a reset, the fourth in a minute by opening it anew — Vol 4, Part E, 7.7.16")
    func hardwareErrors() {
        let trouble = AdapterTrouble.hardwareError(code: 0x42)
        Self.playFromOn { life in
            for _ in 0..<3 {
                life.send(.trouble(trouble))
                life.expect(.note(Self.failed(trouble)))
                life.expect(.show(.resetting))
                life.expect(.powerOn)
                life.send(.ready)
            }
            life.send(.trouble(trouble))
            life.expect(.close)
            life.expect(.note(Self.failed(trouble)))
            life.expect(.show(.resetting))
            life.wait(.seconds(1))
            life.expect(.open)
            life.comeUp()
            life.wait(.seconds(60))
            life.send(.trouble(trouble))
            life.expect(.note(Self.failed(trouble)))
            life.expect(.show(.resetting))
            life.expect(.powerOn)
        }
    }

    @Test("A controller that never worked has a reason to show")
    func unusable() {
        let trouble = AdapterTrouble.unusable(reason: "The controller does not support Bluetooth Low Energy.")
        Self.play { life in
            life.send(.opened)
            life.expect(.powerOn)
            life.send(.trouble(trouble))
            life.expect(.close)
            life.expect(.show(.unsupported(reason: Self.failed(trouble))))
            life.wait(.seconds(1))
            life.expect(.open)
            life.comeUp()
        }
    }

    @Test("The far end of a socket is another program's affair: once lost, it stays lost")
    func sockets() {
        Self.playFromOn(.socket) { life in
            life.send(.closed(.ended))
            life.expect(.show(.resetting))
            life.expect(.show(.unsupported(reason: Self.lost(.ended))))
            life.wait(.seconds(600))
        }
        Self.play(.socket) { life in
            life.send(.refused(.nobodyListens(at: "there")))
            life.expect(.show(.unsupported(reason: Self.reason(.nobodyListens(at: "there")))))
            life.wait(.seconds(600))
        }
    }

    @Test("Noise on a serial line: opened anew")
    func noise() {
        let error = TransportError.framing(.notH4(octet: 0, offset: 3))
        Self.playFromOn { life in
            life.send(.closed(error))
            life.expect(.note(Self.lost(error)))
            life.expect(.show(.resetting))
            life.wait(.seconds(1))
            life.expect(.open)
            life.comeUp()
        }
    }
}

extension Scene where Machine == AdapterLife {
    fileprivate mutating func send(
        _ input: AdapterLife.Input, sourceLocation: SourceLocation = #_sourceLocation
    ) { self.input(input, sourceLocation) }

    fileprivate mutating func comeUp(sourceLocation: SourceLocation = #_sourceLocation) {
        send(.opened, sourceLocation: sourceLocation)
        expect(.powerOn, sourceLocation: sourceLocation)
        send(.ready, sourceLocation: sourceLocation)
    }
}
