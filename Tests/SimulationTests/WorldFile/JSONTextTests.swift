import Simulation
import Testing

@Suite("JSON with places")
struct JSONTextTests {
    private func problem(_ text: String) -> String? {
        do {
            _ = try JSONText(Array(text.utf8))
            return nil
        } catch {
            return "\(error)"
        }
    }

    @Test("RFC 8259, section 13: its example, and what it says of strings and numbers")
    func example() throws {
        let text = """
            { "Image": { "Width": 800, "Title": "View from 15th Floor", "Animated": false,
              "IDs": [116, -943, 234e2, 1.5E-3], "none": null, "Clef": "\\uD834\\uDD1E\\n\\/" } }
            """
        let document = try JSONText(Array(text.utf8))
        guard case .object(let members) = document.value, case .object(let image) = members[0].value.value else {
            Issue.record("It is no object.")
            return
        }
        #expect(image.map(\.name) == ["Width", "Title", "Animated", "IDs", "none", "Clef"])
        guard case .array(let numbers) = image[3].value.value, case .string(let clef) = image[5].value.value else {
            Issue.record("It has no list and no text.")
            return
        }
        let values = numbers.map { number -> Double? in if case .number(let value) = number.value { value } else { nil }
        }
        #expect(values == [116, -943, 23400, 0.0015])
        #expect(clef == "\u{1D11E}\n/")
        #expect(numbers[1].place == TextPlace(line: 2, column: 16))
    }

    @Test(
        "What is no JSON is told with its place",
        arguments: [
            ("", "1:1: the file ends where a value must be"),
            ("{", "1:2: a member's name in double quotes must be here"),
            ("[1,]", "1:4: a value must be here: an object, a list, a text in double quotes, a number, true, false"),
            ("{\"a\":1\n \"b\":2}", "2:2: a comma or a closing brace must be here"),
            ("{\"a\":1,\"a\":2}", "1:8: the member \"a\" stands here twice; remove one"),
            ("01", "1:1: 01 is no number"), ("1e999", "1:1: 1e999 is no number"), ("[.5]", nil),
            ("tru", "1:1: a value must be here; write true"),
            ("1 2", "1:3: something follows the end of the document; remove it"),
            ("\"a", "1:1: this text has no end"),
            ("\"\\x\"", "1:4: behind a backslash stands one of \" \\ / b f n r t u"),
            ("\"\\ud800\"", "1:8: half a character stands here"),
        ] as [(String, String?)])
    func malformed(text: String, sentence: String?) {
        let problem = problem(text)
        #expect(problem != nil)
        if let sentence { #expect(problem == sentence) }
    }

    @Test("RFC 8259, 8.1: a byte order mark of UTF-8 is passed over, and does not count; UTF-16 is told")
    func byteOrderMark() throws {
        let document = try JSONText([0xEF, 0xBB, 0xBF] + Array(" [1]".utf8))
        #expect(document.place == TextPlace(line: 1, column: 2))
        for octets: [UInt8] in [[0xFF, 0xFE, 0x5B, 0x00], [0xFE, 0xFF, 0x00, 0x5B]] {
            let problem = #expect(throws: JSONProblem.self) { try JSONText(octets) }
            #expect(problem?.sentence == "the file is UTF-16; save it as UTF-8")
        }
    }

    @Test("Depth and length are bounded")
    func bounds() {
        #expect(problem(String(repeating: "[", count: 100_000))?.hasSuffix("deeper than 32 levels") == true)
        #expect(problem(String(repeating: " ", count: 5 << 20)) == "1:1: the file has more than 4 MiB")
    }
}
