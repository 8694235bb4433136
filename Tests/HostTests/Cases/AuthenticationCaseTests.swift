import BluetoothCrypto
import BluetoothTypes
import EventLoop
import Host
import HostInterface
import Simulation
import Testing

/// Source: Core 6.0, Vol 3, Part C, 9.4 and 10.3.
@Suite("GAP: bonding, and access that needs it, in both roles")
struct AuthenticationCaseTests {
    @Test(
        "Access is refused while there is no bond and none can be made",
        arguments: [("GAP/SEC/AUT/BV-11-C", true), ("GAP/SEC/AUT/BV-12-C", false)])
    func refused(id: String, clientIsCentral: Bool) {
        let scene = RoleScene(clientIsCentral: clientIsCentral, .with(.noInputNoOutput) { $0.acceptsPairing = false })
        scene.connect()
        // 0x05 is Insufficient Authentication.
        #expect(scene.read() == .failure(.attribute(errorCode: 0x05)))
        #expect(scene.security == nil)
        #expect(!scene.server.events.contains { if case .readRequested = $0.event { true } else { false } })
    }

    @Test(
        "Pairs after Insufficient Authentication, and repeats the request",
        arguments: [("GAP/SEC/AUT/BV-17-C", true), ("GAP/SEC/AUT/BV-18-C", false)])
    func pairs(id: String, clientIsCentral: Bool) {
        let scene = RoleScene(clientIsCentral: clientIsCentral)
        scene.connect()
        #expect(scene.security == nil)
        #expect(scene.read() == .success(.value(RoleScene.value)))
        #expect(scene.security?.level == 2)
        scene.world.run(.milliseconds(500))
        #expect(scene.bonds(of: scene.server).count == 1 && scene.bonds(of: scene.client).count == 1)
    }

    @Test(
        "Bonded, and the link in the clear: the stored key encrypts after the error, and the request is repeated",
        arguments: [("GAP/SEC/AUT/BV-19-C", true), ("GAP/SEC/AUT/BV-20-C", false)])
    func encrypts(id: String, clientIsCentral: Bool) {
        let scene = RoleScene(clientIsCentral: clientIsCentral, .lazy, .lazy)
        scene.bondAndComeBack()
        #expect(scene.read() == .success(.value(RoleScene.value)))
        #expect(scene.security?.level == 2)
        for side in scene.sides {
            #expect(scene.events(of: side).filter { $0 == .bonded(scene.other(than: side).peer) }.count == 1)
        }
    }

    @Test("GAP/SEC/AUT/BV-21-C, GAP/SEC/SEM/BV-45-C: the peer has lost a bond of level 4: it is told, and that is all")
    func lostBond() {
        let policy = PairingPolicy.with(.displayYesNo)
        let scene = RoleScene(clientIsCentral: true, policy, policy)
        scene.connect()
        #expect(scene.client.answer(.security(.secure(scene.server.peer, authenticated: true))) != nil)
        #expect(scene.security?.level == 4)
        scene.world.run(.milliseconds(500))
        scene.disconnect()
        #expect(scene.server.answer(.security(.removeBond(scene.client.peer))) == .success(.done))
        #expect(scene.connect() == .failure(.security(.peerLostBond)))
        #expect(scene.events(of: scene.client).contains(.failed(scene.server.peer, .peerLostBond)))
    }

