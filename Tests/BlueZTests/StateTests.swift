import CoreBluetooth
import Foundation
import Testing

/// What becomes of a manager whose adapter is blocked, taken, forbidden, unplugged or hung, on a real kernel. See
/// Documentation/Decisions/0070-life-of-an-adapter.md. The machine's script says which of them it plays, and prepares
/// it.
@Suite("States of an adapter", .enabled(if: Machine.isHere), .serialized, .timeLimit(.minutes(3)))
struct StateTests {
    private let central = Central()
    private var log: Log { central.log }

    @Test("Blocked by rfkill from the start: powered off; unblocked: powered on")
    func blocked() throws {
        try log.wait(for: "state poweredOff")
        #expect(CBCentralManager.authorization == .allowedAlways)
        try Machine.setBlocked(false)
        try log.wait(for: "state poweredOn")
    }

    @Test("The kernel refuses to block an adapter that a program has for itself: it stays on")
    func notBlockable() throws {
        try log.wait(for: "state poweredOn")
        try Machine.setBlocked(true)
        #expect(try Machine.isBlocked == false)
        _ = try central.find("VM-Periph")
        try Machine.setBlocked(false)
    }

    @Test("In bluetoothd's hands: unsupported; switched off there: powered on")
    func owned() throws {
        try log.wait(for: "state unsupported")
        #expect(CBCentralManager.authorization == .allowedAlways)
        try Machine.run(
            "dbus-send", "--system", "--print-reply", "--dest=org.bluez", "/org/bluez/hci\(Machine.adapter)",
            "org.freedesktop.DBus.Properties.Set", "string:org.bluez.Adapter1", "string:Powered",
            "variant:boolean:false")
        try log.wait(for: "state poweredOn")
    }

    @Test("Without the capability: unauthorized, and the class says so too")
    func unauthorized() throws {
        try log.wait(for: "state unauthorized")
        #expect(CBCentralManager.authorization == .denied)
        #expect(central.manager.authorization == .denied)
    }

    @Test("A controller that answers no more: resetting; answering again: powered on, and it works")
    func hung() throws {
        try log.wait(for: "state poweredOn")
        let bridges = try Machine.bridges()
        #expect(bridges.count == 1)
        for process in bridges { kill(process, SIGSTOP) }
        central.manager.scanForPeripherals(withServices: nil)
        // The watchdog's ten seconds, and some.
        try log.wait(for: "state resetting", seconds: 30)
        #expect(!central.manager.isScanning)
        for process in bridges { kill(process, SIGCONT) }
        try log.wait(for: "state poweredOn", seconds: 60)
        _ = try central.find("VM-Periph")
    }

    @Test("Unplugged in the middle of notifications, and plugged in again")
    func unplugged() throws {
        try log.wait(for: "state poweredOn")
        for _ in 0..<2 {
            let peripheral = try central.find("VM-Periph")
            try central.connect(peripheral)
            let counter = try central.subscribe(to: CBUUID(string: "AA03"), of: peripheral)
            _ = try log.wait(forValues: 2, of: counter.uuid)
            peripheral.readValue(for: counter)
            try Machine.make(.unplug)
            try log.wait(for: "state resetting")
            #expect(peripheral.state == .disconnected)
            try Machine.make(.plug)
            try log.wait(for: "state poweredOn")
            log.forgetValues()
        }
    }
}
