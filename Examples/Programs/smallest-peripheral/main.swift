// The smallest peripheral: offers FFF0 until its first central has left.

import Foundation
import Smallest

let peripheral = SmallestPeripheral { exit($0.problem == nil ? 0 : 1) }
peripheral.start()
dispatchMain()
