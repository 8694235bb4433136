// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "swift-corebluetooth",
    products: [
        .library(name: "CoreBluetooth", targets: ["CoreBluetooth"]),
        .library(name: "BluetoothExtensions", targets: ["BluetoothExtensions"]),
        .library(name: "BluetoothSimulation", targets: ["BluetoothSimulation"]),
        .library(name: "BluetoothSimulationTesting", targets: ["BluetoothSimulationTesting"]),
        .library(name: "BluetoothToolkit", targets: ["BluetoothToolkit"]),
        .executable(name: "ble", targets: ["ble"]),
        .executable(name: "conformance", targets: ["conformance"]),
        .executable(name: "benchmark", targets: ["benchmark"]),
        .executable(name: "fuzz", targets: ["fuzz"]),
        .executable(name: "faultrun", targets: ["faultrun"]),
    ],
    targets: [
        // Layer 0: no protocol at all.
        .target(name: "ByteCodec"),
        .target(name: "BluetoothTypes", dependencies: ["ByteCodec"]),
        .systemLibrary(name: "CLibCrypto", pkgConfig: "libcrypto", providers: [.apt(["libssl-dev"])]),
        .target(name: "BluetoothCrypto", dependencies: ["BluetoothTypes", "CLibCrypto"]),
        .target(name: "EventLoop"),
        .systemLibrary(name: "CSQLite", pkgConfig: "sqlite3", providers: [.apt(["libsqlite3-dev"])]),
        .target(name: "Storage", dependencies: ["CSQLite"]),
        // Layer 1: one protocol each, strangers to each other.
        .target(name: "HCI", dependencies: ["BluetoothTypes", "ByteCodec", "EventLoop"]),
        .target(name: "LinkLayer", dependencies: ["BluetoothCrypto", "BluetoothTypes", "ByteCodec", "EventLoop"]),
        .target(name: "L2CAP", dependencies: ["BluetoothTypes", "ByteCodec", "EventLoop"]),
        .target(name: "ATT", dependencies: ["BluetoothTypes", "ByteCodec", "EventLoop"]),
        .target(name: "SMP", dependencies: ["BluetoothTypes", "ByteCodec", "EventLoop", "BluetoothCrypto"]),
        // Layer 2: what needs one neighbour of layer 1.
        .target(
            name: "GATT", dependencies: ["ATT", "BluetoothCrypto", "BluetoothTypes", "ByteCodec", "EventLoop"]),
        .target(name: "GAP", dependencies: ["HCI", "BluetoothTypes", "ByteCodec", "EventLoop"]),
        .target(name: "HCITransport", dependencies: ["HCI", "BluetoothTypes", "ByteCodec", "EventLoop"]),
        .target(
            name: "VirtualController",
            dependencies: ["HCI", "LinkLayer", "BluetoothCrypto", "BluetoothTypes", "ByteCodec", "EventLoop"]),
        // Layer 3: the boundary, and one adapter.
        .target(name: "HostInterface", dependencies: ["BluetoothCrypto", "BluetoothTypes"]),
        .target(
            name: "Host",
            dependencies: [
                "HCI", "L2CAP", "ATT", "SMP", "GATT", "GAP", "HostInterface", "BluetoothCrypto", "BluetoothTypes",
                "ByteCodec", "EventLoop",
            ]),
        // Layer 4: a world of hosts, and the ways to reach a host.
        .target(
            name: "Simulation",
            dependencies: [
                "Host", "HostInterface", "VirtualController", "HCITransport", "HCI", "ATT", "L2CAP", "LinkLayer",
                "BluetoothCrypto", "BluetoothTypes", "ByteCodec", "EventLoop",
            ]),
        .target(name: "LocalSession", dependencies: ["Host", "HostInterface", "EventLoop"]),
        .target(
            name: "BondFiles",
            dependencies: ["Host", "HostInterface", "Storage", "BluetoothCrypto", "BluetoothTypes"]),
        // Layer 5: picks a session for this process.
        .target(
            name: "Backends",
            dependencies: [
                "Simulation", "LocalSession", "BondFiles", "Storage", "HCITransport", "Host", "HostInterface",
                "BluetoothCrypto", "BluetoothTypes", "EventLoop",
            ]),
        // Layer 6: Apple's API.
        .target(name: "CCoreBluetooth"),
        .target(
            name: "CoreBluetooth",
            dependencies: ["Backends", "HostInterface", "BluetoothTypes", "BluetoothCrypto", "CCoreBluetooth"]),
        // Layer 7: for users.
        .target(
            name: "BluetoothExtensions",
            dependencies: ["CoreBluetooth", "BondFiles", "HostInterface", "BluetoothCrypto", "BluetoothTypes"]),
        .target(
            name: "BluetoothSimulation",
            dependencies: [
                "CoreBluetooth", "Backends", "Simulation", "Host", "HostInterface", "Storage", "BluetoothTypes",
                "EventLoop",
            ]),
        // Apart, for it needs Swift Testing, which a program does not have.
        .target(name: "BluetoothSimulationTesting", dependencies: ["BluetoothSimulation"]),
        .target(name: "BluetoothToolkit", dependencies: ["CoreBluetooth"]),
        // Layer 8: executables.
        .target(
            name: "BluetoothTool",
            dependencies: [
                "SmartLock", "TwoRoles", "Smallest", "WhichLock", "SensorWatch", "Mistakes", "OwnQueue",
                "ResumingTransfer", "CoreBluetooth", "BluetoothSimulation", "BluetoothToolkit", "BluetoothExtensions",
                "Backends", "Simulation", "LocalSession", "HCITransport", "HCI", "Host", "HostInterface", "GAP", "ATT",
                "L2CAP", "SMP", "BluetoothTypes", "EventLoop",
            ]),
        .executableTarget(name: "ble", dependencies: ["BluetoothTool"]),
        .target(
            name: "ConformanceKit",
            dependencies: [
                "Simulation", "Host", "HostInterface", "HCITransport", "LinkLayer", "GATT", "ATT", "GAP", "L2CAP",
                "SMP", "BluetoothCrypto", "BluetoothTypes", "ByteCodec", "EventLoop",
            ]),
        .executableTarget(name: "conformance", dependencies: ["ConformanceKit"]),
        .target(
            name: "BenchmarkKit",
            dependencies: [
                "Simulation", "VirtualController", "Host", "HostInterface", "HCI", "BluetoothTypes", "ByteCodec",
                "EventLoop",
            ]),
        .executableTarget(
            name: "benchmark",
            dependencies: [
                "BenchmarkKit", "CoreBluetooth", "Backends", "Simulation", "VirtualController", "HCITransport", "Host",
                "HostInterface", "BluetoothTypes", "EventLoop",
            ]),
        .target(
            name: "FaultRunKit",
            dependencies: ["Simulation", "Host", "HostInterface", "BluetoothTypes", "EventLoop"]),
        .executableTarget(name: "faultrun", dependencies: ["FaultRunKit"]),
        .target(
            name: "FuzzKit",
            dependencies: [
                "BluetoothTool", "BluetoothToolkit", "ConformanceKit", "CoreBluetooth", "Backends", "BondFiles",
                "Storage", "Simulation", "Host", "HostInterface", "HCITransport", "HCI", "LinkLayer", "GATT", "GAP",
                "ATT", "L2CAP", "SMP", "BluetoothCrypto", "BluetoothTypes", "EventLoop",
            ]),
        .executableTarget(name: "fuzz", dependencies: ["FuzzKit"]),
        // The tutorials: ordinary users' programs, with ordinary settings.
        .target(name: "SmartLock", dependencies: ["CoreBluetooth"], path: "Examples/SmartLock"),
        .target(name: "TwoRoles", dependencies: ["CoreBluetooth"], path: "Examples/TwoRoles"),
        .target(name: "Smallest", dependencies: ["CoreBluetooth"], path: "Examples/Smallest"),
        .target(name: "WhichLock", dependencies: ["CoreBluetooth"], path: "Examples/WhichLock"),
        .target(name: "SensorWatch", dependencies: ["CoreBluetooth"], path: "Examples/SensorWatch"),
        .target(name: "Mistakes", dependencies: ["CoreBluetooth"], path: "Examples/Mistakes"),
        .target(name: "OwnQueue", dependencies: ["CoreBluetooth"], path: "Examples/OwnQueue"),
        .target(name: "EchoChannel", dependencies: ["CoreBluetooth"], path: "Examples/EchoChannel"),
        .executableTarget(
            name: "echo-central", dependencies: ["EchoChannel"], path: "Examples/Programs/echo-central"),
        .executableTarget(
            name: "echo-peripheral", dependencies: ["EchoChannel"], path: "Examples/Programs/echo-peripheral"),
        .target(name: "ResumingTransfer", dependencies: ["CoreBluetooth"], path: "Examples/ResumingTransfer"),
        .executableTarget(name: "smart-lock", dependencies: ["SmartLock"], path: "Examples/Programs/smart-lock"),
        .executableTarget(
            name: "two-roles-central", dependencies: ["TwoRoles"], path: "Examples/Programs/two-roles-central"),
        .executableTarget(
            name: "two-roles-peripheral", dependencies: ["TwoRoles"], path: "Examples/Programs/two-roles-peripheral"),
        .executableTarget(
            name: "smallest-central", dependencies: ["Smallest"], path: "Examples/Programs/smallest-central"),
        .executableTarget(
            name: "smallest-peripheral", dependencies: ["Smallest"], path: "Examples/Programs/smallest-peripheral"),
        .executableTarget(
            name: "sensor-watch", dependencies: ["SensorWatch"], path: "Examples/Programs/sensor-watch"),
        .executableTarget(name: "which-lock", dependencies: ["WhichLock"], path: "Examples/Programs/which-lock"),
        .executableTarget(
            name: "resuming-download", dependencies: ["ResumingTransfer"], path: "Examples/Programs/resuming-download"),
        .executableTarget(
            name: "resuming-upload", dependencies: ["ResumingTransfer"], path: "Examples/Programs/resuming-upload"),
        // Tests.
        .target(name: "ProtocolTestKit", dependencies: ["ByteCodec", "EventLoop"]),
        .testTarget(name: "BenchmarkTests", dependencies: ["BenchmarkKit"]),
        .testTarget(name: "FaultRunTests", dependencies: ["FaultRunKit"]),
        .testTarget(name: "FuzzTests", dependencies: ["FuzzKit"]),
        .testTarget(name: "ConformanceTests", dependencies: ["ConformanceKit"]),
        .testTarget(name: "ByteCodecTests", dependencies: ["ByteCodec", "ProtocolTestKit"]),
        .testTarget(name: "BluetoothTypesTests", dependencies: ["BluetoothTypes"]),
        .testTarget(name: "BluetoothCryptoTests", dependencies: ["BluetoothCrypto", "ConformanceKit"]),
        .executableTarget(name: "storage-writer", dependencies: ["Storage"], path: "Tests/Programs/storage-writer"),
        .testTarget(name: "StorageTests", dependencies: ["Storage", "storage-writer"]),
        .testTarget(
            name: "BondFilesTests",
            dependencies: [
                "BondFiles", "Host", "HostInterface", "Storage", "BluetoothCrypto", "BluetoothTypes", "EventLoop",
            ]),
        .testTarget(
            name: "BluetoothExtensionsTests",
            dependencies: ["BluetoothExtensions", "BluetoothSimulation", "CoreBluetooth"]),
        .executableTarget(
            name: "pairing-host", dependencies: ["CoreBluetooth", "BluetoothExtensions"],
            path: "Tests/Programs/pairing-host"),
        .testTarget(name: "EventLoopTests", dependencies: ["ATT", "EventLoop"]),
        .testTarget(
            name: "HCITests", dependencies: ["HCI", "BluetoothTypes", "ByteCodec", "EventLoop", "ProtocolTestKit"]),
        .testTarget(
            name: "LinkLayerTests",
            dependencies: [
                "LinkLayer", "BluetoothCrypto", "BluetoothTypes", "ByteCodec", "EventLoop", "ProtocolTestKit",
            ]),
        .testTarget(
            name: "L2CAPTests", dependencies: ["L2CAP", "BluetoothTypes", "ByteCodec", "EventLoop", "ProtocolTestKit"]),
        .testTarget(
            name: "SMPTests",
            dependencies: [
                "SMP", "ConformanceKit", "BluetoothCrypto", "BluetoothTypes", "ByteCodec", "EventLoop",
                "ProtocolTestKit",
            ]),
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
            dependencies: ["HCITransport", "HCI", "BluetoothTypes", "ByteCodec", "EventLoop", "ProtocolTestKit"]),
        .testTarget(
            name: "VirtualControllerTests",
            dependencies: [
                "VirtualController", "HCI", "LinkLayer", "BluetoothTypes", "ByteCodec", "EventLoop", "ProtocolTestKit",
            ]),
        .testTarget(
            name: "HostTests",
            dependencies: [
                "Host", "HostInterface", "Simulation", "VirtualController", "BluetoothCrypto", "BluetoothTypes",
                "ByteCodec", "EventLoop", "ProtocolTestKit",
            ]),
        .testTarget(
            name: "SimulationTests",
            dependencies: [
                "Simulation", "Host", "HostInterface", "VirtualController", "HCI", "LinkLayer", "BluetoothCrypto",
                "BluetoothTypes", "ByteCodec", "EventLoop", "ProtocolTestKit",
            ]),
        .testTarget(
            name: "BackendsTests",
            dependencies: [
                "Backends", "LocalSession", "HCITransport", "Host", "HostInterface", "BluetoothTypes", "EventLoop",
                "ProtocolTestKit",
            ]),
        .testTarget(
            name: "CoreBluetoothTests",
            dependencies: [
                "CoreBluetooth", "BluetoothSimulation", "BluetoothSimulationTesting", "ResumingTransfer", "Backends",
                "Simulation", "BluetoothTypes", "HostInterface",
            ]),
        .testTarget(name: "InterfaceTests", dependencies: ["CoreBluetooth", "BluetoothSimulation"]),
        .testTarget(
            name: "BluetoothToolkitTests",
            dependencies: ["BluetoothToolkit", "CoreBluetooth", "BluetoothSimulation", "Simulation", "EventLoop"]),
        .testTarget(
            name: "BluetoothToolTests",
            dependencies: [
                "BluetoothTool", "BluetoothToolkit", "BluetoothSimulation", "CoreBluetooth", "Backends", "Simulation",
                "HCITransport", "HostInterface", "BluetoothTypes", "EventLoop",
            ]),
        .testTarget(name: "DemoTests", dependencies: ["BluetoothTool", "TwoRoles", "WhichLock"]),
        // Left out unless they run beside BlueZ: see Tests/BlueZ.
        .testTarget(name: "BlueZTests", dependencies: ["CoreBluetooth"]),
        .testTarget(name: "TidyTests"),
    ],
    swiftLanguageModes: [.v6]
)

// The examples are written as the texts write them, in Swift 5.
for target in package.targets where target.path?.hasPrefix("Examples/") == true {
    target.swiftSettings = [.swiftLanguageMode(.v5), .treatAllWarnings(as: .error)]
}

// The compiler's strictest setting, for every other Swift target.
for target in package.targets
where target.swiftSettings == nil && target.type != .system && target.name != "CCoreBluetooth" {
    target.swiftSettings = [
        .enableUpcomingFeature("ExistentialAny"),
        .enableUpcomingFeature("InternalImportsByDefault"),
        .enableUpcomingFeature("MemberImportVisibility"),
        .strictMemorySafety(),
        .treatAllWarnings(as: .error),
    ]
}
