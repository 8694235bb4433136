import GAP

/// How much a host holds at the moment; nothing of it may grow for ever.
package struct HostHoldings: Equatable, Sendable {
    /// Requests that were not answered yet.
    package var requests = 0
    package var links = 0
    /// Peers' questions that no client has answered yet.
    package var questions = 0
    /// Notifications that wait for one or more subscribers.
    package var notifications = 0
    /// Commands that the controller has not answered yet.
    package var commands = 0
    /// Peers to connect to when they are heard.
    package var pendingConnects = 0
    /// Devices whose periodic advertising is followed, or looked for.
    package var trains = 0
    /// L2CAP channels, offered and open.
    package var channels = 0

    package static let none = HostHoldings()

    package init() {}
}

extension Host {
    package var holdings: HostHoldings {
        var holdings = HostHoldings()
        holdings.requests = requests.open.count
        holdings.links = links.count
        holdings.questions = questions.count
        holdings.notifications = openShares.count
        holdings.commands = commandOwners.count
        holdings.pendingConnects = diallingCount
        holdings.trains = synchronizer.count
        holdings.channels = channels.published.count + channels.entries.count
        return holdings
    }
}
