import BluetoothExtensions
import CoreBluetooth
import Foundation

/// One role at a time. All of it runs on the main queue.
final class PairingHost: NSObject, @unchecked Sendable {
    // `@unchecked`: used on the main queue alone.
    private let options: Options
    private var central: CBCentralManager?
    private var peripheral: CBPeripheralManager?
    private var security: BluetoothSecurity?
    private var remote: CBPeripheral?
    /// Answers that are still to come of those that were asked for at once.
    private var missing = 0
    private let service = CBMutableService(type: CBUUID(string: "FFF0"), primary: true)

    init(options: Options) { self.options = options }

    func start() {
        let manager: CBManager
        if options.isCentral {
            let made = CBCentralManager(delegate: self, queue: nil)
            central = made
            manager = made
        } else {
            let made = CBPeripheralManager(delegate: self, queue: nil)
            peripheral = made
            manager = made
        }
        let security = BluetoothSecurity(manager: manager)
        security.delegate = self
        var policy = PairingPolicy(capability: options.capability)
        policy.usesSecureConnections = !options.isLegacy
        security.setPolicy(policy)
        self.security = security
    }

    /// Takes another stack's bonds, if there are to be some, and gives the peer its part of out-of-band data.
    private func prepare(then: @escaping @Sendable () -> Void) {
        guard let path = options.importsFrom else { return giveOutOfBandData(then: then) }
        guard let contents = FileManager.default.contents(atPath: path) else { return say("NO FILE \(path)") }
        security?.importBonds([BondDocument(path: path, contents: contents)], as: .bumble) { [self] error in
            say("IMPORTED \(show(error))")
            giveOutOfBandData(then: then)
        }
    }

    /// Writes the bonds for another stack, if that is wanted, and ends.
    private func leave(status: Int32) {
        guard let path = options.exportsTo else { exit(status) }
        security?.exportBonds(as: .bumble) { result in
            guard let document = try? result.get().first else { exit(3) }
            let isWritten = FileManager.default.createFile(
                atPath: path, contents: document.contents, attributes: [.posixPermissions: 0o600])
            exit(isWritten ? status : 3)
        }
    }

    private func giveOutOfBandData(then: @escaping @Sendable () -> Void) {
        guard options.outOfBand != nil else { return then() }
        security?.makeOutOfBandData { [self] result in
            guard case .success(let data) = result else { return say("NO OOB DATA \(result)") }
            options.put("\(data.random.hexadecimal) \(data.confirm.hexadecimal)", ".ours")
            then()
        }
    }

    private func takeOutOfBandData(for peer: CBPeer, then: @escaping @Sendable () -> Void) {
        guard options.outOfBand == "both" else { return then() }
        options.take(".bumble") { [self] text in
            let parts = text.split(separator: " ").map { Data(hexadecimal: $0) }
            guard parts.count == 2, let data = OutOfBandData(random: parts[0], confirm: parts[1]) else {
                return say("BAD OOB DATA")
            }
            security?.setOutOfBandData(data, for: peer) { _ in then() }
        }
    }

    /// At once, also into a pipe.
    private func say(_ words: String) { FileHandle.standardOutput.write(Data((words + "\n").utf8)) }

    private func show(_ error: (any Error)?) -> String {
        guard let error = error as NSError? else { return "none" }
        return "\(error.domain) \(error.code)"
    }
}

// MARK: - Central

extension PairingHost: CBCentralManagerDelegate {
    func centralManagerDidUpdateState(_ manager: CBCentralManager) {
        guard manager.state == .poweredOn else { return say("STATE \(manager.state.rawValue)") }
        prepare { [self] in
            say("READY")
            central?.scanForPeripherals(withServices: [CBUUID(string: "FFF0")])
        }
    }

    func centralManager(
        _ manager: CBCentralManager, didDiscover peripheral: CBPeripheral, advertisementData: [String: Any],
        rssi RSSI: NSNumber
    ) {
        guard remote == nil else { return }
        remote = peripheral
        peripheral.delegate = self
        manager.stopScan()
        takeOutOfBandData(for: peripheral) { [self] in
            if let remote { central?.connect(remote) }
        }
    }

    func centralManager(_ manager: CBCentralManager, didConnect peripheral: CBPeripheral) {
        security?.readStatus(of: peripheral) { [self] result in
            let level = (try? result.get())?.security?.level ?? 1
            say("CONNECTED \(peripheral.identifier) level \(level)")
            peripheral.discoverServices([CBUUID(string: "FFF0")])
        }
    }

    func centralManager(
        _ manager: CBCentralManager, didFailToConnect peripheral: CBPeripheral, error: (any Error)?
    ) {
        say("NOT CONNECTED \(show(error))")
        exit(1)
    }

    func centralManager(
        _ manager: CBCentralManager, didDisconnectPeripheral peripheral: CBPeripheral, error: (any Error)?
    ) {
        say("DISCONNECTED \(show(error))")
        leave(status: error == nil ? 0 : 1)
    }
}

extension PairingHost: CBPeripheralDelegate {
    func peripheral(_ peripheral: CBPeripheral, didDiscoverServices error: (any Error)?) {
        if missing > 0 {
            say("SERVICES \(peripheral.services?.count ?? -1)")
            return answered(on: peripheral)
        }
        guard let service = peripheral.services?.first else { return say("NO SERVICE \(show(error))") }
        peripheral.discoverCharacteristics(nil, for: service)
    }

