// Names of Apple's Dispatch that the one on Linux lacks. Sources get them there through `import CoreBluetooth`.

/// Nanoseconds in a second.
public let NSEC_PER_SEC: UInt64 = 1_000_000_000
/// Nanoseconds in a millisecond.
public let NSEC_PER_MSEC: UInt64 = 1_000_000
/// Nanoseconds in a microsecond.
public let NSEC_PER_USEC: UInt64 = 1_000
/// Microseconds in a second.
public let USEC_PER_SEC: UInt64 = 1_000_000

/// The name that Apple's newer interfaces give to a dispatch queue.
public typealias dispatch_queue_t = DispatchQueue

extension DispatchTime {
    /// How long it is from here to `other`, in nanoseconds; `.never` if one of the two never comes.
    public func distance(to other: DispatchTime) -> DispatchTimeInterval {
        guard self != .distantFuture, other != .distantFuture else { return .never }
        let (later, earlier) = (
            max(uptimeNanoseconds, other.uptimeNanoseconds), min(uptimeNanoseconds, other.uptimeNanoseconds)
        )
        let distance = Int(clamping: later - earlier)
        return .nanoseconds(self <= other ? distance : -distance)
    }

    /// The time that lies `interval` after this one, or before it if that is negative.
    public func advanced(by interval: DispatchTimeInterval) -> DispatchTime { self + interval }
}
