import CoreBluetooth
import Testing

@Suite("Errors")
struct ErrorTests {
    @Test("B-N1: codes without a name are kept")
    func unknownCodes() {
        let code = CBATTError.Code(rawValue: 0x80)!
        #expect(code.rawValue == 0x80)
        switch code {
        case .success: Issue.record("0x80 is no success.")
        case .invalidHandle, .readNotPermitted, .writeNotPermitted, .invalidPdu, .insufficientAuthentication,
            .requestNotSupported, .invalidOffset, .insufficientAuthorization, .prepareQueueFull, .attributeNotFound,
            .attributeNotLong, .insufficientEncryptionKeySize, .invalidAttributeValueLength, .unlikelyError,
            .insufficientEncryption, .unsupportedGroupType, .insufficientResources:
            Issue.record("0x80 has no name.")
        @unknown default: break
        }
        #expect(CBATTError(code).localizedDescription == "Unknown ATT error.")
        #expect(CBError.Code(rawValue: 12) == .unknownDevice)
    }

    @Test("B-N2: an error is caught, cast and compared as on Apple's systems")
    func matching() {
        func lose() throws { throw CBError(.connectionTimeout) }
        do {
            try lose()
        } catch CBError.connectionTimeout {
            // As it should.
        } catch {
            Issue.record(error)
        }
        let error: any Error = CBATTError(.writeNotPermitted)
        #expect(error as? CBError == nil)
        #expect((error as? CBATTError)?.code == .writeNotPermitted)
        #expect((error as NSError).domain == CBATTErrorDomain)
        #expect((error as NSError).code == 3)
        #expect(CBATTError.errorDomain == CBATTErrorDomain)
        #expect(CBATTError(.writeNotPermitted) == CBATTError(.writeNotPermitted))
    }

    @Test(
        "B-N3: the texts that apps know",
        arguments: [
            (CBError(.unknown) as any Error, "Unknown error."),
            (CBError(.invalidParameters), "One or more parameters were invalid."),
            (CBError(.connectionTimeout), "The connection has timed out unexpectedly."),
            (CBError(.peripheralDisconnected), "The specified device has disconnected from us."),
            (CBError(.uuidNotAllowed), "The specified UUID is not allowed for this operation."),
            (CBError(.alreadyAdvertising), "Advertising has already started."),
            (CBError(.peerRemovedPairingInformation), "Peer removed pairing information"),
            (CBATTError(.readNotPermitted), "Reading is not permitted."),
            (CBATTError(.writeNotPermitted), "Writing is not permitted."),
            (CBATTError(.insufficientAuthentication), "Authentication is insufficient."),
            (CBATTError(.requestNotSupported), "The request is not supported."),
            (CBATTError(.insufficientEncryption), "Encryption is insufficient."),
        ])
    func texts(error: any Error, text: String) {
        #expect(error.localizedDescription == text)
        #expect((error as NSError).localizedDescription == text)
    }

    @Test("An error prints with its text")
    func printing() {
        let error: any Error = CBError(.connectionTimeout)
        #expect(
            "\(error)" == "Error Domain=CBErrorDomain Code=6 \"The connection has timed out unexpectedly.\"")
    }

    @Test("An app's own text wins")
    func userInfo() {
        let error = CBError(.unknown, userInfo: [NSLocalizedDescriptionKey: "Mine", "key": 1])
        #expect(error.localizedDescription == "Mine")
        #expect(error.userInfo["key"] as? Int == 1)
    }
}
