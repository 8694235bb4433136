import BluetoothSimulation
import BluetoothTool
import BluetoothToolkit
import CoreBluetooth
import Foundation
import HCITransport
import Testing

/// C12, C13: each cause is found in a world in which it is there, and nothing is found where all is well.
@Suite("Doctor")
struct DoctorTests {
    /// A world with one fault.
    struct Case: Sendable, CustomTestStringConvertible {
        var cause: Cause
        var also: [Cause] = []
        var prepare: @Sendable (DoctorWorld) -> Void
        var testDescription: String { cause.rawValue }

        init(_ cause: Cause, also: [Cause] = [], _ prepare: @escaping @Sendable (DoctorWorld) -> Void) {
            self.cause = cause
            self.also = also
            self.prepare = prepare
        }
    }

    /// A sensor with something changed.
    private static func sensor(_ change: (inout DoctorWorld.Sensor) -> Void) -> DoctorWorld.Sensor {
        var sensor = DoctorWorld.Sensor()
        change(&sensor)
        return sensor
    }

    static let radio: [Case] = [
        Case(.notPermitted) { $0.phone.permission = .denied },
        Case(.noLowEnergy) { $0.phone.isSimulator = true },
        Case(.switchedOff) { scene in
            scene.world.run(for: .seconds(1))
            scene.phone.setBluetooth(on: false)
        },
        Case(.radioSilent) { scene in
            scene.world.run(for: .seconds(1))
            scene.phone.resetBluetooth(for: .seconds(120))
        },
        // In the middle of the examination: of the air, and of a link.
        Case(.radioFailed) { scene in
            scene.world.schedule(at: .seconds(3)) { scene.phone.addFault(.controllerResets) }
        },
        Case(.radioFailed) { scene in
            scene.addSensor()
            scene.world.schedule(at: .milliseconds(7500)) { scene.phone.addFault(.controllerResets) }
        },
    ]

    static let air: [Case] = [
        Case(.nothingOnAir) { _ in },
        Case(.notHeard) { scene in
            scene.addSensor()
            scene.examination.device = DeviceChoice("Chandelier")
        },
        Case(.misspelledName) { scene in
            scene.addSensor()
            scene.examination.device = DeviceChoice("sensro")
        },
        Case(.severalOfOneName) { scene in
            scene.addSensor()
            scene.addSensor(at: 5)
        },
        Case(.serviceNotAdvertised) { scene in
            scene.addSensor()
            scene.examination.device = nil
            scene.examination.service = .init("180D")
        },
        Case(.weakSignal) { $0.addSensor(at: 230) },
    ]

    static let link: [Case] = [
        Case(.doesNotAnswer) { scene in
            let sensor = scene.addSensor()
            scene.world.schedule(at: .milliseconds(5950)) { sensor.position = .init(x: 10_000) }
        },
        Case(.dropsAtOnce) { scene in
            let sensor = scene.addSensor()
            scene.world.schedule(at: .milliseconds(7500)) { sensor.setBluetooth(on: false) }
        },
        Case(.linkLost) { scene in
            let sensor = scene.addSensor()
            scene.world.schedule(at: .milliseconds(6700)) { sensor.removeBattery() }
        },
        Case(.linkLimit) { scene in
            scene.fillLinks()
            scene.addSensor()
        },
        Case(.bondLost) { scene in
            let sensor = scene.addSensor(sensor { $0.isProtected = true })
            scene.pair()
            sensor.addFault(.forgotBond)
        },
        Case(.smallMTU) { $0.addSensor(mtu: 23) },
        Case(.discoveryFails) { scene in
            scene.addSensor().addFault(.duplicateHandles)
        },
    ]

    static let values: [Case] = [
        Case(.wrongService) { scene in
            scene.addSensor()
            scene.examination.service = .init("FFE0")
        },
        Case(.wrongCharacteristic) { scene in
            scene.addSensor()
            scene.examination.characteristic = .init("FFF9")
        },
        Case(.cannotNotify) { scene in
            scene.addSensor()
            scene.examination.characteristic = .init("FFF3")
        },
        Case(.noConfigurationDescriptor) { scene in
            scene.addSensor().addFault(.missingConfigurationDescriptor)
        },
        Case(.subscriptionRefused) { scene in
            scene.refuseWrites(of: scene.addSensor())
        },
        Case(.silentNotifications) { $0.addSensor(sensor { $0.notifies = false }) },
        Case(.readRefused) { $0.addSensor(sensor { $0.refusal = .unlikelyError }) },
        Case(.needsPairing) { $0.addSensor(sensor { $0.refusal = .insufficientAuthorization }) },
        Case(.noAnswer) { $0.addSensor(sensor { $0.answers = false }) },
        Case(.writeVanishes) { scene in
            scene.addSensor()
            scene.examination.write = Data([1])
            scene.examination.writesWithResponse = false
        },
        Case(.writeRefused, also: [.readRefused]) { scene in
            scene.addSensor(sensor { $0.refusal = CBATTError.Code(rawValue: 0x81) })
            scene.examination.write = Data([1])
        },
    ]

