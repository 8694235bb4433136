import Glibc

/// Carries HCI packets in their H4 form to a controller and back, or to a host and back.
///
/// It lives on a ``RealTimeLoop`` and is used on that loop only. Contract, checked for every kind by one suite:
/// packets come out in order, whole, in batches; `closed` comes once, last, whoever ended it but ``close()``.
package protocol Transport: AnyObject {
    /// Begins to deliver. Called once, first.
    func open(_ deliver: @escaping (TransportEvent) -> Void)

    /// Puts one packet in line. What a turn of the loop sends leaves together at the end of the turn.
    func send(_ packet: [UInt8])

    /// Ends the transport, quietly: nothing is delivered any more. What was sent and has not left is lost.
    func close()
}

package enum TransportEvent: Equatable, Sendable {
    /// Packets that came together, as slices of one buffer.
    case packets([ArraySlice<UInt8>])
    case closed(TransportError)
}

/// Why there is no transport, or no longer one. Its description tells a person what happened and what to do.
package enum TransportError: Error, Equatable, Sendable {
    case unknownHost(String)
    case nobodyListens(at: String)
    case noAnswer(from: String)
    case noSocket(path: String)
    case notPermitted(String)
    case addressInUse(String)
    /// Something that is no socket lies where one is to be made.
    case pathTaken(String)
    case pathTooLong(String)
    /// The kernel has no Bluetooth, or this process may not see it.
    case noBluetooth
    /// By the name under which it was asked for; `nil` for any.
    case noAdapter(String?)
    /// The kernel is still making its acquaintance, which takes a moment after it was plugged in.
    case adapterSettling(String)
    case adapterInUse(String, by: AdapterOwner)
    /// Taking an adapter over needs CAP_NET_ADMIN.
    case noCapability(String)
    /// Switched off by rfkill.
    case blocked(String)
    case noDevice(path: String)
    case notSerial(path: String, baud: Int)
    /// The adapter or the serial line has gone.
    case unplugged(String)
    /// Another error of the operating system: what was tried, and its words.
    case system(String, reason: String)
    /// The other side ended the stream between two packets.
    case ended
    /// The other side ended the stream in the middle of a packet.
    case endedInsidePacket
    case framing(H4Framer.Failure)
    /// The other side does not read, and too much has piled up.
    case peerDoesNotRead
}

extension TransportError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .unknownHost(let name):
            "No host with the name \(name) is known. Check the spelling of the radio's address."
        case .nobodyListens(let place):
            "Nothing listens at \(place). Start the controller there, or name another radio."
        case .noAnswer(let place):
            "\(place) does not answer. Check the address, and whether a firewall is in between."
        case .noSocket(let path):
            "There is no socket at \(path). Start the controller that makes it, or check the path."
        case .notPermitted(let place):
            "This user may not open \(place). Check its owner and its permissions."
        case .addressInUse(let place):
            "\(place) is in use by another program. End that program, or choose another address."
        case .pathTaken(let path):
            "\(path) is there already, and is no socket. Choose another path."
        case .pathTooLong(let path):
            "The path \(path) is too long for a socket, which holds 107 octets. Choose a shorter one."
        case .noBluetooth:
            "This kernel offers no Bluetooth to this program. Load its module with \"modprobe bluetooth\"; a container "
                + "needs the network of its host."
        case .noAdapter(nil): "There is no Bluetooth adapter. Plug one in."
        case .adapterSettling(let name): "The kernel is still setting up \(name)."
        case .noAdapter(let name?):
            "There is no adapter \(name). Plug it in, or see \"ble adapters\" for those that are there."
        case .adapterInUse(let name, let owner): "\(name) is in use by \(owner). \(owner.cure(adapter: name))"
        case .noCapability(let name):
            "This program may not take \(name) over: it lacks the capability CAP_NET_ADMIN. \(Self.capabilityCure)"
        case .blocked(let name):
            "\(name) is switched off by rfkill. Switch it on with \"rfkill unblock bluetooth\"."
        case .noDevice(let path):
            "There is no device \(path). Plug the controller in, or check the path."
        case .notSerial(let path, let baud):
            "\(path) is no serial line that can do \(baud) baud with hardware flow control. Check path and speed."
        case .unplugged(let name): "\(name) was unplugged."
        case .system(let what, let reason): "\(what) failed: \(reason)."
        case .ended: "The controller closed the connection."
        case .endedInsidePacket: "The controller closed the connection in the middle of a packet."
        case .framing(let failure): "\(failure) Is the port an HCI controller?"
        case .peerDoesNotRead: "The other side does not read what it is sent. The connection was closed."
        }
    }

    /// What gives a program the capability, for the program that runs.
    package static var capabilityCure: String {
        let program = unsafe realpath("/proc/self/exe", nil).map { path in
            defer { unsafe free(path) }
            return unsafe String(cString: path)
        }
        return
            "Give it to the program with \"sudo setcap cap_net_admin+ep \(program ?? "PROGRAM")\", or, in its systemd "
            + "unit, with \"AmbientCapabilities=CAP_NET_ADMIN\", or run it as root."
    }
}
