import CoreBluetooth
import Foundation

/// One end of a channel: it holds the channel, reads what comes, and writes what it has while there is room.
///
/// The streams speak on a run loop, and so this end belongs to that run loop's thread.
final class EchoEnd: NSObject, StreamDelegate {
    private let channel: CBL2CAPChannel
    private let onOctets: (EchoEnd, Data) -> Void
    private let onEnd: ((any Error)?) -> Void
    private var outgoing = Data()
    private var hasEnded = false

    init(
        _ channel: CBL2CAPChannel, runLoop: RunLoop, onOctets: @escaping (EchoEnd, Data) -> Void,
        onEnd: @escaping ((any Error)?) -> Void
    ) {
        self.channel = channel
        self.onOctets = onOctets
        self.onEnd = onEnd
        super.init()
        let streams: [Stream] = [channel.inputStream, channel.outputStream]
        for stream in streams {
            stream.delegate = self
            stream.schedule(in: runLoop, forMode: .default)
            stream.open()
        }
    }

    func send(_ octets: Data) {
        outgoing.append(octets)
        write()
    }

    /// What was written goes out first.
    func close() {
        channel.inputStream.close()
        channel.outputStream.close()
    }

    func stream(_ aStream: Stream, handle eventCode: Stream.Event) {
        switch eventCode {
        case .hasBytesAvailable: read()
        case .hasSpaceAvailable: write()
        case .endEncountered, .errorOccurred:
            guard !hasEnded else { return }
            hasEnded = true
            close()
            onEnd(aStream.streamError)
        default: break
        }
    }

    private func read() {
        var buffer = [UInt8](repeating: 0, count: 4096)
        let count = channel.inputStream.read(&buffer, maxLength: buffer.count)
        if count > 0 { onOctets(self, Data(buffer.prefix(count))) }
    }

    private func write() {
        guard !outgoing.isEmpty, channel.outputStream.hasSpaceAvailable else { return }
        let octets = [UInt8](outgoing.prefix(4096))
        let count = channel.outputStream.write(octets, maxLength: octets.count)
        if count > 0 { outgoing = Data(outgoing.dropFirst(count)) }
    }
}
