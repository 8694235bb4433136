import BluetoothTypes
import EventLoop
import GAP
import HCI
import ProtocolTestKit
import Testing

@Suite("Initiator — Core 6.0, Vol 4, Part E, 7.8.12 and 7.8.13")
struct InitiatorTests {
    private static let first = DeviceAddress(1)
    private static let second = DeviceAddress(2)
    private static let third = DeviceAddress(3)
    private static let cancel = LECreateConnectionCancel().packet

    @Test("One peer is connected to directly")
    func direct() {
        Scene.play(initiator()) { initiator in
            initiator.connect(Self.first)
            initiator.expect(.command(create(Self.first)))
            initiator.started()
            initiator.complete(.success, Self.first)
            initiator.expect(.connected(event(.success, Self.first)))
        }
    }

    @Test("A second peer calls the attempt off and goes with the first over the filter accept list")
    func acceptList() {
        Scene.play(initiator()) { initiator in
            initiator.startDirect(Self.first)
            initiator.connect(Self.second)
            initiator.expect(.command(Self.cancel))
            initiator.done()
            initiator.complete(.unknownConnection)
            initiator.expectList(Self.first, Self.second)
            initiator.complete(.success, Self.second)
            initiator.expect(.connected(event(.success, Self.second)))
            initiator.expect(.command(create(Self.first)))
            initiator.started()
        }
    }

