import CoreBluetooth
import HostInterface
import Testing

@Suite("Central: connecting and disconnecting")
struct ConnectionTests {
    let host = ScriptedHost()

    func foundApp() -> CentralApp {
        let app = host.launch { CentralApp() }
        host.powerOn()
        app.manager.scanForPeripherals(withServices: nil)
        host.answer(.done)
        host.tell(discovery())
        _ = app.take()
        return app
    }

    func connectedApp(options: [String: Any]? = nil) -> CentralApp {
        let app = foundApp()
        app.manager.connect(app.peripheral, options: options)
        host.expect(.connect(lockAddress), answer: .success(.connected(mtu: 23)))
        _ = app.take()
        return app
    }

    @Test("B-D2: the state changes before the call")
    func connect() {
        let app = foundApp()
        app.manager.connect(app.peripheral)
        #expect(app.peripheral.state == .connecting && app.log.isEmpty)
        host.expect(.connect(lockAddress), answer: .success(.connected(mtu: 23)))
        #expect(app.take() == ["didConnect connected"])
    }

    @Test("B-D3: cancelling an attempt is a disconnection without an error")
    func cancelAttempt() {
        let app = foundApp()
        app.manager.connect(app.peripheral)
        app.manager.cancelPeripheralConnection(app.peripheral)
        host.expect(.connect(lockAddress), .disconnect(lockAddress))
        host.answer(.failure(.cancelled))
        host.answer(.done)
        #expect(app.take() == ["didDisconnect disconnected"])
    }

    @Test("B-D3: also if the link came up in that moment")
    func cancelTooLate() {
        let app = foundApp()
        app.manager.connect(app.peripheral)
        app.manager.cancelPeripheralConnection(app.peripheral)
        host.answer(.connected(mtu: 23))
        host.answer(.done)
        #expect(app.take() == ["didDisconnect disconnected"])
    }

    @Test("B-D4: ending a link; what was open on it is not answered")
    func cancelLink() {
        let app = connectedApp()
        app.peripheral.readRSSI()
        app.manager.cancelPeripheralConnection(app.peripheral)
        #expect(app.peripheral.state == .disconnecting)
        host.answer(.failure(.disconnected(reason: 0x16)))
        host.expect(.disconnect(lockAddress), answer: .success(.done))
        #expect(app.take() == ["didDisconnect disconnected"])
    }

    @Test(
        "B-D6: why a link was lost",
        arguments: [
            (HostFailure.disconnected(reason: 0x08), CBError.Code.connectionTimeout),
            (.disconnected(reason: 0x13), .peripheralDisconnected),
            (.disconnected(reason: 0x14), .peripheralDisconnected),
            (.disconnected(reason: 0x15), .peripheralDisconnected), (.disconnected(reason: 0x3E), .connectionFailed),
            (.disconnected(reason: 0x3D), .encryptionTimedOut),
            (.disconnected(reason: 0x06), .peerRemovedPairingInformation),
        ])
    func lost(failure: HostFailure, code: CBError.Code) {
        let app = connectedApp()
        host.tell(.disconnected(lockAddress, failure))
        #expect(app.take() == ["didDisconnect disconnected CBError \(code.rawValue)"])
        #expect(app.peripheral.services == nil)
    }

    @Test(
        "Why an attempt failed",
        arguments: [
            (HostFailure.controller(status: 0x3E), CBError.Code.connectionFailed),
            (.controller(status: 0x09), .connectionLimitReached), (.connectionLimitReached, .connectionLimitReached),
            (.unknownPeer, .unknownDevice),
        ])
    func failed(failure: HostFailure, code: CBError.Code) {
        let app = foundApp()
        app.manager.connect(app.peripheral)
        host.answer(.failure(failure))
        #expect(app.take() == ["didFailToConnect disconnected CBError \(code.rawValue)"])
    }

    @Test("B-B4, B-B6: the radio's end is told by the state alone")
    func powerOff() {
        let app = connectedApp()
        app.peripheral.readRSSI()
        host.answer(.failure(.notPowered))
        host.tell(.state(.poweredOff))
        #expect(app.take() == ["state poweredOff"])
        #expect(app.peripheral.state == .disconnected && app.peripheral.services == nil)
        host.powerOn()
        host.answer(.done)
        app.manager.connect(app.peripheral)
        host.answer(.failure(.notPowered))
        host.tell(.state(.poweredOff))
        #expect(app.take() == ["state poweredOn", "state poweredOff"])
    }

