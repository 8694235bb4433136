import BluetoothToolkit
import CoreBluetooth
import Foundation

/// Values of characteristics for people, and back.
enum ValueText {
    /// What a value of a kind that is known says; `nil` if the kind or the value is not.
    static func meaning(of data: Data, _ uuid: CBUUID) -> String? {
        func is16(_ number: String) -> Bool { uuid == CBUUID(string: number) }
        if is16("2A23"), let system = SystemID(data) {
            return system.address.map { "MAC \($0)" } ?? "no MAC in it"
        }
        if is16("2A37"), let beat = HeartRate.measurement.decode(data) { return heartRate(beat) }
        if is16("2A1C") || is16("2A1E"), let measurement = Thermometer.measurement.decode(data) {
            return JSONLine.fixed(measurement.celsius, digits: 1) + " °C"
        }
        if is16("2A35"), let pressure = BloodPressure.measurement.decode(data), !pressure.systolic.isNaN {
            return "\(Int(pressure.systolic))/\(Int(pressure.diastolic)) mmHg"
        }
        if is16("2A50"), let product = PlugAndPlayID(data) {
            return "vendor \(hexNumber(product.vendor)), product \(hexNumber(product.product)), "
                + "version \(hexNumber(product.version))"
        }
        if is16("2A19"), let level = Battery.level.decode(data) { return "\(level) %" }
        if is16("2A6E"), let value = Environment.temperature.decode(data) {
            return JSONLine.fixed(value, digits: 2) + " °C"
        }
        if is16("2A6F"), let value = Environment.humidity.decode(data) {
            return JSONLine.fixed(value, digits: 2) + " %"
        }
        if is16("2A6D"), let value = Environment.pressure.decode(data) {
            return JSONLine.fixed(value / 100, digits: 2) + " hPa"
        }
        if is16("2A38"), let location = HeartRate.sensorLocation.decode(data) { return "\(location)" }
        return text(data)
    }

    private static func heartRate(_ beat: HeartRate.Measurement) -> String {
        var words = ["\(beat.beatsPerMinute) beats a minute"]
        if let contact = beat.hasContact { words.append(contact ? "on the skin" : "not on the skin") }
        if let energy = beat.energyExpended { words.append("\(energy) kJ") }
        return words.joined(separator: ", ")
    }

    private static func hexNumber(_ number: UInt16) -> String {
        "0x" + hexOctet(UInt8(number >> 8)) + hexOctet(UInt8(truncatingIfNeeded: number))
    }

    /// As a quoted text, if it is one that a person would have written.
    static func text(_ data: Data) -> String? {
        guard !data.isEmpty, let text = String(data: data.prefix { $0 != 0 }, encoding: .utf8), !text.isEmpty,
            data.drop(while: { $0 != 0 }).allSatisfy({ $0 == 0 }), Terminal.printable(text) == text
        else { return nil }
        return "\"\(text)\""
    }

    /// Octets and what they mean.
    static func line(_ data: Data, _ uuid: CBUUID) -> String {
        let octets = data.isEmpty ? "(empty)" : hex(Array(data))
        return meaning(of: data, uuid).map { octets + "  " + $0 } ?? octets
    }

    /// From pairs of hexadecimal digits, with or without space, colons or 0x.
    static func data(hex text: String) throws(UsageError) -> Data {
        var digits = text.filter { !$0.isWhitespace && $0 != ":" }
        if digits.lowercased().hasPrefix("0x") { digits = String(digits.dropFirst(2)) }
        var data = Data()
        var rest = Array(digits)[...]
        while let high = rest.popFirst() {
            guard let low = rest.popFirst(), high.isASCII, low.isASCII, let upper = high.hexDigitValue,
                let lower = low.hexDigitValue
            else {
                throw UsageError("\"\(text)\" is not a value in pairs of hexadecimal digits; --text takes it as text")
            }
            data.append(UInt8(upper << 4 | lower))
        }
        return data
    }
}
