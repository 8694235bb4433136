import CoreBluetooth

enum Advice { case retry, pairAgain, giveUp }

func advice(for error: Error) -> Advice {
    if let error = error as? CBError {
        switch error.code {
        case .connectionTimeout, .peripheralDisconnected, .connectionFailed: return .retry
        case .peerRemovedPairingInformation, .encryptionTimedOut: return .pairAgain
        case .unknown, .invalidParameters, .invalidHandle, .notConnected, .outOfSpace: return .giveUp
        default: return .giveUp
        }
    }
    switch error {
    case CBATTError.insufficientAuthentication, CBATTError.insufficientEncryption: return .pairAgain
    case let error as CBATTError where error.code.rawValue >= 0x80: return .retry
    default: break
    }
    let error = error as NSError
    switch (error.domain, error.code) {
    case (CBErrorDomain, CBError.Code.connectionLimitReached.rawValue): return .retry
    case (CBATTErrorDomain, 0x0F): return .pairAgain
    default:
        print(error.localizedDescription, error.userInfo[NSLocalizedDescriptionKey] ?? "")
        return .giveUp
    }
}

func name(of code: CBATTError.Code) -> String {
    switch code {
    case .success: return "success"
    case .readNotPermitted, .writeNotPermitted: return "not permitted"
    case .invalidHandle, .invalidPdu, .insufficientAuthentication, .requestNotSupported, .invalidOffset,
        .insufficientAuthorization, .prepareQueueFull, .attributeNotFound, .attributeNotLong,
        .insufficientEncryptionKeySize, .invalidAttributeValueLength, .unlikelyError, .insufficientEncryption,
        .unsupportedGroupType, .insufficientResources:
        return "other"
    @unknown default: return "0x" + String(code.rawValue, radix: 16)
    }
}

func attempt(_ operation: () throws -> Void) -> Bool {
    do {
        try operation()
        return true
    } catch CBError.connectionTimeout {
        return false
    } catch let error as CBError where error.code == .operationCancelled {
        return false
    } catch let error as CBATTError {
        return error.errorCode == CBATTError.Code(rawValue: 0x80)!.rawValue
    } catch {
        return (error as NSError).domain == CBError.errorDomain
    }
}

enum SensorError: Error, LocalizedError {
    case bluetooth(CBError)
    case attribute(CBATTError.Code)
    case other(any Error)

    init(_ error: any Error) {
        switch error {
        case let error as CBError: self = .bluetooth(error)
        case let error as CBATTError: self = .attribute(error.code)
        default: self = .other(error)
        }
    }

    var errorDescription: String? {
        switch self {
        case .bluetooth(let error): return error.localizedDescription
        case .attribute(let code): return CBATTError(code).localizedDescription
        case .other(let error): return "\(error)"
        }
    }
}

func samples() -> [any Error] {
    [
        CBError(.unknown), CBError(CBError.Code.unknownDevice, userInfo: [NSLocalizedDescriptionKey: "who?"]),
        CBATTError(.invalidOffset), CBATTError(CBATTError.Code(rawValue: 0x95) ?? .unlikelyError),
        NSError(domain: CBErrorDomain, code: CBError.connectionTimeout.rawValue),
    ]
}
