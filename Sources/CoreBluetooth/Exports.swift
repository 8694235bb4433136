// Apple's module brings Foundation, CoreFoundation and Dispatch along, and sources count on it.
@_exported public import CCoreBluetooth
@_exported public import CoreFoundation
@_exported public import Dispatch
@_exported public import Foundation

/// The name that Dispatch gives to ``Dispatch/DispatchQueue`` in Apple's newer interfaces.
public typealias dispatch_queue_t = DispatchQueue
