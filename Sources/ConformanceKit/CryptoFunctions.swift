import BluetoothCrypto
import BluetoothTypes
import SMP

extension Vector {
    /// What each `alg` calls. Those of BR/EDR, broadcast groups and coordinated sets, which the host does not have, are
    /// put together here from the same functions.
    static let functions: [String: Calculation] = [
        "aes-128": { (of: Values) throws(Values.Missing) in
            ["ciphertext": .init(aes128(try of.key("key"), try of.number("plaintext")))]
        },
        "aes-cmac": { (of: Values) throws(Values.Missing) in
            ["mac": .init(aesCMAC(try of.key("key"), try of.octets("message")))]
        },
        "c1": confirm,
        "s1": { (of: Values) throws(Values.Missing) in
            let key = try of.key("k")
            return ["stk": .init(Toolbox.s1(key, responder: try of.number("r1"), initiator: try of.number("r2")))]
        },
        "f4": secureConfirm, "f5": keys, "f6": check, "g2": comparison,
        "h6": { (of: Values) throws(Values.Missing) in
            ["key": .init(Toolbox.h6(try of.key("w"), try of.number("keyid")))]
        },
        "h7": { (of: Values) throws(Values.Missing) in
            ["key": .init(Toolbox.h7(salt: try of.number("salt"), try of.key("w")))]
        },
        "h8": { (of: Values) throws(Values.Missing) in
            let (key, salt): (SecretKey, UInt128) = (try of.key("k"), try of.number("s"))
            return ["key": .init(Toolbox.h8(key, salt: salt, try of.number("keyid")))]
        },
        "ah": { (of: Values) throws(Values.Missing) in
            ["hash": .init(Toolbox.ah(try of.key("irk"), try of.number("prand")).octets(3))]
        },
        "rpa-resolve": resolution,
        "ltk-to-link-key": { (of: Values) throws(Values.Missing) in
            let key = try converted(try of.key("ltk"), "tmp1", "lebr", isSalted: try of.flag("ct2"))
            return ["link_key": .init(key)]
        },
        "link-key-to-ltk": { (of: Values) throws(Values.Missing) in
            let key = try converted(try of.key("link_key"), "tmp2", "brle", isSalted: try of.flag("ct2"))
            return ["ltk": .init(key)]
        },
        "big-gskd": groupKeys, "csis-sih": setHash, "csis-sef": setKey,
        "p256-ecdh": agreement, "p256-reject": publicKey,
        "p256-debug-key": { (of: Values) throws(Values.Missing) in
            guard let pair = P256KeyPair(privateKey: try of.octets("private")) else { return [:] }
            guard pair.publicKey == P256KeyPair.debug.publicKey else { return [:] }
            return ["x": .init(pair.publicKey.x), "y": .init(pair.publicKey.y)]
        },
        "att-sign": { (of: Values) throws(Values.Missing) in
            let message = try of.octets("message")
            let key = try of.key("csrk_le")
            return [
                "signature": .init(DataSignature(of: message[...], key: key, counter: try of.number("counter")).wire)
            ]
        },
        "att-verify": { (of: Values) throws(Values.Missing) in
            ["valid": .flag(DataSignature.isValid(try of.octets("pdu")[...], key: try of.key("csrk_le")))]
        },
        "le-session-key": session, "ll-ccm": encryption, "ll-ccm-reject": decryption,
    ]

    private static let confirm: Calculation = { of throws(Values.Missing) in
        let initiator = Toolbox.Party(
            command: try of.octets("preq", count: 7).reversed(), addressKind: try of.number("iat"),
            address: try of.number("ia"))
        let responder = Toolbox.Party(
            command: try of.octets("pres", count: 7).reversed(), addressKind: try of.number("rat"),
            address: try of.number("ra"))
        let key = try of.key("k")
        return [
            "confirm": .init(Toolbox.c1(key, try of.number("r"), initiator: initiator, responder: responder))
        ]
    }

    private static let secureConfirm: Calculation = { of throws(Values.Missing) in
        let (u, v): ([UInt8], [UInt8]) = (try of.octets("u"), try of.octets("v"))
        return ["confirm": .init(Toolbox.f4(u, v, try of.number("x"), try of.number("z")))]
    }

    private static let keys: Calculation = { of throws(Values.Missing) in
        let secret = SharedSecret(octets: try of.octets("w", count: 32))
        let (n1, n2): (UInt128, UInt128) = (try of.number("n1"), try of.number("n2"))
        let keys = Toolbox.f5(secret, n1, n2, try of.number("a1"), try of.number("a2"))
        return [
            "t": .init(aesCMAC(SecretKey(0x6C88_8391_AAF5_A538_6037_0BDB_5A60_83BE), secret.octets)),
            "mackey": .init(keys.macKey), "ltk": .init(keys.longTermKey),
        ]
    }

    private static let check: Calculation = { of throws(Values.Missing) in
        let (n1, n2, r): (UInt128, UInt128, UInt128) = (try of.number("n1"), try of.number("n2"), try of.number("r"))
        let (a1, a2): (UInt64, UInt64) = (try of.number("a1"), try of.number("a2"))
        let check = Toolbox.f6(try of.key("w"), n1, n2, r, ioCapability: try of.number("iocap"), a1, a2)
        return ["check": .init(check)]
    }

    private static let comparison: Calculation = { of throws(Values.Missing) in
        let (u, v): ([UInt8], [UInt8]) = (try of.octets("u"), try of.octets("v"))
        let value = Toolbox.g2(u, v, try of.number("x"), try of.number("y"))
        return [
            "value": .number(UInt64(value)),
            "six_digits": .text(String("\(1_000_000 + value % 1_000_000)".dropFirst())),
        ]
    }

