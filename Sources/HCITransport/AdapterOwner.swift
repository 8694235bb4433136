import Glibc

/// Who has an adapter that we may not have.
package struct AdapterOwner: Equatable, Sendable {
    package enum Kind: Equatable, Sendable {
        /// The kernel's own Bluetooth host, which bluetoothd uses, switched the adapter on.
        case kernel
        /// A program with a host of its own, as we are one.
        case userChannel
    }

    package struct Program: Equatable, Sendable {
        package var name: String
        package var process: Int

        package init(name: String, process: Int) {
            self.name = name
            self.process = process
        }
    }

    package var kind: Kind
    /// Who it is, or may be: the kernel does not tell which program's socket has which adapter. None if that cannot be
    /// found out.
    package var programs: [Program]

    package init(kind: Kind, programs: [Program] = []) {
        self.kind = kind
        self.programs = programs
    }

    /// What makes the adapter free.
    package func cure(adapter: String) -> String {
        switch (kind, programs.first?.name) {
        case (.kernel, "bluetoothd"?):
            "Take it from bluetoothd with \"bluetoothctl power off\" (\"select ADDRESS\" first, if there are several "
                + "adapters), or end bluetoothd with \"sudo systemctl stop bluetooth\"."
        case (.kernel, _): "Switch it off there with \"sudo hciconfig \(adapter) down\" or \"btmgmt power off\"."
        case (.userChannel, _): "End that program, or name another adapter."
        }
    }
}

extension AdapterOwner: CustomStringConvertible {
    package var description: String {
        guard programs.isEmpty else {
            return programs.map { "\($0.name) (process \($0.process))" }.joined(separator: " or ")
        }
        return kind == .kernel ? "the kernel's Bluetooth host" : "another program with a host of its own"
    }
}

extension AdapterOwner {
    /// - Parameter isUserChannel: whether the kernel's own host has given the adapter away.
    static func find(isUserChannel: Bool) -> AdapterOwner {
        isUserChannel ? userChannelProgram() : kernelsUser()
    }

    private static func kernelsUser() -> AdapterOwner {
        let daemon = processes.first { SystemFile.text("/proc/\($0)/comm") == "bluetoothd\n" }
        return AdapterOwner(kind: .kernel, programs: daemon.map { [Program(name: "bluetoothd", process: $0)] } ?? [])
    }

    /// The programs that have an HCI socket open, without those that are known to only look.
    private static func userChannelProgram() -> AdapterOwner {
        let lookers: Set = ["bluetoothd", "btmon", "btmgmt", "bluetoothctl", "hcidump"]
        let sockets = Set(hciSockets.map { "socket:[\($0)]" })
        let holders = processes.filter { process in
            SystemFile.names(in: "/proc/\(process)/fd").contains { descriptor in
                SystemFile.target(ofLink: "/proc/\(process)/fd/\(descriptor)").map(sockets.contains) ?? false
            }
        }
        let programs = holders.map { Program(name: name(of: $0), process: $0) }.filter { !lookers.contains($0.name) }
        let me = Int(getpid())
        let others = programs.filter { $0.process != me }
        return AdapterOwner(kind: .userChannel, programs: others.isEmpty ? programs : others)
    }

    /// The kernel's own name for a program is cut at 15 characters.
    private static func name(of process: Int) -> String {
        let path = SystemFile.target(ofLink: "/proc/\(process)/exe")
        return path?.split(separator: "/").last.map(String.init) ?? "a program"
    }

    private static var processes: [Int] { SystemFile.names(in: "/proc").compactMap { Int($0) }.sorted() }

    /// The inodes of all HCI sockets: the sixth column of the kernel's table.
    private static var hciSockets: [String] {
        let rows = SystemFile.text("/proc/net/hci")?.split(separator: "\n").dropFirst() ?? []
        return rows.compactMap { row in
            let columns = row.split(separator: " ")
            return columns.count > 5 ? String(columns[5]) : nil
        }
    }
}