    @Test("Cancelled, and the connection does not come")
    func cancelled() {
        Scene.play(initiator()) { initiator in
            initiator.startDirect(Self.first)
            initiator.input(.cancel(Self.first), #_sourceLocation)
            initiator.expect(.cancelled(Self.first))
            initiator.expect(.command(Self.cancel))
            initiator.done()
            initiator.complete(.unknownConnection)
            initiator.connect(Self.first)
            initiator.expect(.command(create(Self.first)))
        }
    }

    @Test("Cancelled too late: the link is unwanted, whichever answer comes first")
    func cancelledTooLate() {
        Scene.play(initiator()) { initiator in
            initiator.startDirect(Self.first)
            initiator.input(.cancel(Self.first), #_sourceLocation)
            initiator.expect(.cancelled(Self.first))
            initiator.expect(.command(Self.cancel))
            initiator.complete(.success, Self.first)
            initiator.expect(.unwanted(event(.success, Self.first)))
            initiator.refused(.commandDisallowed)

            initiator.startDirect(Self.first)
            initiator.input(.cancel(Self.first), #_sourceLocation)
            initiator.expect(.cancelled(Self.first))
            initiator.expect(.command(Self.cancel))
            initiator.refused(.commandDisallowed)
            initiator.complete(.success, Self.first)
            initiator.expect(.unwanted(event(.success, Self.first)))
        }
    }

    @Test("Cancelled, wanted again, and then the link comes after all")
    func wantedAgain() {
        Scene.play(initiator()) { initiator in
            initiator.startDirect(Self.first)
            initiator.input(.cancel(Self.first), #_sourceLocation)
            initiator.expect(.cancelled(Self.first))
            initiator.expect(.command(Self.cancel))
            initiator.connect(Self.first)
            initiator.done()
            initiator.complete(.success, Self.first)
            initiator.expect(.connected(event(.success, Self.first)))
        }
    }

    @Test("Cancelled before the command was answered")
    func cancelledEarly() {
        Scene.play(initiator()) { initiator in
            initiator.connect(Self.first)
            initiator.expect(.command(create(Self.first)))
            initiator.input(.cancel(Self.first), #_sourceLocation)
            initiator.expect(.cancelled(Self.first))
            initiator.started()
            initiator.expect(.command(Self.cancel))
            initiator.done()
            initiator.complete(.unknownConnection)
        }
    }

    @Test("A controller that never says that the attempt was cancelled")
    func cancelForgotten() {
        Scene.play(initiator()) { initiator in
            initiator.startDirect(Self.first)
            initiator.input(.cancel(Self.first), #_sourceLocation)
            initiator.expect(.cancelled(Self.first))
            initiator.expect(.command(Self.cancel))
            initiator.done()
            initiator.connect(Self.second)
            initiator.wait(.seconds(2))
            initiator.expect(.command(create(Self.second)))
        }
    }

    @Test("A controller that cannot cancel: the old attempt goes on")
    func cannotCancel() {
        Scene.play(initiator()) { initiator in
            initiator.startDirect(Self.first)
            initiator.input(.cancel(Self.first), #_sourceLocation)
            initiator.expect(.cancelled(Self.first))
            initiator.expect(.command(Self.cancel))
            initiator.refused(.unknownCommand)
            initiator.connect(Self.second)
            initiator.complete(.success, Self.first)
            initiator.expect(.unwanted(event(.success, Self.first)))
            initiator.expect(.command(create(Self.second)))
        }
    }

    @Test("A connection that was not established is tried again — Vol 1, Part F, 2.62")
    func notEstablished() {
        Scene.play(initiator()) { initiator in
            initiator.startDirect(Self.first)
            initiator.complete(.connectionFailedToBeEstablished)
            initiator.expect(.command(create(Self.first)))
        }
    }

    @Test("What the controller refuses fails")
    func refused() {
        Scene.play(initiator()) { initiator in
            initiator.connect(Self.first)
            initiator.expect(.command(create(Self.first)))
            initiator.refused(.connectionLimitExceeded)
            initiator.expect(
                .failed(Self.first, .init(opcode: .leCreateConnection, error: .connectionLimitExceeded)))

            initiator.startDirect(Self.first)
            initiator.complete(.connectionLimitExceeded)
            initiator.expect(
                .failed(Self.first, .init(opcode: .leCreateConnection, error: .connectionLimitExceeded)))
        }
    }

    @Test("More peers than the list holds take turns of five seconds")
    func turns() {
        Scene.play(initiator(listSize: 2)) { initiator in
            initiator.startDirect(Self.first)
            initiator.connect(Self.second)
            initiator.expect(.command(Self.cancel))
            initiator.done()
            initiator.connect(Self.third)
            initiator.complete(.unknownConnection)
            initiator.expectList(Self.first, Self.second)
            initiator.wait(.seconds(5))
            initiator.expect(.command(Self.cancel))
            initiator.done()
            initiator.complete(.unknownConnection)
            initiator.expectList(Self.third, Self.first)
        }
    }

    @Test("Without a list, one peer after the other")
    func noList() {
        Scene.play(initiator(listSize: 0)) { initiator in
            initiator.startDirect(Self.first)
            initiator.connect(Self.second)
            initiator.wait(.seconds(5))
            initiator.expect(.command(Self.cancel))
            initiator.done()
            initiator.complete(.unknownConnection)
            initiator.expect(.command(create(Self.second)))
        }
    }

    @Test("A list that the controller refuses is not used again")
    func refusedList() {
        Scene.play(initiator()) { initiator in
            initiator.startDirect(Self.first)
            initiator.connect(Self.second)
            initiator.expect(.command(Self.cancel))
            initiator.done()
            initiator.complete(.unknownConnection)
            initiator.expect(.command(LEClearFilterAcceptList().packet))
            initiator.refused(.unknownCommand)
            initiator.expect(.command(create(Self.first)))
        }
    }
}

private func initiator(listSize: Int = 8) -> Initiator {
    var configuration = Initiator.Configuration()
    configuration.filterAcceptListSize = listSize
    return Initiator(configuration: configuration)
}

private func create(_ peer: DeviceAddress?) -> [UInt8] {
    var command = LECreateConnection()
    command.usesFilterAcceptList = peer == nil
    command.peer = peer ?? DeviceAddress(0)
    return command.packet
}

private func event(_ status: HCIErrorCode, _ peer: DeviceAddress?) -> LEConnectionComplete {
    var event = LEConnectionComplete()
    event.status = status
    event.peer = peer ?? DeviceAddress(0)
    return event
}

extension Scene<Initiator> {
    fileprivate mutating func connect(_ peer: DeviceAddress, at location: SourceLocation = #_sourceLocation) {
        input(.connect(peer), location)
    }

    fileprivate mutating func started(at location: SourceLocation = #_sourceLocation) {
        input(.commandFinished(.started), location)
    }

    fileprivate mutating func done(at location: SourceLocation = #_sourceLocation) {
        input(.commandFinished(.completed(returnParameters: [0])), location)
    }

    fileprivate mutating func refused(_ error: HCIErrorCode, at location: SourceLocation = #_sourceLocation) {
        input(.commandFinished(.refused(error)), location)
    }

    fileprivate mutating func complete(
        _ status: HCIErrorCode, _ peer: DeviceAddress? = nil, at location: SourceLocation = #_sourceLocation
    ) {
        input(.connectionComplete(event(status, peer)), location)
    }

    fileprivate mutating func startDirect(_ peer: DeviceAddress) {
        connect(peer)
        expect(.command(create(peer)))
        started()
    }

    /// The list is filled with two peers, and used.
    fileprivate mutating func expectList(_ first: DeviceAddress, _ second: DeviceAddress) {
        expect(.command(LEClearFilterAcceptList().packet))
        done()
        expect(.command(LEAddDeviceToFilterAcceptList(address: first).packet))
        done()
        expect(.command(LEAddDeviceToFilterAcceptList(address: second).packet))
        done()
        expect(.command(create(nil)))
        started()
    }
}
