import BluetoothTypes
import EventLoop
import Host
import HostInterface
import LinkLayer
import Simulation

/// Two of our hosts on two virtual controllers, linked, and octets at one of the seams between them.
final class HostTargets: @unchecked Sendable {
    // `@unchecked`: used on the thread that runs the world alone.
    private let world = World(seed: 1)
    private let hosts: [HostedDevice]
    private var handle: AttributeHandle?
    private var clients: [ClientID] = []
    private var lastNumber: UInt64 = 0

    /// Host 1 serves a characteristic and advertises; host 0 has connected to it, if asked to.
    private init(connect: Bool) {
        hosts = (0..<2).map { [world] in
            HostedDevice(in: world, name: "host \($0)", address: DeviceAddress(0x02_0000_0000_01 + UInt64($0)))
        }
        for index in hosts.indices {
            hosts[index].withHost { host in
                clients.append(host.attach({ [unowned self] in hear($0, host: index) }, at: world.now))
            }
        }
        world.run(for: .milliseconds(20))
        let characteristic = CharacteristicDefinition(
            uuid: .uuid16(0xFFF1), properties: 0x3E, permissions: [.readable, .writeable])
        ask(1, .addService(ServiceDefinition(uuid: .uuid16(0xFFF0), characteristics: [characteristic])))
        ask(1, .startAdvertising(AdvertisementContent(localName: "fuzz")))
        guard connect else {
            ask(0, .startScan(ScanFilter()))
            return
        }
        ask(0, .connect(PeerID(hosts[1].device.address)))
        world.run(for: .milliseconds(200))
    }

    private func ask(_ index: Int, _ request: HostRequest) {
        lastNumber += 1
        hosts[index].withHost {
            $0.submit(request, number: RequestNumber(lastNumber), client: clients[index], at: world.now)
        }
    }

    private func hear(_ event: HostEvent, host index: Int) {
        switch event {
        case .readRequested(let request): answer(request.id, from: index)
        case .writeRequested(let request) where request.needsResponse: answer(request.id, from: index)
        case .answer(_, .success(.published(let service))): handle = service.characteristics.first
        default: break
        }
    }

    private func answer(_ id: ServerRequestID, from index: Int) {
        hosts[index].loop.enqueue { [weak self] _ in self?.ask(index, .respond(id, errorCode: 0, value: [1, 2, 3])) }
    }

    /// Legal work, so that answers are awaited when the octets come.
    private func work(_ choice: UInt8) {
        let peer = PeerID(hosts[1].device.address)
        switch choice % 8 {
        case 0: ask(0, .discoverServices(peer, only: nil))
        case 1: if let handle { ask(0, .read(peer, handle)) }
        case 2:
            if let handle { ask(0, .write(peer, handle, value: Array(repeating: 7, count: 40), withResponse: true)) }
        case 3: ask(0, .readRSSI(peer))
        case 4: if let handle { ask(1, .notify(handle, value: [9], to: nil)) }
        case 5: ask(0, .connect(peer))
        case 6: ask(0, .disconnect(peer))
        default: break
        }
    }

    private func finish() {
        world.run(for: .milliseconds(300))
        for index in hosts.indices { hosts[index].withHost { $0.detach(clients[index], at: world.now) } }
        world.run(for: .milliseconds(100))
    }

    // MARK: The doors

    static func events(_ script: Script) {
        var script = script
        let scene = HostTargets(connect: (script.next()?.choice ?? 0) & 1 == 1)
        for (choice, octets) in script {
            if choice & 0x80 != 0 { scene.work(choice) }
            let host = scene.hosts[Int(choice & 1)]
            host.device.controllerSent(octets)
            scene.world.run(for: .milliseconds(Int(choice >> 1 & 0x0F)))
        }
        scene.finish()
    }

    static func commands(_ script: Script) {
        var script = script
        let scene = HostTargets(connect: (script.next()?.choice ?? 0) & 1 == 1)
        for (choice, octets) in script {
            scene.world.deliver(octets, of: scene.hosts[Int(choice & 1)].device, .hostToController)
            scene.world.run(for: .milliseconds(Int(choice >> 1)))
        }
        scene.finish()
    }

    /// Each step is one ACL data packet of host 1, or, if its second bit is set, of host 0.
    static func linkData(_ script: Script) {
        let scene = HostTargets(connect: true)
        for (choice, octets) in script {
            if choice & 0x80 != 0 { scene.work(choice) }
            // The link's handle is the first one that the controller gave.
            let flags: UInt8 = choice & 1 == 1 ? 0x10 : 0x00
            let packet = [0x02, 0x40, flags, UInt8(octets.count), 0x00] + octets
            scene.world.deliver(packet, of: scene.hosts[choice & 2 == 0 ? 1 : 0].device, .hostToController)
            scene.world.run(for: .milliseconds(16))
        }
        scene.finish()
    }

    /// Each step changes the next packet on the air: its header, its length or its content.
    static func air(_ script: Script) {
        var script = script
        let scene = HostTargets(connect: (script.next()?.choice ?? 0) & 1 == 1)
        scene.world.airFault = { frame in
            guard let (choice, octets) = script.next(), choice & 0x80 == 0 else { return }
            if choice & 1 != 0, let header = octets.first {
                frame.header = frame.header & 0xFF00 | UInt16(header)
            }
            if choice & 2 != 0 {
                frame.payload = octets.dropFirst().prefix(251)
                frame.header = frame.header & 0x00FF | UInt16(frame.payload.count) << 8
            }
        }
        for choice in 0..<UInt8(12) {
            scene.work(choice)
            scene.world.run(for: .milliseconds(60))
        }
        scene.world.airFault = nil
        scene.finish()
    }
}
