import Testing

/// The arrows of Documentation/Architecture.md.
@Suite("Imports")
struct ImportTests {
    /// Which targets of ours each target may import. What is not listed here points upward, or sideways.
    static let allowed: [String: Set<String>] = {
        let layer0: Set = ["ByteCodec", "BluetoothTypes", "BluetoothCrypto", "EventLoop"]
        let tutorials: Set = [
            "SmartLock", "TwoRoles", "Smallest", "WhichLock", "SensorWatch", "Mistakes", "OwnQueue", "EchoChannel",
            "ResumingTransfer",
        ]
        let host = layer0.union(["HCI", "L2CAP", "ATT", "SMP", "GATT", "GAP", "HostInterface"])
        let backends = layer0.union([
            "Simulation", "LocalSession", "BondFiles", "Storage", "HCITransport", "Host", "HostInterface",
        ])
        return [
            // 0: no protocol at all.
            "ByteCodec": [], "BluetoothTypes": ["ByteCodec"], "BluetoothCrypto": ["BluetoothTypes", "CLibCrypto"],
            "EventLoop": [],
            // It is no part of the layer that protocols stand on: they keep nothing.
            "Storage": ["CSQLite"],
            // 1: one protocol each, strangers to each other.
            "HCI": layer0, "LinkLayer": layer0, "L2CAP": layer0, "ATT": layer0, "SMP": layer0,
            // 2: what needs one neighbour of layer 1. The virtual controller stands between two.
            "GATT": layer0.union(["ATT"]),
            "GAP": layer0.union(["HCI"]),
            "HCITransport": layer0.union(["HCI"]),
            "VirtualController": layer0.union(["HCI", "LinkLayer"]),
            // 3: the boundary, and one adapter.
            "HostInterface": layer0,
            "Host": host,
            // 4: where bonds are kept; a world of hosts, and the ways to reach one. The medium carries link-layer PDUs,
            // and the faults change PDUs of all layers and cut streams as a transport does.
            "Simulation": layer0.union([
                "Host", "HostInterface", "VirtualController", "HCITransport", "HCI", "L2CAP", "ATT", "LinkLayer",
            ]),
            "LocalSession": layer0.union(["Host", "HostInterface"]),
            "BondFiles": layer0.union(["Host", "HostInterface", "Storage"]),
            // 5 and 6: who picks a session, and Apple's API.
            "Backends": backends,
            "CoreBluetooth": layer0.union(["Backends", "HostInterface", "CCoreBluetooth"]),
            // 7: for users.
            "BluetoothExtensions": layer0.union(["CoreBluetooth", "BondFiles", "HostInterface"]),
            "BluetoothSimulation": layer0.union([
                "CoreBluetooth", "Backends", "Simulation", "Host", "HostInterface", "Storage",
            ]),
            "BluetoothSimulationTesting": ["BluetoothSimulation"],
            // Pure on Apple's API, so that it also builds where Apple's framework is.
            "BluetoothToolkit": ["CoreBluetooth"],
            // 8: executables, and what they are made of. The tool shows names in advertisements and features of
            // controllers, so it reads them; so does its doctor with the packets of a capture.
            "BluetoothTool": backends.union(tutorials).union([
                "CoreBluetooth", "BluetoothExtensions", "BluetoothSimulation", "BluetoothToolkit", "Backends", "GAP",
                "HCI",
                "ATT", "L2CAP", "SMP",
            ]),
            "ble": ["BluetoothTool"],
            "ConformanceKit": host.union(["Simulation", "HCITransport", "LinkLayer", "Host"]),
            "conformance": ["ConformanceKit"],
            "BenchmarkKit": layer0.union(["Simulation", "VirtualController", "Host", "HostInterface", "HCI"]),
            "benchmark": backends.union(["BenchmarkKit", "CoreBluetooth", "Backends", "VirtualController"]),
            "FaultRunKit": layer0.union(["Simulation", "Host", "HostInterface"]),
            "faultrun": ["FaultRunKit"],
            // It calls at every door.
            "FuzzKit": backends.union(host).union([
                "BluetoothTool", "BluetoothToolkit", "CoreBluetooth", "Backends", "ConformanceKit", "LinkLayer",
            ]),
            "fuzz": ["FuzzKit"],
            // For tests.
            "ProtocolTestKit": layer0,
        ]
    }()

