// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "swift-corebluetooth",
    products: [
        .library(name: "CoreBluetooth", targets: ["CoreBluetooth"]),
        .library(name: "BluetoothSimulation", targets: ["BluetoothSimulation"]),
        .executable(name: "ble", targets: ["ble"]),
        .executable(name: "conformance", targets: ["conformance"]),
        .executable(name: "benchmark", targets: ["benchmark"]),
    ],
    targets: [
        // Layer 0: no protocol at all.
        .target(name: "ByteCodec"),
        .target(name: "BluetoothTypes", dependencies: ["ByteCodec"]),
        .systemLibrary(name: "CLibCrypto", pkgConfig: "libcrypto", providers: [.apt(["libssl-dev"])]),
        .target(name: "BluetoothCrypto", dependencies: ["CLibCrypto"]),
        .target(name: "EventLoop"),
        // Layer 1: one protocol each, strangers to each other.
        .target(name: "HCI", dependencies: ["BluetoothTypes", "ByteCodec", "EventLoop"]),
        .target(name: "LinkLayer", dependencies: ["BluetoothTypes", "ByteCodec", "EventLoop"]),
        .target(name: "L2CAP", dependencies: ["BluetoothTypes", "ByteCodec", "EventLoop"]),
        .target(name: "ATT", dependencies: ["BluetoothTypes", "ByteCodec", "EventLoop"]),
        // Layer 2: what needs one neighbour of layer 1.
        .target(name: "GATT", dependencies: ["ATT", "BluetoothTypes", "ByteCodec", "EventLoop"]),
        .target(name: "GAP", dependencies: ["HCI", "BluetoothTypes", "ByteCodec", "EventLoop"]),
        .target(name: "HCITransport", dependencies: ["HCI", "ByteCodec", "EventLoop"]),
        .target(
            name: "VirtualController",
            dependencies: ["HCI", "LinkLayer", "BluetoothTypes", "ByteCodec", "EventLoop"]),
        // Layer 3: the boundary, and one adapter.
        .target(name: "HostInterface", dependencies: ["BluetoothTypes"]),
        .target(
            name: "Host",
            dependencies: [
                "HCI", "L2CAP", "ATT", "GATT", "GAP", "HostInterface", "BluetoothTypes", "ByteCodec", "EventLoop",
            ]),
        // Layer 4: a world of hosts, and the ways to reach a host.
        .target(
            name: "Simulation",
            dependencies: [
                "Host", "HostInterface", "VirtualController", "LinkLayer", "BluetoothTypes", "ByteCodec", "EventLoop",
            ]),
        .target(name: "LocalSession", dependencies: ["Host", "HostInterface", "EventLoop"]),
        // Layer 5: picks a session for this process.
        .target(
            name: "Backends",
            dependencies: [
                "Simulation", "LocalSession", "HCITransport", "Host", "HostInterface", "BluetoothCrypto", "BluetoothTypes",
                "EventLoop",
            ]),
        // Layer 6: Apple's API.
        .target(name: "CCoreBluetooth"),
        .target(
            name: "CoreBluetooth",
            dependencies: ["Backends", "HostInterface", "BluetoothTypes", "BluetoothCrypto", "CCoreBluetooth"]),
        // Layer 7: for users.
        .target(
            name: "BluetoothSimulation",
            dependencies: [
                "CoreBluetooth", "Backends", "Simulation", "Host", "HostInterface", "BluetoothTypes", "EventLoop",
            ]),
        // Layer 8: executables.
        .executableTarget(
            name: "ble",
            dependencies: [
                "CoreBluetooth", "BluetoothSimulation", "Backends", "Simulation", "HostInterface", "BluetoothTypes",
                "EventLoop",
            ]),
        .target(
            name: "ConformanceKit", dependencies: ["GATT", "ATT", "GAP", "BluetoothTypes", "EventLoop"]),
        .executableTarget(name: "conformance", dependencies: ["ConformanceKit"]),
        .executableTarget(
            name: "benchmark",
            dependencies: [
                "Backends", "Simulation", "LocalSession", "Host", "HCITransport", "HostInterface", "GAP", "HCI",
                "BluetoothTypes", "ByteCodec", "EventLoop",
            ]),
        // Tests.
        .target(name: "ProtocolTestKit", dependencies: ["ByteCodec", "EventLoop"]),
        .testTarget(name: "ByteCodecTests", dependencies: ["ByteCodec", "ProtocolTestKit"]),
        .testTarget(name: "BluetoothTypesTests", dependencies: ["BluetoothTypes"]),
        .testTarget(name: "EventLoopTests", dependencies: ["ATT", "EventLoop"]),
        .testTarget(
            name: "HCITests", dependencies: ["HCI", "BluetoothTypes", "ByteCodec", "EventLoop", "ProtocolTestKit"]),
        .testTarget(
            name: "LinkLayerTests",
            dependencies: ["LinkLayer", "BluetoothTypes", "ByteCodec", "EventLoop", "ProtocolTestKit"]),
        .testTarget(
            name: "L2CAPTests", dependencies: ["L2CAP", "BluetoothTypes", "ByteCodec", "EventLoop", "ProtocolTestKit"]),
        .testTarget(
            name: "ATTTests", dependencies: ["ATT", "BluetoothTypes", "ByteCodec", "EventLoop", "ProtocolTestKit"]),
        .testTarget(
            name: "GATTTests",
            dependencies: [
                "GATT", "ATT", "ConformanceKit", "BluetoothTypes", "ByteCodec", "EventLoop", "ProtocolTestKit",
            ]),
        .testTarget(
            name: "GAPTests",
            dependencies: ["GAP", "HCI", "BluetoothTypes", "ByteCodec", "EventLoop", "ProtocolTestKit"]),
        .testTarget(
            name: "HCITransportTests",
            dependencies: ["HCITransport", "HCI", "ByteCodec", "EventLoop", "ProtocolTestKit"]),
        .testTarget(
            name: "VirtualControllerTests",
            dependencies: [
                "VirtualController", "HCI", "LinkLayer", "BluetoothTypes", "ByteCodec", "EventLoop", "ProtocolTestKit",
            ]),
        .testTarget(
            name: "HostTests",
            dependencies: [
                "Host", "HostInterface", "Simulation", "BluetoothTypes", "ByteCodec", "EventLoop", "ProtocolTestKit",
            ]),
        .testTarget(
            name: "SimulationTests",
            dependencies: [
                "Simulation", "Host", "HostInterface", "VirtualController", "HCI", "LinkLayer", "BluetoothTypes",
                "ByteCodec", "EventLoop", "ProtocolTestKit",
            ]),
        .testTarget(
            name: "CoreBluetoothTests",
            dependencies: ["CoreBluetooth", "BluetoothSimulation", "Backends", "BluetoothTypes", "HostInterface"]),
        .testTarget(name: "TidyTests"),
    ],
    swiftLanguageModes: [.v6]
)

// The compiler's strictest setting, for every Swift target.
for target in package.targets where target.type != .system && target.name != "CCoreBluetooth" {
    target.swiftSettings = [
        .enableUpcomingFeature("ExistentialAny"),
        .enableUpcomingFeature("InternalImportsByDefault"),
        .enableUpcomingFeature("MemberImportVisibility"),
        .strictMemorySafety(),
        .treatAllWarnings(as: .error),
    ]
}
