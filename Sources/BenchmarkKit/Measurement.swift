/// One figure: `name value unit`, a line each.
package struct Measurement {
    package var name: String
    package var value: Double
    package var unit: String

    package init(name: String, value: Double, unit: String) {
        self.name = name
        self.value = value
        self.unit = unit
    }

    package func print() { Swift.print(name, value.text(digits: 4), unit) }
}

extension Double {
    /// With so many digits behind the point at most.
    func text(digits: Int) -> String {
        var factor = 1.0
        for _ in 0..<digits { factor *= 10 }
        let rounded = (self * factor).rounded() / factor
        return rounded == rounded.rounded() && digits == 0 ? String(Int(rounded)) : String(rounded)
    }
}
