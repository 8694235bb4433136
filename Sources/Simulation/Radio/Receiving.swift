import EventLoop
import LinkLayer

// What becomes of a packet that a receiver has taken up.

extension Medium {
    func reception(of transmission: Transmission, by receiver: Transmission.Receiver) -> Reception {
        let interference = peakInterference(with: transmission, at: receiver.device)
        return Reception(
            frame: transmission.frame, start: transmission.start,
            rssi: reading(of: receiver, with: interference),
            isIntact: survives(transmission, at: receiver, interference))
    }

    /// What the receiver says of the strength: all the power on its channel, and an error; 127 for no measure. Core
    /// 6.0, Vol 4, Part E, 7.5.4.
    private func reading(of receiver: Transmission.Receiver, with interference: Double) -> Int8 {
        let chance = Chance.mix(receiver.chance, 1)
        if environment.rssiLoss > 0, Double(chance >> 32) < environment.rssiLoss * 4_294_967_296 { return 127 }
        var power = receiver.power
        if interference > 0 { power = Decibels.from(ratio: Decibels.ratio(power) + interference) }
        power += environment.rssiError * Chance.triangle(chance)
        return Int8(max(-127, min(20, power.rounded())))
    }

    /// The most that other packets on the channel add up to at any time while this one is on the air, in mW.
    private func peakInterference(with transmission: Transmission, at receiver: Device) -> Double {
        guard !transmission.overlaps.isEmpty else { return 0 }
        var others = spareInterferers
        others.removeAll(keepingCapacity: true)
        let place = receiver.position
        let floor = environment.interferenceFloor(transmission.frame.mode)
        let reach = squaredInterferenceReaches[Int(transmission.frame.mode.rawValue)]
        for overlap in transmission.overlaps where overlap.sender.position.squaredDistance(to: place) <= reach {
            let strength = strength(of: overlap.sender, at: receiver)
            if strength >= floor { others.append((overlap.start, overlap.end, Decibels.ratio(strength))) }
        }
        var peak = 0.0
        for first in others {
            var sum = 0.0
            // The sum grows when a packet begins, so it is greatest at one of these instants.
            for other in others where other.start <= first.start && first.start < other.end { sum += other.power }
            peak = max(peak, sum)
        }
        spareInterferers = others
        return peak
    }

    /// Whether the packet reaches the receiver whole: neither noise nor another packet has touched it.
    private func survives(
        _ transmission: Transmission, at receiver: Transmission.Receiver, _ interference: Double
    ) -> Bool {
        guard !transmission.isBroken else { return false }
        let mode = transmission.frame.mode
        if interference > 0,
            receiver.power - Decibels.from(ratio: interference) < environment.coChannelRejection(mode)
        {
            return false
        }
        let margin = receiver.power - environment.sensitivity(mode)
        let bits = RadioEnvironment.bits(payloadCount: transmission.frame.payload.count)
        guard !interferers.isEmpty || margin < RadioEnvironment.safeMargin else { return true }
        var survival = 1.0
        var hit = 0.0
        for (number, interferer) in interferers where interferer.covers(transmission.frame.channel) {
            let share = share(of: transmission, under: interferer, number: number)
            guard share > 0 else { continue }
            let noise = noise(of: interferer, at: receiver.device, mode)
            let deafness = environment.desensitization(mode, by: noise)
            let touched = Int((Double(bits) * share).rounded())
            survival *= 1 - environment.packetErrorRate(margin: margin - deafness, bits: touched)
            hit += share
        }
        if margin < RadioEnvironment.safeMargin {
            let rest = Int((Double(bits) * max(0, 1 - hit)).rounded())
            survival *= 1 - environment.packetErrorRate(margin: margin, bits: rest)
        }
        return Chance.fraction(Chance.mix(receiver.chance, 2)) < survival
    }

    /// The share of a packet's time in which an interferer is loud.
    private func share(of transmission: Transmission, under interferer: Interferer, number: Int) -> Double {
        let (start, end) = (transmission.start.nanoseconds, transmission.end.nanoseconds)
        let seed = Chance.mix(seed ^ 0x1F1F, UInt64(number))
        return Double(interferer.loudness(from: start, to: end, seed: seed)) / Double(end - start)
    }

    /// How much of an interferer's power a receiver lets in, in dBm.
    private func noise(of interferer: Interferer, at receiver: Device, _ mode: RadioMode) -> Double {
        let place = receiver.position
        let inBand = Decibels.from(ratio: RadioEnvironment.bandwidth(mode) / max(interferer.bandwidth, 1))
        return interferer.power + min(0, inBand) - environment.pathLoss(place.distance(to: interferer.position))
            + receiver.antenna.gain(from: place, towards: interferer.position)
    }
}

extension Instant {
    /// Since the start of the loop.
    var nanoseconds: Int64 {
        let (seconds, attoseconds) = sinceStart.components
        return seconds * 1_000_000_000 + attoseconds / 1_000_000_000
    }
}
