/// A command's own part of the command line.
package struct CommandSyntax: Sendable {
    package var name: String
    /// One line for the list of commands.
    package var summary: String
    /// What stands behind the command's name, as the usage line shows it: `[NAME]`.
    package var operands = ""
    package var operandCount = 0...0
    /// The words that the first operand can be, for shells to offer.
    package var operandChoices: [String] = []
    package var discussion = ""
    package var options: [OptionSyntax] = []
    package var examples: [(line: String, meaning: String)] = []
}

package struct OptionSyntax: Sendable {
    /// With its dashes: `--seconds`.
    package var name: String
    /// What stands for the value in the help; `nil` for a switch.
    package var value: String?
    package var help: String
    /// The words that its value can be, for shells to offer.
    package var choices: [String] = []
    /// Other commands' names for the same; the help tells them.
    package var aliases: [String] = []
}

/// A command line that was understood.
package struct ParsedArguments: Equatable, Sendable {
    package var operands: [String] = []
    package var values: [String: String] = [:]
    package var switches: Set<String> = []

    package func has(_ name: String) -> Bool { switches.contains(name) }
}

/// A command line that was not, or that names what is not there.
package struct UsageError: Error, Equatable {
    /// A sentence for a person, without the final dot.
    package var message: String
    package var status: ToolStatus

    package init(_ message: String, status: ToolStatus = .usage) {
        self.message = message
        self.status = status
    }
}

extension CommandSyntax {
    /// Takes what stands behind the command's name. Options and operands may mix; `--` ends the options.
    package func parse(_ arguments: some Sequence<String>) throws(UsageError) -> ParsedArguments {
        var parsed = ParsedArguments()
        var rest = Array(arguments)[...]
        var takesOptions = true
        while let argument = rest.popFirst() {
            if takesOptions, argument == "--" {
                takesOptions = false
            } else if takesOptions, argument.hasPrefix("-"), argument.count > 1 {
                try parseOption(argument, &rest, into: &parsed)
            } else {
                parsed.operands.append(argument)
            }
        }
        guard parsed.operands.count <= operandCount.upperBound else {
            throw UsageError("\"\(parsed.operands[operandCount.upperBound])\" is one argument too many")
        }
        guard parsed.operands.count >= operandCount.lowerBound else {
            let missing = operands.split(separator: " ")[parsed.operands.count..<operandCount.lowerBound]
            throw UsageError(missing.joined(separator: " and ") + (missing.count == 1 ? " is missing" : " are missing"))
        }
        return parsed
    }

    private func parseOption(
        _ argument: String, _ rest: inout ArraySlice<String>, into parsed: inout ParsedArguments
    ) throws(UsageError) {
        let parts = argument.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        let name = parts[0]
        guard let option = options.first(where: { $0.name == name || $0.aliases.contains(name) }) else {
            let known = options.flatMap { [$0.name] + $0.aliases }
            let suggestion = Spelling.nearest(to: name, among: known).map { "; did you mean \($0)?" }
            throw UsageError("unknown option \(name)" + (suggestion ?? ""))
        }
        guard option.value != nil else {
            guard parts.count == 1 else { throw UsageError("\(name) takes no value") }
            parsed.switches.insert(option.name)
            return
        }
        if parts.count == 2 {
            parsed.values[option.name] = parts[1]
        } else if let value = rest.popFirst() {
            parsed.values[option.name] = value
        } else {
            throw UsageError("\(name) needs a value: \(name) \(option.value ?? "")")
        }
    }
}

extension ParsedArguments {
    /// The number behind `name`, if it is there.
    package func number<Number: LosslessStringConvertible & Comparable>(
        _ name: String, in range: ClosedRange<Number>
    ) throws(UsageError) -> Number? {
        guard let text = values[name] else { return nil }
        guard let number = Number(text), range.contains(number) else {
            throw UsageError("\(name) takes a number in \(range.lowerBound)...\(range.upperBound), not \"\(text)\"")
        }
        return number
    }
}
