public import Foundation

/// Heart Rate Service 1.0.
public enum HeartRate {
    public static let measurement = KnownCharacteristic("2A37", in: "180D", decode: Measurement.init)
    public static let sensorLocation = KnownCharacteristic("2A38", in: "180D") { data -> Location? in
        guard data.count == 1, let raw = data.first else { return nil }
        return Location(rawValue: raw)
    }

    /// Where on the body the sensor is.
    public enum Location: UInt8, Sendable {
        case other = 0
        case chest, wrist, finger, hand, earLobe, foot
    }

    public struct Measurement: Equatable, Sendable {
        public var beatsPerMinute: Int
        /// Whether the sensor touches the skin; `nil` if it does not know.
        public var hasContact: Bool?
        /// In kilojoule since the last reset; `nil` if it is not told.
        public var energyExpended: Int?
        /// From beat to beat, in seconds, the oldest first.
        public var intervals: [Double]

        public init?(_ data: Data) {
            var reader = ValueReader(data)
            guard let flags = reader.octet(), let rate = reader.number(flags & 0x01 == 0 ? 1 : 2) else { return nil }
            beatsPerMinute = Int(rate)
            hasContact = flags & 0x04 == 0 ? nil : flags & 0x02 != 0
            if flags & 0x08 != 0 {
                guard let energy = reader.uint16() else { return nil }
                energyExpended = Int(energy)
            }
            intervals = []
            if flags & 0x10 != 0 {
                while let raw = reader.uint16() { intervals.append(Double(raw) / 1024) }
            }
            guard reader.isAtEnd else { return nil }
        }
    }
}

/// Health Thermometer Service 1.0.
public enum Thermometer {
    public static let measurement = KnownCharacteristic("2A1C", in: "1809", decode: Measurement.init)
    /// Between the measurements that are kept.
    public static let intermediate = KnownCharacteristic("2A1E", in: "1809", decode: Measurement.init)
    public static let site = KnownCharacteristic("2A1D", in: "1809") { data -> Site? in
        guard data.count == 1, let raw = data.first else { return nil }
        return Site(rawValue: raw)
    }

    /// Where the temperature is taken.
    public enum Site: UInt8, Sendable {
        case armpit = 1
        case body, ear, finger, gastrointestinalTract, mouth, rectum, toe, tympanum
    }

    public struct Measurement: Equatable, Sendable {
        public var celsius: Double
        /// By the device's own calendar; `nil` if it is not told.
        public var date: DateComponents?
        public var site: Site?

        public init?(_ data: Data) {
            var reader = ValueReader(data)
            guard let flags = reader.octet(), let value = reader.float32(), !value.isNaN else { return nil }
            celsius = flags & 0x01 == 0 ? value : (value - 32) / 1.8
            if flags & 0x02 != 0 {
                guard let date = reader.dateComponents() else { return nil }
                self.date = date
            }
            if flags & 0x04 != 0 {
                guard let raw = reader.octet() else { return nil }
                site = Site(rawValue: raw)
            }
            guard reader.isAtEnd else { return nil }
        }
    }
}

/// Blood Pressure Service 1.1.
public enum BloodPressure {
    public static let measurement = KnownCharacteristic("2A35", in: "1810", decode: Measurement.init)

    public struct Measurement: Equatable, Sendable {
        /// In mmHg; not a number where the device could not measure.
        public var systolic: Double
        public var diastolic: Double
        public var meanArterial: Double
        /// By the device's own calendar.
        public var date: DateComponents?
        /// Beats per minute.
        public var pulseRate: Double?

        public init?(_ data: Data) {
            var reader = ValueReader(data)
            guard let flags = reader.octet(), let systolic = reader.float16(), let diastolic = reader.float16(),
                let mean = reader.float16()
            else { return nil }
            // 1 kPa is 7.50062 mmHg.
            let unit = flags & 0x01 == 0 ? 1 : 7.50062
            self.systolic = systolic * unit
            self.diastolic = diastolic * unit
            meanArterial = mean * unit
            if flags & 0x02 != 0 {
                guard let date = reader.dateComponents() else { return nil }
                self.date = date
            }
            if flags & 0x04 != 0 {
                guard let rate = reader.float16() else { return nil }
                pulseRate = rate
            }
            // What may follow, the user's number and the status, is not told here.
        }
    }
}

/// Cycling Speed and Cadence Service 1.0.
public enum Cycling {
    public static let measurement = KnownCharacteristic("2A5B", in: "1816", decode: Measurement.init)

    /// Counts since the sensor began; two measurements make a speed.
    public struct Measurement: Equatable, Sendable {
        public struct Revolutions: Equatable, Sendable {
            public var count: UInt32
            /// When the last one ended, in 1/1024 s, over and over from 0 to 65535.
            public var time: UInt16
        }

        public var wheel: Revolutions?
        public var crank: Revolutions?

        public init?(_ data: Data) {
            var reader = ValueReader(data)
            guard let flags = reader.octet() else { return nil }
            if flags & 0x01 != 0 {
                guard let count = reader.uint32(), let time = reader.uint16() else { return nil }
                wheel = Revolutions(count: count, time: time)
            }
            if flags & 0x02 != 0 {
                guard let count = reader.uint16(), let time = reader.uint16() else { return nil }
                crank = Revolutions(count: UInt32(count), time: time)
            }
            guard reader.isAtEnd else { return nil }
        }
    }
}
