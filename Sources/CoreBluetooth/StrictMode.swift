import Glibc
import Runtime
import Synchronization

/// What becomes of a program that uses this module as Apple's documentation forbids. Not part of Apple's API.
///
/// Each such misuse is a line on standard error, `[CoreBluetooth] API MISUSE: …` or `[CoreBluetooth] WARNING: …`, and
/// the program goes on, as on Apple's systems. In strict mode the first one ends the program instead, and the message
/// has the line besides the file and the line of the program that made the call:
///
///     CoreBluetooth/StrictMode.swift:…: Fatal error: [CoreBluetooth] API MISUSE: <CBCentralManager: 0x…> can only
///     accept this command while in the powered on state (called at /…/app/Sources/App.swift:42)
///
/// That is for tests and for the first hours of a program. `Documentation/Misuse.md` lists all texts with their cures.
public enum CoreBluetoothStrictMode {
    private static let flag = Atomic<Bool>(
        unsafe getenv("BLE_STRICT").map { unsafe $0[0] == CChar(bitPattern: 0x31) } ?? false)

    /// Whether a misuse ends the program. Without a value given here, it does if the environment variable
    /// `BLE_STRICT` is `1`. For all managers of the process, from any thread.
    public static var isEnabled: Bool {
        get { flag.load(ordering: .relaxed) }
        set { flag.store(newValue, ordering: .relaxed) }
    }
}

extension CoreBluetoothStrictMode {
    /// Ends the program.
    static func end(_ text: String) -> Never {
        fatalError("\(text) (\(callSite().map { "called at \($0)" } ?? "found in a callback, not in a call"))")
    }

    /// The file and line at which the program called this module; `nil` if it did not, but the module is at work by
    /// itself.
    ///
    /// Apple's signatures have no room for `#fileID` and `#line`, so the place is read from the stack.
    private static func callSite() -> String? {
        let here = #filePath
        let module = String(here.dropLast("StrictMode.swift".count))
        let package = String(module.dropLast("CoreBluetooth/".count))
        guard let stack = try? Backtrace.capture(limit: 256, top: 0).symbolicated() else { return nil }
        for frame in stack.frames {
            guard let symbol = frame.symbol else { continue }
            // Below a queue's block or a simulated world's loop there is who runs it, not who called.
            if symbol.rawName.hasPrefix("_dispatch_") || symbol.rawName.hasPrefix("dispatch_") { return nil }
            guard let place = symbol.sourceLocation, place.line > 0, place.path.hasPrefix("/"), !frame.isSwiftThunk,
                !place.path.hasPrefix(module)
            else { continue }
            return place.path.hasPrefix(package) ? nil : "\(place.path):\(place.line)"
        }
        return nil
    }
}
