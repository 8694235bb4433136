// The smallest central: talks to whoever offers FFF0.

import Foundation
import Smallest

let central = SmallestCentral { exit($0.problem == nil ? 0 : 1) }
central.start()
dispatchMain()
