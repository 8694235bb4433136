import EventLoop
import LinkLayer

// When periodic advertising, and who follows it, has the radio. Its times are certain, so that it cannot wait: an event
// either takes place or is left out.

extension VirtualController {
    /// Of two events in a row that were left out, the next one takes the radio even from links that can wait.
    private static let mostMissed = 2

    /// Whether there is any such activity.
    var hasPunctual: Bool { !syncs.isEmpty || sets.contains { $0.train != nil } }

    /// When the next of these events begins that does not hold the radio already.
    var nextPunctual: Instant? {
        var earliest: Instant?
        for set in sets {
            guard let start = set.train?.machine.nextStart, !holds(set) else { continue }
            earliest = earliest.map { min($0, start) } ?? start
        }
        for sync in syncs where !holds(sync) {
            let start = sync.machine.nextStart
            earliest = earliest.map { min($0, start) } ?? start
        }
        return earliest
    }

    private func holds(_ set: AdvertisingSet) -> Bool {
        if case .train(let holding) = holder { holding === set } else { false }
    }

    private func holds(_ sync: FollowedTrain) -> Bool {
        if case .sync(let holding) = holder { holding === sync } else { false }
    }

    /// Gives the radio to what is due, or lets it leave its event out.
    func servePunctual(at now: Instant) {
        guard hasPunctual else { return }
        for set in sets where !holds(set) {
            guard let start = set.train?.machine.nextStart, start <= now else { continue }
            // Whoever listens does so around the time that was told.
            let isInTime = start.duration(to: now) <= AirTiming.sleepClockJitter
            let (eventTime, missed) = (set.train?.machine.eventTime ?? .zero, set.train?.machine.missed ?? 0)
            if isInTime, mayTakeRadio(for: eventTime, missed: missed, at: now) {
                take(.train(set), missed: missed, at: now)
            } else {
                while let start = set.train?.machine.nextStart, start <= now { set.train?.machine.skipEvent() }
            }
        }
        for sync in syncs where !holds(sync) && sync.machine.nextStart <= now {
            let isInTime = sync.machine.nextStart.duration(to: now) <= AirTiming.sleepClockJitter
            if isInTime, mayTakeRadio(for: sync.machine.eventTime, missed: sync.machine.missed, at: now) {
                take(.sync(sync), missed: sync.machine.missed, at: now)
            } else {
                while sync.machine.nextStart <= now { sync.machine.skipEvent() }
            }
        }
    }

    private func mayTakeRadio(for eventTime: Duration, missed: Int, at now: Instant) -> Bool {
        switch holder {
        case .nobody, .scanner: break
        case .initiator where initiator?.machine.isOffering != true: break
        case .initiator, .advertiser, .link, .train, .sync: return false
        }
        return missed >= Self.mostMissed || fitsLinks(eventTime, at: now)
    }

    private func take(_ activity: Holder, missed: Int, at now: Instant) {
        if case .nobody = holder {} else { revoke(at: now) }
        isImpatient = missed >= Self.mostMissed
        holder = activity
        feed(.granted(limit: nil), at: now)
    }
}
