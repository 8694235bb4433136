import Glibc

extension StreamTransport {
    /// Opens a controller on a serial line: eight bits, no parity, one stop bit, hardware flow control.
    ///
    /// Source: Core 6.0, Vol 4, Part A, 3 (UART settings).
    package static func open(
        serial device: String, baud: Int, on loop: RealTimeLoop
    ) throws(TransportError) -> StreamTransport {
        let descriptor = unsafe Glibc.open(device, O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC)
        guard descriptor >= 0 else {
            switch errno {
            case ENOENT, ENODEV, ENXIO, ENOTDIR: throw .noDevice(path: device)
            case EACCES, EPERM: throw .notPermitted(device)
            case EBUSY: throw .addressInUse(device)
            default: throw .system("Opening \(device)", reason: systemError())
            }
        }
        guard isatty(descriptor) == 1, LineSettings.makeRaw(descriptor, baud: baud) else {
            _ = Glibc.close(descriptor)
            throw .notSerial(path: device, baud: baud)
        }
        // Nobody else opens it from now on. What was left in it belongs to nobody's conversation.
        _ = ioctl(descriptor, LineSettings.makeExclusive)
        _ = tcflush(descriptor, TCIOFLUSH)
        return StreamTransport(descriptor, kind: .serial(device: device), on: loop)
    }
}

/// `struct termios2`, which takes any speed as a number; Glibc has no name for it.
///
/// Source: Linux, include/uapi/asm-generic/{termbits,ioctls}.h, the same on x86 and ARM.
private enum LineSettings {
    static let makeExclusive: UInt = 0x540C
    private static let get: UInt = 0x802C_542A
    private static let set: UInt = 0x402C_542B

    // Flags of c_cflag.
    private static let eightBits: UInt32 = 0o60
    private static let receiverOn: UInt32 = 0o200
    private static let ignoreModemLines: UInt32 = 0o4000
    private static let hardwareFlowControl: UInt32 = 0o20_000_000_000
    private static let speedIsANumber: UInt32 = 0o10000

    /// Words of the 44 octets: c_iflag, c_oflag, c_cflag, c_lflag, then c_line and 19 characters, then the speeds.
    private static let wordCount = 11
    private static let inputSpeed = 9
    private static let outputSpeed = 10
    /// c_cc begins behind c_line; VTIME is its number 5, VMIN its number 6.
    private static let characters = 17

    /// - Returns: whether the line took the settings.
    static func makeRaw(_ descriptor: Int32, baud: Int) -> Bool {
        guard let speed = UInt32(exactly: baud) else { return false }
        var words = [UInt32](repeating: 0, count: wordCount)
        guard unsafe ioctl(descriptor, get, &words) == 0 else { return false }
        words[0] = 0
        words[1] = 0
        words[2] = eightBits | receiverOn | ignoreModemLines | hardwareFlowControl | speedIsANumber
        words[3] = 0
        words[inputSpeed] = speed
        words[outputSpeed] = speed
        unsafe words.withUnsafeMutableBytes { octets in
            unsafe octets[characters + 5] = 0
            unsafe octets[characters + 6] = 1
        }
        guard unsafe ioctl(descriptor, set, &words) == 0, unsafe ioctl(descriptor, get, &words) == 0 else {
            return false
        }
        // A line that cannot do a speed takes the nearest; more than three in a hundred off, nothing is understood.
        let difference = Double(words[outputSpeed]) / Double(speed) - 1
        return words[2] & hardwareFlowControl != 0 && abs(difference) <= 0.03
    }
}
