import BluetoothSimulation
import Foundation
import ResumingTransfer
import Testing

/// One run of the transfer scenario, with the example's own two apps, in which one of them is killed at one step.
final class TransferKill {
    /// Where the receiver is killed.
    enum DownloadStep: String, CaseIterable {
        case started = "manager made"
        case connected = "connected"
        case asking = "asking for the rest"
        case firstPart = "first part"
        case middle = "half of it"
        case nearEnd = "nine tenths of it"
        case complete = "complete"
    }

    /// Where the sender is killed.
    enum UploadStep: String, CaseIterable {
        case started = "manager made"
        case offering = "offering"
        case sending = "sending from"
        case firstPart = "first part"
        case middle = "half of it"
        case allSent = "all of it sent"
    }

    private let world: BluetoothWorld
    private let receiver: SimulatedDevice
    private let sender: SimulatedDevice
    private let downloadStep: DownloadStep?
    private let uploadStep: UploadStep?
    private let file: URL
    /// So much that a tenth of it takes longer than it takes to notice that nine have come.
    private let content = Data((0..<32_000).map { UInt8(truncatingIfNeeded: $0 * $0 / 97) })
    private var downloads: [ResumingDownload] = []
    private var uploads: [ResumingUpload] = []
    private var downloadWords: [[String]] = []
    private var uploadWords: [[String]] = []
    private var wasKilled = false
    private var isDead = false
    private var countAtKill = 0
    private var wordsOfTheDead: [String] = []

    init(seed: UInt64, download: DownloadStep? = nil, upload: UploadStep? = nil) {
        world = BluetoothWorld(seed: seed)
        world.packetLoss = 0.05
        receiver = world.addDevice("Receiver", mtu: 185)
        sender = world.addDevice("Sender", at: .init(x: 2), mtu: 185)
        downloadStep = download
        uploadStep = upload
        file = URL(fileURLWithPath: NSTemporaryDirectory() + "transfer-" + UUID().uuidString)
    }

    deinit { try? FileManager.default.removeItem(at: file) }

    /// Plays it to its end.
    ///
    /// - Returns: what the second life of who was killed said, with `N` for its numbers.
    func play(sourceLocation: SourceLocation) -> [String] {
        startUpload()
        startDownload()
        var hasEnded = isOver()
        while !hasEnded, world.now < .seconds(40) {
            world.run(for: .milliseconds(10))
            hasEnded = isOver()
        }
        world.run(for: .milliseconds(100))
        let story = "receiver \(downloadWords), sender \(uploadWords)"
        #expect(hasEnded, "The transfer does not come to its end: \(story)", sourceLocation: sourceLocation)
        #expect(wordsOfTheDead == [], "\(story)", sourceLocation: sourceLocation)
        #expect(
            (try? Data(contentsOf: file)) == content, "The file is another one: \(story)",
            sourceLocation: sourceLocation)
        let misuses = world.reports.map(\.text).filter { $0.contains("MISUSE") }
        #expect(misuses == [], "\(story)", sourceLocation: sourceLocation)
        if downloadStep != nil, let asked = downloadWords.last?.first(where: { $0.hasPrefix("asking") }) {
            #expect(
                asked == "asking for the rest, from \(countAtKill) on", "It goes on elsewhere: \(story)",
                sourceLocation: sourceLocation)
        }
        let life = downloadStep == nil ? uploadWords : downloadWords
        return life.count > 1 ? life[1].map(Self.withoutNumbers) : []
    }

    private static func withoutNumbers(_ text: String) -> String {
        text.split(separator: " ").map { $0.allSatisfy(\.isNumber) ? "N" : String($0) }.joined(separator: " ")
    }

    private func isOver() -> Bool {
        guard !isDead else { return false }
        let count = downloads.last?.count ?? 0
        if count > 0 { reached(.firstPart, .firstPart) }
        if count >= content.count / 2 { reached(.middle, .middle) }
        if count >= content.count * 9 / 10 { reached(.nearEnd, nil) }
        return downloads.last?.isFinished == true && !isDead
    }

    private func reached(_ download: DownloadStep?, _ upload: UploadStep?) {
        guard !wasKilled, download != nil && download == downloadStep || upload != nil && upload == uploadStep
        else { return }
        wasKilled = true
        isDead = true
        countAtKill = downloads.last?.count ?? 0
        let isDownload = downloadStep != nil
        (isDownload ? receiver : sender).killApp()
        world.schedule(at: world.now + .milliseconds(100)) { [self] in
            isDead = false
            if isDownload { startDownload() } else { startUpload() }
        }
    }

    private func startDownload() {
        let life = downloadWords.count
        downloadWords.append([])
        let app = receiver.run {
            ResumingDownload(
                file: file,
                say: { [unowned self] text in
                    guard life == downloadWords.count - 1, !isDead || downloadStep == nil else {
                        return wordsOfTheDead.append(text)
                    }
                    downloadWords[life].append(text)
                    if let step = DownloadStep.allCases.first(where: { text.hasPrefix($0.rawValue) }) {
                        reached(step, nil)
                    }
                },
                onFinish: {})
        }
        downloads.append(app)
        receiver.run { app.start() }
        reached(.started, nil)
    }

    private func startUpload() {
        let life = uploadWords.count
        uploadWords.append([])
        let app = sender.run {
            ResumingUpload(content: content) { [unowned self] text in
                guard life == uploadWords.count - 1, !isDead || uploadStep == nil else {
                    return wordsOfTheDead.append(text)
                }
                uploadWords[life].append(text)
                if let step = UploadStep.allCases.first(where: { text.hasPrefix($0.rawValue) }) { reached(nil, step) }
            }
        }
        uploads.append(app)
        sender.run { app.start() }
        reached(nil, .started)
    }
}
