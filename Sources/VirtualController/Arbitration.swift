import EventLoop
import HCI
import LinkLayer

// Who may have the radio: Documentation/Decisions/0061-who-has-the-radio.md.
//
// A link event that is due comes before all else; then come periodic advertising and those who follow it, whose times
// are certain, too; advertising events come before windows of scanning and initiating, which take turns. Of two link
// events in each other's way, the one takes place whose link is nearer to its supervision timeout, and the other is
// skipped. What waits for too long is not interrupted by links that can wait.

extension VirtualController {
    /// Hands the radio to whoever is due.
    func arbitrate(at now: Instant) {
        var index = 0
        while index < links.count {
            let link = links[index]
            if !isHolder(link), let start = link.connection.nextStart, start <= now {
                serve(link, due: start, at: now)
            }
            // A link may have ended, and another taken its place in the array.
            if index < links.count, links[index] === link { index += 1 }
        }
        servePunctual(at: now)
        while let next = nextInBackground(at: now) {
            if case .nobody = holder {} else { revoke(at: now) }
            isImpatient = overdue(next, at: now) > Self.patience
            if case .advertiser(let set) = next, let train = set.train { set.machine?.setTrain(train.machine) }
            holder = next
            feed(.granted(limit: nil), at: now)
        }
    }

    /// How long an activity without a link waits for a gap between the links' events before it takes one.
    private static let patience = Duration.milliseconds(50)
    /// A link with fewer events than this before its supervision timeout waits for nobody.
    private static let fewestEvents = 3

    private func overdue(_ activity: Holder, at now: Instant) -> Duration {
        switch activity {
        case .advertiser(let set): set.machine?.nextStart.map { $0.duration(to: now) } ?? .zero
        case .nobody, .scanner, .initiator, .link, .train, .sync: .zero
        }
    }

    func isHolder(_ link: Link) -> Bool {
        if case .link(let holder) = holder { holder === link } else { false }
    }

    private func serve(_ link: Link, due start: Instant, at now: Instant) {
        let isFree = yields(to: link, at: now)
        // A central that starts late is not heard, for its peer listens around the anchor only.
        let tolerance = link.connection.role == .central ? Duration.zero : AirTiming.sleepClockJitter
        if isFree, start.duration(to: now) <= tolerance, let limit = limit(for: link, at: now) {
            if case .nobody = holder {} else { revoke(at: now) }
            holder = .link(link)
            feed(.granted(limit: limit.instant), at: now)
        } else {
            link.connection.skipEvent(at: now, reports: &linkReports)
            if !linkReports.isEmpty { dealWith(link, at: now) }
        }
    }

    /// Whether whoever holds the radio gives it to a link whose event is due.
    private func yields(to link: Link, at now: Instant) -> Bool {
        let canWait = link.connection.eventsLeft(at: now) >= Self.fewestEvents
        switch holder {
        case .nobody, .scanner: return true
        case .link: return false
        case .advertiser, .train, .sync: return !isImpatient || !canWait
        // A CONNECT_IND on the air is half a connection.
        case .initiator: return initiator?.machine.isOffering != true || !canWait
        }
    }

    func revoke(at now: Instant) {
        silenceRadio()
        feed(.revoked, at: now)
        holder = .nobody
    }

    /// By when the link should give the radio back, if there is a reason; `nil` if its event should not take place.
    private func limit(for link: Link, at now: Instant) -> (instant: Instant?, Void)? {
        var limit: Instant?
        let shortest = now.advanced(by: link.connection.exchangeTime)
        for other in links where other !== link {
            guard let start = other.connection.nextStart, start >= now else { continue }
            if start < shortest {
                let isNearer = other.connection.eventsLeft(at: start) < link.connection.eventsLeft(at: now)
                if isNearer { return nil }
            } else {
                limit = limit.map { min($0, start) } ?? start
            }
        }
        if let end = advertisingLimit(for: link, before: limit, at: now) { limit = min(limit ?? end, end) }
        // Every fourth event of a busy link leaves its rest to a scanner, and every other one to an initiator.
        if scanner != nil, link.connection.event % 4 == 3 { limit = now }
        if initiator != nil, link.connection.event % 2 == 1 { limit = now }
        return (limit, ())
    }

    /// By when a link's event must end so that the advertising that becomes due on the way has its place before the
    /// next event of a link; what has waited long enough does not wait for the end of this one.
    private func advertisingLimit(for link: Link, before end: Instant?, at now: Instant) -> Instant? {
        let next = min(end ?? link.connection.startAfterNext, link.connection.startAfterNext)
        var limit: Instant?
        for set in sets {
            guard mayHold(set), let machine = set.machine, let due = machine.nextStart, due <= next else { continue }
            let latest = min(next.advanced(by: .zero - machine.eventTime), due.advanced(by: Self.patience))
            let start = max(latest, due, now)
            limit = limit.map { min($0, start) } ?? start
        }
        return limit
    }