    private static let resolution: Calculation = { of throws(Values.Missing) in
        guard let address = DeviceAddress(try of.text("address"), kind: .random) else {
            throw Values.Missing(name: "address")
        }
        return ["resolves": .flag(ResolvableAddress(address)?.isOf(try of.key("irk")) ?? false)]
    }

    private static func converted(
        _ key: SecretKey, _ first: String, _ second: String, isSalted: Bool
    ) throws(Values.Missing) -> SecretKey {
        let name = Self.name(first)
        let middle = isSalted ? Toolbox.h7(salt: UInt128(name), key) : Toolbox.h6(key, name)
        return Toolbox.h6(middle, Self.name(second))
    }

    /// Four letters as a number.
    private static func name(_ letters: String) -> UInt32 { letters.utf8.reduce(0) { $0 << 8 | UInt32($1) } }

    /// Core 6.0, Vol 6, Part C, 3.2.
    private static let groupKeys: Calculation = { of throws(Values.Missing) in
        let intermediate = Toolbox.h7(salt: UInt128(name("BIG1")), try of.key("broadcast_code"))
        let longTerm = Toolbox.h6(intermediate, name("BIG2"))
        let session = Toolbox.h8(longTerm, salt: try of.number("gskd"), name("BIG3"))
        return ["igltk": .init(intermediate), "gltk": .init(longTerm), "gsk": .init(session)]
    }

    /// Coordinated Set Identification Service 1.0, 4.7: the function is ah.
    private static let setHash: Calculation = { of throws(Values.Missing) in
        let random = try of.octets("prand_le").reversed().reduce(0) { $0 << 8 | UInt32($1) }
        return ["hash_le": .init(Toolbox.ah(try of.key("sirk_le"), random).octets(3).reversed())]
    }

    /// Coordinated Set Identification Service 1.0, 4.3 to 4.5.
    private static let setKey: Calculation = { of throws(Values.Missing) in
        let salt = SecretKey(aesCMAC(SecretKey(0), Array("SIRKenc".utf8)))
        let derived = SecretKey(aesCMAC(salt, try of.key("k_le").value.octets))
        let mask = aesCMAC(derived, Array("csis".utf8))
        return ["encrypted_sirk_le": .init(SecretKey(mask ^ (try of.key("sirk_le")).value).wire)]
    }

    private static let agreement: Calculation = { of throws(Values.Missing) in
        guard let own = P256KeyPair(privateKey: try of.octets("private_a")),
            own.publicKey.x == (try of.octets("public_a_x")), own.publicKey.y == (try of.octets("public_a_y"))
        else { return [:] }
        guard of.values["private_b"] != nil else {
            return ["dhkey": .init(own.sharedSecret(with: own.publicKey).octets)]
        }
        guard let peer = P256KeyPair(privateKey: try of.octets("private_b")),
            let point = P256PublicKey(x: try of.octets("public_b_x"), y: try of.octets("public_b_y")),
            point == peer.publicKey, own.sharedSecret(with: point) == peer.sharedSecret(with: own.publicKey)
        else { return [:] }
        return ["dhkey": .init(own.sharedSecret(with: point).octets)]
    }

    private static let publicKey: Calculation = { of throws(Values.Missing) in
        let point = P256PublicKey(x: try of.octets("public_x"), y: try of.octets("public_y"))
        return ["result": .text(point == nil ? "reject" : "a point")]
    }

    private static let session: Calculation = { of throws(Values.Missing) in
        let encryption = LinkEncryption(
            longTermKey: try of.key("ltk"), centralDiversifier: try of.number("skd_c"),
            peripheralDiversifier: try of.number("skd_p"), centralVector: try of.number("iv_c"),
            peripheralVector: try of.number("iv_p"))
        return [
            "session_key": .init(encryption.sessionKey),
            "iv_le": .init(encryption.initializationVector.octets(8).reversed()),
        ]
    }

    private static func link(_ of: Values) throws(Values.Missing) -> (LinkEncryption, LinkEncryption.Direction) {
        let vector = try of.octets("iv_le").reversed().reduce(0) { $0 << 8 | UInt64($1) }
        guard let direction = LinkEncryption.Direction(rawValue: try of.number("direction_bit")) else {
            throw Values.Missing(name: "direction_bit")
        }
        return (LinkEncryption(sessionKey: try of.key("session_key"), initializationVector: vector), direction)
    }

    private static let encryption: Calculation = { of throws(Values.Missing) in
        let (link, direction) = try link(of)
        let (payload, header, counter): ([UInt8], UInt8, UInt64) = (
            try of.octets("plaintext"), try of.number("header"), try of.packetCounter()
        )
        let octets = link.encrypt(payload[...], header: header, counter: counter, direction: direction)
        let clear = link.decrypt(octets[...], header: header, counter: counter, direction: direction)
        return clear == payload ? ["ciphertext_and_mic": .init(octets)] : [:]
    }

    private static let decryption: Calculation = { of throws(Values.Missing) in
        let (link, direction) = try link(of)
        let (octets, header, counter): ([UInt8], UInt8, UInt64) = (
            try of.octets("ciphertext_and_mic"), try of.number("header"), try of.packetCounter()
        )
        let clear = link.decrypt(octets[...], header: header, counter: counter, direction: direction)
        return ["result": .text(clear == nil ? "MIC failure" : "accepted")]
    }
}

extension FixedWidthInteger {
    /// The lowest `count` octets, most significant first.
    fileprivate func octets(_ count: Int) -> [UInt8] {
        (0..<count).map { UInt8(truncatingIfNeeded: self >> Self(8 * (count - 1 - $0))) }
    }
}
