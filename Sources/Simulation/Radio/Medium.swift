import EventLoop
import LinkLayer

/// The air: turns transmissions into receptions.
///
/// A receiver takes up a packet if it is tuned to the packet's channel when that begins; what else is on the channel
/// in the meantime may destroy it. Receivers are kept by channel and place, so that the rest of the world costs
/// nothing.
final class Medium {
    var environment: RadioEnvironment { didSet { if environment != oldValue { noteReach() } } }
    /// Sees each packet when it has ended.
    var tap: ((AirPacket) -> Void)?
    let seed: UInt64
    /// How many packets there have been.
    private(set) var packetCount = 0
    /// How many receptions there have been, and packets in the way of one.
    private(set) var eventCount = 0

    private var listeners: [ListenerIndex] = Array(repeating: ListenerIndex(), count: 40)
    /// Those whose place changes with time, by channel: their square would be out of date.
    private var movingListeners: [[Device]] = Array(repeating: [], count: 40)
    /// In the order in which they end, from `firstOnAir` on: most begin in it, too, so that few stand behind a new one.
    private var onAir: [Transmission] = []
    private var firstOnAir = 0
    private var onAirByChannel: [[Occupation]] = Array(repeating: [], count: 40)
    private var spares: [Transmission] = []
    /// Interferers with the numbers they were given.
    private(set) var interferers: [(number: Int, interferer: Interferer)] = []
    private var interfererCount = 0
    private var shadows = ShadowCache()

    /// The strongest transmitter and the best antenna there ever were, in dBm and dBi.
    private var strongest = 0.0
    private var bestGain = 0.0
    /// How far a packet is noticed at best, in metres: on the PHY that reaches farthest, and squared on each.
    private var reach = 0.1
    private var squaredReaches: [Double] = []
    /// Within what distance another packet may disturb a reception, by the mode of what is received.
    private(set) var squaredInterferenceReaches: [Double] = []
    /// The same from one sender to the other: the receiver is within reach of its own.
    private var squaredOverlapReaches: [Double] = []
    /// An array to be used again: the packets in the way of a reception, in mW.
    var spareInterferers: [(start: Instant, end: Instant, power: Double)] = []

    init(environment: RadioEnvironment, seed: UInt64) {
        self.environment = environment
        self.seed = seed
        noteReach()
    }

    /// When the next packet ends.
    var deadline: Instant? { firstOnAir < onAir.count ? onAir[firstOnAir].end : nil }

    // MARK: Reach

    /// To be called when a device comes or its antenna changes.
    func note(power: Double, gain: Double) {
        guard power + gain > strongest || gain > bestGain else { return }
        strongest = max(strongest, power + gain)
        bestGain = max(bestGain, gain)
        noteReach()
    }

    private func noteReach() {
        let everything = listeners.map(\.all)
        let best = strongest + bestGain + environment.shadowing * Shadowing.limit
        squaredReaches = RadioMode.allCases.map { mode in
            let weakest = environment.sensitivity(mode) + RadioEnvironment.noticeableMargin
            let reach = environment.distance(atLoss: best + environment.fading - weakest)
            return reach * reach
        }
        reach = squaredReaches.max()!.squareRoot()
        let interferenceReaches = RadioMode.allCases.map {
            environment.distance(atLoss: best - environment.interferenceFloor($0))
        }
        squaredInterferenceReaches = interferenceReaches.map { $0 * $0 }
        squaredOverlapReaches = zip(squaredReaches, interferenceReaches).map { squaredReach, interferenceReach in
            (squaredReach.squareRoot() + interferenceReach) * (squaredReach.squareRoot() + interferenceReach)
        }
        shadows.removeAll()
        for (channel, devices) in everything.enumerated() {
            for device in devices {
                listeners[channel].remove(device)
                listeners[channel].insert(device, at: ListenerIndex.square(of: device.position, reach: reach))
            }
        }
    }

