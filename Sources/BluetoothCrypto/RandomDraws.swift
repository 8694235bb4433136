extension RandomNumberGenerator {
    /// 128 bits.
    package mutating func nextBlock() -> UInt128 { UInt128(next()) << 64 | UInt128(next()) }

    /// A number of six digits, each as likely as any other: 0...999,999.
    package mutating func nextPasskey() -> UInt32 {
        while true {
            let draw = UInt32(next() >> 44)
            if draw < 1_000_000 { return draw }
        }
    }
}
