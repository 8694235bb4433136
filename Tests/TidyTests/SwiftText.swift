/// Reads Swift just well enough to tell code from comments and strings.
enum SwiftText {
    /// The text, with each character of a comment or of a string's contents replaced by a space. Lines stay lines.
    static func code(of text: String) -> String {
        var scanner = Scanner(text: Array(text.unicodeScalars))
        return scanner.run()
    }

    private struct Scanner {
        let text: [Unicode.Scalar]
        var position = 0
        var code = String.UnicodeScalarView()

        init(text: [Unicode.Scalar]) { self.text = text }

        mutating func run() -> String {
            readCode(until: nil)
            return String(code)
        }

        private func starts(_ prefix: String) -> Bool {
            text[position...].starts(with: prefix.unicodeScalars)
        }

        private mutating func keep(_ count: Int = 1) {
            code.append(contentsOf: text[position..<min(position + count, text.count)])
            position = min(position + count, text.count)
        }

        private mutating func blank(_ count: Int = 1) {
            for scalar in text[position..<min(position + count, text.count)] {
                code.append(scalar == "\n" ? "\n" : " ")
            }
            position = min(position + count, text.count)
        }

        /// Ends behind the closing parenthesis of an interpolation, or at the end of the text.
        private mutating func readCode(until end: Unicode.Scalar?) {
            var depth = 0
            while position < text.count {
                if starts("//") {
                    while position < text.count, text[position] != "\n" { blank() }
                } else if starts("/*") {
                    readBlockComment()
                } else if let pounds = stringStart() {
                    readString(pounds: pounds)
                } else {
                    let scalar = text[position]
                    if scalar == "(" { depth += 1 }
                    if scalar == ")" { depth -= 1 }
                    keep()
                    if scalar == end, depth < 0 { return }
                }
            }
        }

        private mutating func readBlockComment() {
            var depth = 0
            repeat {
                if starts("/*") {
                    depth += 1
                    blank(2)
                } else if starts("*/") {
                    depth -= 1
                    blank(2)
                } else {
                    blank()
                }
            } while depth > 0 && position < text.count
        }

        /// How many `#` stand before the quote that opens a string here; `nil` if none is opened.
        private func stringStart() -> Int? {
            var index = position
            while index < text.count, text[index] == "#" { index += 1 }
            return index < text.count && text[index] == "\"" ? index - position : nil
        }

        private mutating func readString(pounds: Int) {
            let fence = String(repeating: "#", count: pounds)
            keep(pounds)
            let quote = starts("\"\"\"") ? "\"\"\"" : "\""
            keep(quote.count)
            while position < text.count {
                if starts(quote + fence) { return keep(quote.count + pounds) }
                if starts("\\" + fence + "(") {
                    blank(pounds + 1)
                    keep()
                    readCode(until: ")")
                } else {
                    blank(starts("\\" + fence) ? pounds + 2 : 1)
                }
            }
        }
    }
}

extension Source {
    struct Function {
        var line: Int
        var name: String
        /// From the declaration's line to the closing brace's.
        var length: Int
    }

    /// The functions, initializers and subscripts that have a body.
    var functions: [Function] {
        var found: [Function] = []
        for (index, line) in lines.enumerated() {
            let words = line.words
            guard let keyword = words.firstIndex(where: { ["func", "init", "subscript", "deinit"].contains($0) }),
                words[keyword] == "func" || line.code.contains(Self.declaration)
            else { continue }
            let name = words[keyword] == "func" ? words.dropFirst(keyword + 1).first : words[keyword]
            guard let end = endOfBody(from: index) else { continue }
            found.append(Function(line: line.number, name: String(name ?? ""), length: end - index + 1))
        }
        return found
    }

    /// An initializer's or a subscript's declaration, not a call of one.
    private static var declaration: Regex<Substring> {
        /^\s*(?:[@a-z]+(?:\([a-z]+\))?\s+)*(?:init[?(<]|subscript[(<]|deinit\b)[^.]*/
    }

    /// The index of the line on which the body closes; `nil` where there is none, as in a protocol.
    private func endOfBody(from start: Int) -> Int? {
        var parentheses = 0
        var braces = 0
        for index in start..<lines.count {
            // A requirement ends with its declaration: the next one begins before any body was opened.
            if index > start, braces == 0, parentheses == 0, startsDeclaration(lines[index]) { return nil }
            for character in lines[index].code {
                switch character {
                case "(", "[": parentheses += 1
                case ")", "]": parentheses -= 1
                case "{" where parentheses == 0 || braces > 0: braces += 1
                case "}" where parentheses == 0 || braces > 0:
                    braces -= 1
                    if braces == 0 { return index }
                    if braces < 0 { return nil }
                default: break
                }
            }
        }
        return nil
    }

    private func startsDeclaration(_ line: Line) -> Bool {
        let keywords: Set<Substring> = [
            "func", "var", "let", "init", "case", "struct", "class", "enum", "extension", "protocol", "typealias",
            "associatedtype",
        ]
        return line.words.prefix(3).contains { keywords.contains($0) }
    }
}
