/// What the process tells its caller.
package enum ToolStatus: Int32, Sendable {
    /// What was asked for happened.
    case success = 0
    /// It did not happen: a promise of a demo was not kept, or nothing was found.
    case failure = 1
    /// The command line makes no sense.
    case usage = 2
    /// No radio, or the radio failed.
    case noRadio = 3
    /// Ended by Ctrl-C, as shells count it: 128 + SIGINT.
    case interrupted = 130

    package static let explanation = """
        EXIT STATUS
          0    what was asked for happened
          1    it did not: something was not found, not kept, not in order or could not be written
          2    the command line makes no sense
          3    there is no radio, it cannot be reached, or it failed
          130  ended by Ctrl-C
        """
}
