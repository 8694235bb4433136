import BluetoothExtensions
import Foundation

struct Options {
    var isCentral = true
    var capability = PairingCapability.none
    var isLegacy = false
    var exchange = ""
    /// Whether the central waits for enhanced bearers and uses them all at once.
    var usesBearers = false
    /// Out-of-band data: this side's goes to the peer, and with `both` the peer's is taken.
    var outOfBand: String?
    /// A key store of Bumble's to take bonds from before anything else, or to write them to at the end.
    var importsFrom: String?
    var exportsTo: String?

    init(_ arguments: ArraySlice<String>) {
        var rest = arguments
        isCentral = rest.popFirst() != "peripheral"
        while let option = rest.popFirst() {
            switch option {
            case "--capability": capability = Self.capability(rest.popFirst() ?? "")
            case "--legacy": isLegacy = true
            case "--bearers": usesBearers = true
            case "--exchange": exchange = rest.popFirst() ?? ""
            case "--oob": outOfBand = rest.popFirst()
            case "--import": importsFrom = rest.popFirst()
            case "--export": exportsTo = rest.popFirst()
            default:
                print("There is no option \(option).")
                exit(2)
            }
        }
    }

    private static func capability(_ name: String) -> PairingCapability {
        switch name {
        case "keyboard": .keyboardOnly
        case "display": .displayOnly
        case "yesno": .displayYesNo
        case "both": .keyboardDisplay
        default: .none
        }
    }

    func put(_ text: String, _ suffix: String = "") {
        do {
            try text.write(toFile: exchange + suffix, atomically: true, encoding: .utf8)
        } catch {
            print("The file \(exchange)\(suffix) cannot be written: \(error)")
            exit(2)
        }
    }

    /// Calls `then` on the main queue with what the other side has put there.
    func take(_ suffix: String = "", then: @escaping @Sendable (String) -> Void) {
        if let text = try? String(contentsOfFile: exchange + suffix, encoding: .utf8) { return then(text) }
        DispatchQueue.main.asyncAfter(deadline: .now() + 0.02) { take(suffix, then: then) }
    }
}
