import Foundation

/// One wait for one outcome. Whatever comes first ends it: the answer, the deadline, the task's cancellation, the end
/// of the link; everything later is ignored.
// `@unchecked`: `lock` guards the variables.
final class Call<Value: Sendable>: @unchecked Sendable {
    private let lock = NSLock()
    private var outcome: Result<Value, any Error>?
    private var continuation: CheckedContinuation<Value, any Error>?

    var isOver: Bool { lock.withLock { outcome != nil } }

    /// - Returns: whether this is the outcome; false if there was one already.
    @discardableResult
    func end(_ outcome: Result<Value, any Error>) -> Bool {
        let (isFirst, waiting) = lock.withLock { () -> (Bool, CheckedContinuation<Value, any Error>?) in
            guard self.outcome == nil else { return (false, nil) }
            self.outcome = outcome
            defer { continuation = nil }
            return (true, continuation)
        }
        waiting?.resume(with: outcome)
        return isFirst
    }

    @discardableResult
    func fail(_ error: any Error) -> Bool { end(.failure(error)) }

    /// Waits for the outcome. Called once.
    ///
    /// - Parameter limit: after that the outcome is ``ToolkitError/timedOut(after:)``; `nil` is for ever.
    func value(within limit: Duration?, by time: Timekeeper) async throws -> Value {
        guard let limit, !isOver else { return try await value() }
        return try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { [self] in
                try await time.sleep(for: limit)
                fail(ToolkitError.timedOut(after: limit))
            }
            defer { group.cancelAll() }
            return try await value()
        }
    }

    private func value() async throws -> Value {
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let outcome = lock.withLock { () -> Result<Value, any Error>? in
                    if self.outcome == nil { self.continuation = continuation }
                    return self.outcome
                }
                if let outcome { continuation.resume(with: outcome) }
            }
        } onCancel: {
            fail(CancellationError())
        }
    }
}

extension Call where Value == Void {
    @discardableResult
    func succeed() -> Bool { end(.success(())) }
}
