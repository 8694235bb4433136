import BluetoothTool
import Foundation
import Testing

/// Documentation/Rows.md: each of its commands does what it is said to show.
@Suite("The rows and what shows them")
struct RowsTests {
    private static let page =
        (try? String(
            contentsOf: DeviceCommandTests.root.appendingPathComponent("Documentation/Rows.md"), encoding: .utf8)) ?? ""

    /// What stands between backticks.
    private static let code = page.split(separator: "`", omittingEmptySubsequences: false).enumerated()
        .filter { !$0.offset.isMultiple(of: 2) }.map { String($0.element) }

    static let commands = Set(code.filter { $0.hasPrefix("./ble ") }).sorted()
    static let filters = Set(code.filter { $0.hasPrefix("./test ") }).sorted()

    @Test("Every row of the four texts is there")
    func rows() {
        let rows = [("A", 8), ("B", 5), ("C", 16), ("D", 3)].flatMap { letter, count in
            (1...count).map { "\(letter)\($0)" }
        }
        for row in rows {
            let line = Self.page.split(separator: "\n").first { $0.hasPrefix("| \(row) |") }
            #expect(line?.contains("`./ble ") == true, "\(row) is shown by a command")
        }
    }

    @Test("A command of the table succeeds", arguments: commands)
    func succeeds(command: String) {
        let words = DeviceCommandTests.words(of: command)
        var errors: [String] = []
        let tool = Tool(
            terminal: Terminal(isInteractive: false), environment: ["BLE_RADIO": "simulated"], print: { _ in },
            printError: { errors.append($0) })
        #expect(tool.run(words) == .success, "\(errors)")
    }

    @Test("The tests that the table names exist", arguments: filters)
    func exist(command: String) throws {
        let name = try #require(command.split(separator: " ").last)
        let tests = DeviceCommandTests.root.appendingPathComponent("Tests")
        let walk = FileManager.default.enumerator(at: tests, includingPropertiesForKeys: nil)
        let found = (walk?.compactMap { $0 as? URL } ?? []).contains { file in
            guard file.pathExtension == "swift", let text = try? String(contentsOf: file, encoding: .utf8) else {
                return false
            }
            return text.contains("struct \(name) {") || text.contains("class \(name) {")
        }
        #expect(found, "no test is named \(name)")
    }
}
