import BluetoothTool
import Testing

/// Each demo keeps its promises, repeats itself from its seed, and can tell when a promise is broken.
@Suite("Demos")
struct DemoTests {
    /// What `ble demo NAME --seed N --json` prints, and the verdict.
    private func play(_ arguments: [String]) -> (output: [String], status: ToolStatus) {
        var output: [String] = []
        let tool = Tool(
            terminal: Terminal(isInteractive: false), environment: [:], print: { output.append($0) },
            printError: { output.append($0) })
        let status = tool.run(["demo"] + arguments)
        return (output, status)
    }

    @Test("Every promise is kept", arguments: Demo.all.map(\.name), [0, 7])
    func promises(name: String, seed: Int) {
        let (output, status) = play([name, "--seed", String(seed)])
        #expect(status == .success, "\(output.joined(separator: "\n"))")
        #expect(output.last == "All \(output.filter { $0.contains("\u{2713}") }.count) promises were kept.")
    }

    /// With each of these seeds the phone once heard the lock before the other app had its link.
    @Test("The phone holds another link before the lock is looked for", arguments: [4, 6, 36])
    func fullPhone(seed: Int) { promises(name: "lock", seed: seed) }

    @Test("The same seed gives the same bytes, another seed others", arguments: Demo.all.map(\.name))
    func seeds(name: String) {
        let first = play([name, "--seed", "7", "--json"]).output
        #expect(first == play([name, "--seed", "7", "--json"]).output)
        #expect(first != play([name, "--seed", "8", "--json"]).output)
    }

    @Test("A lock that never answers breaks the promises")
    func muteLock() {
        let checks = LockDemo(stage: SimulatedStage(seed: 0, timeline: Timeline()), isLockMute: true).play()
        let broken = checks.filter { !$0.isKept }
        #expect(broken.contains { $0.row == "A6" })
        // The battery of the same lock is heard nevertheless.
        #expect(checks.contains { $0.row == "A7" && $0.isKept })
    }

    @Test("A lock that is not there breaks the promises")
    func absentLock() {
        let checks = LockDemo(stage: SimulatedStage(seed: 0, timeline: Timeline()), isLockAbsent: true).play()
        #expect(checks.contains { $0.row == "A3" && !$0.isKept })
        #expect(checks.contains { $0.row == "A2" && $0.isKept && $0.observed.contains("not here") })
    }
}
