// Opens the lock KL940704079, or the one named on the command line, and stays with it for a minute.

import Foundation
import SmartLock

// Each line at once, into a pipe too.
setlinebuf(stdout)

let name = CommandLine.arguments.dropFirst().first ?? "KL940704079"
let lock = SmartLock(name: name) { report in
    print(report.isSuccess ? "all went well" : "it did not go as it should: \(report)")
    exit(report.isSuccess ? 0 : 1)
}
lock.start()
dispatchMain()
