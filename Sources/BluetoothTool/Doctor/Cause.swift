package import CoreBluetooth

/// What can be wrong, as `ble doctor` names it, with what cures it.
package enum Cause: String, CaseIterable, Sendable {
    // The radio.
    case noAdapter, noKernelSupport, blocked, noCapability, adapterInUse, firmwareMissing, unplugged
    case radioUnreachable, noLowEnergy, notPermitted, switchedOff, radioSilent, radioFailed
    // The air.
    case nothingOnAir, notHeard, misspelledName, severalOfOneName, serviceNotAdvertised, notConnectable, weakSignal
    // The link.
    case doesNotAnswer, linkLimit, bondLost, dropsAtOnce, linkLost, smallMTU, parametersRefused, pairingFailed
    // The services.
    case discoveryFails, wrongService, wrongCharacteristic, staleCache
    // The values.
    case cannotNotify, noConfigurationDescriptor, subscriptionRefused, silentNotifications, neverSubscribed
    case readRefused, needsPairing, noAnswer, writeVanishes, writeRefused
    // What a program's log says of the program.
    case logTooEarly, logNotConnected, logForgottenPeripheral, logForgottenManager, logNoDelegate, logMissingMethod
    case logWriteWithoutProperty, logWriteCut, logNoRoom, logForgottenResponse, logAdvertisedTooEarly
    case logContradiction, logRefusedService, logStaleObject, logOtherManager, logIgnoredKey, logBackground

    /// One sentence without its dot.
    package var title: String {
        switch self {
        case .noAdapter: "there is no such adapter"
        case .noKernelSupport: "the kernel offers no Bluetooth to this program"
        case .blocked: "the adapter is switched off by rfkill"
        case .noCapability: "this program lacks the capability to take an adapter over"
        case .adapterInUse: "somebody else has the adapter"
        case .firmwareMissing: "the kernel does not get the adapter ready: mostly its firmware is missing"
        case .unplugged: "the adapter was unplugged"
        case .radioUnreachable: "the radio cannot be reached"
        case .noLowEnergy: "the radio cannot do Bluetooth Low Energy"
        case .notPermitted: "this program may not use the radio"
        case .switchedOff: "Bluetooth is switched off"
        case .radioSilent: "the radio does not come on"
        case .radioFailed: "the radio's hardware failed"
        case .nothingOnAir: "nothing is on the air"
        case .notHeard: "the device is not on the air"
        case .misspelledName: "the device's name is spelled in another way"
        case .severalOfOneName: "several devices have that name"
        case .serviceNotAdvertised: "no device here advertises the service"
        case .notConnectable: "the device does not accept connections"
        case .weakSignal: "the signal is weak"
        case .doesNotAnswer: "the device is there, but a connection does not come about"
        case .linkLimit: "the radio holds as many links as it can"
        case .bondLost: "the device has forgotten the bond"
        case .dropsAtOnce: "the device ends the link right after it was made"
        case .linkLost: "the link is lost after a moment"
        case .smallMTU: "the device carries 20 octets at a time"
        case .parametersRefused: "connection parameters are refused"
        case .pairingFailed: "the pairing failed"
        case .staleCache: "the program uses attributes that are not there any more"
        case .discoveryFails: "the services cannot be discovered"
        case .wrongService: "the device has no such service"
        case .wrongCharacteristic: "the service has no such characteristic"
        case .cannotNotify: "the characteristic does not notify"
        case .noConfigurationDescriptor: "the characteristic lacks the descriptor 2902, by which it is subscribed"
        case .subscriptionRefused: "the device refuses the subscription"
        case .silentNotifications: "the subscription stands, but no value comes"
        case .neverSubscribed: "the device can notify, and nobody subscribes"
        case .readRefused: "the device refuses the read"
        case .needsPairing: "the value needs an encrypted link"
        case .noAnswer: "the device does not answer a request"
        case .writeVanishes: "the write would vanish"
        case .writeRefused: "the device refuses the write"
        default: logTitle
        }
    }

    private var logTitle: String {
        switch self {
        case .logTooEarly: "the program calls its manager before the radio is on"
        case .logNotConnected: "the program uses a peripheral without a link"
        case .logForgottenPeripheral: "the program does not keep its peripheral"
        case .logForgottenManager: "the program does not keep its manager"
        case .logNoDelegate: "the program has no delegate when it is needed, as after a restoration"
        case .logMissingMethod: "the delegate lacks a method that is needed"
        case .logWriteWithoutProperty: "the program writes in a way that the characteristic does not offer"
        case .logWriteCut: "the program writes more than the link carries, and the rest is cut"
        case .logNoRoom: "the program writes faster than the link carries, and writes are dropped"
        case .logForgottenResponse: "the program forgets to respond to requests"
        case .logAdvertisedTooEarly: "the program advertises before its services are there"
        case .logContradiction: "properties and permissions contradict each other"
        case .logRefusedService: "a service is refused"
        case .logStaleObject: "the program uses services or characteristics of an earlier link"
        case .logOtherManager: "the program uses a peripheral of another manager"
        case .logIgnoredKey: "the program advertises what may not be advertised"
        case .logBackground: "the program is in the background without the mode that it needs"
        default: rawValue
        }
    }

    /// What a radio that cannot be used suffers from.
    ///
    /// - Parameter why: the host's own words.
    package static func ofRadio(_ state: CBManagerState, why: String) -> Cause {
        switch state {
        case .poweredOff: .switchedOff
        case .unauthorized: why.contains("CAP_NET_ADMIN") ? .noCapability : .notPermitted
        case .unsupported: signs.first { why.contains($0.text) }?.cause ?? .noLowEnergy
        default: why.contains("was unplugged") ? .unplugged : .radioSilent
        }
    }

    /// What the words of `TransportError` mean. The first that fits counts.
    private static let signs: [(text: String, cause: Cause)] = [
        ("offers no Bluetooth", .noKernelSupport), ("CAP_NET_ADMIN", .noCapability), ("by rfkill", .blocked),
        ("is in use by", .adapterInUse), ("still setting up", .firmwareMissing), ("was unplugged", .unplugged),
        ("There is no Bluetooth adapter", .noAdapter), ("There is no adapter", .noAdapter),
        ("There is no device", .noAdapter), ("may not open", .notPermitted),
        ("No host with the name", .radioUnreachable), ("Nothing listens", .radioUnreachable),
        ("There is no socket", .radioUnreachable), ("does not answer", .radioUnreachable),
        ("is no serial line", .radioUnreachable), ("closed the connection", .radioUnreachable),
        ("cannot be opened", .radioUnreachable), ("is lost", .radioUnreachable),
        ("an HCI controller?", .radioUnreachable),
    ]

    /// What to do: a command, or a change in the program.
    package var cure: String {
        switch self {
        case .noAdapter:
            "plug one in and look: ble adapters; or name another radio: --radio simulated, --radio unix:PATH, or "
                + "BLE_RADIO in the environment"
        case .noKernelSupport: "modprobe bluetooth; a container needs the network of its host"
        case .blocked: "rfkill unblock bluetooth"
        case .noCapability:
            "sudo setcap cap_net_admin+ep PROGRAM, or AmbientCapabilities=CAP_NET_ADMIN in its systemd unit, or run it "
                + "as root"
        case .adapterInUse: "end the program that has it; of BlueZ: systemctl stop bluetooth"
        case .firmwareMissing:
            "see what it looked for: dmesg | grep -i firmware; and install it: apt install linux-firmware"
        case .unplugged: "plug it in again; if it happens by itself, take another port or a shorter cable"
        case .radioUnreachable: "start what serves it (for example: ble air --unix PATH), and check the address"
        case .noLowEnergy: "use an adapter of Bluetooth 4.0 or later"
        case .notPermitted: "give this program the right to use the radio; the reason above names it"
        case .switchedOff: "switch Bluetooth on; on Linux also: rfkill unblock bluetooth"
        case .radioSilent: "unplug the adapter and plug it in again; see whether another program holds it"
        case .radioFailed:
            "unplug the adapter and plug it in again; if it happens again, update its firmware or take another adapter"
        case .nothingOnAir:
            "switch the device on, bring it near, and see that no phone holds it: connected devices "
                + "mostly do not advertise"
        case .notHeard: "switch it on, bring it near, disconnect other phones from it, and look: ble scan"
        case .misspelledName: "use the name as it is on the air, or the identifier that ble scan shows"
        case .severalOfOneName: "tell them apart by identifier, or by the MAC in their System ID: ble read ID 2A23"
        case .serviceNotAdvertised:
            "scan without a service filter and look for the name; most devices do not "
                + "advertise all of their services"
        case .notConnectable: "wake the device for a connection (a button, mostly); it only broadcasts now"
        case .weakSignal: "bring the two nearer to each other, or take what is between them away"
        case .doesNotAnswer: "disconnect other phones and computers from it, then switch it off and on"
        case .linkLimit: "end a link: cancelPeripheralConnection of what is not used any more"
        case .bondLost: "remove the bond on this side too, and pair anew"
        case .dropsAtOnce: "see in the device's log why: mostly connection parameters or a missing bond"
        case .linkLost: "bring it nearer; if it is near, its supervision timeout or its clock is wrong"
        case .smallMTU: "split values to maximumWriteValueLength(for:), or let the device accept a larger MTU"
        case .parametersRefused:
            "ask for what Apple's accessory guidelines allow: an interval of 15 ms or a multiple, a latency of 30 at "
                + "most, a timeout of 6 to 18 s and more than three times interval x (latency + 1)"
        case .pairingFailed:
            "compare what both sides can show and take in, and try again: ble pair DEVICE --capability KIND"
        case .staleCache:
            "discover anew after each connection and in didModifyServices; the device's firmware must indicate "
                + "Service Changed when its services change"
        case .discoveryFails: "switch the device off and on; its attribute table breaks the rules if it happens again"
        case .wrongService: "use one of the UUIDs that it has: ble browse DEVICE"
        case .wrongCharacteristic: "use one that it has: ble browse DEVICE"
        case .cannotNotify: "read it, or let the device's firmware give it the property notify"
        case .noConfigurationDescriptor: "the device's firmware must add the descriptor 2902"
        case .subscriptionRefused: "see in the device's documentation what it wants first, such as a password"
        case .silentNotifications:
            "the device has nothing to say, or forgets its subscriptions: make it send, and "
                + "call setNotifyValue(true) anew after each connection"
        case .neverSubscribed:
            "call setNotifyValue(true, for:) after each discovery, and wait for didUpdateNotificationStateFor; in the "
                + "background the mode bluetooth-central is needed too"
        case .readRefused: "see its properties: ble browse DEVICE"
        case .needsPairing:
            "pair with the device: CoreBluetooth begins by itself; where a code is asked for, the program answers "
                + "by BluetoothSecurity (BluetoothExtensions)"
        case .noAnswer: "the device's program must respond to each request exactly once (respond(to:withResult:))"
        case .writeVanishes: "write with response (.withResponse); without the property CoreBluetooth drops the write"
        case .writeRefused: "see the code in the device's documentation"
        default: logCure
        }
    }

    private var logCure: String {
        switch self {
        case .logTooEarly: "wait for centralManagerDidUpdateState or peripheralManagerDidUpdateState with .poweredOn"
        case .logNotConnected: "wait for didConnect; stop at didDisconnectPeripheral and at each state below .poweredOn"
        case .logForgottenPeripheral: "store the CBPeripheral in a property before connect(_:options:)"
        case .logForgottenManager: "store the manager in a property that lives as long as it is used"
        case .logNoDelegate:
            "set delegate in the initialiser of the manager, also for restored peripherals: "
                + "peripheral.delegate = self in willRestoreState"
        case .logMissingMethod: "implement the method that the line names, in the class that states the conformance"
        case .logWriteWithoutProperty: "choose the type by characteristic.properties"
        case .logWriteCut: "split to maximumWriteValueLength(for: .withoutResponse)"
        case .logNoRoom:
            "write only while canSendWriteWithoutResponse, and go on in "
                + "peripheralIsReady(toSendWriteWithoutResponse:)"
        case .logForgottenResponse: "call respond(to:withResult:) exactly once for each request, errors included"
        case .logAdvertisedTooEarly: "add the services, wait for didAdd, then call startAdvertising"
        case .logContradiction: "give .readable with .read, and .writeable with .write or .writeWithoutResponse"
        case .logRefusedService: "the line names why; a constant value must be read-only, for example"
        case .logStaleObject: "discover anew after each connection and in didModifyServices"
        case .logOtherManager: "get it from this manager: retrievePeripherals(withIdentifiers:)"
        case .logIgnoredKey: "only the local name and service UUIDs can be advertised"
        case .logBackground:
            "add the mode that the line names to UIBackgroundModes in Info.plist, and scan for services by name"
        default: ""
        }
    }
}

/// A cause that was found, with what shows it.
package struct Finding: Sendable, Equatable {
    package var cause: Cause
    package var evidence: String
}
