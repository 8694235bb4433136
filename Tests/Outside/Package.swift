// swift-tools-version: 6.0
import PackageDescription

// A package as an app's developer has one, beside this one and with the least settings. Its sources are written as
// other people write theirs, and as the documentation's article says. ./test builds it in both language modes.
let bluetooth = Target.Dependency.product(name: "CoreBluetooth", package: "swift-corebluetooth")
let simulation = Target.Dependency.product(name: "BluetoothSimulation", package: "swift-corebluetooth")

let package = Package(
    name: "Outside",
    dependencies: [.package(name: "swift-corebluetooth", path: "../..")],
    targets: [
        .target(name: "Habits", dependencies: [bluetooth], path: "Habits"),
        .executableTarget(name: "Scanner", dependencies: [bluetooth], path: "Scanner"),
        .target(name: "Thermometer", dependencies: [bluetooth], path: "Thermometer/Sources"),
        .testTarget(
            name: "ThermometerTests", dependencies: ["Thermometer", bluetooth, simulation], path: "Thermometer/Tests"),
    ],
    swiftLanguageModes: Context.environment["LANGUAGE_MODE"] == "5" ? [.v5] : [.v6]
)
