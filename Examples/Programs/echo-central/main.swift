// The central of the echo: `echo-central [OCTETS]` sends so many octets over a channel, and compares what comes back.

import EchoChannel
import Foundation

// Each line at once, into a pipe too.
setlinebuf(stdout)

let words = CommandLine.arguments.dropFirst()
guard words.count <= 1, let count = Int(words.first ?? "100000"), count > 0 else {
    print("usage: echo-central [OCTETS]")
    exit(2)
}
let central = EchoCentral(count: count) { exit($0.problem == nil ? 0 : 1) }
central.start()
// Streams speak on a run loop; it also serves the main queue.
RunLoop.main.run()
