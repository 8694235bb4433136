// The smallest central: talks to whoever offers FFF0.

import Foundation
import Smallest

// Each line at once, into a pipe too.
setlinebuf(stdout)

let central = SmallestCentral { exit($0.problem == nil ? 0 : 1) }
central.start()
dispatchMain()
