import ATT
import BluetoothTypes
import EventLoop
import GATT

/// Plays one case: the stack's side with a bearer of ours, the tester's side from the script.
struct GATTScriptPlayer {
    private let script: GATTScripts.Script
    private var database: AttributeDatabase
    private var bearer: GATTConnection
    /// The tester's side in the opening of client cases.
    private var peerDatabase: AttributeDatabase
    private var peer: GATTConnection
    /// What the stack sent and no step has mentioned yet.
    private var sent: [[UInt8]] = []
    private var result: Result<GATTAnswer, GATTFailure>?
    /// What is asked once more when the link is secure; `nil` if the tester's refusal is the end.
    private var repeatedInput: GATTConnection.Input?

    /// The number of the operation that the case is about.
    private static let operation: UInt64 = 1

    init(_ script: GATTScripts.Script, _ database: AttributeDatabase) {
        self.script = script
        self.database = script.role == .server ? database : AttributeDatabase()
        self.peerDatabase = script.role == .client ? database : AttributeDatabase()
        bearer = GATTConnection(ownRxMTU: Int(script.iut_mtu))
        peer = GATTConnection(ownRxMTU: Int(script.iut_mtu))
    }

    /// - Returns: where it went wrong; `nil` if the case passes.
    mutating func play() throws(VectorFileError) -> Mismatch? {
        let input = try script.api.flatMap { api throws(VectorFileError) in try api.input(id: Self.operation) }
        let signedPDU = try script.api?.signedPDU
        if script.api?.op == .signedWriteOnEncryptedLink { handle(.securityChanged(.encrypted)) }
        do throws(Mismatch) {
            switch script.role {
            case .server: try playServer(input)
            case .client: try playClient(input, signedPDU)
            }
            return nil
        } catch {
            return error
        }
    }

    private mutating func playServer(_ input: GATTConnection.Input?) throws(Mismatch) {
        try play(script.steps, trigger: input)
        if script.expect.event != nil { try checkResult() }
    }

    private mutating func playClient(_ input: GATTConnection.Input?, _ signedPDU: [UInt8]?) throws(Mismatch) {
        if script.steps.contains(where: { $0.phase == .mtu }) { _ = run(.exchangeMTU) }
        if script.steps.contains(where: { $0.phase == .discovery }) { try discover() }
        if script.asksAgainAfterInsufficientAuthentication { repeatedInput = input }
        if let input { handle(input) }
        if let signedPDU {
            sent.append(signedPDU)
            result = .success(.done)
        }
        let core = script.steps.filter { $0.phase == .core }
        try play(core, trigger: nil)
        // A script that ends with a request of the client leaves it open.
        if core.last?.dir == .receive || result != nil { try checkResult() }
    }

    private mutating func play(_ steps: [GATTScripts.Step], trigger: GATTConnection.Input?) throws(Mismatch) {
        for (index, step) in steps.enumerated() {
            let place = "step \(index + 1)"
            if step.dir != .send { try expectNothing(place) }
            switch (step.dir, step.pdu?.octets) {
            case (.send, let pdu):
                try Mismatch.check(place, pdu, sent.isEmpty ? nil : sent.removeFirst()) { octets in
                    octets?.hexadecimal ?? "nothing sent"
                }
            case (.receive, let pdu): handle(.receive((pdu ?? [])[...]))
            case (.trigger, _): if let trigger { handle(trigger) }
            case (.silence, _): break
            }
        }
        try expectNothing("the end")
    }

    private func expectNothing(_ place: String) throws(Mismatch) {
        try Mismatch.check(place, [], sent) {
            $0.isEmpty ? "nothing sent" : $0.map(\.hexadecimal).joined(separator: "; ")
        }
    }

    private mutating func handle(_ input: GATTConnection.Input) {
        for effect in bearer.handle(input, database: &database, at: Instant()) {
            switch effect {
            case .send(let pdu, _): sent.append(pdu)
            case .sendUnanswered(let pdu, let id):
                sent.append(pdu)
                if id == Self.operation { result = .success(.done) }
            case .finish(Self.operation, .failure(.refused(.insufficientAuthentication))) where repeatedInput != nil:
                askAgain()
            case .finish(Self.operation, let result): self.result = result
            case .finish, .mtuChanged, .notified, .servicesChanged, .readRequested, .writeRequested, .subscribed,
                .unsubscribed, .clientChanged, .reportViolation, .closeBearer, .drop:
                break
            }
        }
    }

    /// What the owner of a bearer does when the peer wants a secure link: it secures the link, then asks again.
    private mutating func askAgain() {
        guard let input = repeatedInput else { return }
        repeatedInput = nil
        handle(.securityChanged(.encrypted))
        handle(input)
    }

    private func checkResult() throws(Mismatch) {
        switch (script.expect.result, result) {
        case (.success, .success(let answer)?): try script.expect.compare(answer)
        case (.attributeError, .failure(.refused(let code))?):
            try Mismatch.check("the error", script.expect.att_error.map(ATTErrorCode.init), code) { code in
                code?.description ?? "an error"
            }
        case (.success, let result):
            throw Mismatch(place: "the result", expected: "success", actual: Self.describe(result))
        case (.attributeError, let result):
            let code = script.expect.att_error.map { ATTErrorCode(rawValue: $0).description } ?? "an error"
            throw Mismatch(place: "the result", expected: code, actual: Self.describe(result))
        }
    }

    private static func describe(_ result: Result<GATTAnswer, GATTFailure>?) -> String {
        switch result {
        case .success(let answer)?: "\(answer)"
        case .failure(let failure)?: "\(failure)"
        case nil: "not finished"
        }
    }

    // MARK: The opening, which the tester answers from its database

    /// Runs one procedure against the tester's database.
    private mutating func run(_ procedure: GATTProcedure) -> Result<GATTAnswer, GATTFailure>? {
        handle(.submit(id: Self.operation, procedure))
        while !sent.isEmpty {
            let answers = peer.handle(.receive(sent.removeFirst()[...]), database: &peerDatabase, at: Instant())
            for case .send(let answer, _) in answers { handle(.receive(answer[...])) }
        }
        defer { result = nil }
        return result
    }

    private mutating func discover() throws(Mismatch) {
        var found = DiscoveredStructure()
        guard case .success(.services(let services))? = run(.discoverPrimaryServices(only: nil)) else {
            throw Mismatch(place: "discovery", expected: "primary services", actual: "none")
        }
        for service in services {
            found.add(service)
            if case .success(.includes(let includes))? = run(.findIncludedServices(service.handles)) {
                for include in includes { found.add(include) }
            }
            guard case .success(.characteristics(let list))? = run(.discoverCharacteristics(service.handles)) else {
                continue
            }
            for characteristic in list {
                found.add(characteristic)
                guard case .success(.descriptors(let descriptors))? = run(.discoverDescriptors(characteristic)) else {
                    continue
                }
                for descriptor in descriptors { found.add(descriptor) }
            }
        }
        guard script.expect.discovered_equals_database != nil else { return }
        try Mismatch.check("discovery", DiscoveredStructure(of: peerDatabase).lines, found.lines) {
            $0.joined(separator: "; ")
        }
    }
}
