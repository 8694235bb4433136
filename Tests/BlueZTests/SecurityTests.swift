import CoreBluetooth
import Foundation
import Testing

/// Pairing with BlueZ as the peripheral, and coming back with the bond.
@Suite("Pairing with BlueZ", .enabled(if: Machine.isHere), .serialized, .timeLimit(.minutes(2)))
struct SecurityTests {
    private let central = Central()
    private var log: Log { central.log }

    @Test("A value that wants an encrypted link is read, and again on the next link")
    func bonds() throws {
        let secret = CBUUID(string: "AA05")
        try log.wait(for: "state poweredOn")
        for _ in 0..<3 {
            let peripheral = try central.find("VM-Periph")
            try central.connect(peripheral)
            let characteristic = try central.discover(secret, of: peripheral)
            peripheral.readValue(for: characteristic)
            #expect(try log.wait(forValues: 1, of: secret, seconds: 40) == [Data("encrypted hello".utf8)])
            log.forgetValues()
            central.manager.cancelPeripheralConnection(peripheral)
            try log.wait(for: "disconnected ok")
        }
    }
}
