"""Pairing, and coming back with the bond: our host with Bumble's, in both roles, by all methods that Bumble has, on
RootCanal's controllers and on ours. After the pairing each side is restarted once."""
import os

from air_cases import OurAir
from harness import RootCanal, expect

ADDRESS = "F0:0D:F0:0D:00:01"
BUMBLES_ADDRESS = "F0:F1:F2:07:07:07"
LIMIT = 60  # Seconds for one program's part.

# By the capabilities of the central and the peripheral; the level is that of LE security mode 1 (Core 6.0, Vol 3,
# Part C, 10.2.1), and the method follows from the capabilities by Vol 3, Part H, table 2.8.
METHODS = {
    "just works": ("none", "none", 2),
    "passkey typed by the central": ("keyboard", "display", 4),
    "passkey typed by the peripheral": ("display", "keyboard", 4),
    "numeric comparison": ("yesno", "yesno", 4),
    "out of band": ("none", "none", 4),
}
LEGACY_LEVELS = {"just works": 2, "passkey typed by the central": 3, "passkey typed by the peripheral": 3}


class Pair:
    """Our host and Bumble's, what each keeps, and what people would read off the screens."""

    def __init__(self, case, air, method, is_legacy, ours_is_central):
        self.case, self.air, self.method, self.is_legacy = case, air, method, is_legacy
        self.ours_is_central = ours_is_central
        self.folder = case.folder()
        self.exchange = os.path.join(self.folder, "exchange")
        central, peripheral, level = METHODS[method]
        self.our_capability, self.bumble_capability = (
            (central, peripheral) if ours_is_central else (peripheral, central))
        self.level = LEGACY_LEVELS[method] if is_legacy else level

    def options(self, capability):
        options = ["--capability", capability, "--exchange", self.exchange]
        if self.is_legacy:
            options.append("--legacy")
        if self.method == "out of band":
            options += ["--oob", "both"]
        return options

    def ours(self):
        role = "central" if self.ours_is_central else "peripheral"
        return self.case.ours(
            "pairing-host", role, *self.options(self.our_capability), radio=self.air.for_us,
            environment={"BLE_ADDRESS": ADDRESS, "BLE_STATE": os.path.join(self.folder, "state")})

    def bumble(self, is_bonded=False):
        role = "peripheral" if self.ours_is_central else "central"
        more = ["--bonded"] if is_bonded else []
        return self.case.peer(
            "bumble_pairing.py", self.air.for_bumble, role, *self.options(self.bumble_capability), *more, "--keystore",
            os.path.join(self.folder, "keys.json"))

    def forget_screens(self):
        for name in os.listdir(self.folder):
            if name.startswith("exchange"):
                os.remove(os.path.join(self.folder, name))


def pair(pair):
    peripheral, central = (pair.bumble(), pair.ours) if pair.ours_is_central else (pair.ours(), pair.bumble)
    if pair.method != "out of band":
        peripheral.wait_for("READY", LIMIT)
    central = central()
    expect(central.finish(LIMIT) == 0, f"The central failed.\n{central.shown()}\n{peripheral.shown()}")
    expect("VALUE secret" in central.output, f"The value was not read.\n{central.shown()}\n{peripheral.shown()}")
    ours, bumble = (central, peripheral) if pair.ours_is_central else (peripheral, central)
    kind = "legacy" if pair.is_legacy else "sc"
    ours.wait_for(f"SECURED level {pair.level} {kind}", 5)
    ours.wait_for("BONDED", 5)
    bumble.wait_for(f"PAIRED {kind}", 5)
    return peripheral


