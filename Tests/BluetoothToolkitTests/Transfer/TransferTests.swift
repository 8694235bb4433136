import BluetoothSimulation
import BluetoothToolkit
import CoreBluetooth
import Foundation
import Testing

/// C10, C8: large data in pieces, with loss, resumed after disconnects and after the process's death.
@Suite("Transfer over the air")
struct TransferTests {
    @Test("1 MB with 5 % of the messages lost, two disconnects and one killed receiver: intact, resumed, not restarted")
    func hardships() throws {
        let scene = try TransferWorld(loss: 0.05)
        let content = Chance(seed: 3).data(1_000_000)
        let sending = scene.startSending(content)
        func runUntil(_ octets: UInt32) {
            #expect(scene.world.run(until: { scene.done > octets }, within: .seconds(60)))
        }
        runUntil(200_000)
        scene.box.position = .init(x: 10_000)
        scene.world.run(for: .seconds(5))
        scene.box.position = .init(x: 2)
        runUntil(450_000)
        // The receiver's process dies, and with it what it had not made durable; a new one knows the folder only.
        scene.box.removeBattery()
        scene.receiving.cancel()
        scene.world.run(for: .seconds(3))
        scene.box.insertBattery()
        try scene.startReceiver()
        runUntil(700_000)
        scene.phone.setBluetooth(on: false)
        scene.world.run(for: .seconds(2))
        scene.phone.setBluetooth(on: true)
        let result = try scene.world.output(of: sending, within: .seconds(120))
        #expect(try scene.file() == content)
        #expect(result.done == 1_000_000 && result.resumedFrom > 650_000)
        let starts = scene.received.all.compactMap { event -> UInt32? in
            if case .began(_, let offset) = event { offset } else { nil }
        }
        #expect(starts.count == 4 && starts[0] == 0 && starts == starts.sorted(), "\(starts)")
        // What is not durable yet is 64 KiB at the most, and the acknowledgements under way.
        #expect(starts[1] > 190_000 && starts[2] > 450_000 - 70_000 && starts[3] > 690_000, "\(starts)")
        let interruptions = scene.told.all.compactMap { event -> LinkEnd? in
            if case .interrupted(let cause, _) = event { cause } else { nil }
        }
        #expect(interruptions.prefix(1) == [.lost] && interruptions.contains(.radioUnavailable(.poweredOff)))
        #expect(try FileManager.default.contentsOfDirectory(atPath: scene.folder.path) == ["file.bin"])
    }

    /// What events of 15 ms carry on LE 2M, in octets a second. A packet of 251 octets lasts 1048 us and its empty
    /// acknowledgement 44, each with 150 us behind it, so that there are 10 (Core 6.0, Vol 6, Part B, 2.1, 2.4 and
    /// 4.1.1): values of 495 octets fill two, a channel's SDU of 3998 octets fills 16.
    private static func limit(_ carrier: MessageCarrier) -> Double {
        let packets = (0.015 / (1048 + 150 + 44 + 150) * 1_000_000).rounded(.down)
        return (carrier == .channel ? 3998.0 / 16 : 495.0 / 2) * packets / 0.015
    }

    @Test(
        "A clean link is filled to more than 90 % of what the air allows", arguments: [MessageCarrier.writes, .channel])
    func throughput(_ carrier: MessageCarrier) throws {
        let scene = try TransferWorld()
        let sending = scene.startSending(Chance(seed: 4).data(1_000_000), carrier: carrier)
        let result = try scene.world.output(of: sending, within: .seconds(60))
        let limit = Self.limit(carrier)
        #expect(result.rate > 0.9 * limit, "\(result.rate / limit) of \(limit * 8 / 1000) kbit/s")
        #expect(result.repeated == 0)
    }

    @Test("Notifications fill a clean link likewise")
    func notified() throws {
        let world = BluetoothWorld(seed: 1)
        let phone = world.addDevice("Phone")
        let box = world.addDevice("Box", at: .init(x: 2))
        let time = Timekeeper(world.clock)
        let content = Chance(seed: 9).data(1_000_000)
        let sending = box.start {
            let peripheral = LocalPeripheral(time: time)
            try await peripheral.waitUntilOn()
            return try await TransferSender(content, name: "log").send(from: peripheral, as: "Box")
        }
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("notified-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        let receiving = phone.start {
            let central = Central(time: time)
            try await central.waitUntilOn()
            let box = try await central.first(for: [MessageService.outbox]).peripheral
            try await TransferReceiver(into: try FolderStore(folder: folder)).receive(from: box)
        }
        let result = try world.output(of: sending, within: .seconds(60))
        let limit = Self.limit(.writes)
        #expect(result.rate > 0.9 * limit, "\(result.rate / limit) of \(limit * 8 / 1000) kbit/s")
        #expect(result.repeated == 0 && !receiving.isFinished)
    }