    @Test(
        "Whoever is not bondable keeps no keys, whoever begins",
        arguments: [
            ("GAP/BOND/NBON/BV-01-C", false, true), ("GAP/BOND/NBON/BV-02-C", true, false),
            ("GAP/BOND/NBON/BV-03-C", false, false),
        ])
    func notBondable(id: String, centralBonds: Bool, peripheralBonds: Bool) {
        let scene = RoleScene(
            clientIsCentral: true, .with(.noInputNoOutput) { $0.bonds = peripheralBonds },
            .with(.noInputNoOutput) { $0.bonds = centralBonds })
        scene.connect()
        #expect(scene.read() == .success(.value(RoleScene.value)))
        #expect(scene.security?.level == 2)
        scene.world.run(.milliseconds(500))
        for side in scene.sides { #expect(scene.bonds(of: side).isEmpty) }
        scene.disconnect()
        scene.connect()
        #expect(scene.security == nil)
    }

    @Test(
        "Bonds, begun by the central, or asked for by the peripheral",
        arguments: [
            ("GAP/BOND/BON/BV-01-C, GAP/BOND/BON/BV-04-C", true), ("GAP/BOND/BON/BV-02-C, GAP/BOND/BON/BV-03-C", false),
        ])
    func bonds(id: String, centralBegins: Bool) {
        let scene = RoleScene(clientIsCentral: true)
        scene.connect()
        let side = centralBegins ? scene.central : scene.peripheral
        let answer = side.answer(.security(.secure(scene.other(than: side).peer, authenticated: false)))
        guard case .success(.link(let status)) = answer else {
            Issue.record("\(String(describing: answer))")
            return
        }
        #expect(status.security?.level == 2)
        scene.world.run(.milliseconds(500))
        for side in scene.sides {
            #expect(scene.bonds(of: side).map(\.identity) == [scene.other(than: side).peer.address])
        }
        scene.disconnect()
        scene.connect()
        #expect(scene.security?.level == 2)
    }
}

/// Source: Core 6.0, Vol 3, Part C, 10.2 and 10.3.2.
@Suite("GAP: security modes, in both roles")
struct SecurityModeCaseTests {
    @Test(
        "Secure Connections only: access at level 4",
        arguments: [
            ("GAP/SEC/SEM/BV-21-C, GAP/SEC/SEM/BV-22-C", true), ("GAP/SEC/SEM/BV-26-C, GAP/SEC/SEM/BV-27-C", false),
        ])
    func levelFour(id: String, clientIsCentral: Bool) {
        let scene = RoleScene(clientIsCentral: clientIsCentral, .secureConnectionsOnly, .secureConnectionsOnly)
        scene.connect()
        #expect(scene.read() == .success(.value(RoleScene.value)))
        #expect(scene.security?.level == 4 && scene.security?.keySize == 16)
    }

    @Test(
        "Secure Connections only, and a peer that offers less: the access fails",
        arguments: [
            ("GAP/SEC/SEM/BV-23-C", true, true), ("GAP/SEC/SEM/BV-24-C", false, false),
            ("GAP/SEC/SEM/BV-28-C", true, false), ("GAP/SEC/SEM/BV-29-C", false, true),
        ])
    func belowLevelFour(id: String, clientIsStrict: Bool, clientIsCentral: Bool) {
        let weak: [PairingPolicy] = [
            .with(.displayYesNo) { $0.usesSecureConnections = false }, .with(.noInputNoOutput),
            .with(.displayYesNo) { $0.maximumKeySize = 15 },
        ]
        for policy in weak {
            let scene = RoleScene(
                clientIsCentral: clientIsCentral, clientIsStrict ? policy : .secureConnectionsOnly,
                clientIsStrict ? .secureConnectionsOnly : policy)
            scene.connect()
            #expect(scene.read() == .failure(.attribute(errorCode: 0x05)))
            #expect(scene.security == nil)
            for side in scene.sides { #expect(scene.bonds(of: side).isEmpty) }
        }
    }

    struct Level: Sendable, CustomTestStringConvertible {
        var id: String
        var level: Int
        var clientIsCentral: Bool
        var testDescription: String { id }

        var server: PairingPolicy {
            switch level {
            case 2: PairingPolicy()
            case 3:
                .with(.displayOnly) {
                    $0.requiresAuthentication = true
                    $0.usesSecureConnections = false
                }
            default: .secureConnectionsOnly
            }
        }
    }

    static let levels = [
        Level(id: "GAP/SEC/SEM/BV-59-C", level: 2, clientIsCentral: true),
        Level(id: "GAP/SEC/SEM/BV-60-C", level: 3, clientIsCentral: true),
        Level(id: "GAP/SEC/SEM/BV-61-C", level: 4, clientIsCentral: true),
        Level(id: "GAP/SEC/SEM/BV-65-C", level: 2, clientIsCentral: false),
        Level(id: "GAP/SEC/SEM/BV-66-C", level: 3, clientIsCentral: false),
        Level(id: "GAP/SEC/SEM/BV-67-C", level: 4, clientIsCentral: false),
    ]

    @Test("Notifications that need a level: nobody gets them below it, and whoever reaches it does", arguments: levels)
    func notifications(_ level: Level) {
        let scene = RoleScene(
            clientIsCentral: level.clientIsCentral, level.server,
            level.level == 2 ? .with(.noInputNoOutput) { $0.acceptsPairing = false } : .with(.noInputNoOutput))
        if level.level == 2 { scene.setPolicy(of: scene.server, .with(.noInputNoOutput) { $0.acceptsPairing = false }) }
        scene.connect()
        let subscribe = HostRequest.subscribe(scene.server.peer, scene.remote, .notifications)
        #expect(scene.client.answer(subscribe) == .failure(.attribute(errorCode: 0x05)))
        #expect(scene.server.answer(.notify(scene.protected, value: [1], to: nil)) == .success(.done))
        // Whoever guesses must wait (Part H, 2.3.6).
        scene.world.run(.seconds(5))
        scene.setPolicy(of: scene.server, level.server)
        scene.setPolicy(of: scene.client, .with(level.level == 2 ? .noInputNoOutput : .keyboardDisplay))
        #expect(scene.client.answer(subscribe) == .success(.done))
        #expect(scene.security?.level == level.level)
        #expect(scene.server.answer(.notify(scene.protected, value: [2], to: nil)) == .success(.done))
        scene.world.run(.milliseconds(200))
        let heard = scene.client.events.compactMap { event -> [UInt8]? in
            if case .notified(scene.server.peer, scene.protected, let value) = event.event { value } else { nil }
        }
        #expect(heard == [[2]])
    }
}

/// Source: Core 6.0, Vol 3, Part C, 10.4, and Part H, 2.4.5.
@Suite("GAP: data signing, in both roles")
struct SigningCaseTests {
    private func write(_ value: [UInt8], _ scene: RoleScene) -> Result<HostAnswer, HostFailure>? {
        defer { scene.world.run(.milliseconds(200)) }
        return scene.client.answer(.security(.writeSigned(scene.server.peer, scene.signed, value: value)))
    }

