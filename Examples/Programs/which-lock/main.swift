// Finds the lock with the address given, among many of one name.

import Foundation
import WhichLock

// Each line at once, into a pipe too.
setlinebuf(stdout)

guard let address = CommandLine.arguments.dropFirst().first else {
    print("usage: which-lock AA:BB:CC:DD:EE:FF")
    exit(2)
}
let search = WhichLock(wantedAddress: address) { exit($0.problem == nil ? 0 : 1) }
search.start()
dispatchMain()
