// Apple's module brings Foundation, CoreFoundation and Dispatch along, and sources count on it.
@_exported public import CCoreBluetooth
@_exported public import CoreFoundation
@_exported public import Dispatch
@_exported public import Foundation
