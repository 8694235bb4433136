import Glibc

/// Who has an adapter that we may not have.
package struct AdapterOwner: Equatable, Sendable {
    package enum Kind: Equatable, Sendable {
        /// The kernel's own Bluetooth host, which bluetoothd uses, switched the adapter on.
        case kernel
        /// A program with a host of its own, as we are one.
        case userChannel
    }

    package var kind: Kind
    /// The program's name and process; `nil` if it cannot be found out.
    package var program: String?
    package var process: Int?

    package init(kind: Kind, program: String? = nil, process: Int? = nil) {
        self.kind = kind
        self.program = program
        self.process = process
    }

    /// What makes the adapter free.
    package func cure(adapter: String) -> String {
        switch (kind, program) {
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
        let name =
            program ?? (kind == .kernel ? "the kernel's Bluetooth host" : "another program with a host of its own")
        return name + (process.map { " (process \($0))" } ?? "")
    }
}

extension AdapterOwner {
    /// - Parameter isUserChannel: whether the kernel's own host has given the adapter away.
    static func find(isUserChannel: Bool) -> AdapterOwner {
        isUserChannel ? userChannelProgram() : kernelsUser()
    }

    private static func kernelsUser() -> AdapterOwner {
        let daemon = processes.first { SystemFile.text("/proc/\($0)/comm")?.hasPrefix("bluetoothd") == true }
        return AdapterOwner(kind: .kernel, program: daemon == nil ? nil : "bluetoothd", process: daemon)
    }

    /// The one other program that has an HCI socket open, other than those that only look: the kernel does not tell
    /// which socket has which adapter.
    private static func userChannelProgram() -> AdapterOwner {
        let lookers: Set = ["bluetoothd", "btmon", "btmgmt", "bluetoothctl", "hcidump"]
        let sockets = Set(hciSockets.map { "socket:[\($0)]" })
        let me = Int(getpid())
        let holders = processes.filter { process in
            SystemFile.names(in: "/proc/\(process)/fd").contains { descriptor in
                SystemFile.target(ofLink: "/proc/\(process)/fd/\(descriptor)").map(sockets.contains) ?? false
            }
        }
        let named = holders.map { process -> (name: String, process: Int) in
            let name = SystemFile.text("/proc/\(process)/comm").map { String($0.prefix { $0 != "\n" }) }
            return (name ?? "a program", process)
        }
        let candidates = named.filter { !lookers.contains($0.name) }
        let other = candidates.first { $0.process != me } ?? candidates.first
        return AdapterOwner(kind: .userChannel, program: other?.name, process: other?.process)
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
