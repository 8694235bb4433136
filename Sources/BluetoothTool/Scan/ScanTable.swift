import Foundation

/// Who was seen, one line each, in the order of their first appearance.
package struct ScanTable {
    package private(set) var devices: [Sighting] = []
    private var index: [UUID: Int] = [:]

    package init() {}

    /// Takes a report; tells whether the device is new.
    @discardableResult
    package mutating func add(_ sighting: Sighting) -> Bool {
        if let known = index[sighting.identifier] {
            devices[known] = sighting.merged(over: devices[known])
            return false
        }
        index[sighting.identifier] = devices.count
        devices.append(sighting)
        return true
    }

    /// The table's lines, none wider than the terminal.
    package func lines(on terminal: Terminal) -> [String] {
        let nameWidth = min(24, max(4, devices.map { $0.name?.count ?? 1 }.max() ?? 0))
        let header = HelpText.padded("NAME", nameWidth) + "  IDENTIFIER                            RSSI  OFFERS"
        return [terminal.styled(cut(header, to: terminal), .bold)]
            + devices.map { line(for: $0, nameWidth, on: terminal) }
    }

    private func line(for device: Sighting, _ nameWidth: Int, on terminal: Terminal) -> String {
        let name = HelpText.padded(String(Terminal.printable(device.name ?? "-").prefix(nameWidth)), nameWidth)
        let signal = device.signal.map(String.init) ?? "-"
        var offers = device.services.joined(separator: " ")
        if let company = device.company, let data = device.manufacturerData {
            offers +=
                (offers.isEmpty ? "" : "  ") + CompanyNames.name(of: company) + " " + hex(Array(data.dropFirst(2)))
        }
        if !device.isConnectable { offers += (offers.isEmpty ? "" : "  ") + "(not connectable)" }
        let plain =
            name + "  " + device.identifier.uuidString + "  "
            + String(repeating: " ", count: max(0, 4 - signal.count)) + signal + "  " + offers
        let line = cut(plain.trailingBlanksCut, to: terminal)
        return terminal.styled(String(line.prefix(nameWidth)), style(for: device.signal)) + line.dropFirst(nameWidth)
    }

    /// A line that wraps could not be drawn over.
    private func cut(_ line: String, to terminal: Terminal) -> String {
        terminal.isInteractive ? String(line.prefix(max(1, terminal.columns - 1))) : line
    }

    private func style(for signal: Int?) -> Terminal.Style {
        guard let signal else { return .dim }
        return signal > -60 ? .green : signal >= -80 ? .yellow : .red
    }
}

extension String {
    fileprivate var trailingBlanksCut: String {
        String(self[..<(lastIndex { $0 != " " }.map(index(after:)) ?? startIndex)])
    }
}
