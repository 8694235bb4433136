public import CoreBluetooth
import HostInterface

/// Something that the host of a manager's radio waits for: a request of a program, or what it waits for further down.
/// It answers the question why nothing happens.
///
///     WaitingWork.list(of: manager) { list in list.forEach { print($0) } }
public struct WaitingWork: Equatable, Sendable {
    /// Who has to do something for it to end.
    public enum Party: Equatable, Sendable {
        /// The radio's controller.
        case radio
        /// The peer with this identifier; `nil` where the radio is off.
        case peer(UUID?)
        /// A program on this device, which has a peer's request to respond to.
        case program
        /// Somebody in front of the device, who has a pairing's question to answer.
        case person
    }

    /// A few words.
    public let what: String
    public let party: Party
    /// For how long it has been waiting.
    public let age: Duration

    init(_ work: OpenWork, seenBy manager: CBManager) {
        what = work.what
        age = work.age
        party =
            switch work.party {
            case .controller: .radio
            case .peer(let peer): .peer(manager.identifier(of: peer))
            case .program: .program
            case .person: .person
            }
    }

    /// Lists what is still waiting, the oldest first, whichever program on the radio has asked for it.
    ///
    /// - Parameters:
    ///   - manager: whose radio is asked about.
    ///   - completion: called on the manager's queue.
    public static func list(of manager: CBManager, completion: @escaping ([WaitingWork]) -> Void) {
        manager.askHost(.listOpenWork) { [weak manager] answer in
            guard case .success(.openWork(let work)) = answer, let manager else { return completion([]) }
            completion(work.map { WaitingWork($0, seenBy: manager) })
        }
    }

    /// Lists what is still waiting, the oldest first, whichever program on the radio has asked for it.
    public static func list(of manager: CBManager) async -> [WaitingWork] {
        await withCheckedContinuation { continuation in
            list(of: manager) { continuation.resume(returning: $0) }
        }
    }
}

extension WaitingWork: CustomStringConvertible {
    /// What, on whom and since when: `reading the value at handle 16 (the peer, 5.0 s)`.
    public var description: String {
        let name =
            switch party {
            case .radio: "the radio"
            case .peer: "the peer"
            case .program: "a program here"
            case .person: "a person here"
            }
        let tenths = Int(age / .milliseconds(100))
        return "\(what) (\(name), \(tenths / 10).\(tenths % 10) s)"
    }
}
