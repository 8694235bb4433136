import BluetoothTool
import Foundation
import Testing

/// What becomes of a command when its link does not last.
@Suite("Commands whose link is lost")
struct LostLinkTests {
    @Test("connect: a link that is lost, and a radio that falls silent, each end it with its own sentence")
    func lost() throws {
        func connect(_ world: String) throws -> (errors: String, status: ToolStatus) {
            let file = FileManager.default.temporaryDirectory.appendingPathComponent("\(UUID()).json")
            try world.write(to: file, atomically: true, encoding: .utf8)
            defer { try? FileManager.default.removeItem(at: file) }
            var errors = ""
            let tool = Tool(
                terminal: Terminal(isInteractive: false), environment: [:], print: { _ in },
                printError: { errors += $0 })
            let status = tool.run(["connect", "A", "--seconds", "40", "--radio", "simulated:\(file.path)"])
            return (errors, status)
        }
        let fallen = #"{"at": 4, "do": "removeBattery"}"#
        let peer = try connect(#"{"devices": [{"name": "A", "ready": "smartLock", "events": [\#(fallen)]}]}"#)
        #expect(peer.status == .failure)
        #expect(peer.errors.contains("the link ended: nothing was heard of the other device"))
        let own = try connect(
            #"{"program": {"events": [\#(fallen)]}, "devices": [{"name": "A", "ready": "smartLock"}]}"#)
        #expect(own.status == .failure && own.errors.contains("Nothing came of it within 30.0 seconds."))
    }
}
