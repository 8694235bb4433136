// Walks through the peripheral's fourteen steps, for one central.

import Foundation
import TwoRoles

// Each line at once, into a pipe too.
setlinebuf(stdout)

let role = PeripheralRole(name: CommandLine.arguments.dropFirst().first ?? "Two Roles") { role in
    print("\(role.steps.count) of \(PeripheralStep.allCases.count) steps")
    exit(role.failures.isEmpty ? 0 : 1)
}
role.start()
dispatchMain()
