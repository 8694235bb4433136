import BluetoothExtensions
import BluetoothSimulation
import CoreBluetooth
import Testing

@Suite("Pairing, as an app sees it")
struct SecurityTests {
    @Test("B-K1, B-K2, B-K4: a program that knows nothing of pairing reads a protected value; the system pairs")
    func asApplesDo() {
        let apps = SecureApps()
        #expect(apps.read() == "secret")
        #expect(apps.phone.secured.map(\.level) == [2] && apps.lock.secured.map(\.level) == [2])
        #expect(apps.phone.bonded == [apps.phone.peripheral!.identifier])
        #expect(apps.lock.bonded == [apps.lock.central!.identifier])
    }

    @Test("B-K1: a passkey is shown here and typed there")
    func passkey() throws {
        let apps = SecureApps(phone: .keyboardOnly, lock: .displayOnly)
        apps.phone.onQuestion = { question in
            guard question.kind == .enterPasskey else { return }
            // The lock shows it before the phone asks for it, or a moment later.
            apps.world.schedule(at: apps.world.now + .seconds(2)) {
                guard case .showPasskey(let passkey) = apps.lock.questions.first?.kind else { return }
                question.enter(passkey: passkey)
            }
        }
        #expect(apps.read() == "secret")
        #expect(apps.phone.secured.map(\.level) == [4])
        #expect(apps.phone.withdrawn.map(\.id) == apps.phone.questions.map(\.id))
        #expect(apps.lock.withdrawn.map(\.id) == apps.lock.questions.map(\.id))
    }

    @Test("B-K1: who refuses gets the peer's error in the callback of the operation")
    func refused() {
        let apps = SecureApps(phone: .displayYesNo, lock: .displayYesNo)
        apps.phone.onQuestion = { $0.refuse() }
        apps.lock.onQuestion = { $0.accept() }
        // B-N3: ATT 5 is insufficient authentication.
        #expect(apps.read() == "CBATTErrorDomain 5")
        #expect(apps.phone.problems.map(\.kind) == [.refused])
        apps.phone.onQuestion = { $0.accept() }
        apps.world.run(for: .seconds(3))
        #expect(apps.read() == "secret")
    }

    @Test("A question for whom nobody is there is refused at once, not when its time is over")
    func nobodyThere() {
        for hasObject in [true, false] {
            let apps = SecureApps(phone: .displayYesNo, lock: .displayYesNo)
            apps.lock.onQuestion = { $0.accept() }
            // The delegate has gone, or another object took the place of the first, and went.
            if hasObject {
                apps.phone.security.delegate = nil
            } else {
                _ = BluetoothSecurity(manager: apps.phone.manager)
            }
            #expect(apps.read() == "CBATTErrorDomain 5")
            #expect(apps.world.now < .seconds(10))
        }
    }

    @Test("An open question keeps nobody alive")
    func openQuestion() {
        var apps: SecureApps? = SecureApps(phone: .displayYesNo, lock: .displayYesNo)
        weak let security = apps?.phone.security
        weak let manager = apps?.phone.manager
        apps?.phone.start()
        apps?.world.run(for: .seconds(5))
        #expect(apps?.phone.questions.isEmpty == false && security != nil)
        apps = nil
        #expect(security == nil && manager == nil)
    }

    @Test("Who waits when the manager goes is told that there will be no answer")
    func managerGoes() {
        let apps = SecureApps(phone: .displayYesNo, lock: .displayYesNo)
        apps.phone.start()
        #expect(apps.wait { apps.phone.peripheral?.state == .connected })
        var manager: CBCentralManager? = apps.phoneDevice.run { CBCentralManager(delegate: nil, queue: nil) }
        apps.world.run(for: .seconds(1))
        let security = BluetoothSecurity(manager: manager!)
        var answers: [String] = []
        // It waits for a person who does not answer.
        security.secure(apps.phone.peripheral!) { answer in
            if case .failure(let error) = answer { answers.append((error as NSError).domain) }
        }
        apps.world.run(for: .seconds(2))
        #expect(answers.isEmpty)
        manager = nil
        apps.world.run(for: .zero)
        #expect(answers == ["CBErrorDomain"])
    }

    @Test("B-K3: a bonded link is encrypted before didConnect")
    func comesBack() {
        let apps = SecureApps()
        #expect(apps.read() == "secret")
        apps.disconnect()
        apps.phone.secured = []
        #expect(apps.read() == "secret")
        #expect(apps.phone.secured.count == 1 && apps.phone.bonded.count == 1)
    }

