import Foundation

/// Chance that repeats: the numbers of a seed (SplitMix64).
final class Chance: @unchecked Sendable {
    // `@unchecked`: `lock` guards the state.
    private let lock = NSLock()
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    func next() -> UInt64 {
        lock.withLock {
            state &+= 0x9E37_79B9_7F4A_7C15
            var mixed = state
            mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
            mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
            return mixed ^ (mixed >> 31)
        }
    }

    /// 0..<1.
    func fraction() -> Double { Double(next() >> 11) / 9_007_199_254_740_992 }

    func data(_ count: Int) -> Data {
        var data = Data(capacity: count + 8)
        while data.count < count {
            let number = next()
            for shift in stride(from: 0, to: 64, by: 8) {
                data.append(UInt8(truncatingIfNeeded: number >> UInt64(shift)))
            }
        }
        return data.prefix(count)
    }
}
