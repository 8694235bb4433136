extension CommandSyntax {
    static let radioOption = OptionSyntax(
        name: "--radio", value: "ADDRESS", help: "which radio; see RADIO below",
        choices: ["simulated", "hci:", "serial:", "tcp:", "unix:"])

    package static let demo = CommandSyntax(
        name: "demo", summary: "play the tutorials, and check that they keep their promises",
        operands: "[NAME]", operandCount: 0...1,
        discussion: """
            Runs the example programs of Examples/, unchanged, in a simulated world: a phone and the devices that the
            program is about, on one radio. Prints what happens on the air and what the programs say, with the
            simulated time, then a checklist of what the tutorial promises. Without NAME all demos are played.
            """,
        options: [
            OptionSyntax(name: "--list", value: nil, help: "list the demos"),
            OptionSyntax(
                name: "--seed", value: "N",
                help: "the seed of all chance, 0...4294967295 (0 if left out);\nthe same seed gives the same output"),
            OptionSyntax(name: "--json", value: nil, help: "one object a line instead of text"),
            OptionSyntax(
                name: "--capture", value: "FILE",
                help: "with NAME: record what passes between phone and controller,\nas Wireshark and btmon read it"),
            OptionSyntax(
                name: "--air-capture", value: "FILE",
                help: "with NAME: record all packets of the air, with channel,\nstrength and PHY, as Wireshark reads it"
            ),
            OptionSyntax(
                name: "--radio", value: "ADDRESS",
                help: """
                    play the same programs on another radio, in real time,
                    against whatever is there; without NAME, those demos that
                    need no world of their own
                    """),
            OptionSyntax(
                name: "--seconds", value: "N",
                help: "with --radio: how long one program may take, 1...3600\n(120 if left out), also --timeout",
                aliases: ["--timeout"]),
        ],
        examples: [
            ("ble demo", "plays everything"),
            ("ble demo lock --seed 7", "the smart lock, with another course of chance"),
            ("ble demo lock --radio tcp:localhost:6402", "opens a lock that is on the air of that controller"),
        ])

    package static let scan = CommandSyntax(
        name: "scan", summary: "show what is on the air",
        discussion: """
            Lists the devices that advertise: name, identifier, signal strength in dBm, services, and the
            manufacturer's data. On a terminal the list is kept up to date in place. The identifier is this machine's
            own name for the device, as on Apple's systems, not its address.
            """,
        options: [
            radioOption,
            OptionSyntax(
                name: "--seconds", value: "N",
                help: "how long to look, 1...86400 (10 if left out);\n--timeout means the same",
                aliases: ["--timeout"]),
            OptionSyntax(name: "--service", value: "UUID", help: "only devices that advertise this service"),
            OptionSyntax(name: "--duplicates", value: nil, help: "report every packet, not each device once"),
            OptionSyntax(name: "--json", value: nil, help: "one object for each report, one a line"),
        ],
        examples: [
            ("ble scan --radio simulated", "a small world with a few devices"),
            ("ble scan --service 180D --seconds 5", "heart-rate sensors nearby"),
            ("ble scan --json --duplicates", "a stream for a script"),
        ])

    package static let air = CommandSyntax(
        name: "air", summary: "serve one simulated air to other programs",
        discussion: """
            Makes a simulated air, in real time, and listens. Whoever connects gets a virtual controller of its own,
            spoken to in HCI (H4), and hears all others: programs of this library, and other people's Bluetooth hosts.
            When a connection closes, its controller is gone. Who connects next takes the lowest place that is free,
            and the address that belongs to it: programs that are started again in the same order meet under the same
            addresses, and so the same identifiers. BLE_ADDRESS gives a program an address of its own.

            Listens on the loopback address only, or at a Unix socket that only its owner can open. Runs until Ctrl-C.
            """,
        options: [
            OptionSyntax(
                name: "--port", value: "N",
                help: "listen on this TCP port, 0...65535; 0, or left out\nwithout --unix, takes a free one"),
            OptionSyntax(name: "--unix", value: "PATH", help: "listen at this Unix socket; it is removed at the end"),
            OptionSyntax(
                name: "--devices", value: nil, help: "put a lock, a strap and other simulated devices on the air"),
            OptionSyntax(
                name: "--seed", value: "N",
                help: "the seed of all chance and of the controllers' addresses,\n0...4294967295 (0 if left out)"),
            OptionSyntax(
                name: "--acl-length", value: "N",
                help: "octets in one data packet of a controller, 27...1024\n(251 if left out)"),
            OptionSyntax(
                name: "--acl-count", value: "N",
                help: "how many of those a controller holds, 1...255 (20 if left out)"),
            OptionSyntax(name: "--json", value: nil, help: "one object for each event, one a line"),
        ],
        examples: [
            ("ble air --unix /tmp/air", "then start programs with BLE_RADIO=unix:/tmp/air"),
            ("ble air --port 6402 --devices", "then ble scan --radio tcp:localhost:6402"),
        ])

    package static let adapters = CommandSyntax(
        name: "adapters", summary: "list this machine's Bluetooth adapters, and what is in their way",
        discussion: """
            Shows of every adapter its address, name, manufacturer, Bluetooth version and LE features, who has it, and
            why a program cannot use it, with what would change that. It only looks, and needs no privilege; what the
            kernel shows to root alone is named as unknown.
            """,
        options: [OptionSyntax(name: "--json", value: nil, help: "one object for each adapter, one a line")],
        examples: [("ble adapters", "then start programs with BLE_RADIO=hci:1")])

    package static let help = CommandSyntax(
        name: "help", summary: "explain the tool, or one command", operands: "[COMMAND]", operandCount: 0...1)

    package static let all = [
        demo, scan, connect, browse, read, write, subscribe, pair, bonds, advertise, serve, send, receive, soak,
        simulate, doctor, capture, adapters, air, completion, help,
    ]
}