    @Test("One acknowledgement each: over writes with response, and with loss", arguments: [0, 0.05])
    func oneByOne(loss: Double) throws {
        let scene = try TransferWorld(loss: loss)
        let content = Chance(seed: 5).data(20_000)
        let sending = scene.startSending(content, isOneByOne: true, carrier: .confirmedWrites)
        try scene.world.output(of: sending, within: .seconds(120))
        #expect(try scene.file() == content)
    }

    @Test("Small things: nothing at all, one octet, a small MTU", arguments: [0, 1, 700])
    func small(count: Int) throws {
        let scene = try TransferWorld(loss: 0.1, mtu: 23)
        let content = Chance(seed: 6).data(count)
        try scene.world.output(of: scene.startSending(content), within: .seconds(120))
        #expect(try scene.file() == content)
    }

    @Test("Two files in a row, one of a name that is taken, one of a name that would leave the folder")
    func names() throws {
        let scene = try TransferWorld()
        for (name, content) in [("a.txt", "one"), ("a.txt", "two"), ("../../etc/passwd", "three")] {
            try scene.world.output(of: scene.startSending(Data(content.utf8), name: name), within: .seconds(30))
        }
        #expect(try scene.file("a.txt") == Data("one".utf8))
        #expect(try scene.file("a 2.txt") == Data("two".utf8))
        let names = try FileManager.default.contentsOfDirectory(atPath: scene.folder.path).sorted()
        #expect(names == ["_.._etc_passwd", "a 2.txt", "a.txt"])
    }

    @Test("A sender that is cancelled ends the link too, and the next one resumes")
    func cancelled() throws {
        let scene = try TransferWorld()
        let content = Chance(seed: 8).data(300_000)
        let first = scene.startSending(content)
        #expect(scene.world.run(until: { scene.done > 150_000 }, within: .seconds(30)))
        first.cancel()
        scene.world.run(for: .zero)
        #expect(first.isFinished)
        scene.world.run(for: .seconds(1))
        let result = try scene.world.output(of: scene.startSending(content), within: .seconds(30))
        #expect(result.resumedFrom >= 150_000)
        #expect(try scene.file() == content)
    }

    @Test("Over each carrier, with loss and without", arguments: MessageCarrier.allCases, [0, 0.05])
    func carriers(_ carrier: MessageCarrier, loss: Double) throws {
        let scene = try TransferWorld(loss: loss)
        let content = Chance(seed: 11).data(100_000)
        let result = try scene.world.output(of: scene.startSending(content, carrier: carrier), within: .seconds(120))
        #expect(try scene.file() == content)
        #expect(loss > 0 || result.repeated == 0)
    }

    @Test("Over a channel, through a lost link: resumed, not restarted")
    func channelHardships() throws {
        let scene = try TransferWorld(loss: 0.05)
        let content = Chance(seed: 12).data(400_000)
        let sending = scene.startSending(content, carrier: .channel)
        #expect(scene.world.run(until: { scene.done > 150_000 }, within: .seconds(60)))
        scene.box.position = .init(x: 10_000)
        scene.world.run(for: .seconds(5))
        scene.box.position = .init(x: 2)
        let result = try scene.world.output(of: sending, within: .seconds(120))
        #expect(try scene.file() == content)
        #expect(result.resumedFrom > 140_000)
    }

    @Test("A peripheral that has something to send: fetched by notifications, through two lost links")
    func outbox() throws {
        let world = BluetoothWorld(seed: 1)
        let phone = world.addDevice("Phone")
        let box = world.addDevice("Box", at: .init(x: 2))
        let time = Timekeeper(world.clock)
        let content = Chance(seed: 9).data(600_000)
        let told = Notes<ReceptionEvent>()
        let chance = Chance(seed: 10)
        let sending = box.start {
            let peripheral = LocalPeripheral(time: time)
            try await peripheral.waitUntilOn()
            return try await TransferSender(content, name: "log").send(from: peripheral, as: "Box") {
                LossyLink(link: $0, loss: 0.05, chance: chance)
            }
        }
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("outbox-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        let receiving = phone.start {
            let central = Central(time: time)
            try await central.waitUntilOn()
            let box = try await central.first(for: [MessageService.outbox]).peripheral
            try await TransferReceiver(into: try FolderStore(folder: folder), commitEvery: 16 << 10)
                .receive(from: box, tell: told.add)
        }
        func done() -> UInt32 {
            told.all.reversed().lazy.compactMap { if case .progress(_, let done) = $0 { done } else { nil } }.first ?? 0
        }
        for mark: UInt32 in [150_000, 350_000] {
            #expect(world.run(until: { done() > mark }, within: .seconds(20)))
            box.position = .init(x: 10_000)
            world.run(for: .seconds(5))
            box.position = .init(x: 2)
        }
        let result = try world.output(of: sending, within: .seconds(60))
        world.run(for: .seconds(1))
        #expect(try Data(contentsOf: folder.appendingPathComponent("log")) == content)
        let starts = told.all.compactMap { if case .began(_, let from) = $0 { from } else { nil } }
        #expect(result.done == 600_000 && starts.count == 3 && starts[1] > 150_000 && starts[2] > 350_000, "\(starts)")
        #expect(!receiving.isFinished)
        receiving.cancel()
        world.run(for: .zero)
        #expect(receiving.isFinished)
    }

