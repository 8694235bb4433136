import Testing

/// The rules see no better than this reads.
@Suite("Reading Swift")
struct SwiftTextTests {
    @Test(
        "Comments and strings are no code",
        arguments: [
            ("let a = 1 // await", "let a = 1"), ("/* a /* b */ c */x", "x"),
            (#"f("await \(g("Task")) }")"#, #"f("(g(" "))")"#),
            ("\"\"\"\n{\n\"\"\"", "\"\"\" \"\"\""), (##"#"\(x)"#"##, ##"#" "#"##), (#"a("\"{")"#, #"a(" ")"#),
        ])
    func code(text: String, expected: String) {
        let code = SwiftText.code(of: text)
        #expect(code.count == text.count)
        #expect(code.split(whereSeparator: \.isWhitespace).joined() == expected.split(separator: " ").joined())
    }

    @Test("Functions with a body are found, and how long they are")
    func functions() {
        let text = """
            protocol P {
                func requirement(_ a: Int)
                init(a: Int)
                var b: Int { get }
            }
            struct S {
                let c = S.init(a: 1)
                private init(a: Int) {
                    self.a = a
                }
                func long(
                    _ block: () -> Void = { print("}") },
                    d: Int
                ) -> [Int] {
                    d.map { $0 }
                }
                func short() { c() }
            }
            """
        let found = Source(path: "Sources/S/S.swift", text: text).functions
        #expect(found.map(\.name) == ["init", "long", "short"])
        #expect(found.map(\.line) == [8, 11, 17])
        #expect(found.map(\.length) == [3, 6, 1])
    }
}
