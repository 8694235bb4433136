import BluetoothSimulation
import BluetoothToolkit
import CoreBluetooth
import Foundation
import Testing

/// Octets by the GATT Specification Supplement and IEEE 11073-20601.
@Suite("Typed characteristics")
struct ValueTests {
    @Test("Heart rate: one octet and two, contact, energy, intervals; what is cut short is none")
    func heartRate() throws {
        let plain = try #require(HeartRate.Measurement(Data([0x00, 72])))
        #expect(plain.beatsPerMinute == 72 && plain.hasContact == nil && plain.intervals.isEmpty)
        let full = try #require(
            HeartRate.Measurement(Data([0x1F, 0x2C, 0x01, 0x10, 0x27, 0x00, 0x04, 0x00, 0x02])))
        #expect(full.beatsPerMinute == 300 && full.hasContact == true && full.energyExpended == 10_000)
        #expect(full.intervals == [1, 0.5])
        #expect(HeartRate.Measurement(Data([0x04, 60]))?.hasContact == false)
        for short in [[], [0x00], [0x01, 1], [0x08, 60, 1], [0x10, 60, 1]] as [[UInt8]] {
            #expect(HeartRate.Measurement(Data(short)) == nil)
        }
    }

    @Test("Thermometer: 36.4 degrees as FLOAT, in Fahrenheit, with date and site; the special values")
    func thermometer() throws {
        let plain = try #require(Thermometer.Measurement(Data([0x00, 0x6C, 0x01, 0x00, 0xFF])))
        #expect(plain.celsius == 36.4 && plain.date == nil && plain.site == nil)
        let full = try #require(
            Thermometer.Measurement(
                Data([0x07, 0xDB, 0x03, 0x00, 0xFF, 0xEA, 0x07, 11, 30, 9, 30, 15, 6])))
        #expect(abs(full.celsius - 37.06) < 0.01 && full.site == .mouth)
        #expect(full.date == DateComponents(year: 2026, month: 11, day: 30, hour: 9, minute: 30, second: 15))
        #expect(Thermometer.Measurement(Data([0x00, 0xFF, 0xFF, 0x7F, 0x00])) == nil, "not a number")
        #expect(Thermometer.Measurement(Data([0x00, 0x6C, 0x01, 0x00])) == nil)
    }

    @Test("Blood pressure: SFLOAT, in mmHg and kPa")
    func bloodPressure() throws {
        let plain = try #require(BloodPressure.Measurement(Data([0x04, 120, 0, 80, 0, 93, 0, 60, 0])))
        #expect(plain.systolic == 120 && plain.diastolic == 80 && plain.meanArterial == 93 && plain.pulseRate == 60)
        let metric = try #require(BloodPressure.Measurement(Data([0x01, 0xA0, 0xF0, 0x6A, 0xF0, 0x7B, 0xF0])))
        #expect(abs(metric.systolic - 120) < 0.1)
        #expect(BloodPressure.Measurement(Data([0, 0xFF, 0x07, 80, 0, 93, 0]))?.systolic.isNaN == true)
    }

    @Test("Battery, environment, device information, cycling, time")
    func others() {
        #expect(Battery.level.decode(Data([95])) == 95 && Battery.level.decode(Data([101])) == nil)
        #expect(Environment.temperature.decode(Data([0x3E, 0xFE])) == -4.5)
        #expect(Environment.temperature.decode(Data([0x00, 0x80])) == nil)
        #expect(Environment.humidity.decode(Data([0x88, 0x13])) == 50)
        #expect(Environment.pressure.decode(Data([0x02, 0x76, 0x0F, 0x00])) == 101_325)
        #expect(DeviceInformation.modelNumber.decode(Data("KL-940\0".utf8)) == "KL-940")
        #expect(DeviceInformation.modelNumber.decode(Data([0xFF, 0xFE])) == nil)
        let product = PlugAndPlayID(Data([1, 0x59, 0x00, 0x34, 0x12, 0x01, 0x00]))
        #expect(product?.source == .bluetooth && product?.vendor == 0x59 && product?.product == 0x1234)
        let cycling = Cycling.Measurement(Data([0x03, 1, 0, 0, 0, 0, 4, 2, 0, 0, 8]))
        #expect(cycling?.wheel?.count == 1 && cycling?.wheel?.time == 1024 && cycling?.crank?.count == 2)
        let time = CurrentTime.now.decode(Data([0xEA, 0x07, 11, 30, 9, 30, 15, 1, 128, 0]))
        #expect(time?.weekday == 2 && time?.nanosecond == 500_000_000 && time?.year == 2026)
    }

    @Test("D3: a fixed value is read, a changing one subscribed, both by their types")
    func overTheAir() throws {
        let scene = PairWorld { time in
            let peripheral = LocalPeripheral(time: time)
            try await peripheral.waitUntilOn()
            let strap = try await peripheral.publish(
                LocalService(
                    CBUUID(string: "180D"), characteristics: [LocalCharacteristic(CBUUID(string: "2A37"), [.notify])]))
            _ = try await peripheral.publish(
                LocalService(
                    CBUUID(string: "180A"),
                    characteristics: [
                        LocalCharacteristic(
                            CBUUID(string: "2A23"), [.read],
                            value: Data([0xDE, 0xBC, 0x9A, 0xFE, 0xFF, 0x56, 0x34, 0x12]))
                    ]))
            try await peripheral.advertise(name: "Strap", services: [.service])
            for beat in 0... {
                try await time.sleep(for: .seconds(1))
                try await peripheral.notify(
                    Data([0, UInt8(60 + beat % 7)]), of: try #require(strap.characteristics.first))
            }
        }
        try scene.onPhone { central in
            let strap = try await central.sensor()
            #expect(try await strap.read(DeviceInformation.systemID).address?.description == "12:34:56:9A:BC:DE")
            await #expect(throws: ToolkitError.notFound("service 180F")) { try await strap.read(Battery.level) }
            for try await beat in try await strap.values(of: HeartRate.measurement) {
                #expect((60...66).contains(beat.beatsPerMinute))
                break
            }
        }
    }
}
