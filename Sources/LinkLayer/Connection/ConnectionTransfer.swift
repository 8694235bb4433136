import BluetoothCrypto
package import EventLoop

// Acknowledgement and flow control: Core 6.0, Vol 6, Part B, 4.5.9. Encryption stands between it and the queues.

extension Connection {
    /// Takes in a readable packet: what it acknowledges, and what it brings.
    mutating func accept(_ reception: Reception, at now: Instant, reports: inout [ConnectionReport]) {
        let header = DataHeader(rawValue: reception.frame.header)
        lastHeard = now
        lastHeardEvent = event
        isEstablished = true
        peerHasMore = header.hasMoreData
        if let sent = inFlight, header.nextExpected != sequence {
            sequence.toggle()
            inFlight = nil
            if sent.completesPacket { noteCompleted(reports: &reports) }
            if let opcode = sent.opcode { controlAcknowledged(opcode, reports: &reports) }
            if phase == .over { return }
        }
        guard header.sequence == nextExpected else { return }
        nextExpected.toggle()
        guard !reception.frame.payload.isEmpty else { return }
        lastActivity = event
        guard let payload = opened(reception.frame, at: now) else { return close(.micFailure, reports: &reports) }
        switch header.kind {
        case .control:
            receiveControl(payload, at: now, reports: &reports)
        case .start, .continuation:
            guard encryption.expects(nil) else { return close(.micFailure, reports: &reports) }
            reports.append(.data(payload, isStart: header.kind == .start))
        case .reserved:
            break
        }
    }

    /// The payload in the clear; `nil` if its integrity check fails.
    private mutating func opened(_ frame: RadioFrame, at now: Instant) -> ArraySlice<UInt8>? {
        guard encryption.receive != nil else { return frame.payload }
        let payload = encryption.receive?.open(frame.payload, header: UInt8(truncatingIfNeeded: frame.header))
        if payload != nil { noteProof(at: now) }
        return payload
    }

    /// How many octets the next PDU has on the air.
    var nextCount: Int {
        let count = queue.nextCount
        return count == 0 || encryption.transmit == nil ? count : count + LinkEncryption.micLength
    }

    /// Tells the host at the end of the event, or as soon as a burst has used up a good part of its buffers.
    private mutating func noteCompleted(reports: inout [ConnectionReport]) {
        completed += 1
        guard completed >= capabilities.completionBatch else { return }
        reports.append(.completed(completed))
        completed = 0
    }

    mutating func transmit(at start: Instant) -> RadioOrder {
        let outgoing: TransmitQueue.Outgoing
        var hasRoom = true
        if let unacknowledged = inFlight {
            outgoing = unacknowledged
        } else if start.advanced(by: transmitMode.duration(payloadCount: nextCount)) <= limit {
            outgoing = removeNext()
        } else {
            outgoing = .empty
            hasRoom = false
        }
        inFlight = outgoing
        sentPackets += 1
        if !outgoing.payload.isEmpty { noteOutgoing(outgoing) }
        // MD is about this event. 4.5.6.
        sentMore = hasRoom && !queue.isEmpty && maySendAgain
        phase = .transmitting
        let header = DataHeader(
            outgoing.kind, nextExpected: nextExpected, sequence: sequence, hasMoreData: sentMore,
            payloadCount: outgoing.payload.count)
        return .transmit(
            RadioFrame(
                channel: channel, mode: transmitMode, accessAddress: accessAddress, header: header.rawValue,
                payload: outgoing.payload),
            at: start)
    }

    private mutating func noteOutgoing(_ outgoing: TransmitQueue.Outgoing) {
        lastActivity = event
        if outgoing.opcode == ControlOpcode.subrateIndication.rawValue { control.pendingSubrating?.isOut = true }
    }

    private mutating func removeNext() -> TransmitQueue.Outgoing {
        var outgoing = queue.removeNext()
        if encryption.transmit != nil, !outgoing.payload.isEmpty {
            outgoing.payload = encryption.transmit!.seal(outgoing.payload, header: UInt8(outgoing.kind.rawValue))
        }
        return outgoing
    }

    /// Queues one packet of the host; it is cut into as many PDUs as it takes.
    package mutating func send(_ payload: ArraySlice<UInt8>, isContinuation: Bool, at now: Instant) {
        guard phase != .over, !control.isTerminating else { return }
        queue.append(payload, isContinuation: isContinuation)
        attendNextEvent(at: now)
    }
}
