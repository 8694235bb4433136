/// The number under which a peer offers an L2CAP channel.
public typealias CBL2CAPPSM = UInt16

/// A stream of octets to a peer, beside the attributes.
///
/// The app holds on to it: a channel that nobody holds is closed.
// `@unchecked`: all properties are constants.
open class CBL2CAPChannel: NSObject, @unchecked Sendable {
    /// Who is at the other end.
    open var peer: CBPeer! { nil }
    /// What comes from there. The app schedules and opens it.
    open var inputStream: InputStream! { nil }
    /// What goes there. The app schedules and opens it.
    open var outputStream: OutputStream! { nil }
    /// The number under which the channel was opened.
    open var psm: CBL2CAPPSM { 0 }
}
