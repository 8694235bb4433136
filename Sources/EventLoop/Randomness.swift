/// Where keys and nonces come from: the system, or a seed where a run must be repeatable and nothing is secret.
package struct Randomness {
    private let make: () -> any RandomNumberGenerator & Sendable

    /// - Parameter make: gives a source of its own to each part that asks.
    package init(_ make: @escaping () -> any RandomNumberGenerator & Sendable) { self.make = make }

    /// What the operating system holds for unpredictable.
    package static var system: Randomness { Randomness { SystemRandomNumberGenerator() } }

    /// A source for one part.
    package func generator() -> any RandomNumberGenerator & Sendable { make() }
}
