/// One figure: `name value unit`, a line each.
struct Measurement {
    var name: String
    var value: Double
    var unit: String

    func print() {
        let digits = (value * 10_000).rounded() / 10_000
        Swift.print(name, digits, unit)
    }
}

let arguments = Array(CommandLine.arguments.dropFirst())
switch arguments.first {
case nil, "air":
    for benchmark in AirBenchmark.all { benchmark.run(minutes: 1).forEach { $0.print() } }
default:
    print("Usage: benchmark [air]   prints 'name value unit', a line each")
}
