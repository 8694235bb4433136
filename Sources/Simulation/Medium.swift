import EventLoop
import LinkLayer

/// The air: turns transmissions into receptions.
///
/// A receiver takes up a packet if it is tuned to the packet's channel when that begins; what else is on the channel
/// in the meantime may destroy it. Receivers are kept by channel, so that the rest of the world costs nothing.
final class Medium {
    /// One packet on the air.
    private struct Transmission {
        let sender: Device
        let frame: RadioFrame
        let start: Instant
        let end: Instant
        var isBroken = false
        var receivers: [(device: Device, power: Double)]
        var interferers: [(position: Position, power: Double)] = []

        func seen(by receptions: [AirPacket.Reception]) -> AirPacket {
            AirPacket(
                channel: frame.channel, mode: frame.mode, accessAddress: frame.accessAddress, start: start,
                duration: frame.duration,
                octets: frame.octets, sender: sender.number, receptions: receptions)
        }
    }

    var environment: RadioEnvironment
    /// Sees each packet when it has ended.
    var tap: ((AirPacket) -> Void)?
    private var generator: SeededGenerator
    private var listeners: [[Device]] = Array(repeating: [], count: 40)
    /// The one that ends next stands last.
    private var onAir: [Transmission] = []
    /// Arrays to be used again, to save an allocation with each packet.
    private var spareReceivers: [[(device: Device, power: Double)]] = []

    init(environment: RadioEnvironment, generator: SeededGenerator) {
        self.environment = environment
        self.generator = generator
    }

    /// When the next packet ends.
    var deadline: Instant? { onAir.last?.end }

    // MARK: Listening

    func tune(_ device: Device, channel: UInt8, phy: RadioPHY, accessAddress: UInt32) {
        device.phy = phy
        device.accessAddress = accessAddress
        device.isReceiving = false
        if device.channel == channel { return }
        if device.channel != nil { untune(device) }
        device.channel = channel
        device.listenerPlace = listeners[Int(channel)].count
        listeners[Int(channel)].append(device)
    }

    func untune(_ device: Device) {
        guard let channel = device.channel else { return }
        let last = listeners[Int(channel)].removeLast()
        if last !== device {
            listeners[Int(channel)][device.listenerPlace] = last
            last.listenerPlace = device.listenerPlace
        }
        device.channel = nil
        device.isReceiving = false
    }

    // MARK: Transmitting

    func begin(_ frame: RadioFrame, from sender: Device, at now: Instant) {
        let end = now.advanced(by: frame.duration)
        var place = onAir.count
        while place > 0, onAir[place - 1].end <= end { place -= 1 }
        onAir.insert(
            Transmission(
                sender: sender, frame: frame, start: now, end: end, receivers: spareReceivers.popLast() ?? []),
            at: place)
        if onAir.count > 1 { noteInterference(with: place) }
        for listener in listeners[Int(frame.channel)] {
            guard !listener.isReceiving, listener.accessAddress == frame.accessAddress,
                listener.phy == frame.mode.phy, let power = notice(frame.mode, from: sender, by: listener)
            else { continue }
            listener.isReceiving = true
            onAir[place].receivers.append((listener, power))
            listener.receptionBegan()
        }
    }

    private func noteInterference(with place: Int) {
        let (new, channel) = (onAir[place].sender, onAir[place].frame.channel)
        for index in onAir.indices where index != place && onAir[index].frame.channel == channel {
            let other = onAir[index].sender
            onAir[place].interferers.append((other.position, other.transmitPower))
            onAir[index].interferers.append((new.position, new.transmitPower))
        }
    }

    /// How strong the packet is where the receiver is, in dBm; `nil` if it is not noticed there.
    private func notice(_ mode: RadioMode, from sender: Device, by listener: Device) -> Double? {
        let chance = generator.next()
        let loss = environment.pathLoss(sender.position.distance(to: listener.position))
        // Two uniform numbers of 16 bits make a triangle: small deviations are likelier than large ones.
        let triangle = Double(chance & 0xFFFF) + Double(chance >> 16 & 0xFFFF) - 65535
        let power = sender.transmitPower - loss + environment.fading * triangle / 65535
        guard power >= environment.sensitivity(mode) + RadioEnvironment.noticeableMargin else { return nil }
        if environment.packetLoss > 0, Double(chance >> 32) < environment.packetLoss * 4_294_967_296 { return nil }
        return power
    }

    /// Ends the packet that `device` is sending before its time.
    func abort(_ device: Device) {
        for index in onAir.indices where onAir[index].sender === device { onAir[index].isBroken = true }
    }

    /// Ends the packet whose time has come, and hands it to its receivers in the order of their numbers.
    func endNext(at now: Instant) {
        var transmission = onAir.removeLast()
        let isTapped = tap != nil
        if transmission.receivers.count > 1 {
            transmission.receivers.sort { $0.device.number < $1.device.number }
        }
        var receptions: [AirPacket.Reception] = []
        for (device, power) in transmission.receivers {
            // Whoever has retuned in the meantime, even to the same channel, has lost it.
            guard device.isReceiving, device.channel == transmission.frame.channel else { continue }
            device.isReceiving = false
            let reception = Reception(
                frame: transmission.frame, start: transmission.start,
                rssi: Int8(max(-127, min(20, power.rounded()))), isIntact: survives(transmission, at: device, power))
            if isTapped {
                receptions.append(.init(device: device.number, rssi: reception.rssi, isIntact: reception.isIntact))
            }
            device.received(reception, at: now)
        }
        if !transmission.isBroken { transmission.sender.transmissionEnded(at: now) }
        if isTapped { tap?(transmission.seen(by: receptions)) }
        transmission.receivers.removeAll(keepingCapacity: true)
        spareReceivers.append(transmission.receivers)
    }

    /// Whether the packet reaches the receiver whole: neither noise nor another packet has touched it.
    private func survives(_ transmission: Transmission, at receiver: Device, _ power: Double) -> Bool {
        guard !transmission.isBroken else { return false }
        for interferer in transmission.interferers {
            let loss = environment.pathLoss(interferer.position.distance(to: receiver.position))
            guard power - (interferer.power - loss) >= environment.coChannelRejection(transmission.frame.mode) else {
                return false
            }
        }
        let margin = power - environment.sensitivity(transmission.frame.mode)
        guard margin < RadioEnvironment.safeMargin else { return true }
        let bits = (transmission.frame.payload.count + 10) * 8
        let chance = Double(generator.next() >> 11) / 9_007_199_254_740_992
        return chance >= environment.packetErrorRate(margin: margin, bits: bits)
    }
}
