import BluetoothTypes
import EventLoop
import Host
import HCITransport
import HostInterface
import LinkLayer
import Simulation

extension Attacks.Row {
    /// The octets come from the controller, in a stream, to a host that has a link.
    func playOnController() throws(Mismatch) {
        let scene = AttackScene()
        try scene.connect()
        let known = scene.discovered.count
        for octets in bytes {
            var framer = H4Framer()
            for packet in framer.receive(octets.octets) { scene.central.device.controllerSent(Array(packet)) }
            // What is no whole packet does not pass a serial line; other transports hand it over as it is.
            if framer.failure != nil || !framer.isBetweenPackets { scene.central.device.controllerSent(octets.octets) }
            scene.world.run(for: .milliseconds(20))
        }
        try Mismatch.check("peers found without a scan", known, scene.discovered.count)
        try scene.checkUnharmed()
    }

    /// The octets take the place of a packet on the air, header and all. That packet is sent again.
    func playOnAir() throws(Mismatch) {
        let scene = AttackScene()
        try scene.connect()
        for octets in bytes.map(\.octets) where octets.count >= 2 {
            var isDone = false
            scene.world.airFault = { frame in
                guard !isDone, frame.isOfConnection, !frame.payload.isEmpty else { return }
                isDone = true
                frame.header = UInt16(octets[0]) | UInt16(octets[1]) << 8
                frame.payload = octets[2...]
            }
            try scene.read("read meanwhile")
            scene.world.airFault = nil
        }
        try scene.checkUnharmed()
    }

    /// Rows that the file tells in words.
    ///
    /// - Returns: whether there is a way to play it.
    func playInWords() throws(Mismatch) -> Bool {
        switch id {
        case "LL-03": try playConnectionRequests()
        case "LL-08": try playInjection()
        case "LL-09": try playSequenceNumbers()
        case "SMP-25": try playSilentPairing()
        case "L2CAP-30": try playShortLivedChannel()
        case "AD-06": try playValuesOfGAP()
        case "FILE-02": try playTimeStamps()
        default: return false
        }
        return true
    }

    // MARK: The link layer

    /// Connection requests that nobody can meet open no connection (Core 6.0, Vol 6, Part B, 2.3.3.1).
    private func playConnectionRequests() throws(Mismatch) {
        // Offsets in the payload: 22 interval, 26 timeout, 28 channel map, 33 hop and clock accuracy.
        let changes: [(String, [Int: UInt8])] = [
            ("no channel", [28: 0, 29: 0, 30: 0, 31: 0, 32: 0]), ("one channel", [28: 1, 29: 0, 30: 0, 31: 0, 32: 0]),
            ("hop 0", [33: 0x20]), ("hop 17", [33: 0x31]), ("hop 31", [33: 0x3F]), ("interval 0", [22: 0, 23: 0]),
            ("interval 1", [22: 1, 23: 0]), ("timeout 0", [26: 0, 27: 0]),
        ]
        for (name, change) in changes {
            let scene = AttackScene()
            scene.world.airFault = { frame in
                guard !frame.isOfConnection, frame.header & 0x0F == 0x05, frame.payload.count == 34 else { return }
                let start = frame.payload.startIndex
                for (offset, octet) in change { frame.payload[start + offset] = octet }
            }
            scene.startConnecting()
            scene.world.run(for: .milliseconds(500))
            try Mismatch.check("links by a request with \(name)", 0, scene.holdings(of: scene.peripheral).links)
            scene.world.airFault = nil
            try scene.connect()
            try scene.read("read after a request with \(name)")
        }
    }

    /// What somebody puts into an encrypted link ends it and is never shown (Core 6.0, Vol 6, Part B, 2.4.1).
    private func playInjection() throws(Mismatch) {
        let scene = AttackScene()
        try scene.connect()
        let before = scene.readSecret()
        try Mismatch.check("read of a secret", .success(.value([1, 2, 3])), before) { $0.map { "\($0)" } ?? "none" }
        try Mismatch.check("protection of the link", true, scene.linkSecurity != nil)
        var isDone = false
        scene.world.airFault = { frame in
            guard !isDone, frame.isOfConnection, frame.payload.count > 8, frame.header & 0b11 != 0b11 else { return }
            isDone = true
            frame.payload = (0..<UInt8(truncatingIfNeeded: frame.payload.count)).map(\.self)[...]
        }
        let answer = scene.readSecret()
        scene.world.airFault = nil
        let isLost = if case .failure? = answer { true } else { false }
        try Mismatch.check("the read that was forged ends with the link", true, isDone && isLost)
        try scene.connect()
        let after = scene.readSecret()
        try Mismatch.check("read afterwards", .success(.value([1, 2, 3])), after) { $0.map { "\($0)" } ?? "none" }
    }

    /// Sequence numbers that jump cost time; nothing is lost or comes twice (Core 6.0, Vol 6, Part B, 4.5.9).
    private func playSequenceNumbers() throws(Mismatch) {
        let scene = AttackScene()
        try scene.connect()
        var count = 0
        scene.world.airFault = { frame in
            guard frame.isOfConnection else { return }
            count += 1
            if count % 3 == 0 { frame.header ^= 1 << 3 }
        }
        let values = (0..<UInt8(20)).map { [$0] }
        for value in values { try scene.write(value) }
        scene.world.airFault = nil
        try Mismatch.check("values written", values, scene.written)
        try scene.checkUnharmed()
    }
}

extension RadioFrame {
    /// Whether it is on a connection: advertising has one access address for all (Core 6.0, Vol 6, Part B, 2.1.2).
    fileprivate var isOfConnection: Bool { accessAddress != 0x8E89_BED6 }
}
