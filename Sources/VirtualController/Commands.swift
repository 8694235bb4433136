import ByteCodec
import EventLoop
import HCI
import LinkLayer

// From the host: data, and commands in the order of their groups. Each command is answered at once, by Command
// Complete or Command Status with one credit (Core 6.0, Vol 4, Part E, 4.4).

extension VirtualController {
    /// Which commands work here; everything else is answered with Unknown HCI Command.
    static let supportedCommands: [HCIOpcode] = [
        .disconnect, .readRemoteVersion, .setEventMask, .reset, .readTransmitPowerLevel,
        .setEventMaskPage2, .readAuthenticatedPayloadTimeout, .writeAuthenticatedPayloadTimeout, .readLocalVersion,
        .readLocalSupportedFeatures, .readAddress, .readRSSI,
        .leSetEventMask, .leReadBufferSize, .leReadLocalSupportedFeatures, .leSetRandomAddress,
        .leSetAdvertisingParameters, .leReadAdvertisingTxPower, .leSetAdvertisingData, .leSetScanResponseData,
        .leSetAdvertisingEnable, .leSetScanParameters, .leSetScanEnable, .leCreateConnection,
        .leCreateConnectionCancel, .leReadFilterAcceptListSize, .leClearFilterAcceptList,
        .leAddDeviceToFilterAcceptList, .leRemoveDeviceFromFilterAcceptList, .leConnectionUpdate,
        .leSetHostChannelClassification, .leReadChannelMap, .leReadRemoteFeatures, .leEncrypt, .leRand,
        .leEnableEncryption,
        .leLongTermKeyRequestReply, .leLongTermKeyRequestNegativeReply, .leReadSupportedStates,
        .leRemoteConnectionParameterRequestReply, .leRemoteConnectionParameterRequestNegativeReply,
        .leSetDataLength, .leReadSuggestedDefaultDataLength, .leWriteSuggestedDefaultDataLength,
        .leAddDeviceToResolvingList, .leRemoveDeviceFromResolvingList, .leClearResolvingList, .leReadResolvingListSize,
        .leReadPeerResolvableAddress, .leReadLocalResolvableAddress, .leSetAddressResolutionEnable,
        .leSetAdvertisingSetRandomAddress, .leSetExtendedAdvertisingParameters, .leSetExtendedAdvertisingData,
        .leSetExtendedScanResponseData, .leSetExtendedAdvertisingEnable, .leReadMaximumAdvertisingDataLength,
        .leReadNumberOfAdvertisingSets, .leRemoveAdvertisingSet, .leClearAdvertisingSets,
        .leSetExtendedScanParameters, .leSetExtendedScanEnable, .leExtendedCreateConnection,
        .leSetResolvablePrivateAddressTimeout, .leSetPrivacyMode, .leReadMaximumDataLength, .leReadPHY,
        .leSetDefaultPHY, .leSetPHY, .leSetHostFeature, .leSetDefaultSubrate, .leSubrateRequest,
        .leSetPeriodicAdvertisingParameters, .leSetPeriodicAdvertisingData, .leSetPeriodicAdvertisingEnable,
        .lePeriodicAdvertisingCreateSync, .lePeriodicAdvertisingCreateSyncCancel,
        .lePeriodicAdvertisingTerminateSync, .leAddDeviceToPeriodicAdvertiserList,
        .leRemoveDeviceFromPeriodicAdvertiserList, .leClearPeriodicAdvertiserList,
        .leReadPeriodicAdvertiserListSize, .leSetPeriodicAdvertisingReceiveEnable,
    ]

    func take(_ packet: [UInt8], at now: Instant) {
        let content: HCIPacket
        do throws(PacketError) {
            content = try HCIPacket(packet)
        } catch {
            return reportBadPacket()
        }
        switch content {
        case .acl(let header, let payload): takeData(header, payload, at: now)
        case .command(let opcode, let parameters): takeCommand(opcode, parameters, at: now)
        case .event, .leEvent, .otherData: reportBadPacket()
        }
    }

    /// Out of step with the host, which must reset it: Core 6.0, Vol 4, Part A, 2.
    private func reportBadPacket() {
        var event = HardwareError()
        event.hardwareCode = 0x01
        emit(event)
    }

    /// Core 6.0, Vol 4, Part E, 5.4.2 and 4.1.1.
    private func takeData(_ header: ACLHeader, _ payload: ArraySlice<UInt8>, at now: Instant) {
        guard let link = link(header.handle), !payload.isEmpty else { return }
        guard heldPackets < Int(configuration.aclCount), payload.count <= Int(configuration.aclLength) else {
            return emit(DataBufferOverflow())
        }
        heldPackets += 1
        link.heldPackets += 1
        link.connection.send(payload, isContinuation: !header.boundary.isStart, at: now)
    }

    func link(_ handle: UInt16) -> Link? { links.first { $0.handle == handle } }

