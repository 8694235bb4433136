/// What a device adds to or takes from the strength of what it sends and hears.
package struct Antenna: Equatable, Sendable {
    /// Over one that radiates the same in all directions, in dBi. Small boards have -5...0.
    package var gain = 0.0
    /// What a body that stands in the way takes, in dB: 0 for none. Sources: some 15 dB of a body in the path
    /// (Januszkiewicz, Analysis of Human Body Shadowing Effect on Wireless Sensor Networks Operating in the 2.4 GHz
    /// Band, Sensors 18 (2018) 3412), more of one that wears the device.
    package var bodyLoss = 0.0
    /// In which direction the body is; `nil` for a body all around, as in a pocket or a fist. What comes from there
    /// loses all of ``bodyLoss``, what comes from the side or from behind the device loses nothing.
    package var bodyDirection: Position?

    package init(gain: Double = 0, bodyLoss: Double = 0, bodyDirection: Position? = nil) {
        self.gain = gain
        self.bodyLoss = bodyLoss
        self.bodyDirection = bodyDirection
    }

    /// In dB, from one place towards another.
    func gain(from place: Position, towards other: Position) -> Double {
        guard bodyLoss != 0 else { return gain }
        guard let bodyDirection else { return gain - bodyLoss }
        let direction = Position(x: other.x - place.x, y: other.y - place.y, z: other.z - place.z)
        return gain - bodyLoss * max(0, bodyDirection.cosine(with: direction))
    }
}