def come_back(pair, peripheral):
    """The central's program starts anew, then the peripheral's: each finds the other by the bond."""
    for restarts_peripheral in (False, True):
        if restarts_peripheral:
            peripheral.stop()
            pair.forget_screens()
            peripheral = pair.bumble() if pair.ours_is_central else pair.ours()
            peripheral.wait_for("READY", LIMIT)
        if pair.ours_is_central:
            ours = pair.ours()
            expect(ours.finish(LIMIT) == 0, f"We did not come back.\n{ours.shown()}\n{peripheral.shown()}")
            expect(f" level {pair.level}" in ours.output.split("CONNECTED", 1)[-1].splitlines()[0],
                   f"The link was not encrypted when it was reported.\n{ours.shown()}\n{peripheral.shown()}")
            expect("BONDED" not in ours.output, f"We paired anew.\n{ours.shown()}\n{peripheral.shown()}")
            expect("VALUE secret" in ours.output, f"The value was not read.\n{ours.shown()}\n{peripheral.shown()}")
        else:
            bumble = pair.bumble(is_bonded=True)
            expect(bumble.finish(LIMIT) == 0, f"Bumble did not come back.\n{bumble.shown()}\n{peripheral.shown()}")
            expect("VALUE secret" in bumble.output, f"The value was not read.\n{bumble.shown()}\n{peripheral.shown()}")
            expect(peripheral.output.count("BONDED") <= 1, f"They paired anew.\n{bumble.shown()}\n{peripheral.shown()}")


def case_for(air, method, is_legacy, ours_is_central):
    def play(case):
        both = Pair(case, air(case), method, is_legacy, ours_is_central)
        peripheral = pair(both)
        # Bumble 0.0.236 as peripheral answers with the wrong one of the two keys of a legacy bond (pull request 890).
        # Out-of-band data is good for one pairing.
        if not (is_legacy and ours_is_central) and method != "out of band":
            come_back(both, peripheral)

    kind = "legacy" if is_legacy else "secure connections"
    where = "our air" if air is OurAir else "rootcanal"
    role = "central" if ours_is_central else "peripheral"
    play.__name__ = f"pairing on {where}, we are the {role}: {method}, {kind}"
    return play


def bumbles_bond_moves_to_our_host(case):
    """Bumble's peripheral pairs with our central; then a host of ours takes its address and its key store."""
    both = Pair(case, OurAir(case), "just works", False, True)
    bumble = pair(both)
    bumble.stop()
    peripheral = case.ours(
        "pairing-host", "peripheral", *both.options("none"), "--import", os.path.join(both.folder, "keys.json"),
        radio=both.air.for_us,
        environment={"BLE_ADDRESS": BUMBLES_ADDRESS, "BLE_STATE": os.path.join(both.folder, "other")})
    peripheral.wait_for("IMPORTED none", LIMIT)
    peripheral.wait_for("READY", LIMIT)
    central = both.ours()
    expect(central.finish(LIMIT) == 0, f"The central failed.\n{central.shown()}\n{peripheral.shown()}")
    expect("VALUE secret" in central.output and "BONDED" not in central.output,
           f"The bond did not do.\n{central.shown()}\n{peripheral.shown()}")


def our_bond_moves_to_bumble(case):
    """Our central pairs with a peripheral of ours; then Bumble takes its address and what it has exported."""
    both = Pair(case, OurAir(case), "just works", False, True)
    peripheral = case.ours(
        "pairing-host", "peripheral", *both.options("none"), radio=both.air.for_us,
        environment={"BLE_ADDRESS": BUMBLES_ADDRESS, "BLE_STATE": os.path.join(both.folder, "other")})
    peripheral.wait_for("READY", LIMIT)
    keys = os.path.join(both.folder, "exported.json")
    central = case.ours(
        "pairing-host", "central", *both.options("none"), "--export", keys, radio=both.air.for_us,
        environment={"BLE_ADDRESS": ADDRESS})
    expect(central.finish(LIMIT) == 0, f"The central failed.\n{central.shown()}\n{peripheral.shown()}")
    bumble = case.peer(
        "bumble_pairing.py", both.air.for_bumble, "central", *both.options("none"), "--bonded", "--address", ADDRESS,
        "--keystore", keys)
    expect(bumble.finish(LIMIT) == 0, f"Bumble could not use the bond.\n{bumble.shown()}\n{peripheral.shown()}")
    peripheral.wait_for("BONDED", 5)
    expect("VALUE secret" in bumble.output and peripheral.output.count("BONDED") == 1,
           f"The bond did not do.\n{bumble.shown()}\n{peripheral.shown()}")


