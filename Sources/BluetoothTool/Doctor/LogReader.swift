import Foundation

/// Finds causes in a program's log: in the lines that CoreBluetooth writes about the program's mistakes.
package enum LogReader {
    /// What a line contains, and what it means. The first that fits counts.
    package static let signs: [(text: String, cause: Cause)] = [
        ("can only accept this command while in the powered on state", .logTooEarly),
        ("can only accept commands while in the connected state", .logNotConnected),
        ("Cancelling connection for unused peripheral", .logForgottenPeripheral),
        ("Did you forget to keep a reference to the manager", .logForgottenManager),
        ("while its delegate is nil", .logNoDelegate),
        ("while delegate is either nil or does not implement", .logNoDelegate),
        ("does not implement -[", .logMissingMethod),
        ("ignoring response-less write", .logWriteWithoutProperty),
        ("the peripheral will refuse the write", .logWriteWithoutProperty),
        ("cutting it", .logWriteCut),
        ("dropping it. Wait for peripheralIsReady", .logNoRoom),
        ("Call respondToRequest:withResult: exactly once", .logForgottenResponse),
        ("has been answered already", .logForgottenResponse),
        ("while services are still being added", .logAdvertisedTooEarly),
        ("advertises services that have not been added", .logAdvertisedTooEarly),
        ("but no permission", .logContradiction), ("but no property", .logContradiction),
        ("cannot be added", .logRefusedService),
        ("is not a valid", .logStaleObject),
        ("does not belong to", .logOtherManager),
        ("ignores the advertisement's key", .logIgnoredKey),
        ("rest in the background", .logBackground), ("rests in the background", .logBackground),
        ("Nothing is advertised in the background", .logBackground),
    ]

    /// Each cause once, with its first line.
    package static func findings(in log: String) -> [Finding] {
        var findings: [Finding] = []
        for line in log.split(whereSeparator: \.isNewline) {
            guard let place = line.range(of: "[CoreBluetooth] ") ?? line.range(of: "[BluetoothSimulation] "),
                let sign = signs.first(where: { line.contains($0.text) }),
                !findings.contains(where: { $0.cause == sign.cause })
            else { continue }
            findings.append(Finding(cause: sign.cause, evidence: Terminal.printable(String(line[place.lowerBound...]))))
        }
        return findings
    }
}
