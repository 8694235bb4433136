import FaultRunKit
import Foundation
import Glibc

exit(FaultRunCommand(arguments: Array(CommandLine.arguments.dropFirst())).run())
