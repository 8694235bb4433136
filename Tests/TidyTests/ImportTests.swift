import Testing

/// The arrows of Documentation/Architecture.md.
@Suite("Imports")
struct ImportTests {
    /// Which targets of ours each target may import. What is not listed here points upward, or sideways.
    static let allowed: [String: Set<String>] = {
        let layer0: Set = ["ByteCodec", "BluetoothTypes", "BluetoothCrypto", "EventLoop"]
        return [
            "ByteCodec": [], "BluetoothTypes": ["ByteCodec"], "BluetoothCrypto": [], "EventLoop": [],
            "HCI": layer0, "LinkLayer": layer0, "L2CAP": layer0, "ATT": layer0,
            "GATT": layer0.union(["ATT"]),
            "GAP": layer0.union(["HCI"]),
            "HCITransport": layer0.union(["HCI"]),
            "VirtualController": layer0.union(["HCI", "LinkLayer"]),
            "HostInterface": layer0,
            "Host": layer0.union(["HCI", "L2CAP", "ATT", "GATT", "GAP", "HostInterface"]),
            "Simulation": layer0.union(["Host", "HostInterface", "VirtualController", "LinkLayer"]),
            "LocalSession": layer0.union(["Host", "HostInterface"]),
            "Backends": layer0.union(["Simulation", "LocalSession", "HCITransport", "Host", "HostInterface"]),
            "CoreBluetooth": layer0.union(["Backends", "HostInterface"]),
            "BluetoothSimulation": layer0.union(["CoreBluetooth", "Backends", "Simulation", "Host", "HostInterface"]),
        ]
    }()

    /// Modules of the toolchain and the system: not below layer 6 but where a system call is the point.
    static let system: [String: Set<String>] = [
        "EventLoop": ["Glibc"], "BluetoothCrypto": ["CLibCrypto"], "HCITransport": ["Glibc", "Synchronization"],
        "Simulation": ["Dispatch", "Foundation", "Glibc", "Synchronization"], "LocalSession": ["Synchronization"],
        "Backends": ["Dispatch", "Foundation", "Glibc", "Synchronization"],
        "CoreBluetooth": ["Foundation", "Dispatch", "CCoreBluetooth", "Synchronization"],
        "BluetoothSimulation": ["Foundation", "Dispatch", "Synchronization"],
    ]

    @Test("Imports point downward", arguments: try Source.all(in: "Sources"))
    func downward(source: Source) {
        guard let ours = Self.allowed[source.target] else { return }
        let allowed = ours.union(Self.system[source.target] ?? [])
        for (line, module) in source.imports {
            #expect(
                allowed.contains(module),
                "\(source.path):\(line): \(source.target) may not import \(module). Move the code to the layer it needs, or change the table and Documentation/Architecture.md."
            )
        }
    }

    @Test(
        "An example imports what its reader has: CoreBluetooth and Foundation",
        arguments: try Source.all(in: "Examples"))
    func examples(source: Source) {
        guard source.target != "Programs" else { return }
        for (line, module) in source.imports {
            #expect(["CoreBluetooth", "Foundation"].contains(module), "\(source.path):\(line): not \(module).")
        }
    }
}

extension Source {
    /// The line number and the module of every import.
    var imports: [(line: Int, module: String)] {
        lines.compactMap { line in
            let words = line.code.split(separator: " ")
            guard let keyword = words.firstIndex(of: "import"), keyword <= 1, let module = words.last else {
                return nil
            }
            return (line.number, String(module))
        }
    }
}