    /// A number is another device's from now on.
    func forgetPlaces() { shadows.removeAll() }

    // MARK: Interferers

    /// Returns a number by which it can be taken away.
    func add(_ interferer: Interferer) -> Int {
        interfererCount += 1
        interferers.append((interfererCount, interferer))
        return interfererCount
    }

    func removeInterferer(_ number: Int) { interferers.removeAll { $0.number == number } }

    // MARK: Listening

    func tune(_ device: Device, channel: UInt8, phy: RadioPHY, accessAddress: UInt32) {
        device.phy = phy
        device.accessAddress = accessAddress
        device.isReceiving = false
        if device.channel == channel { return }
        if device.channel != nil { untune(device) }
        device.channel = channel
        insert(device, on: Int(channel))
    }

    private func insert(_ device: Device, on channel: Int) {
        if device.isMoving {
            device.listenerSquare = -1
            device.listenerPlace = movingListeners[channel].count
            movingListeners[channel].append(device)
        } else {
            listeners[channel].insert(device, at: ListenerIndex.square(of: device.position, reach: reach))
        }
    }

    private func remove(_ device: Device, from channel: Int) {
        guard device.listenerSquare < 0 else { return listeners[channel].remove(device) }
        let last = movingListeners[channel].removeLast()
        if last !== device {
            movingListeners[channel][device.listenerPlace] = last
            last.listenerPlace = device.listenerPlace
        }
    }

    func untune(_ device: Device) {
        guard let channel = device.channel else { return }
        remove(device, from: Int(channel))
        device.channel = nil
        device.isReceiving = false
    }

    /// The device is elsewhere, or has begun or ceased to move.
    func notePlace(of device: Device) {
        guard let channel = device.channel else { return }
        remove(device, from: Int(channel))
        insert(device, on: Int(channel))
    }

    // MARK: Transmitting

    func begin(_ frame: RadioFrame, from sender: Device, at now: Instant) {
        let transmission: Transmission
        if let spare = spares.popLast() {
            spare.reuse(for: frame, from: sender, at: now)
            transmission = spare
        } else {
            transmission = Transmission(frame, from: sender, at: now)
        }
        sender.transmissions &+= 1
        packetCount += 1
        let channel = Int(frame.channel)
        let place = sender.position
        let chance = Chance.mix(Chance.mix(seed, UInt64(sender.number)), sender.transmissions)
        listeners[channel].forEach(around: ListenerIndex.square(of: place, reach: reach)) { listener in
            offer(transmission, to: listener, from: place, chance)
        }
        for listener in movingListeners[channel] { offer(transmission, to: listener, from: place, chance) }
        enter(transmission, at: place)
    }

    /// Enters it among those on the air, and notes who is in whose way, as far as there is anybody who listens to one.
    private func enter(_ transmission: Transmission, at position: Position) {
        var place = onAir.count
        while place > firstOnAir, onAir[place - 1].end > transmission.end { place -= 1 }
        onAir.insert(transmission, at: place)
        let channel = Int(transmission.frame.channel)
        // How near another sender must be to be in the way of whoever listens; nobody listens to most packets.
        let ownReach =
            transmission.receivers.isEmpty ? -1 : squaredOverlapReaches[Int(transmission.frame.mode.rawValue)]
        for index in onAirByChannel[channel].indices {
            let distance = onAirByChannel[channel][index].position.squaredDistance(to: position)
            let isInItsWay = distance <= onAirByChannel[channel][index].squaredReach
            guard isInItsWay || distance <= ownReach else { continue }
            let other = onAirByChannel[channel][index].transmission
            let end = min(other.end, transmission.end)
            if isInItsWay {
                other.overlaps.append(.init(sender: transmission.sender, start: transmission.start, end: end))
            }
            if distance <= ownReach {
                transmission.overlaps.append(.init(sender: other.sender, start: transmission.start, end: end))
            }
        }
        transmission.place = onAirByChannel[channel].count
        onAirByChannel[channel].append(
            Occupation(position: position, squaredReach: ownReach, transmission: transmission))
    }