    private func takeCommand(_ opcode: HCIOpcode, _ parameters: ArraySlice<UInt8>, at now: Instant) {
        switch opcode {
        case .reset: run(Reset.self, parameters) { _ in self.resetState(at: now) }
        case .setEventMask: run(SetEventMask.self, parameters) { self.settings.eventMask = $0.mask }
        case .setEventMaskPage2: run(SetEventMaskPage2.self, parameters) { self.settings.eventMaskPage2 = $0.mask }
        case .leSetEventMask: run(LESetEventMask.self, parameters) { self.settings.leEventMask = $0.mask }
        case .readLocalVersion: run(ReadLocalVersion.self, parameters) { _, answer in Self.fill(&answer) }
        case .readLocalSupportedCommands:
            run(ReadLocalSupportedCommands.self, parameters) { _, answer in
                answer.commands = SupportedCommands(Self.supportedCommands)
            }
        case .readLocalSupportedFeatures:
            run(ReadLocalSupportedFeatures.self, parameters) { _, answer in
                typealias Answer = ReadLocalSupportedFeatures.ReturnParameters
                answer.features = Answer.leSupported | Answer.bredrNotSupported
            }
        case .readAddress:
            run(ReadAddress.self, parameters) { _, answer in answer.address = self.configuration.address }
        case .leReadBufferSize:
            run(LEReadBufferSize.self, parameters) { _, answer in
                answer.aclLength = self.configuration.aclLength
                answer.aclCount = self.configuration.aclCount
            }
        case .leReadLocalSupportedFeatures:
            run(LEReadLocalSupportedFeatures.self, parameters) { _, answer in
                answer.features = ControllerConfiguration.features.union(self.settings.hostFeatures)
            }
        case .leReadSupportedStates:
            run(LEReadSupportedStates.self, parameters) { _, answer in answer.states = .all }
        default:
            if takeAdvertisingCommand(opcode, parameters, at: now) { return }
            if takeExtendedAdvertisingCommand(opcode, parameters, at: now) { return }
            if takeExtendedScanningCommand(opcode, parameters, at: now) { return }
            if takeScanningCommand(opcode, parameters, at: now) { return }
            if takeLinkCommand(opcode, parameters, at: now) { return }
            if takeLengthCommand(opcode, parameters, at: now) { return }
            if takeEncryptionCommand(opcode, parameters, at: now) { return }
            if takePrivacyCommand(opcode, parameters, at: now) { return }
            if takePeriodicCommand(opcode, parameters, at: now) { return }
            if takeSubrateCommand(opcode, parameters, at: now) { return }
            surroundings.controllerSent(
                CommandStatus(status: .unknownCommand, opcode: opcode).packet)
        }
    }

    private static func fill(_ answer: inout ReadLocalVersion.ReturnParameters) {
        answer.hciVersion = ControllerConfiguration.version.version
        answer.hciSubversion = ControllerConfiguration.version.subversion
        answer.linkLayerVersion = ControllerConfiguration.version.version
        answer.companyIdentifier = ControllerConfiguration.version.company
        answer.linkLayerSubversion = ControllerConfiguration.version.subversion
    }

    /// What Reset does, without the answer. 7.3.2.
    func resetState(at now: Instant) {
        silenceRadio()
        holder = .nobody
        sets.removeAll()
        scanSchedule = nil
        scanner = nil
        initiator = nil
        pendingSync = nil
        syncs.removeAll()
        links.removeAll()
        heldPackets = 0
        settings = HostSettings()
    }

    // MARK: Answers

    /// Decodes a command that returns its status only, runs it and completes it.
    func run<Command: HCICommand>(
        _ type: Command.Type, _ parameters: ArraySlice<UInt8>, _ body: (Command) throws(HCIErrorCode) -> Void
    ) where Command.ReturnParameters == StatusReturn {
        guard let command = try? Command(octets: parameters) else {
            return surroundings.controllerSent(Command.failed(.invalidParameters))
        }
        do throws(HCIErrorCode) {
            try body(command)
            surroundings.controllerSent(Command.completed(StatusReturn(.success)))
        } catch {
            surroundings.controllerSent(Command.failed(error))
        }
    }

    /// Decodes a command that returns more than its status, runs it and completes it.
    func run<Command: HCICommand>(
        _ type: Command.Type, _ parameters: ArraySlice<UInt8>,
        _ body: (Command, inout Command.ReturnParameters) throws(HCIErrorCode) -> Void
    ) {
        guard let command = try? Command(octets: parameters) else {
            return surroundings.controllerSent(Command.failed(.invalidParameters))
        }
        var answer = Command.ReturnParameters()
        do throws(HCIErrorCode) {
            try body(command, &answer)
            surroundings.controllerSent(Command.completed(answer))
        } catch {
            surroundings.controllerSent(Command.failed(error))
        }
    }

    /// Decodes a command that is about a link and returns its handle, runs it and completes it.
    func run<Command: HCICommand>(
        _ type: Command.Type, _ parameters: ArraySlice<UInt8>, on handle: KeyPath<Command, UInt16>,
        _ body: (Command, Link) throws(HCIErrorCode) -> Void
    ) where Command.ReturnParameters == HandleReturn {
        guard let command = try? Command(octets: parameters) else {
            return surroundings.controllerSent(Command.failed(.invalidParameters))
        }
        var status = HCIErrorCode.success
        do throws(HCIErrorCode) {
            guard let link = link(command[keyPath: handle]) else { throw .unknownConnection }
            try body(command, link)
        } catch {
            status = error
        }
        surroundings.controllerSent(Command.completed(HandleReturn(status, handle: command[keyPath: handle])))
    }

    /// Decodes a command that takes its time, acknowledges it and, unless it is refused, starts it.
    ///
    /// - Parameter body: checks the command and returns what to do behind the acknowledgement.
    func begin<Command: HCICommand>(
        _ type: Command.Type, _ parameters: ArraySlice<UInt8>,
        _ body: (Command) throws(HCIErrorCode) -> () -> Void
    ) where Command.ReturnParameters == NoReturnParameters {
        guard let command = try? Command(octets: parameters) else {
            return surroundings.controllerSent(Command.accepted(.invalidParameters))
        }
        do throws(HCIErrorCode) {
            let start = try body(command)
            surroundings.controllerSent(Command.accepted())
            start()
        } catch {
            surroundings.controllerSent(Command.accepted(error))
        }
    }
}
