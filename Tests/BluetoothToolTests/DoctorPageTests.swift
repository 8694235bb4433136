import BluetoothTool
import Foundation
import Testing

/// Documentation/Doctor.md: every cause, the world in which the fault is really there, and the test that finds it.
@Suite("Page of the doctor")
struct DoctorPageTests {
    private static let path = "Documentation/Doctor.md"
    private static let command = "REGENERATE=1 ./test --filter DoctorPageTests"

    /// Where a cause is found, and by which suite.
    private struct Proof {
        var cause: Cause
        var place: String
        var suite: String
    }

    private static func proofs(_ suite: String, _ places: [(Cause, String)]) -> [Proof] {
        places.map { Proof(cause: $0.0, place: $0.1, suite: suite) }
    }

    private static let worlds = proofs(
        "DoctorTests",
        [
            (.notPermitted, "a phone on which the app may not use Bluetooth"),
            (.noLowEnergy, "an app in a simulator"), (.switchedOff, "Bluetooth was switched off"),
            (.radioSilent, "the phone's Bluetooth service starts again, for minutes"),
            (.radioFailed, "the controller reports a hardware error (`controllerResets`), before and on a link"),
            (.nothingOnAir, "a phone alone"), (.notHeard, "a sensor, and the name of another device"),
            (.misspelledName, "a sensor, and two letters in the wrong order"), (.severalOfOneName, "two sensors"),
            (.serviceNotAdvertised, "a sensor that advertises another service"),
            (.notConnectable, "a tag that only broadcasts"), (.weakSignal, "a sensor at 230 m"),
            (.doesNotAnswer, "a sensor that is carried away after it was heard"),
            (.dropsAtOnce, "a sensor that is switched off after the link was made"),
            (.linkLost, "a sensor whose battery falls out"),
            (.linkLimit, "another program holds eight links, which is all that the controller can"),
            (.bondLost, "bonded, and the sensor has lost the bond (`forgotBond`)"),
            (.smallMTU, "a sensor whose ATT_MTU is 23"),
            (.discoveryFails, "a sensor that lists two services with one handle (`duplicateHandles`)"),
            (.wrongService, "a sensor, and the UUID of another service"),
            (.wrongCharacteristic, "a sensor, and the UUID of another characteristic"),
            (.cannotNotify, "a characteristic that is only read"),
            (.noConfigurationDescriptor, "a sensor without that descriptor (`missingConfigurationDescriptor`)"),
            (.subscriptionRefused, "a sensor whose firmware refuses to be subscribed to"),
            (.silentNotifications, "a sensor that has nothing to say"),
            (.readRefused, "a sensor that answers reads with an error"),
            (.needsPairing, "a sensor that answers with insufficient authorization"),
            (.noAnswer, "a sensor whose program does not respond"),
            (.writeVanishes, "a write without response to a characteristic that takes none"),
            (.writeRefused, "a sensor that refuses writes"),
        ])
    private static let captures = proofs(
        "CaptureReaderTests",
        [
            (.parametersRefused, "a sensor that asks for parameters out of range (`demandsParameters`)"),
            (.pairingFailed, "a sensor that refuses to pair (`refusesPairing`)"),
            (.staleCache, "the attribute table moved (`tableMovedSilently`), and then a read"),
            (.neverSubscribed, "a value that notifies is found, and another one read"),
        ])
    private static let logs =
        proofs(
            "LogTests",
            [
                (.logTooEarly, "a program that scans before the radio is on"),
                (.logNotConnected, "a program that discovers before it is connected"),
                (.logWriteWithoutProperty, "a program that writes in a way that is not offered"),
                (.logForgottenResponse, "a peripheral's program that does not respond"),
                (.logAdvertisedTooEarly, "a program that advertises before its services are there"),
                (.logContradiction, "a characteristic that is read and not readable"),
                (.logRefusedService, "a program that adds the service 1800"),
                (.logStaleObject, "a program that uses an earlier link's characteristic"),
                (.logIgnoredKey, "a program that advertises manufacturer data"),
                (.logBackground, "a program that scans in the background without the mode"),
            ])
        + proofs(
            "LogWorldTests",
            [
                (.logForgottenPeripheral, "a program that does not keep its peripheral"),
                (.logForgottenManager, "a program that does not keep its manager"),
                (.logNoDelegate, "a peripheral without a delegate, and a read"),
                (.logMissingMethod, "a peripheral's delegate without the method for reads"),
                (.logWriteCut, "a write of 400 octets where 182 fit"),
                (.logNoRoom, "400 writes in a row"), (.logOtherManager, "a second manager connects the first one's"),
            ])
    /// Of a real adapter: most states are made with the kernels of `./test --bluez`.
    private static let adapters =
        proofs(
            "Tests/BlueZ/guest.py",
            [
                (.blocked, "an adapter that rfkill blocks"), (.noCapability, "a program of nobody's"),
                (.adapterInUse, "another program has it"), (.noAdapter, "`hci:9`, where there are three"),
                (.firmwareMissing, "a controller that never answers, so that the kernel does not get it ready"),
                (.unplugged, "pulled out while the air is looked at"),
            ])
        + proofs(
            "Tests/Interop/interop.py",
            [
                (.noKernelSupport, "in a network namespace, as in a container"),
                (.radioUnreachable, "a port at which nobody listens"),
            ])