    private func removeFirstOnAir() -> Transmission {
        let transmission = onAir[firstOnAir]
        firstOnAir += 1
        if firstOnAir == onAir.count || firstOnAir == 256 {
            onAir.removeSubrange(..<firstOnAir)
            firstOnAir = 0
        }
        return transmission
    }

    private func leave(_ transmission: Transmission) {
        let channel = Int(transmission.frame.channel)
        let last = onAirByChannel[channel].removeLast()
        if last.transmission !== transmission {
            onAirByChannel[channel][transmission.place] = last
            last.transmission.place = transmission.place
        }
    }

    /// Lets the receiver take the packet up, if it notices it.
    private func offer(_ transmission: Transmission, to listener: Device, from place: Position, _ chance: UInt64) {
        let (frame, sender) = (transmission.frame, transmission.sender)
        guard !listener.isReceiving, listener.accessAddress == frame.accessAddress, listener.phy == frame.mode.phy,
            place.squaredDistance(to: listener.position) <= squaredReaches[Int(frame.mode.rawValue)]
        else { return }
        let own = Chance.mix(chance, UInt64(listener.number))
        let power = strength(of: sender, at: listener) + environment.fading * Chance.triangle(own)
        guard power >= environment.sensitivity(frame.mode) + RadioEnvironment.noticeableMargin else { return }
        if environment.packetLoss > 0, Double(own >> 32) < environment.packetLoss * 4_294_967_296 { return }
        listener.isReceiving = true
        transmission.receivers.append(.init(device: listener, power: power, chance: own))
        listener.receptionBegan()
    }

    /// How strong a device's packets are where another is, without fading, in dBm.
    func strength(of sender: Device, at receiver: Device) -> Double {
        let (from, to) = (sender.position, receiver.position)
        var power = sender.transmitPower - environment.pathLoss(from.distance(to: to))
        power += sender.antenna.gain(from: from, towards: to) + receiver.antenna.gain(from: to, towards: from)
        guard environment.shadowing > 0 else { return power }
        return power + environment.shadowing * shadow(of: sender, at: receiver)
    }

    private func shadow(of sender: Device, at receiver: Device) -> Double {
        let (first, second) = sender.number < receiver.number ? (sender, receiver) : (receiver, sender)
        return shadows.value(between: first, second) {
            let link = Chance.mix(Chance.mix(seed ^ 0x5AD0, UInt64(first.number)), UInt64(second.number))
            return Shadowing.value(
                seed: link, first: first.position, second: second.position, distance: environment.shadowingDistance)
        }
    }

    /// Ends the packet that `device` is sending before its time.
    func abort(_ device: Device) {
        for transmission in onAir[firstOnAir...] where transmission.sender === device { transmission.isBroken = true }
    }

    /// Ends the packet whose time has come, and hands it to its receivers in the order of their numbers.
    func endNext(at now: Instant) {
        let transmission = removeFirstOnAir()
        leave(transmission)
        eventCount += transmission.receivers.count + transmission.overlaps.count
        let isTapped = tap != nil
        if transmission.receivers.count > 1 {
            transmission.receivers.sort { $0.device.number < $1.device.number }
        }
        var receptions: [AirPacket.Reception] = []
        for receiver in transmission.receivers {
            let device = receiver.device
            // Whoever has retuned in the meantime, even to the same channel, has lost it.
            guard device.isReceiving, device.channel == transmission.frame.channel else { continue }
            device.isReceiving = false
            let reception = reception(of: transmission, by: receiver)
            if isTapped {
                receptions.append(.init(device: device.number, rssi: reception.rssi, isIntact: reception.isIntact))
            }
            device.received(reception, at: now)
        }
        if !transmission.isBroken { transmission.sender.transmissionEnded(at: now) }
        if isTapped { tap?(transmission.seen(by: receptions)) }
        spares.append(transmission)
    }
}
