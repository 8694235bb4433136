import Glibc

/// A function of the system's library that its Swift module leaves out.
func systemFunction(_ name: String) -> UnsafeMutableRawPointer {
    guard let symbol = unsafe dlsym(nil, name) else { preconditionFailure("There is no \(name).") }
    return unsafe symbol
}

private typealias SetName = @convention(c) (pthread_t, UnsafePointer<CChar>) -> Int32
private let setName = unsafe unsafeBitCast(systemFunction("pthread_setname_np"), to: SetName.self)

/// Names the calling thread, which has its maker's name otherwise, for top(1) and debuggers.
///
/// - Parameter name: 15 octets at most.
func nameThread(_ name: String) {
    _ = unsafe setName(pthread_self(), name)
}
