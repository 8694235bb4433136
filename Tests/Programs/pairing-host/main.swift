// pairing-host ROLE [OPTIONS]: a program of ours that pairs, as a peer for other people's hosts. As peripheral it
// publishes FFF0 with FFF1, which is read on an encrypted link only; as central it reads FFF1 of whoever offers FFF0.
// Prints READY, then a line for each thing that happens. Passkeys and out-of-band data go from one side to the other
// through the file of --exchange.
import BluetoothExtensions
import CoreBluetooth
import Foundation

let host = PairingHost(options: Options(CommandLine.arguments.dropFirst()))
host.start()
dispatchMain()
