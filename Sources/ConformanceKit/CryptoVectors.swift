import BluetoothCrypto
import BluetoothTypes
import SMP

/// Inputs and outputs of the cryptographic functions, and the pairing methods that features lead to.
package struct CryptoVectors: Decodable, Sendable {
    var vectors: [Vector]
    var sm_io_matrix: [PairingMethodRow]

    package func play() -> ConformanceReport {
        var report = ConformanceReport()
        for (index, vector) in vectors.enumerated() { report.add("\(vector.alg) #\(index)", vector.play()) }
        for row in sm_io_matrix { report.add(row.id, row.play()) }
        return report
    }
}

/// One call of one function. Names that end in `_le` hold octets as they travel; all others are as the Core
/// specification prints them.
struct Vector: Decodable, Sendable {
    var alg: String
    var inputs: Values
    var output: Values

    func play() -> Mismatch? {
        do throws(Mismatch) {
            guard let calculate = Self.functions[alg] else {
                throw Mismatch(place: "alg", expected: "a known function", actual: alg)
            }
            var calculated: [String: Values.Value] = [:]
            do throws(Values.Missing) {
                calculated = try calculate(inputs)
            } catch {
                throw Mismatch(place: "inputs", expected: error.name, actual: "none")
            }
            for name in output.values.keys.sorted() {
                let (expected, actual) = (output.values[name], calculated[name])
                try Mismatch.check(name, expected, actual) { value in value.map { "\($0)" } ?? "none" }
            }
            return nil
        } catch {
            return error
        }
    }

    typealias Calculation = @Sendable (Values) throws(Values.Missing) -> [String: Values.Value]
}

/// The named values of a vector.
struct Values: Decodable, Sendable {
    enum Value: Equatable, Sendable, CustomStringConvertible {
        case text(String)
        case number(UInt64)
        case flag(Bool)

        var description: String {
            switch self {
            case .text(let text): text
            case .number(let number): "\(number)"
            case .flag(let flag): "\(flag)"
            }
        }
    }

    /// A value is not there, or not what it must be.
    struct Missing: Error { var name: String }

    var values: [String: Value]

    init(from decoder: any Decoder) throws {
        values = try decoder.singleValueContainer().decode([String: Value].self)
    }

    func octets(_ name: String) throws(Missing) -> [UInt8] {
        guard case .text(let text) = values[name], let octets = Hexadecimal(text)?.octets else {
            throw Missing(name: name)
        }
        return octets
    }

    /// Octets of which the function takes so many.
    func octets(_ name: String, count: Int) throws(Missing) -> [UInt8] {
        let octets = try octets(name)
        guard octets.count == count else { throw Missing(name: "\(name) of \(count) octets") }
        return octets
    }

    /// The packet counter of an encrypted link has 39 bits (Core 6.0, Vol 6, Part B, 2.7).
    func packetCounter() throws(Missing) -> UInt64 {
        let counter: UInt64 = try number("packet_counter")
        guard counter >> 39 == 0 else { throw Missing(name: "packet_counter of 39 bits") }
        return counter
    }

    func number<Number: FixedWidthInteger>(_ name: String) throws(Missing) -> Number {
        if case .number(let number) = values[name] { return Number(truncatingIfNeeded: number) }
        return try octets(name).reduce(0) { $0 << 8 | Number(truncatingIfNeeded: $1) }
    }

    func key(_ name: String) throws(Missing) -> SecretKey {
        if name.hasSuffix("_le") {
            guard let key = SecretKey(wire: try octets(name)) else { throw Missing(name: name) }
            return key
        }
        return SecretKey(try number(name))
    }

    func flag(_ name: String) throws(Missing) -> Bool {
        guard case .flag(let flag) = values[name] else { throw Missing(name: name) }
        return flag
    }

    func text(_ name: String) throws(Missing) -> String {
        guard case .text(let text) = values[name] else { throw Missing(name: name) }
        return text
    }
}

extension Values.Value: Decodable {
    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if let flag = try? container.decode(Bool.self) {
            self = .flag(flag)
        } else if let number = try? container.decode(UInt64.self) {
            self = .number(number)
        } else {
            self = .text(try container.decode(String.self))
        }
    }

    /// Octets as the files spell them.
    init(_ octets: [UInt8]) { self = .text(octets.spelled) }
    init(_ key: SecretKey) { self.init(key.value.octets) }
    init(_ block: UInt128) { self.init(block.octets) }
}

/// What two devices bring to a pairing, and the method that follows.
struct PairingMethodRow: Decodable, Sendable {
    var id: String
    var iut_role: String
    var iut_io: String
    var tester_io: String
    var iut_auth_req: UInt8
    var tester_auth_req: UInt8
    var iut_oob: Bool
    var tester_oob: Bool
    var method_by_spec_table: String

    func play() -> Mismatch? {
        let ours = features(iut_io, iut_auth_req, iut_oob)
        let theirs = features(tester_io, tester_auth_req, tester_oob)
        guard let ours, let theirs else {
            return Mismatch(place: "io", expected: "an IO capability", actual: "\(iut_io), \(tester_io)")
        }
        let isInitiator = iut_role == "initiator"
        let method = PairingMethod.select(
            initiator: isInitiator ? ours : theirs, responder: isInitiator ? theirs : ours)
        guard method.spelled != method_by_spec_table else { return nil }
        return Mismatch(place: "method", expected: method_by_spec_table, actual: method.spelled)
    }

    private func features(_ io: String, _ authentication: UInt8, _ hasOutOfBandData: Bool) -> PairingFeatures? {
        guard let capability = IOCapability.allCases.first(where: { "\($0)".lowercased() == io.lowercased() }) else {
            return nil
        }
        var features = PairingFeatures()
        features.ioCapability = capability
        features.authentication = AuthenticationRequirements(rawValue: authentication)
        features.hasOutOfBandData = hasOutOfBandData
        return features
    }
}

extension PairingMethod {
    /// As the files spell it.
    var spelled: String {
        switch self {
        case .justWorks: "just-works"
        case .passkey: "passkey"
        case .numericComparison: "numeric-comparison"
        case .outOfBand: "oob"
        }
    }
}

extension [UInt8] {
    /// `0a0300`
    var spelled: String { map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined() }
}
