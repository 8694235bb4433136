// The peripheral of the echo: sends back what comes on its channel until the central closes that.

import EchoChannel
import Foundation

// Each line at once, into a pipe too.
setlinebuf(stdout)

let peripheral = EchoPeripheral { exit($0.problem == nil ? 0 : 1) }
peripheral.start()
// Streams speak on a run loop; it also serves the main queue.
RunLoop.main.run()
