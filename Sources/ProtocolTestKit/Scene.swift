package import EventLoop
package import Testing

/// Plays a scene with one state machine: what goes in, and all that must come out before anything else goes in.
package struct Scene<Machine: ProtocolMachine> where Machine.Effect: Equatable {
    private var machine: Machine
    private var now = Instant()
    private var effects: [Machine.Effect] = []

    /// Runs the scene and checks that it leaves no effect unmentioned.
    package static func play(
        _ machine: Machine, sourceLocation: SourceLocation = #_sourceLocation, _ scene: (inout Self) -> Void
    ) {
        var stage = Self(machine: machine)
        scene(&stage)
        stage.expectQuiet(sourceLocation)
    }

    package mutating func input(_ input: Machine.Input, _ sourceLocation: SourceLocation) {
        expectQuiet(sourceLocation)
        effects = machine.handle(input, at: now)
    }

    /// Lets time pass, and wakes the machine at each deadline on the way.
    package mutating func wait(_ duration: Duration, sourceLocation: SourceLocation = #_sourceLocation) {
        expectQuiet(sourceLocation)
        let end = now.advanced(by: duration)
        while let deadline = machine.deadline, deadline <= end {
            now = max(now, deadline)
            effects += machine.wake(at: now)
            precondition(
                machine.deadline != deadline, "Woken at its deadline, the machine asks for the same one again.")
        }
        now = end
    }

    package mutating func expect(_ effect: Machine.Effect, sourceLocation: SourceLocation = #_sourceLocation) {
        guard !effects.isEmpty else {
            Issue.record("nothing came out; expected \(effect)", sourceLocation: sourceLocation)
            return
        }
        #expect(effects.removeFirst() == effect, sourceLocation: sourceLocation)
    }

    private func expectQuiet(_ sourceLocation: SourceLocation) {
        #expect(effects.isEmpty, "not mentioned in the script", sourceLocation: sourceLocation)
    }
}

/// The octets that a script spells out: `"0A 03 00"`.
package func hex(_ text: String) -> [UInt8] {
    text.split(separator: " ").map { UInt8($0, radix: 16)! }
}