    private static let all = worlds + captures + logs + adapters

    private static func text(of suite: String) throws -> String {
        let path = suite.hasSuffix(".py") ? suite : "Tests/BluetoothToolTests/\(suite).swift"
        return try String(contentsOf: DeviceCommandTests.root.appendingPathComponent(path), encoding: .utf8)
    }

    @Test("Every cause has a proof, and the suite that is named asks for it")
    func proven() throws {
        let proven = Set(Self.all.map(\.cause))
        #expect(proven == Set(Cause.allCases), "without a proof: \(Set(Cause.allCases).subtracting(proven))")
        #expect(Self.all.count == Cause.allCases.count, "one line each")
        for proof in Self.all {
            let text = try Self.text(of: proof.suite)
            let word = proof.cause.rawValue
            let name = proof.suite.hasSuffix(".py") ? "\"\(word)\"" : ".\(word)"
            #expect(text.contains(name), "\(proof.suite) does not find \(word)")
        }
        // Those that are found in worlds are the cases of the suite itself.
        let cases = DoctorTests.radio + DoctorTests.air + DoctorTests.link + DoctorTests.values
        #expect(Set(cases.map(\.cause) + [.notConnectable]) == Set(Self.worlds.map(\.cause)))
        #expect(Self.worlds.count >= 20)
    }

    @Test("The page is up to date")
    func page() throws {
        func table(_ proofs: [Proof]) -> String {
            "| cause | found in | test |\n| --- | --- | --- |\n"
                + proofs.map { "| `\($0.cause.rawValue)`: \($0.cause.title) | \($0.place) | `\($0.suite)` |\n" }
                .joined()
        }
        let page = """
            # What `ble doctor` finds

            \(Cause.allCases.count) causes, each with what cures it: `./ble doctor --list`. Here stands in which world
            each fault is really there, and the suite that finds it and nothing else. In a world without the fault it
            finds nothing (`DoctorTests.healthy`, `CaptureReaderTests.healthy`, `LogWorldTests.well`). A test fails when
            a cause has no proof; the page is made by `\(Self.command)`.

            ## On the radio, the air and the link

            \(table(Self.worlds))
            ## In a capture

            What is found on a link is found in its capture too; these are seen there only.

            \(table(Self.captures))
            ## In a program's log

            \(table(Self.logs))
            ## On a real adapter

            The kernels of `./test --bluez` put adapters into these states, and `./test` has the last two. What the
            kernel tells of the first two, and the words of whoever could not open a radio, are read in
            `AdapterReportTests` and `DoctorTests.words` too.

            \(table(Self.adapters))
            """
        let url = DeviceCommandTests.root.appendingPathComponent(Self.path)
        if ProcessInfo.processInfo.environment["REGENERATE"] == "1" { try Data(page.utf8).write(to: url) }
        let current = try? String(contentsOf: url, encoding: .utf8)
        #expect(current == page, "\(Self.path) is out of date. Make it anew: \(Self.command)")
    }
}
