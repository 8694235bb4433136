#if FUZZING
    import FuzzKit
    import Glibc

    /// The target of this process: libFuzzer has the command line for itself.
    private let target: FuzzTarget = {
        let name = unsafe getenv("BLE_FUZZ_TARGET").map { unsafe String(cString: $0) } ?? ""
        guard let target = FuzzTarget(rawValue: name) else {
            fatalError("BLE_FUZZ_TARGET names none of \(FuzzTarget.allCases.map(\.rawValue)).")
        }
        return target
    }()

    /// What libFuzzer, which has the `main` of this build, calls with each input (LLVM, "libFuzzer", Fuzz Target).
    @_cdecl("LLVMFuzzerTestOneInput")
    public func testOneInput(_ octets: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
        target.run(unsafe Array(UnsafeBufferPointer(start: octets, count: count)))
        return 0
    }
#endif
