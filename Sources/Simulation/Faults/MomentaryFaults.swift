import BluetoothCrypto
import BluetoothTypes
import EventLoop
import Host
import HostInterface
import VirtualController

// What happens at the moment when a fault is put in or taken out.

extension FaultyLine {
    func began(_ fault: SimulatedFault) {
        switch fault {
        case .forgotBond: owner.forgetBonds()
        case .wrongKey:
            owner.changeBonds { record in
                record.bond.localKey = record.bond.localKey.map(Self.anotherKey)
                record.bond.peerKey = record.bond.peerKey.map(Self.anotherKey)
            }
        case .controllerResets: device.resetController()
        case .adapterUnplugged:
            owner.withHost { $0.transportLost(reason: "The adapter was unplugged.", at: world.now) }
            device.controller.powerCycle(at: world.now)
            world.noteController(device)
            forgetLinks()
        case .connectedElsewhere: rival = RivalCentral(takes: owner)
        case .malformedAdvertisement, .swappedServiceUUID, .notConnectable, .ignoresConnections:
            owner.advertiseAnew()
        default: break
        }
    }

    func ended(_ fault: SimulatedFault) {
        switch fault {
        case .adapterUnplugged, .controllerHangs, .hangsAfterReset:
            // Plugged in again, or restarted.
            device.controller.powerCycle(at: world.now)
            forgetLinks()
            owner.withHost { $0.powerOn(at: world.now) }
        case .connectedElsewhere:
            rival?.leave()
            rival = nil
        case .malformedAdvertisement, .swappedServiceUUID, .notConnectable, .ignoresConnections:
            owner.advertiseAnew()
        default: break
        }
    }

    private static func anotherKey(_ key: LongTermKey) -> LongTermKey {
        LongTermKey(SecretKey(~key.key.value), diversifier: key.diversifier, random: key.random)
    }
}

extension HostedDevice {
    /// Changes what this device keeps of each bond, as its firmware would.
    func changeBonds(_ change: (inout BondRecord) -> Void) {
        let records = keptBonds.map { record in
            var record = record
            change(&record)
            return record
        }
        ask(.security(.importBonds(records)))
    }

    /// Its memory of bonds is wiped, and no peer is told.
    func forgetBonds() {
        for record in keptBonds { ask(.security(.removeBond(record.peer))) }
    }

    /// Restarts the radio, so that what it advertises is said to the controller anew.
    func advertiseAnew() {
        setPowered(false)
        setPowered(true)
    }

    private func ask(_ request: HostRequest) {
        let now = world.now
        withHost { host in
            let client = host.attach({ _ in }, at: now)
            host.submit(request, number: RequestNumber(1), client: client, at: now)
            host.detach(client, at: now)
        }
    }
}

/// Somebody else's phone, which holds the link to a peripheral: the fault "connected elsewhere".
final class RivalCentral: @unchecked Sendable {
    // `@unchecked`: it is made by the thread that runs the world, and called back by its loop, which is that thread.
    private let phone: HostedDevice
    private let target: PeerID
    private var client: ClientID?
    private var lastNumber: UInt64 = 0

    init(takes owner: HostedDevice) {
        let device = owner.device
        target = PeerID(device.address)
        // A locally administered address (IEEE 802, 8.2.2) that tells whom it follows.
        let address = DeviceAddress(0x0600_0000_0000 | device.address.value & 0x01FF_FFFF_FFFF)
        let place = device.position
        phone = HostedDevice(
            in: owner.world, name: "Somebody else's phone", address: address,
            position: Position(x: place.x + 0.5, y: place.y, z: place.z))
        phone.withHost { host in
            client = host.attach(
                { [weak self, world = phone.world] event in
                    world.enqueue { [weak self] _ in self?.handle(event) }
                }, at: phone.world.now)
        }
    }

    private func handle(_ event: HostEvent) {
        switch event {
        case .state(.poweredOn), .disconnected, .answer(_, .failure): connect()
        default: break
        }
    }

    private func connect() {
        guard let client else { return }
        lastNumber += 1
        phone.withHost {
            $0.submit(
                .connect(target), number: RequestNumber(lastNumber), client: client, at: phone.world.now)
        }
    }

    func leave() {
        client = nil
        phone.world.removeDevice(phone.device)
    }
}
