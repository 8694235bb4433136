import Foundation

/// The machine that these tests run in: a real kernel's Bluetooth, BlueZ, and controllers that are none of ours. See
/// Scripts/bluez-vm. Outside of it they are left out.
enum Machine {
    static let isHere = ProcessInfo.processInfo.environment["BLUEZ_VM_TESTS"] != nil

    /// The radio that the tests play on.
    static var radio: String { ProcessInfo.processInfo.environment["BLE_RADIO"] ?? "hci:1" }

    /// Its number.
    static var adapter: Int { Int(radio.split(separator: ":").last ?? "") ?? 1 }

    /// Our adapter's address, as its peers know it.
    static var ownAddress: String { ProcessInfo.processInfo.environment["BLUEZ_VM_OWN_ADDRESS"] ?? "" }

    /// Runs a program of the machine, whose root is not the one in which the tests see their own files.
    @discardableResult
    static func run(_ arguments: String...) throws -> (status: Int32, output: String) {
        let process = Process()
        let pipe = Pipe()
        process.executableURL = URL(filePath: "/usr/sbin/chroot")
        process.arguments = ["/proc/1/root"] + arguments
        process.environment = ["PATH": "/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root"]
        process.standardOutput = pipe
        process.standardError = pipe
        try process.run()
        let output = pipe.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        return (process.terminationStatus, String(decoding: output, as: UTF8.self))
    }

    /// What carries packets between our adapter and its controller: stopped, it is a controller that hangs.
    static func bridges() throws -> [pid_t] { try processes("h4bridge", "vhci", port) }

    /// The processes whose command line begins with these words.
    private static func processes(_ words: String...) throws -> [pid_t] {
        try FileManager.default.contentsOfDirectory(atPath: "/proc").compactMap { pid_t($0) }.sorted().filter {
            process in
            guard let line = FileManager.default.contents(atPath: "/proc/\(process)/cmdline") else { return false }
            let arguments = line.split(separator: 0).map { String(decoding: $0, as: UTF8.self) }
            return arguments.count >= words.count && zip(arguments, words).allSatisfy { $0.hasSuffix($1) }
        }
    }

    /// The bridge that is the adapter's plug, as the machine's script started it; see Tests/BlueZ/guest.py.
    private static let port = ProcessInfo.processInfo.environment["BLUEZ_VM_PORT"] ?? ""

    enum Trouble: String {
        /// bluetoothd ends and starts again.
        case bluetoothd
        /// bluetoothd switches its adapter off and on.
        case power
        /// Our adapter is pulled out.
        case unplug
        /// It is plugged in again.
        case plug
    }

    /// Comes back when it is done, and, of bluetoothd, when the peripheral on it is there again.
    static func make(_ trouble: Trouble) throws {
        let folder = ProcessInfo.processInfo.environment["BLUEZ_VM_FOLDER"] ?? ""
        let (status, output) = try run("python3", "\(folder)/trouble.py", trouble.rawValue, port)
        guard status == 0 else { throw MachineTrouble(output: output) }
    }

    // MARK: rfkill

    /// The adapter's own switch. Linux, include/uapi/linux/rfkill.h: `struct rfkill_event` with the switch's number,
    /// the type 2 (Bluetooth), the operation 2 (change), and whether to block in software.
    static func setBlocked(_ isBlocked: Bool) throws {
        let number = UInt32(try text(ofSwitch: "index")) ?? 0
        let octets = (0..<4).map { UInt8(truncatingIfNeeded: number >> (8 * $0)) }
        let file = try FileHandle(forWritingTo: URL(filePath: "/dev/rfkill"))
        // The kernel refuses for an adapter that a program has for itself.
        try? file.write(contentsOf: Data(octets + [2, 2, isBlocked ? 1 : 0, 0]))
        try file.close()
    }

    static var isBlocked: Bool { get throws { try text(ofSwitch: "soft") == "1" } }

    private static func text(ofSwitch name: String) throws -> String {
        let folder = "/sys/class/bluetooth/hci\(adapter)"
        let entry = try FileManager.default.contentsOfDirectory(atPath: folder).first { $0.hasPrefix("rfkill") }
        let path = "\(folder)/\(entry ?? "rfkill")/\(name)"
        return try String(contentsOfFile: path, encoding: .utf8).trimmingCharacters(in: .whitespacesAndNewlines)
    }
}

/// What a program of the machine said when it failed.
struct MachineTrouble: Error {
    var output: String
}
