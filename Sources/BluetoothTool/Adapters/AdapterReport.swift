import Foundation
package import HCITransport
import HCI

/// One adapter, in words.
package struct AdapterReport {
    package let adapter: LinuxAdapter
    /// Why it cannot be used now, with what would change that.
    package let obstacles: [TransportError]

    package init(_ adapter: LinuxAdapter, mayTakeOver: Bool) {
        self.adapter = adapter
        var obstacles: [TransportError] = []
        if adapter.isBlocked { obstacles.append(.blocked(adapter.name)) }
        if let owner = adapter.owner { obstacles.append(.adapterInUse(adapter.name, by: owner)) }
        if !mayTakeOver { obstacles.append(.noCapability(adapter.name)) }
        self.obstacles = obstacles
    }

    package var isUsable: Bool { obstacles.isEmpty && hasLowEnergy }

    private var hasLowEnergy: Bool { adapter.information?.supportsLowEnergy != false }

    /// What `ble doctor` says of it: the same, as causes.
    package var findings: [Finding] {
        let causes = obstacles.map { Finding(cause: Cause($0), evidence: "\($0)") }
        return hasLowEnergy ? causes : causes + [Finding(cause: .noLowEnergy, evidence: "\(adapter.name): \(state)")]
    }

    /// What we do not use of it, because it claims it and does not keep it.
    package var quirks: [String] {
        guard let information = adapter.information else { return [] }
        return ControllerQuirk.of(version: information.version, manufacturer: information.manufacturer)
            .filter { $0.concerns(adapter.address) }.map(\.reason)
    }

    package var title: String {
        "\(adapter.name)  \(adapter.address.map { "\($0)" } ?? "no public address")  \(adapter.bus)"
    }

    private var state: String {
        if adapter.isBlocked { return "blocked by rfkill" }
        if adapter.owner != nil { return "in use" }
        if !hasLowEnergy { return "free, without Low Energy" }
        return "free"
    }

    /// What could not be found out, and why.
    package var unknown: [String] {
        var unknown: [String] = []
        if adapter.information == nil {
            unknown.append(
                "Name, manufacturer and version: the kernel does not know them while a program has the adapter."
            )
        }
        if adapter.features == nil {
            unknown.append("LE features: the kernel shows them to root alone, once it has set the adapter up itself.")
        }
        return unknown
    }

    package var rows: [(String, String)] {
        var rows: [(String, String)] = []
        if let information = adapter.information {
            rows.append(("name", Terminal.printable(information.name)))
            rows.append(("manufacturer", manufacturer(information.manufacturer)))
            rows.append(("version", "Bluetooth " + ControllerNames.bluetoothVersion(information.version)))
        }
        if let features = adapter.features { rows.append(("LE features", features.names.joined(separator: ", "))) }
        rows.append(("owner", adapter.owner.map { "\($0)" } ?? "nobody"))
        rows.append(("state", state))
        rows += obstacles.map { ("not usable", "\($0)") }
        rows += quirks.map { ("not used", $0) }
        rows += unknown.map { ("not known", $0) }
        return rows
    }

    package var json: String {
        var line = JSONLine(["adapter": .text(adapter.name), "index": .integer(Int(adapter.index))])
        line.add("address", adapter.address.map { .text("\($0)") })
        line.add("bus", .text(adapter.bus))
        line.add("name", adapter.information.map { .text($0.name) })
        line.add("manufacturer", adapter.information.map { .integer(Int($0.manufacturer)) })
        line.add(
            "manufacturerName",
            adapter.information.flatMap { ControllerNames.manufacturer($0.manufacturer) }.map { .text($0) })
        line.add("version", adapter.information.map { .text(ControllerNames.bluetoothVersion($0.version)) })
        line.add("lowEnergy", adapter.information.map { .truth($0.supportsLowEnergy) })
        line.add("features", adapter.features.map { .list($0.names.map { .text($0) }) })
        line.add("owner", adapter.owner.map { .text("\($0)") })
        line.add("state", .text(state))
        line.add("usable", .truth(isUsable))
        line.add("obstacles", .list(obstacles.map { .text("\($0)") }))
        line.add("notUsed", .list(quirks.map { .text($0) }))
        line.add("unknown", .list(unknown.map { .text($0) }))
        return line.text
    }

    private func manufacturer(_ number: UInt16) -> String {
        ControllerNames.manufacturer(number) ?? "company \(number)"
    }
}

extension AdapterReport {
    /// What stands between a program and the adapter that it names, or any adapter if it names none; nothing if one can
    /// be used, or if there is none to say something of.
    static func findings(for address: RadioAddress?) -> [Finding] {
        let mayTakeOver = LinuxAdapter.mayTakeOver
        do throws(TransportError) {
            switch address {
            case .adapter(let name)?:
                guard let adapter = try LinuxAdapter.named(name) else { throw .noAdapter("\(name)") }
                return AdapterReport(adapter, mayTakeOver: mayTakeOver).findings
            case nil:
                let reports = try LinuxAdapter.all().map { AdapterReport($0, mayTakeOver: mayTakeOver) }
                return reports.contains(where: \.isUsable) ? [] : reports.flatMap(\.findings)
            case .simulated?, .serial?, .tcp?, .unix?: return []
            }
        } catch {
            return address == nil ? [] : [Finding(cause: Cause(error), evidence: "\(error)")]
        }
    }

    /// That a radio which was on is not there any more; `nil` if it is, or if nothing tells.
    static func absence(of radio: RadioChoice) -> String? {
        switch radio {
        case .real(.adapter(let name)?):
            guard let isThere = try? LinuxAdapter.named(name) != nil, !isThere else { return nil }
            return "\(TransportError.unplugged("\(name)"))"
        case .real(.serial(let device, _)?):
            return FileManager.default.fileExists(atPath: device) ? nil : "\(TransportError.unplugged(device))"
        case .real, .simulated, .world: return nil
        }
    }
}

extension Cause {
    fileprivate init(_ obstacle: TransportError) {
        switch obstacle {
        case .blocked: self = .blocked
        case .adapterInUse: self = .adapterInUse
        case .noCapability: self = .noCapability
        case .notPermitted: self = .notPermitted
        case .noAdapter: self = .noAdapter
        case .noBluetooth: self = .noKernelSupport
        default: self = .radioUnreachable
        }
    }
}