    @Test("A receiver that waits on a link finds out that the peer's attributes are others now, of which nobody told")
    func restartedInSilence() throws {
        let world = BluetoothWorld(seed: 1)
        let phone = world.addDevice("Phone")
        let box = world.addDevice("Box", at: .init(x: 2))
        let time = Timekeeper(world.clock)
        let content = Chance(seed: 9).data(2000)
        // It has one file for each central that comes, and then nothing for a long time.
        let sending = box.start {
            let peripheral = LocalPeripheral(time: time)
            try await peripheral.waitUntilOn()
            try await MessageServer(peripheral, isOutbox: true).run {
                try await peripheral.advertise(services: [MessageService.outbox])
            } _: { link in
                try await TransferSender(content, name: "log").send(over: link, by: time)
                try await time.sleep(for: .seconds(1000))
            }
        }
        let told = Notes<ReceptionEvent>()
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("silence-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        let receiving = phone.start {
            let central = Central(time: time)
            try await central.waitUntilOn()
            let box = try await central.first(for: [MessageService.outbox]).peripheral
            try await TransferReceiver(into: try FolderStore(folder: folder)).receive(from: box, tell: told.add)
        }
        func count(_ isCounted: (ReceptionEvent) -> Bool) -> Int { told.all.count(where: isCounted) }
        func completed() -> Int { count { if case .completed = $0 { true } else { false } } }
        // As long as all is well the link stays.
        world.run(for: .seconds(100))
        #expect(completed() == 1)
        #expect(count { if case .interrupted = $0 { true } else { false } } == 0)
        box.addFault(.tableMovedSilently)
        world.run(for: .seconds(20))
        #expect(completed() == 2, "\(told.all)")
        #expect(count { if case .interrupted(.notEstablished, _) = $0 { true } else { false } } == 1)
        #expect(!receiving.isFinished && !sending.isFinished)
    }

    @Test("What the peer has not got ends a transfer, and its link")
    func noService() throws {
        let scene = PairWorld()
        let error = #expect(throws: ToolkitError.self) {
            try scene.onPhone { central in
                let sensor = try await central.first(for: [.service]).peripheral
                do {
                    try await TransferSender(Data("a".utf8), name: "a").send(to: sensor)
                } catch {
                    #expect(!sensor.isConnected)
                    throw error
                }
            }
        }
        #expect(error == .notFound("service \(MessageService.service.uuidString)"))
    }

    @Test("The peripheral sends, and the central receives")
    func otherWay() throws {
        let world = BluetoothWorld(seed: 1)
        let phone = world.addDevice("Phone")
        let box = world.addDevice("Box", at: .init(x: 2))
        let time = Timekeeper(world.clock)
        let content = Chance(seed: 9).data(100_000)
        let sent = Notes<TransferProgress>()
        let sending = box.start {
            let peripheral = LocalPeripheral(time: time)
            try await peripheral.waitUntilOn()
            try await MessageServer(peripheral).run {
                try await peripheral.advertise(services: [MessageService.service])
            } _: { link in
                sent.add(try await TransferSender(content, name: "log").send(over: link, by: time))
            }
        }
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("log-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        let receiving = phone.start {
            let central = Central(time: time)
            try await central.waitUntilOn()
            let box = try await central.first(for: [MessageService.service]).peripheral
            try await box.connect()
            try await TransferReceiver(into: try FolderStore(folder: folder)).receive(
                over: try await CentralMessageLink(to: box), by: time)
        }
        #expect(world.run(until: { !sent.all.isEmpty }, within: .seconds(30)))
        #expect(try Data(contentsOf: folder.appendingPathComponent("log")) == content)
        #expect(!receiving.isFinished && !sending.isFinished)
    }
}