    /// Modules of the toolchain and the system: in protocol code none, below it those whose calls are the point.
    static let system: [String: Set<String>] = {
        let everyday: Set = ["Dispatch", "Foundation", "Glibc", "Synchronization"]
        return [
            "EventLoop": ["Glibc"], "Storage": ["Glibc", "Synchronization"],
            "HCITransport": ["Dispatch", "Glibc", "Synchronization"],
            "Simulation": everyday, "LocalSession": ["Synchronization"], "BondFiles": ["Foundation"],
            "BluetoothExtensions": everyday,
            "Backends": everyday,
            // Runtime reads the stack, for the place of a misuse.
            "CoreBluetooth": everyday.union(["CoreFoundation", "Runtime"]), "BluetoothSimulation": everyday,
            "BluetoothTool": everyday, "ble": everyday,
            "BluetoothToolkit": ["Dispatch", "Foundation"],
            "ConformanceKit": ["Foundation"], "conformance": ["Foundation", "Glibc"], "benchmark": everyday,
            "BenchmarkKit": ["Glibc"],
            "faultrun": everyday, "FuzzKit": ["Foundation"], "fuzz": ["Foundation", "Glibc"],
            "ProtocolTestKit": ["Testing"],
            "BluetoothSimulationTesting": ["Foundation", "Synchronization", "Testing"],
        ]
    }()

    @Test("Imports point downward", arguments: try Source.all(in: "Sources"))
    func downward(source: Source) {
        guard let ours = Self.allowed[source.target] else { return }
        let allowed = ours.union(Self.system[source.target] ?? [])
        for (line, module) in source.imports where !allowed.contains(module) {
            Issue.record(
                """
                \(source.at(line)): \(source.target) may not import \(module). Move the code to the layer that may, or \
                change the table in \(#fileID) and the one in Documentation/Architecture.md, and say why.
                """)
        }
    }

    /// Its mathematics differ in the last bit from one machine to the next; see Simulation/Radio/Decibels.swift.
    @Test("What decides who hears what computes without the C library", arguments: try Source.all(in: "Sources"))
    func physics(source: Source) {
        guard source.path.hasPrefix("Sources/Simulation/Radio/") else { return }
        for (line, module) in source.imports where Self.system["Simulation"]!.contains(module) {
            Issue.record("\(source.at(line)): a run must not depend on \(module), which another machine has otherwise.")
        }
    }

    @Test("Every target has a row in the table")
    func rows() {
        for target in Tree.folders(in: "Sources") where !["CLibCrypto", "CSQLite", "CCoreBluetooth"].contains(target) {
            #expect(
                Self.allowed[target] != nil,
                "Sources/\(target) has no row in \(#fileID). Give it the targets of lower layers that it needs.")
        }
    }

    @Test("The table itself points downward")
    func table() {
        for (target, imports) in Self.allowed {
            for module in imports {
                #expect(
                    !(Self.allowed[module] ?? []).contains(target),
                    "\(target) and \(module) may import each other: take one of the two arrows out of the table.")
            }
        }
    }

    @Test("A tutorial imports what its reader has", arguments: try Source.all(in: "Examples"))
    func tutorials(source: Source) {
        // A program of a tutorial is the few lines that start it.
        let tutorial: Set = [
            "SmartLock", "TwoRoles", "Smallest", "WhichLock", "SensorWatch", "Mistakes", "OwnQueue", "EchoChannel",
            "ResumingTransfer",
        ]
        let allowed = Set(["CoreBluetooth", "Foundation"]).union(source.target == "Programs" ? tutorial : [])
        for (line, module) in source.imports where !allowed.contains(module) {
            Issue.record("\(source.at(line)): an example may import CoreBluetooth and Foundation, not \(module).")
        }
    }
}

extension Source {
    /// The line and the module of every import.
    var imports: [(line: Line, module: String)] {
        lines.compactMap { line in
            let words = line.code.split(separator: " ")
            // Before it there may be an attribute and an access level.
            guard let keyword = words.firstIndex(of: "import"), keyword <= 2, words.count > keyword + 1 else {
                return nil
            }
            // `import struct Module.Name` names the module first, too.
            return (line, String(words.last?.split(separator: ".").first ?? ""))
        }
    }
}
