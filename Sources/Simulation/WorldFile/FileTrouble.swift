import Foundation
import Glibc

/// Why a file cannot be used, for a person: Foundation's own words name neither the path nor what to do.
///
/// - Parameter error: what Foundation threw.
/// - Returns: half a sentence, without a dot: `there is no such file or folder; check the path`.
package func fileTrouble(_ error: any Error) -> String {
    var innermost = error as NSError
    while let under = innermost.userInfo[NSUnderlyingErrorKey] as? any Error { innermost = under as NSError }
    if innermost.domain == NSPOSIXErrorDomain { return fileTrouble(code: Int32(innermost.code)) }
    switch (error as? CocoaError)?.code {
    case .fileNoSuchFile, .fileReadNoSuchFile: return fileTrouble(code: ENOENT)
    case .fileReadNoPermission, .fileWriteNoPermission: return fileTrouble(code: EACCES)
    case .fileWriteOutOfSpace: return fileTrouble(code: ENOSPC)
    case .fileWriteFileExists: return fileTrouble(code: EEXIST)
    case .fileReadTooLarge: return fileTrouble(code: EFBIG)
    default: return "the system says \(innermost.domain) \(innermost.code)"
    }
}

/// The same of a system call's error number.
package func fileTrouble(code: Int32) -> String {
    switch code {
    case ENOENT: "there is no such file or folder; check the path"
    case ENOTDIR: "a part of its path is no folder; check the path"
    case EISDIR: "it is a folder; name a file"
    case EEXIST: "a file is there already; name another, or move it away"
    case EACCES, EPERM: "this user may not; change its permissions, or take another place"
    case EROFS: "nothing can be written there; take another place"
    case ENOSPC, EDQUOT: "the disk is full; make room, or take another place"
    default: unsafe String(cString: strerror(code))
    }
}
