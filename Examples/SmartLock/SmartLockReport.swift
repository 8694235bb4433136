import CoreBluetooth
import Foundation

/// What happened while a ``SmartLock`` ran.
public struct SmartLockReport {
    /// Every state of the radio that was reported, in words.
    public var stateWords: [String] = []
    public var connections = 0
    public var failedConnects = 0
    /// Codes of the errors with which links ended that we did not end.
    public var accidents: [Int] = []
    public var foundByLongSpelling: Set<String> = []
    public var instructions: [String] = []
    public var confirmed: [String] = []
    /// How often the battery was subscribed: once for each link.
    public var subscriptions = 0
    public var batteryValues: [Data] = []
    /// How many values came over the first link, the second, and so on.
    public var valuesOnThisLink: [Int: Int] = [:]
    /// In dBm.
    public var signalStrengths: [Int] = []
    public var errors: [String] = []
    /// Why it ended early; `nil` if it did not.
    public var problem: String?

    /// Whether the door was opened and closed, and the battery heard over every link there was.
    public var isSuccess: Bool {
        problem == nil && errors.isEmpty && confirmed == ["unlock", "lock"] && connections > 0
            && (1...max(1, connections)).allSatisfy { valuesOnThisLink[$0, default: 0] > 0 }
    }
}

/// The state of the radio, as one would tell it to a person.
func words(for state: CBManagerState) -> String {
    switch state {
    case .unknown: "Bluetooth: not known yet, an update follows"
    case .resetting: "Bluetooth: the connection to the system was lost for a moment, an update follows"
    case .unsupported: "Bluetooth: this machine has no Bluetooth Low Energy radio"
    case .unauthorized: "Bluetooth: this program is not allowed to use it"
    case .poweredOff: "Bluetooth: switched off"
    case .poweredOn: "Bluetooth: on"
    @unknown default: "Bluetooth: a state that this program does not know (\(state.rawValue))"
    }
}

/// The error in words, with its number: "The connection has timed out unexpectedly. (CBErrorDomain 6)".
func words(for error: (any Error)?) -> String {
    guard let error else { return "no reason given" }
    let number = error as NSError
    return "\(error.localizedDescription) (\(number.domain) \(number.code))"
}

func hex(_ data: Data) -> String {
    data.map { String(format: "%02X", $0) }.joined(separator: " ")
}