def our_air_pairs_two_bumble_hosts(case):
    """They compare numbers, and come back with the bond: encryption, and whatever else a link needs, between hosts that
    are both not ours."""
    air, folder = OurAir(case), case.folder()
    options = ["--capability", "yesno", "--exchange", os.path.join(folder, "exchange"), "--keystore"]
    peripheral = case.peer(
        "bumble_pairing.py", air.for_bumble, "peripheral", *options, os.path.join(folder, "peripheral.json"))
    peripheral.wait_for("READY", LIMIT)
    for more in ([], ["--bonded"]):
        central = case.peer(
            "bumble_pairing.py", air.for_bumble, "central", "--address", ADDRESS, *more, *options,
            os.path.join(folder, "central.json"))
        expect(central.finish(LIMIT) == 0, f"The central failed.\n{central.shown()}\n{peripheral.shown()}")
        expect("VALUE secret" in central.output, f"The value was not read.\n{central.shown()}\n{peripheral.shown()}")
        peripheral.wait_for("PAIRED sc", 5)
    expect(peripheral.output.count("PAIRED") == 1, f"They paired anew.\n{peripheral.shown()}")


def bumbles_server_is_asked_on_several_bearers(case):
    """Our central pairs, opens enhanced bearers, and asks three things at once."""
    both = Pair(case, RootCanal(case), "just works", False, True)
    bumble = case.peer(
        "bumble_pairing.py", both.air.for_bumble, "peripheral", *both.options("none"), "--eatt", "--keystore",
        os.path.join(both.folder, "keys.json"))
    bumble.wait_for("READY", LIMIT)
    ours = case.ours(
        "pairing-host", "central", *both.options("none"), "--bearers", radio=both.air.for_us,
        environment={"BLE_ADDRESS": ADDRESS})
    expect(ours.finish(LIMIT) == 0, f"We failed.\n{ours.shown()}\n{bumble.shown()}")
    expect("BEARERS 3\n" in ours.output, f"We have no bearers.\n{ours.shown()}\n{bumble.shown()}")
    for line in ("AGAIN secret", "SERVICES 1", "DESCRIPTORS 0"):
        expect(line in ours.output, f"There is no {line}.\n{ours.shown()}\n{bumble.shown()}")
    # The descriptors are known without a question, so two bearers do.
    bumble.wait_for("ON BEARER 0x0040 ATT_READ_BY_GROUP_TYPE_REQUEST", 5)


def our_server_is_asked_on_several_bearers(case):
    """Bumble's central pairs, opens enhanced bearers, and reads on both at once."""
    both = Pair(case, RootCanal(case), "just works", False, False)
    ours = both.ours()
    ours.wait_for("READY", LIMIT)
    bumble = case.peer(
        "bumble_pairing.py", both.air.for_bumble, "central", *both.options("none"), "--eatt", "--keystore",
        os.path.join(both.folder, "keys.json"))
    expect(bumble.finish(LIMIT) == 0, f"Bumble failed.\n{bumble.shown()}\n{ours.shown()}")
    expect("ON BEARERS secret secret" in bumble.output, f"No answers.\n{bumble.shown()}\n{ours.shown()}")


PAIRING_CASES = [
    case_for(air, method, is_legacy, ours_is_central)
    for air in (RootCanal, OurAir)
    for ours_is_central in (True, False)
    for is_legacy in (False, True)
    for method in (LEGACY_LEVELS if is_legacy else METHODS)
] + [bumbles_bond_moves_to_our_host, our_bond_moves_to_bumble, our_air_pairs_two_bumble_hosts,
     bumbles_server_is_asked_on_several_bearers, our_server_is_asked_on_several_bearers]
