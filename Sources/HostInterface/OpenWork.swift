/// Something that a host waits for.
package struct OpenWork: Equatable, Sendable {
    /// Who has to do something for it to end.
    package enum Party: Equatable, Sendable {
        case controller
        case peer(PeerID)
        /// A program here has a peer's question to answer.
        case program
        /// Somebody in front of the device has a pairing's question to answer.
        case person
    }

    /// A few words for a person.
    package var what: String
    package var party: Party
    /// For how long it has been open.
    package var age: Duration

    /// What a connect waits for while the controller holds as many links as it can.
    package static let roomForLink = "room for another link"

    package init(_ what: String, waitsFor party: Party, age: Duration) {
        self.what = what
        self.party = party
        self.age = age
    }
}
