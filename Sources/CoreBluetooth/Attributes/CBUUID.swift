package import BluetoothTypes

/// The name of a kind of service, characteristic or descriptor.
///
/// It is as wide as it was made: 16, 32 or 128 bits. Two are equal if they mean the same 128 bits, whatever their
/// widths; `data` and `uuidString` differ by width, so compare the objects.
// `@unchecked`: the stored property is a constant.
open class CBUUID: NSObject, NSCopying, @unchecked Sendable {
    package let bluetoothUUID: BluetoothUUID

    package init(_ uuid: BluetoothUUID) {
        bluetoothUUID = uuid
        super.init()
    }

    /// All zero: what Apple's class makes of it is of no use either, but sources have it.
    public override init() {
        bluetoothUUID = .uuid128(0)
        super.init()
    }

    /// From 4 or 8 hexadecimal digits, or the 36 characters of a 128-bit UUID, in either case. Any other text is a
    /// mistake in the program and ends it.
    public init(string theString: String) {
        guard let uuid = BluetoothUUID(coreBluetoothText: theString) else {
            preconditionFailure("String \(theString) does not represent a valid UUID")
        }
        bluetoothUUID = uuid
        super.init()
    }

    /// From 2, 4 or 16 octets, most significant first. Any other count is a mistake in the program and ends it.
    public init(data theData: Data) {
        guard let uuid = BluetoothUUID(octets: theData.reversed()[...]) else {
            preconditionFailure("Data \(theData as NSData) does not represent a valid UUID")
        }
        bluetoothUUID = uuid
        super.init()
    }

    /// The same 128 bits.
    public init(nsuuid theUUID: UUID) {
        let octets = unsafe withUnsafeBytes(of: theUUID.uuid) { unsafe Array($0) }
        bluetoothUUID = .uuid128(octets.reduce(0) { $0 << 8 | UInt128($1) })
        super.init()
    }

    /// The same 128 bits. A leftover of an old API: use ``init(nsuuid:)``.
    @available(iOS, introduced: 5.0, deprecated: 9.0)
    @available(macOS, introduced: 10.7, deprecated: 10.13)
    public init(cfuuid theUUID: CFUUID) {
        let octets = unsafe withUnsafeBytes(of: CFUUIDGetUUIDBytes(theUUID)) { unsafe Array($0) }
        bluetoothUUID = .uuid128(octets.reduce(0) { $0 << 8 | UInt128($1) })
        super.init()
    }

    /// 2, 4 or 16 octets, most significant first.
    open var data: Data { Data(bluetoothUUID.octets.reversed()) }

    /// Upper case; 4, 8 or 36 characters.
    open var uuidString: String { bluetoothUUID.description }

    /// The name that the Bluetooth SIG gave it, else the same as ``uuidString``.
    open override var description: String { bluetoothUUID.assignedName ?? uuidString }

    open override func isEqual(_ object: Any?) -> Bool {
        guard let other = object as? CBUUID else { return false }
        return bluetoothUUID == other.bluetoothUUID
    }

    open override var hash: Int { bluetoothUUID.hashValue }

    /// The object itself: it cannot change.
    open func copy(with zone: NSZone? = nil) -> Any { self }
}

extension BluetoothUUID {
    /// As ``CBUUID/init(string:)`` reads it.
    package init?(coreBluetoothText text: String) {
        var digits = Array(text.utf8)
        if digits.count == 36 {
            for hyphen in [23, 18, 13, 8] where digits.remove(at: hyphen) != UInt8(ascii: "-") { return nil }
        } else if digits.count != 4 && digits.count != 8 {
            return nil
        }
        var value: UInt128 = 0
        for digit in digits {
            guard let nibble = Character(UnicodeScalar(digit)).hexDigitValue else { return nil }
            value = value << 4 | UInt128(nibble)
        }
        switch digits.count {
        case 4: self = .uuid16(UInt16(value))
        case 8: self = .uuid32(UInt32(value))
        default: self = .uuid128(value)
        }
    }
}
