// Walks through the central's fourteen steps with the device whose address, or name, is on the command line.

import Foundation
import TwoRoles

// Each line at once, into a pipe too.
setlinebuf(stdout)

guard let wanted = CommandLine.arguments.dropFirst().first else {
    print("usage: two-roles-central AA:BB:CC:DD:EE:FF | NAME")
    exit(2)
}
let role = CentralRole(wanted: wanted.split(separator: ":").count == 6 ? .address(wanted) : .name(wanted)) { role in
    print("\(role.steps.count) of \(CentralStep.allCases.count) steps")
    exit(role.failures.isEmpty ? 0 : 1)
}
role.start()
dispatchMain()
