// Receives a file. Kill it and start it again: it goes on where it was. `resuming-download FILE`

import Foundation
import ResumingTransfer

// Each line at once, into a pipe too.
setlinebuf(stdout)

let download = ResumingDownload(file: URL(fileURLWithPath: CommandLine.arguments.dropFirst().first ?? "download")) {
    // The goodbye to the sender needs a moment.
    DispatchQueue.main.asyncAfter(deadline: .now() + 0.5) { exit(0) }
}
download.start()
dispatchMain()