    @Test("B-D11, B-N3: a peer without its bond gives CBError 14; removing the bond is the way out")
    func lostBond() throws {
        let apps = SecureApps()
        #expect(apps.read() == "secret")
        apps.disconnect()
        var error: (any Error)?
        apps.lock.security.removeBond(of: apps.lock.central!.identifier) { error = $0 }
        #expect(apps.wait { !apps.lock.removed.isEmpty })
        #expect(error == nil)
        #expect(apps.read() == "CBErrorDomain 14")
        #expect(apps.phone.problems.map(\.kind) == [.peerLostBond])
        apps.world.run(for: .seconds(1))
        apps.phone.security.removeBond(of: apps.phone.peripheral!.identifier)
        #expect(apps.wait { !apps.phone.removed.isEmpty })
        #expect(apps.read() == "secret")
    }

    @Test("Bonds are listed by the identifiers of the peers")
    func lists() throws {
        let apps = SecureApps()
        #expect(apps.read() == "secret")
        var bonds: [BondedPeer]?
        apps.phone.security.listBonds { bonds = try? $0.get() }
        #expect(apps.wait { bonds != nil })
        let bond = try #require(bonds?.first)
        #expect(bond.id == apps.phone.peripheral?.identifier)
        #expect(bond.address == apps.lockDevice.address && bond.isPublicAddress)
        #expect(bond.security == apps.phone.secured.first)
        var failure: (any Error)?
        apps.phone.security.removeBond(of: UUID()) { failure = $0 }
        #expect(apps.wait { failure != nil })
        #expect((failure as? CBError)?.code == .unknownDevice)
    }

    @Test("The state of a link is told on both sides")
    func status() throws {
        let apps = SecureApps()
        #expect(apps.read() == "secret")
        for (security, peer) in [
            (apps.phone.security!, apps.phone.peripheral! as CBPeer), (apps.lock.security!, apps.lock.central!),
        ] {
            var status: LinkStatus?
            security.readStatus(of: peer) { status = try? $0.get() }
            #expect(apps.wait { status != nil })
            #expect(status?.security?.level == 2 && status?.isBonded == true)
            #expect(status?.rssi.map { (-90 ... -20).contains($0) } == true)
        }
    }

    @Test("Bonds go out to another stack's files and come back", arguments: [BondFileFormat.bumble, .blueZ])
    func transfer(format: BondFileFormat) throws {
        let apps = SecureApps()
        #expect(apps.read() == "secret")
        apps.disconnect()
        var documents: [BondDocument]?
        apps.phone.security.exportBonds(as: format) { documents = try? $0.get() }
        #expect(apps.wait { documents != nil })
        apps.phone.security.removeBond(of: apps.phone.peripheral!.identifier)
        #expect(apps.wait { !apps.phone.removed.isEmpty })
        var isTaken = false
        apps.phone.security.importBonds(try #require(documents), as: format) { isTaken = $0 == nil }
        #expect(apps.wait { isTaken })
        apps.phone.secured = []
        apps.phone.bonded = []
        #expect(apps.read() == "secret")
        // By the bond, and not by a new pairing.
        #expect(apps.phone.secured.map(\.level) == [2] && apps.phone.bonded.isEmpty)
        var error: (any Error)?
        let nonsense = [BondDocument(path: "keys.json", contents: Data("nonsense".utf8))]
        apps.phone.security.importBonds(nonsense, as: format) { error = $0 }
        #expect(apps.wait { error != nil })
    }

    @Test("Out-of-band data prove who is there")
    func outOfBand() throws {
        let apps = SecureApps()
        var data: OutOfBandData?
        #expect(apps.wait { apps.phone.peripheral?.state == .connected })
        apps.lock.security.makeOutOfBandData { data = try? $0.get() }
        #expect(apps.wait { data != nil })
        // The first read may have paired already, without.
        let given = try #require(data)
        #expect(OutOfBandData(random: given.random, confirm: given.confirm) == given)
        #expect(OutOfBandData(random: Data(), confirm: given.confirm) == nil)
        apps.phone.security.setOutOfBandData(given, for: apps.phone.peripheral!)
        var security: LinkSecurity?
        apps.phone.security.secure(apps.phone.peripheral!, authenticated: true) { security = try? $0.get() }
        #expect(apps.wait { security != nil })
        #expect(security?.level == 4)
    }

    @Test("Passkeys are written with all six digits")
    func digits() {
        #expect([0, 7, 123_456].map(passkeyText) == ["000000", "000007", "123456"])
    }
}
