/// What walls and furniture add to or take from the loss of each link, in dB: normally distributed over all links and
/// places, the same in both directions, and changing slowly as either end moves.
///
/// Each link has a field of its own over the places of its ends, of independent normal numbers on a lattice, between
/// which it is interpolated. The lattice is so wide that the correlation over ``RadioEnvironment/shadowingDistance`` is
/// 1/e, as in the model of Gudmundson (Correlation model for shadow fading in mobile radio systems, 1991).
enum Shadowing {
    /// More than so many standard deviations do not occur: a packet can be ruled out by the distance alone.
    static let limit = 3.0
    /// Nodes per correlation distance; found by computing the correlation of the interpolation.
    private static let density = 0.9

    /// In standard deviations.
    ///
    /// - Parameters:
    ///   - seed: of the link.
    ///   - first: where the end with the lower number is.
    ///   - distance: over which the correlation falls to 1/e, in metres.
    static func value(seed: UInt64, first: Position, second: Position, distance: Double) -> Double {
        // The second end with its axes turned: a step of either end is a step of the same length in the field.
        let scale = density / distance
        let place = (
            (first.x + second.y) * scale, (first.y + second.z) * scale, (first.z + second.x) * scale
        )
        let base = (place.0.rounded(.down), place.1.rounded(.down), place.2.rounded(.down))
        let rest = (place.0 - base.0, place.1 - base.1, place.2 - base.2)
        var (sum, squares) = (0.0, 0.0)
        for corner in 0..<8 {
            let (a, b, c) = (Double(corner & 1), Double(corner >> 1 & 1), Double(corner >> 2))
            let weight =
                (a == 1 ? rest.0 : 1 - rest.0) * (b == 1 ? rest.1 : 1 - rest.1) * (c == 1 ? rest.2 : 1 - rest.2)
            guard weight > 0 else { continue }
            var node = Chance.mix(seed, (base.0 + a).bitPattern)
            node = Chance.mix(node, (base.1 + b).bitPattern)
            node = Chance.mix(node, (base.2 + c).bitPattern)
            sum += weight * Chance.normal(node)
            squares += weight * weight
        }
        return max(-limit, min(limit, sum / squares.squareRoot()))
    }
}
