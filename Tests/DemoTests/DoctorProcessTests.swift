import Foundation
import Testing

/// A real radio is looked for in real time, so this is a process of its own: the tests beside it may keep all threads.
@Suite("The doctor and a real radio", .timeLimit(.minutes(60)))
struct DoctorProcessTests {
    @Test("A radio that cannot be reached is named, with its cure")
    func unreachable() throws {
        let program = try Program("ble", ["doctor", "--json"], radio: "unix:/nowhere/at/all")
        #expect(program.end() == 1, "\(program.output)")
        let line = try #require(program.output.split(separator: "\n").first)
        let finding = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
        #expect(finding?["cause"] as? String == "radioUnreachable")
        #expect((finding?["cure"] as? String)?.contains("ble air --unix PATH") == true)
    }
}
