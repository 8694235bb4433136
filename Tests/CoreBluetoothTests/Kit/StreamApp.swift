import CoreBluetooth

/// An app's end of a channel: it reads what comes, writes what it has when there is room, and writes down the events.
final class StreamApp: NSObject, StreamDelegate, @unchecked Sendable {
    // `@unchecked`: one test, one thread.
    let input: InputStream
    let output: OutputStream
    var log: [String] = []
    private(set) var received: [UInt8] = []
    var reads = true
    /// What is still to be written.
    var toWrite: [UInt8] = []

    init(_ channel: CBL2CAPChannel, opens: Bool = true) {
        input = channel.inputStream
        output = channel.outputStream
        super.init()
        for stream in [input, output] {
            stream.delegate = self
            stream.schedule(in: .current, forMode: .default)
            if opens { stream.open() }
        }
    }

    func take() -> [String] {
        defer { log = [] }
        return log
    }

    func stream(_ aStream: Stream, handle eventCode: Stream.Event) {
        log.append((aStream === input ? "in " : "out ") + name(eventCode, aStream))
        if eventCode == .hasBytesAvailable, reads { read() }
        if eventCode == .hasSpaceAvailable { write() }
    }

    private func name(_ event: Stream.Event, _ stream: Stream) -> String {
        switch event {
        case .openCompleted: "open"
        case .hasBytesAvailable: "bytes"
        case .hasSpaceAvailable: "space"
        case .endEncountered: "end"
        case .errorOccurred: "error " + (stream.streamError.map(shortDescription) ?? "-")
        default: "\(event)"
        }
    }

    @discardableResult
    func read(_ most: Int = 4096) -> Int {
        var buffer = [UInt8](repeating: 0, count: most)
        let count = unsafe input.read(&buffer, maxLength: most)
        if count > 0 { received += buffer.prefix(count) }
        return count
    }

    func write() {
        guard !toWrite.isEmpty else { return }
        let count = put(toWrite)
        if count > 0 { toWrite.removeFirst(count) }
    }

    /// As `OutputStream.write`.
    func put(_ octets: [UInt8]) -> Int { unsafe output.write(octets, maxLength: octets.count) }

    func close() {
        input.close()
        output.close()
    }
}
