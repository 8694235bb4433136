import Foundation
import ResumingTransfer

/// Row C8: a download whose two programs are killed in the middle, and go on.
struct ResumeDemo {
    let stage: any Stage
    private static let length = 60_000

    func play() -> [Check] {
        // Nobody is killed on another radio.
        guard let stage = stage as? SimulatedStage else { return [] }
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("ble-demo-\(UUID().uuidString)")
        do {
            try FileManager.default.createDirectory(
                at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        } catch {
            return [Check("C8", "there is a place for the file", false, error.localizedDescription)]
        }
        defer { try? FileManager.default.removeItem(at: folder) }
        stage.addPhone("phone")
        stage.addPhone("tablet", at: (2, 1), mtu: 185)
        return play(on: stage, into: folder.appendingPathComponent("file"))
    }

    private func play(on stage: SimulatedStage, into file: URL) -> [Check] {
        let content = Data((0..<Self.length).map { UInt8(truncatingIfNeeded: $0 &* $0 / 97) })
        var upload = makeUpload(content, on: stage)
        var download = makeDownload(file, on: stage)
        stage.run(for: .seconds(60)) { download.count > Self.length / 4 }
        stage.killApp(of: "phone", "the system kills the app that receives, at \(download.count) octets")
        let first = download.count
        download = makeDownload(file, on: stage)
        stage.run(for: .seconds(60)) { download.count > Self.length / 2 }
        stage.killApp(of: "tablet", "the system kills the app that sends, too")
        let second = download.count
        upload = makeUpload(content, on: stage)
        stage.run(for: .seconds(120)) { download.isFinished }
        upload.stop()
        stage.run(for: .seconds(1)) { false }
        let received = try? Data(contentsOf: file)
        return [
            told(
                stage, "phone", "started again, with \(first) octets", "the next life is told at first what there was"
            ),
            told(stage, "phone", "asking for the rest, from \(first) on", "the transfer goes on from its offset"),
            told(stage, "tablet", "started again", "a peripheral has its service again, and is on the air"),
            told(stage, "phone", "asking for the rest, from \(second) on", "the receiver comes back by itself"),
            Check(
                "C8", "each octet came once, and is right", received == content,
                "\(received?.count ?? 0) of \(Self.length) octets"),
        ]
    }

    private func told(_ stage: SimulatedStage, _ actor: String, _ line: String, _ promise: String) -> Check {
        let entry = stage.timeline.entries.first { $0.actor == actor && $0.kind == .said && $0.what == line }
        return Check("C8", promise, entry != nil, entry?.what ?? "it did not say: \(line)")
    }

    private func makeUpload(_ content: Data, on stage: SimulatedStage) -> ResumingUpload {
        let upload = ResumingUpload(content: content, say: stage.voice(of: "tablet"))
        stage.asUser(of: "tablet") { upload.start() }
        return upload
    }

    private func makeDownload(_ file: URL, on stage: SimulatedStage) -> ResumingDownload {
        let download = ResumingDownload(file: file, say: stage.voice(of: "phone"), onFinish: {})
        stage.asUser(of: "phone") { download.start() }
        return download
    }
}