    func peripheral(
        _ peripheral: CBPeripheral, didDiscoverCharacteristicsFor service: CBService, error: (any Error)?
    ) {
        guard let characteristic = service.characteristics?.first else { return say("NO VALUE \(show(error))") }
        peripheral.readValue(for: characteristic)
    }

    func peripheral(
        _ peripheral: CBPeripheral, didUpdateValueFor characteristic: CBCharacteristic, error: (any Error)?
    ) {
        if let error { say("ERROR \(show(error))") }
        let isAgain = missing > 0
        if let value = characteristic.value {
            say("\(isAgain ? "AGAIN" : "VALUE") \(String(decoding: value, as: UTF8.self))")
        }
        if isAgain { return answered(on: peripheral) }
        if options.usesBearers { return useBearers(to: peripheral, characteristic) }
        disconnectSoon(from: peripheral)
    }

    private func disconnectSoon(from peripheral: CBPeripheral) {
        // The peer may have keys yet to give.
        DispatchQueue.main.asyncAfter(deadline: .now() + 0.5) { [self] in
            central?.cancelPeripheralConnection(peripheral)
        }
    }
}

// MARK: - Enhanced bearers

extension PairingHost {
    /// Waits for the bearers, then asks for three things at once.
    private func useBearers(to peripheral: CBPeripheral, _ characteristic: CBCharacteristic, tries: Int = 100) {
        guard let central else { return }
        BluetoothLink(to: peripheral, of: central).readStatus { [self] result in
            let count = (try? result.get())?.attributeBearers ?? 0
            guard count > 1 || tries == 0 else {
                DispatchQueue.main.asyncAfter(deadline: .now() + 0.05) { [self] in
                    useBearers(to: peripheral, characteristic, tries: tries - 1)
                }
                return
            }
            say("BEARERS \(count)")
            missing = 3
            peripheral.readValue(for: characteristic)
            peripheral.discoverDescriptors(for: characteristic)
            peripheral.discoverServices(nil)
        }
    }

    private func answered(on peripheral: CBPeripheral) {
        missing -= 1
        if missing == 0 { disconnectSoon(from: peripheral) }
    }

    func peripheral(
        _ peripheral: CBPeripheral, didDiscoverDescriptorsFor characteristic: CBCharacteristic, error: (any Error)?
    ) {
        say("DESCRIPTORS \(characteristic.descriptors?.count ?? -1)")
        answered(on: peripheral)
    }
}

// MARK: - Peripheral

extension PairingHost: CBPeripheralManagerDelegate {
    func peripheralManagerDidUpdateState(_ manager: CBPeripheralManager) {
        guard manager.state == .poweredOn else { return say("STATE \(manager.state.rawValue)") }
        service.characteristics = [
            CBMutableCharacteristic(
                type: CBUUID(string: "FFF1"), properties: [.read, .write], value: nil,
                permissions: [.readEncryptionRequired, .writeEncryptionRequired])
        ]
        manager.add(service)
    }

    func peripheralManager(_ manager: CBPeripheralManager, didAdd service: CBService, error: (any Error)?) {
        prepare { [self] in
            peripheral?.startAdvertising([CBAdvertisementDataServiceUUIDsKey: [CBUUID(string: "FFF0")]])
        }
    }

    func peripheralManagerDidStartAdvertising(_ manager: CBPeripheralManager, error: (any Error)?) { say("READY") }

    func peripheralManager(_ manager: CBPeripheralManager, didReceiveRead request: CBATTRequest) {
        request.value = Data("secret".utf8)
        say("READ")
        manager.respond(to: request, withResult: .success)
    }
}

// MARK: - Security

extension PairingHost: BluetoothSecurityDelegate {
    func security(_ security: BluetoothSecurity, asks question: PairingQuestion) {
        switch question.kind {
        case .showPasskey(let passkey):
            say("DISPLAY \(passkeyText(passkey))")
            options.put(passkeyText(passkey))
        case .enterPasskey:
            say("ENTER")
            options.take { text in question.enter(passkey: Int(text) ?? 0) }
        case .compare(let number):
            say("COMPARE \(passkeyText(number))")
            question.accept()
        case .confirm: question.accept()
        }
    }

    func security(_ security: BluetoothSecurity, didSecure peer: UUID, _ link: LinkSecurity) {
        say("SECURED level \(link.level) \(link.isSecureConnections ? "sc" : "legacy")")
    }

    func security(_ security: BluetoothSecurity, didFailToSecure peer: UUID, _ problem: SecurityProblem) {
        say("FAILED \(problem)")
    }

    func security(_ security: BluetoothSecurity, didBond peer: UUID) { say("BONDED \(peer)") }

    func security(_ security: BluetoothSecurity, cannotKeepBonds reason: String) { say("STORE \(reason)") }
}

extension Data {
    var hexadecimal: String { map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined() }

    init(hexadecimal text: Substring) {
        let digits = Array(text)
        self.init(
            stride(from: 0, to: digits.count - 1, by: 2).compactMap { UInt8(String(digits[$0...($0 + 1)]), radix: 16) })
    }
}
