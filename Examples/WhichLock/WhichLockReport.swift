import Foundation

/// What happened while a ``WhichLock`` ran.
public struct WhichLockReport {
    public var reportsWithoutDuplicates = 0
    public var reportsWithDuplicates = 0
    /// The names that the locks advertise: one, however many they are.
    public var names: Set<String> = []
    /// The addresses read, in the order in which they came.
    public var addresses: [String] = []
    public var models: Set<String> = []
    /// The wanted lock.
    public var kept: UUID?
    /// How many locks were left because they are not the wanted one.
    public var left = 0
    public var changedValues: [Data] = []
    /// Why it ended early; `nil` if it did not.
    public var problem: String?
}
