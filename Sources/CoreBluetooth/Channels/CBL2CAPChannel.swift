import HostInterface

/// The number under which a peer offers an L2CAP channel.
public typealias CBL2CAPPSM = UInt16

/// A stream of octets to a peer and one from it, beside the attributes.
///
/// The app holds on to it: a channel that nobody holds is closed at once, and what has not been sent is lost. A channel
/// whose two streams have been closed ends by itself when all that was written has been sent.
///
/// Neither stream keeps its caller waiting: without room `write` takes 0 octets; without octets `read` gives -1, and
/// `streamError` is `EAGAIN`. Their events tell when to try again.
// `@unchecked`: all properties are constants, and what changes in them is under the manager's lock.
open class CBL2CAPChannel: NSObject, @unchecked Sendable {
    private let core: ChannelCore?
    private let other: CBPeer?
    private let input: ChannelInputStream?
    private let output: ChannelOutputStream?

    /// A channel to nobody; those of use come from `didOpen`.
    public override init() {
        core = nil
        other = nil
        input = nil
        output = nil
        super.init()
    }

    init(_ channel: OpenChannel, to peer: CBPeer, line: HostLine) {
        let core = ChannelCore(channel, line: line)
        self.core = core
        other = peer
        input = ChannelInputStream(core)
        output = ChannelOutputStream(core)
        super.init()
        line.channels.add(core)
    }

    /// Who is at the other end.
    open var peer: CBPeer! { other }
    /// What comes from there. The app schedules and opens it.
    open var inputStream: InputStream! { input }
    /// What goes there. The app schedules and opens it.
    open var outputStream: OutputStream! { output }
    /// The number under which the channel was opened.
    open var psm: CBL2CAPPSM { core?.psm ?? 0 }

    deinit { core?.channelReleased() }

    open override var description: String {
        "<CBL2CAPChannel: \(address(of: self)), peer = \(other?.description ?? "(null)"), psm = \(psm)>"
    }
}

extension CBL2CAPChannel {
    /// Calls the delegates of the two streams on a queue instead of a run loop; `nil` ends that. It stands for
    /// `CFReadStreamSetDispatchQueue` and `CFWriteStreamSetDispatchQueue`, which Linux lacks.
    public func setDispatchQueue(_ queue: DispatchQueue?) {
        core?.inputSide.setQueue(queue)
        core?.outputSide.setQueue(queue)
    }
}
