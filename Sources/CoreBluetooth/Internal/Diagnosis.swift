import Backends

/// Telling the app's developer of mistakes: in Apple's words where they are known, so that the answers that others
/// have written about them are found. `Documentation/Misuse.md` lists them.
extension HostLine {
    /// The program has done what the API forbids.
    func misuse(_ text: String) { tell("[CoreBluetooth] API MISUSE: \(text)") }

    /// The program has done what does not lead where it seems to.
    func warn(_ text: String) { tell("[CoreBluetooth] WARNING: \(text)") }

    /// The program has done nothing wrong, and should know nevertheless.
    func note(_ text: String) {
        if !isOfEndedProgram { place.report("[CoreBluetooth] WARNING: \(text)") }
    }

    private func tell(_ line: String) {
        // What is left of it in memory is let go of in whatever order.
        guard !isOfEndedProgram else { return }
        if CoreBluetoothStrictMode.isEnabled { CoreBluetoothStrictMode.end(line) }
        place.report(line)
    }
}

extension HostLine {
    /// Reports a command whose outcome nobody hears of: a delegate is held weakly, and may be gone.
    func checkListener(_ delegate: AnyObject?, of manager: CBManager, _ doing: String) {
        if delegate == nil { warn("\(manager) \(doing) while its delegate is nil; nobody hears of the outcome") }
    }

    /// A manager in a variable of a function is gone before the radio's first word.
    func warnIfNeverHeard(_ manager: CBManager) {
        guard !hasHeardState else { return }
        warn(
            "\(manager) is being deallocated before its first state update. Did you forget to keep a reference to "
                + "the manager?")
    }
}

extension CBPeripheral {
    /// Reports a question to whose answer nobody listens.
    ///
    /// - Parameters:
    ///   - doing: what the question is, in Apple's words.
    ///   - method: the delegate's method, as Objective-C spells it.
    func checkListener(_ doing: String, _ method: String) {
        if delegate == nil { reportNoListener(doing, method) }
    }

    /// True at the first call. Called with the lock held.
    func takeFirstUnheardValue() -> Bool {
        defer { hasUnheardValue = true }
        return !hasUnheardValue
    }

    /// The delegate lacks the method: its default implementation was called. Apple's systems know that beforehand.
    ///
    /// So it is also found if a method stands in a subclass of the class that states the conformance, where Swift on
    /// Linux does not find it.
    func reportNoListener(_ doing: String, _ method: String) {
        line.misuse("\(doing) \(self) while delegate is either nil or does not implement \(method)")
    }
}