    @Test(
        "Signed data is sent and taken, and on an encrypted link it goes unsigned",
        arguments: [
            ("GAP/SEC/CSIGN/BV-01-C, SM/CEN/SIGN/BV-01-C, GATT/CL/GAW/BV-02-C", true),
            ("GAP/SEC/CSIGN/BV-02-C, SM/CEN/SIGN/BV-03-C, GATT/SR/GAW/BV-02-C", false),
        ])
    func signed(id: String, clientIsCentral: Bool) {
        let scene = RoleScene(clientIsCentral: clientIsCentral, .lazy, .lazy)
        scene.bondAndComeBack()
        #expect(write([1], scene) == .success(.done))
        #expect(write([2], scene) == .success(.done))
        #expect(scene.written == [[1], [2]])
        #expect(scene.security == nil)
        #expect(scene.bonds(of: scene.server)[0].peerSignCounter == 2)
    }

    @Test(
        "A wrong signature, a counter that was seen before, and a signature without a bond are dropped",
        arguments: [
            (
                """
                GAP/SEC/CSIGN/BI-01-C, GAP/SEC/CSIGN/BI-02-C, GAP/SEC/CSIGN/BI-03-C, GATT/SR/GAW/BI-01-C, \
                SM/SIGN/BI-02-C
                """,
                true
            ), ("SM/CEN/SIGN/BI-01-C", false),
        ])
    func dropped(id: String, clientIsCentral: Bool) {
        let scene = RoleScene(clientIsCentral: clientIsCentral, .lazy, .lazy)
        scene.bondAndComeBack()
        #expect(write([1], scene) == .success(.done))
        let record = scene.bonds(of: scene.client)[0]
        var old = record
        old.localSignCounter = 0
        _ = scene.client.answer(.security(.importBonds([old])))
        #expect(write([2], scene) == .success(.done))
        var forged = record
        forged.localSignCounter = 50
        forged.bond.localSigningKey = SecretKey(1)
        _ = scene.client.answer(.security(.importBonds([forged])))
        #expect(write([3], scene) == .success(.done))
        #expect(scene.written == [[1]])
        var good = record
        good.localSignCounter = 60
        _ = scene.client.answer(.security(.importBonds([good])))
        #expect(write([4], scene) == .success(.done))
        #expect(scene.written == [[1], [4]])
        #expect(scene.server.answer(.security(.removeBond(scene.client.peer))) == .success(.done))
        #expect(write([5], scene) == .success(.done))
        #expect(scene.written == [[1], [4]])
    }

    @Test("GAP/SEC/CSIGN/BI-04-C: a signature is no encryption: what needs that is not written")
    func tooLittle() {
        let scene = RoleScene(clientIsCentral: true, .lazy, .lazy)
        scene.bondAndComeBack()
        let request = HostRequest.security(.writeSigned(scene.server.peer, scene.protected, value: [9]))
        #expect(scene.client.answer(request) == .success(.done))
        scene.world.run(.milliseconds(200))
        #expect(scene.written.isEmpty)
    }
}
