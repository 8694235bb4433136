// The smallest peripheral: offers FFF0 until its first central has left.

import Foundation
import Smallest

// Each line at once, into a pipe too.
setlinebuf(stdout)

let peripheral = SmallestPeripheral { exit($0.problem == nil ? 0 : 1) }
peripheral.start()
dispatchMain()