    @Test("A fault that is there is found", arguments: radio + air + link + values)
    func found(_ item: Case) throws {
        let scene = DoctorWorld()
        item.prepare(scene)
        let found = try scene.findings()
        #expect(Set(found) == Set([item.cause] + item.also), "\(found.map(\.rawValue))")
    }

    /// What whoever could not open a radio says, and what it means.
    static let unusable: [(error: TransportError, cause: Cause)] = [
        (.noAdapter(nil), .noAdapter), (.noAdapter("hci7"), .noAdapter),
        (.noDevice(path: "/dev/ttyACM0"), .noAdapter), (.noBluetooth, .noKernelSupport),
        (.blocked("hci0"), .blocked),
        (.noCapability("hci0"), .noCapability),
        (.adapterInUse("hci0", by: AdapterOwner(kind: .kernel, programs: [])), .adapterInUse),
        (.adapterSettling("hci0"), .firmwareMissing), (.unplugged("hci0"), .unplugged),
        (.notPermitted("/dev/ttyACM0"), .notPermitted), (.noSocket(path: "/tmp/air"), .radioUnreachable),
        (.nobodyListens(at: "localhost:1"), .radioUnreachable), (.unknownHost("nowhere"), .radioUnreachable),
        (.noAnswer(from: "localhost:1"), .radioUnreachable), (.ended, .radioUnreachable),
    ]

    @Test("A radio that cannot be used, by the words of whoever could not open it", arguments: unusable)
    func words(_ error: TransportError, _ cause: Cause) {
        #expect(Cause.ofRadio(.unsupported, why: "The radio hci:0 cannot be opened: \(error)") == cause)
    }

    @Test("A radio that was on and is gone: pulled out, or not")
    func gone() {
        let lost = TransportError.unplugged("hci1")
        #expect(Cause.ofRadio(.resetting, why: "The radio hci:1 is lost. \(lost)") == .unplugged)
        #expect(Cause.ofRadio(.resetting, why: "") == .radioSilent)
    }

    @Test("Only a broadcaster: not connectable")
    func broadcaster() throws {
        let scene = DoctorWorld()
        let tag = ReadyTag(in: scene.world)
        scene.examination.device = DeviceChoice(tag.address)
        #expect(try scene.findings() == [.notConnectable])
    }

    @Test("Of what takes too long the doctor says what was open, on whom and since when")
    func openWork() throws {
        let scene = DoctorWorld()
        scene.addSensor(Self.sensor { $0.answers = false })
        let evidence = try #require(scene.diagnosis().first { $0.cause == .noAnswer }).evidence
        #expect(evidence.hasPrefix("no answer in 6.0 s; open were reading the value at handle"), "\(evidence)")
        #expect(evidence.contains("the answer to an attribute request (the peer, 5."), "\(evidence)")
    }

    @Test("Where all is well nothing is found, whatever is looked at")
    func healthy() throws {
        let characteristics = [
            ("FFF1", true, nil), ("FFF1", true, Data([1])), ("FFF2", false, Data([1])), ("FFF3", false, nil),
        ]
        for (characteristic, notifies, write) in characteristics {
            let scene = DoctorWorld()
            scene.addSensor()
            scene.examination.characteristic = .init(characteristic)
            scene.examination.wantsNotifications = notifies
            scene.examination.write = write
            scene.examination.writesWithResponse = characteristic != "FFF2"
            #expect(try scene.findings().isEmpty, "\(characteristic)")
        }
        let scene = DoctorWorld()
        scene.addSensor()
        scene.examination.device = nil
        scene.examination.service = nil
        #expect(try scene.findings().isEmpty, "the radio and the air alone")
    }

    @Test("Each cause has a title and a cure, and at least twenty are found in worlds")
    func texts() {
        for cause in Cause.allCases {
            #expect(!cause.cure.isEmpty && cause.title != cause.rawValue, "\(cause.rawValue)")
        }
        let worlds = (Self.radio + Self.air + Self.link + Self.values).map(\.cause) + [.notConnectable]
        #expect(worlds.count >= 20)
        // Whatever is listed is found by one of the suites.
        let others = Self.unusable.map(\.cause) + CaptureReaderTests.packetCases.map(\.cause)
        let found = Set(worlds + others + LogReader.signs.map(\.cause))
        #expect(found == Set(Cause.allCases), "\(Set(Cause.allCases).subtracting(found))")
    }
}
