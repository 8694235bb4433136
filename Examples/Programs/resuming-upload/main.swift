// Offers a file. Kill it and start it again: receivers come back by themselves. `resuming-upload [FILE]`

import Foundation
import ResumingTransfer

// Each line at once, into a pipe too.
setlinebuf(stdout)

var content = Data((0..<500_000).map { UInt8(truncatingIfNeeded: $0 * $0 / 97) })
if let path = CommandLine.arguments.dropFirst().first {
    guard let read = FileManager.default.contents(atPath: path) else {
        print("\(path) cannot be read")
        exit(1)
    }
    content = read
}
let upload = ResumingUpload(content: content)
upload.start()
dispatchMain()
