/// A machine of the link layer at work.
///
/// By reference: whether there is one is asked with each packet, and a machine is large.
final class Running<Machine> {
    var machine: Machine

    init(_ machine: Machine) { self.machine = machine }
}
