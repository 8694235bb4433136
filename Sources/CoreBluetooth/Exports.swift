// Apple's module brings Foundation and Dispatch along, and sources count on it.
@_exported public import CCoreBluetooth
@_exported public import Dispatch
@_exported public import Foundation

/// Seconds since 2001-01-01 00:00:00 UTC.
public typealias CFAbsoluteTime = Double

public typealias dispatch_queue_t = DispatchQueue
