/// What a database is called and how it looks: the steps from an empty one to the present form.
package struct Schema: Sendable {
    /// The name of the file, without its ending.
    package let name: String
    /// SQL statements that lead from each version to the next. Released steps never change; new ones come behind.
    package let steps: [[StaticString]]
    package let durability: Durability

    /// What a committed transaction survives. No kill and no loss of power damages a file in either case.
    package enum Durability: Sendable {
        /// The end of the process, at any moment.
        case processEnd
        /// Also a loss of power: each commit waits for the disk.
        case powerLoss
    }

    package init(name: String, steps: [[StaticString]], durability: Durability = .processEnd) {
        self.name = name
        self.steps = steps
        self.durability = durability
    }

    var version: Int { steps.count }
}

/// A value of a column.
package enum ColumnValue: Equatable, Sendable {
    case null
    case integer(Int64)
    case real(Double)
    case text(String)
    case blob([UInt8])
}

extension ColumnValue {
    /// The text, or null.
    package static func optional(_ text: String?) -> ColumnValue { text.map { .text($0) } ?? .null }

    /// The octets, or null.
    package static func optional(_ octets: [UInt8]?) -> ColumnValue { octets.map { .blob($0) } ?? .null }
}

/// One row of an answer. Reading a column as what it is not means that the file was changed by somebody else.
package struct Row: Equatable, Sendable {
    package let values: [ColumnValue]
    let path: String

    private func mismatch(_ column: Int) -> StorageError {
        .damaged(path: path, reason: "a value in column \(column + 1) of an answer has another type than it must have")
    }

    package func integer(_ column: Int) throws(StorageError) -> Int64 {
        guard case .integer(let value) = values[column] else { throw mismatch(column) }
        return value
    }

    /// The integer, if it fits the type that is wanted.
    package func integer<Integer: FixedWidthInteger>(
        _ column: Int, as type: Integer.Type
    ) throws(StorageError) -> Integer {
        guard let value = Integer(exactly: try integer(column)) else { throw mismatch(column) }
        return value
    }

    package func real(_ column: Int) throws(StorageError) -> Double {
        guard case .real(let value) = values[column] else { throw mismatch(column) }
        return value
    }

    package func text(_ column: Int) throws(StorageError) -> String {
        guard case .text(let value) = values[column] else { throw mismatch(column) }
        return value
    }

    package func optionalText(_ column: Int) throws(StorageError) -> String? {
        if case .null = values[column] { return nil }
        return try text(column)
    }

    package func blob(_ column: Int) throws(StorageError) -> [UInt8] {
        guard case .blob(let value) = values[column] else { throw mismatch(column) }
        return value
    }

    package func optionalBlob(_ column: Int) throws(StorageError) -> [UInt8]? {
        if case .null = values[column] { return nil }
        return try blob(column)
    }
}