    @Test("B-D14: a command without a link is dropped and reported")
    func notConnected() {
        let app = foundApp()
        app.peripheral.delegate = app
        app.peripheral.discoverServices(nil)
        app.peripheral.readRSSI()
        host.expect()
        #expect(app.take().isEmpty)
        #expect(host.reports.count == 2)
        #expect(host.reports[0].hasPrefix("[CoreBluetooth] API MISUSE: <CBPeripheral: 0x"))
        #expect(
            host.reports[0].hasSuffix(
                "name = Lock, mtu = 0, state = disconnected> can only accept commands while in the connected state"))
        #expect(app.peripheral.maximumWriteValueLength(for: .withResponse) == 0)
    }

    @Test("B-A3: the last reference to a peripheral cancels its connection")
    func release() {
        let app = foundApp()
        app.manager.connect(app.peripheral)
        app.peripherals = []
        host.expect(.connect(lockAddress), .disconnect(lockAddress))
        #expect(host.reports.count == 1)
        #expect(host.reports[0].contains("API MISUSE: Cancelling connection for unused peripheral <CBPeripheral: 0x"))
        #expect(host.reports[0].hasSuffix(", Did you forget to keep a reference to it?"))
        host.answer(.failure(.cancelled))
        host.answer(.done)
        #expect(app.take().isEmpty)
    }

    @Test("B-D10: with auto-reconnect the attempt begins before the app is told")
    func autoReconnect() {
        let app = connectedApp(options: [CBConnectPeripheralOptionEnableAutoReconnect: true])
        host.tell(.disconnected(lockAddress, .disconnected(reason: 0x08)))
        #expect(app.take() == ["didDisconnect connecting CBError 6"])
        host.expect(.connect(lockAddress), answer: .success(.connected(mtu: 23)))
        #expect(app.take() == ["didConnect connected"])
        app.manager.cancelPeripheralConnection(app.peripheral)
        host.expect(.disconnect(lockAddress), answer: .success(.done))
        #expect(app.take() == ["didDisconnect disconnected"])
        host.expect()
    }

    @Test("B-D12: the attempt begins after the delay, unless cancelled before")
    func startDelay() {
        let app = foundApp()
        let options = [CBConnectPeripheralOptionStartDelayKey: 2]
        app.manager.connect(app.peripheral, options: options)
        host.expect()
        host.elapse(.seconds(2))
        host.expect(.connect(lockAddress), answer: .failure(.controller(status: 0x3E)))
        app.manager.connect(app.peripheral, options: options)
        app.manager.cancelPeripheralConnection(app.peripheral)
        host.expect(.disconnect(lockAddress), answer: .failure(.notConnected))
        host.elapse(.seconds(2))
        host.expect()
        #expect(app.take().last == "didDisconnect disconnected")
    }

    @Test(
        "A delay that is no time at all is none, and no delay is too long to count",
        arguments: [
            (-1, nil), (.nan, nil), (-.infinity, nil), (.infinity, .seconds(365 * 86400)),
            (1e300, .seconds(365 * 86400)),
        ] as [(Double, Duration?)])
    func absurdDelay(seconds: Double, expected: Duration?) {
        let app = foundApp()
        app.manager.connect(app.peripheral, options: [CBConnectPeripheralOptionStartDelayKey: seconds])
        guard let expected else { return host.expect(.connect(lockAddress)) }
        host.expect()
        host.elapse(expected)
        host.expect(.connect(lockAddress))
    }

    @Test("A connect during a disconnection is forgotten when the radio goes off: it must not follow a later link")
    func connectWhileDisconnectingWithoutRadio() {
        let app = connectedApp()
        app.manager.cancelPeripheralConnection(app.peripheral)
        app.manager.connect(app.peripheral)
        host.expect(.disconnect(lockAddress), answer: .failure(.notPowered))
        host.tell(.state(.poweredOff))
        host.powerOn()
        host.expect(.startScan(ScanFilter()), answer: .success(.done))
        app.manager.connect(app.peripheral)
        host.expect(.connect(lockAddress), answer: .success(.connected(mtu: 23)))
        host.tell(.disconnected(lockAddress, .disconnected(reason: 0x08)))
        #expect(app.peripheral.state == .disconnected)
        host.expect()
    }

    @Test("A connect during a disconnection begins after it")
    func connectWhileDisconnecting() {
        let app = connectedApp()
        app.manager.cancelPeripheralConnection(app.peripheral)
        app.manager.connect(app.peripheral)
        host.expect(.disconnect(lockAddress), answer: .success(.done))
        #expect(app.take() == ["didDisconnect disconnected"])
        host.expect(.connect(lockAddress), answer: .success(.connected(mtu: 23)))
        #expect(app.take() == ["didConnect connected"])
    }

    @Test("B-D9: the longer form is called if the shorter is absent")
    func longerForm() {
        final class App: NSObject, CBCentralManagerDelegate {
            var log: [String] = []
            func centralManagerDidUpdateState(_ central: CBCentralManager) {}
            func centralManager(
                _ central: CBCentralManager, didDisconnectPeripheral peripheral: CBPeripheral,
                timestamp: CFAbsoluteTime, isReconnecting: Bool, error: (any Error)?
            ) {
                log.append("\(timestamp) \(isReconnecting) \(error.map(shortDescription) ?? "-")")
            }
        }
        let app = connectedApp(options: [CBConnectPeripheralOptionEnableAutoReconnect: true])
        let delegate = App()
        app.manager.delegate = delegate
        host.time = 4711
        host.tell(.disconnected(lockAddress, .disconnected(reason: 0x13)))
        #expect(delegate.log == ["4711.0 true CBError 7"])
    }

    @Test("B-A2: delegates are held weakly")
    func weakDelegates() {
        let app = connectedApp()
        var other: CentralApp? = host.launch { CentralApp() }
        app.peripheral.delegate = other
        #expect(app.peripheral.delegate != nil)
        other = nil
        #expect(app.peripheral.delegate == nil)
    }

    @Test("B-G1, B-G2: how much a write carries grows with the MTU")
    func writeLength() {
        let app = connectedApp()
        #expect(app.peripheral.maximumWriteValueLength(for: .withoutResponse) == 20)
        #expect(app.peripheral.maximumWriteValueLength(for: .withResponse) == 512)
        host.tell(.mtuChanged(lockAddress, mtu: 185))
        #expect(app.peripheral.maximumWriteValueLength(for: .withoutResponse) == 182)
    }

    @Test("What is not available yet is answered with that")
    func unsupported() {
        let app = connectedApp()
        app.peripheral.startChannelSoundingSession(CBChannelSoundingSessionConfiguration(role: .initiator))
        host.settle()
        #expect(app.take() == ["didCompleteChannelSounding CBError 13"])
        #expect(!CBCentralManager.supports(.extendedScanAndConnect) && CBCentralManager.supports([]))
    }
}