    /// The activity without a link that may have the radio now; `nil` if none is due or the radio is not to be had.
    private func nextInBackground(at now: Instant) -> Holder? {
        switch holder {
        case .advertiser, .link, .train, .sync: return nil
        case .initiator where initiator?.machine.isOffering == true: return nil
        case .nobody, .scanner, .initiator: break
        }
        if let set = nextSet(at: now) { return .advertiser(set) }
        guard case .nobody = holder else { return nil }
        let scan = scanner.flatMap { $0.machine.nextStart <= now ? $0.machine.nextStart : nil }
        let initiate = initiator?.machine.nextStart.flatMap { $0 <= now ? $0 : nil }
        switch (scan, initiate) {
        case (nil, nil): return nil
        case (_?, nil): return .scanner
        case (nil, _?): return .initiator
        case (let scan?, let initiate?): return scan <= initiate ? .scanner : .initiator
        }
    }

    /// The set that has waited longest for its event.
    private func nextSet(at now: Instant) -> AdvertisingSet? {
        var next: (set: AdvertisingSet, start: Instant)?
        for set in sets {
            guard mayHold(set), let machine = set.machine, let start = machine.nextStart, start <= now,
                next.map({ start < $0.start }) ?? true,
                start.duration(to: now) > Self.patience || fits(machine.eventTime, at: now)
            else { continue }
            next = (set, start)
        }
        return next?.set
    }

    /// Whether there is room for the link that may come of a set; a connectable one without room pauses.
    private func mayHold(_ set: AdvertisingSet) -> Bool {
        !set.parameters.properties.contains(.connectable) || hasRoom
    }

    /// Whether another link may come, one being kept for the connection that the host asks for.
    var hasRoom: Bool { links.count + (initiator == nil ? 0 : 1) < configuration.maxLinks }

    /// Whether an advertising event ends before the next event of a link, or of what is as punctual.
    private func fits(_ eventTime: Duration, at now: Instant) -> Bool {
        let end = now.advanced(by: eventTime)
        guard nextPunctual.map({ $0 >= end }) ?? true else { return false }
        return fitsLinks(eventTime, at: now)
    }

    func fitsLinks(_ eventTime: Duration, at now: Instant) -> Bool {
        let end = now.advanced(by: eventTime)
        return !links.contains { link in
            guard let start = link.connection.nextStart else { return false }
            // Where the gaps are too short for a whole event, half of one is better than none.
            return start < end && link.connection.interval > eventTime * 2
        }
    }

    // MARK: Time

    func superviseLinks(at now: Instant) {
        var index = 0
        while index < links.count {
            let link = links[index]
            if let deadline = link.connection.deadline, deadline <= now {
                link.connection.wake(at: now, reports: &linkReports)
                if !linkReports.isEmpty { dealWith(link, at: now) }
            }
            if index < links.count, links[index] === link { index += 1 }
        }
    }

    /// The earliest instant at which somebody wants the radio, or a link gives up waiting.
    func nextDeadline(at now: Instant) -> Instant? {
        var earliest: Instant?
        var holdingLink: Link?
        if case .link(let link) = holder { holdingLink = link }
        if showsPrivateAddress { earliest = addressRenewal }
        earliest = Self.earlier(earliest, scanSchedule?.next)
        for link in links {
            earliest = Self.earlier(earliest, link.connection.deadline)
            if link !== holdingLink { earliest = Self.earlier(earliest, link.connection.nextStart) }
        }
        if hasPunctual {
            earliest = Self.earlier(earliest, nextPunctual)
            for sync in syncs { earliest = Self.earlier(earliest, sync.machine.deadline) }
        }
        // What is due already waits for the radio, and is looked at again when that becomes free.
        switch holder {
        case .advertiser, .link, .train, .sync:
            break
        case .scanner, .initiator:
            earliest = Self.earlier(earliest, nextAdvertising(after: now))
        case .nobody:
            earliest = Self.earlier(earliest, nextAdvertising(after: now))
            earliest = Self.earlier(earliest, Self.later(than: now, scanner?.machine.nextStart))
            earliest = Self.earlier(earliest, Self.later(than: now, initiator?.machine.nextStart))
        }
        return earliest
    }

    private func nextAdvertising(after now: Instant) -> Instant? {
        var earliest: Instant?
        for set in sets where mayHold(set) {
            guard let start = set.machine?.nextStart else { continue }
            // One that found no gap takes the radio when its patience ends.
            let next = start > now ? start : Self.later(than: now, start.advanced(by: Self.patience + .microseconds(1)))
            earliest = Self.earlier(earliest, next)
        }
        return earliest
    }

    private static func earlier(_ left: Instant?, _ right: Instant?) -> Instant? {
        guard let left else { return right }
        guard let right else { return left }
        return min(left, right)
    }

    private static func later(than now: Instant, _ instant: Instant?) -> Instant? {
        guard let instant, instant > now else { return nil }
        return instant
    }
}
