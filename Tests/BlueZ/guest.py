"""guest.py BUILD-FOLDER GROUP [TEXT]: runs a group of cases in the machine, one after the other; with TEXT, only those
whose names hold it. Closes with 'N passed, N failed'.

BlueZ's side runs in the machine's own system, ours in the file system of the machine outside (on-host)."""
import glob
import json
import os
import re
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "Interop"))
sys.dont_write_bytecode = True

from captures import commands_of_the_kernel, frames, pairings, parameter_updates
from harness import Failure, expect
from machine import (
    BUNDLE, LOGS, RADIO, GuestCase, address, forget_us, output, port_of, power, restart_bluetoothd, stop_bluetoothd, until)

NOBODY = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
# As the systemd unit in Documentation/RealAdapters.md has it.
SERVICE = [*NOBODY, "--bounding-set=-all,+net_admin", "--inh-caps=-all,+net_admin", "--ambient-caps=-all,+net_admin"]

# What btmon says of a packet that it cannot read.
BAD_WORDS = ("malformed", "invalid", "too short", "unexpected", "unknown event")

# --- Both roles


def our_central_and_bluez_as_the_peripheral(case):
    case.peripheral("full")
    case.tests("CentralTests")


def our_smallest_central_and_bluez(case):
    peripheral = case.peripheral("smallest")
    ours = case.ours("smallest-central", environment={"BLE_CAPTURE": f"{LOGS}/ours-central.btsnoop"})
    expect(ours.finish(60) == 0, f"The program failed.\n{ours.shown()}\n{peripheral.shown()}")
    peripheral.wait_for("WRITE fff1 ? offset 0 " + b"hello".hex(), 5)


def what_we_recorded_decodes_in_btmon(case):
    captures = glob.glob(f"{LOGS}/ours*.btsnoop")
    expect(len(captures) >= 5, captures)
    ends = 0
    for path in captures:
        text = output("btmon", "-r", path)
        for wanted in ("Connection Complete", "ATT: Read Request"):
            expect(wanted.lower() in text.lower(), f"btmon does not show {wanted!r} in {path}.\n{text[-3000:]}")
        # The smallest peripheral ends itself before its link has ended.
        ends += "Disconnect Complete" in text
        for line in text.splitlines():
            is_bad = any(word in line.lower() for word in BAD_WORDS)
            # "RSSI: invalid (0x7f)" is btmon's word for a strength that the controller does not know.
            expect(not is_bad or line.strip().startswith("RSSI:"), f"btmon says of {path}: {line}")
    expect(ends, f"btmon shows the end of a link in {ends} of {len(captures)}.")


def bleak_and_our_smallest_peripheral(case):
    ours = case.ours("smallest-peripheral", environment={"BLE_CAPTURE": f"{LOGS}/ours-peripheral.btsnoop"})
    ours.wait_for("on the air", 30)
    central = case.peer("peer_smallest.py")
    expect(central.finish(90) == 0, f"bleak failed.\n{central.shown()}\n{ours.shown()}")
    ours.wait_for('written: "hello"', 5)
    expect(ours.finish(30) == 0, f"The peripheral failed.\n{ours.shown()}")


def bleak_and_ble_serve(case):
    """The central leaves by itself, and the device goes on."""
    ours = case.ours("ble", "serve", "Examples/Profiles/lamp.json", "--radio", RADIO, radio=None)
    central = case.peer("peer_lamp.py")
    expect(central.finish(120) == 0, f"bleak failed.\n{central.shown()}\n{ours.shown()}")
    expect(ours.process.poll() is None, f"It has ended.\n{ours.shown()}")


def bleak_and_our_peripheral(case):
    capture = f"{LOGS}/ours-served.btsnoop"
    ours = case.start_tests("PeripheralTests/serves", environment={"BLE_CAPTURE": capture})
    ours.wait_for("SERVING", 60)
    central = case.peer("peer_full.py")
    expect(central.finish(120) == 0, f"bleak failed.\n{central.shown()}\n{ours.shown()}")
    case.end_tests(ours)
    # Connection Parameter Update Request, and its answer "accepted" (Core 6.0, Vol 3, Part A, 4.20 and 4.21), or, where the
    # controllers both can, the link layer's own procedure.
    asked = [payload for is_received, channel, payload in frames(capture) if channel == 5 and payload[:1] == b"\x12"]
    agreed = [payload for is_received, channel, payload in frames(capture) if channel == 5 and payload[:1] == b"\x13"]
    expect(all(payload[4:6] == b"\x00\x00" for payload in agreed) and len(agreed) == len(asked), (asked, agreed))
    expect(parameter_updates(capture) > 0, "The parameters of the link stayed as they were.")


def the_demo_of_the_lock_with_a_lock_on_bluez(case):
    lock = case.peripheral("lock")
    ours = case.ours("ble", "demo", "lock", "--radio", RADIO, radio=None)
    expect(ours.finish(150) == 0, f"The demo failed.\n{ours.shown()}\n{lock.shown()}")
    for instruction in (b"unlock", b"lock"):
        lock.wait_for("WRITE fff6 ? offset 0 " + instruction.hex() + "\n", 5)


def both_roles_with_an_att_mtu_of_64(case):
    """Long values go in parts then: Read Blob and Prepare Write. It stays so until bluetoothd starts anew."""
    restart_bluetoothd(mtu=64)
    peripheral = case.peripheral("full")
    case.tests("CentralTests/values")
    peripheral.stop()
    forget_us()
    bleak_and_our_peripheral(case)


# --- What is in the way of an adapter


def adapters(case, *prefix):
    ours = case.ours("ble", "adapters", "--json", radio=None, prefix=prefix)
    expect(ours.finish(30) == 0, f"The command failed.\n{ours.shown()}")
    return [json.loads(line) for line in ours.output.splitlines()]


def doctor(case, cause, *prefix, radio=RADIO):
    """ble doctor finds the same."""
    ours = case.ours("ble", "doctor", "--json", "--radio", radio, radio=None, prefix=prefix)
    status = ours.finish(60)
    found = [json.loads(line)["cause"] for line in ours.output.splitlines() if line.startswith("{")]
    expect(status == 1 and found == [cause], f"{found}\n{ours.shown()}")


def the_list_of_adapters(case):
    theirs, ours = adapters(case)
    expect("bluetoothd (process" in theirs["owner"], theirs)
    expect(theirs["state"] == "in use" and not theirs["usable"], theirs)
    expect("bluetoothctl" in theirs["obstacles"][0], theirs)
    expect(theirs["manufacturerName"] == "The Linux Foundation" and theirs["lowEnergy"], theirs)
    expect("2M PHY" in theirs["features"] and theirs["version"][0] == "5", theirs)
    expect(ours["usable"] and ours["state"] == "free" and "owner" not in ours, ours)


def the_list_of_adapters_without_privileges(case):
    theirs, ours = adapters(case, *NOBODY)
    expect("bluetoothd" in theirs["owner"] and theirs["address"], theirs)
    expect(not ours["usable"] and "setcap cap_net_admin" in ours["obstacles"][0], ours)
    expect("features" not in ours and "root" in ours["unknown"][0], ours)


def the_list_of_adapters_while_a_program_has_one(case):
    program = case.ours("smallest-peripheral")
    program.wait_for("on the air", 30)
    _, ours = adapters(case)
    # Among them the machine's own recorder: the kernel does not tell which of the two it is.
    expect(f"smallest-peripheral (process {program.process.pid})" in ours["owner"], ours)
    second = case.ours("ble", "scan", "--radio", RADIO, radio=None)
    expect(second.finish(60) == 3, second.shown())
    expect("smallest-peripheral (process" in second.output, second.shown())
    doctor(case, "adapterInUse")


def the_doctor_without_such_an_adapter(case):
    doctor(case, "noAdapter", radio="hci:9")


def the_doctor_and_an_adapter_that_the_kernel_does_not_get_ready(case):
    """As without its firmware: it answers nothing, and so the kernel's setup stays where it is."""
    silent = case.peer("silent_adapter.py")
    silent.wait_for("ADAPTER", 30)
    doctor(case, "firmwareMissing", radio="hci:" + re.search(r"ADAPTER (\d+)", silent.output).group(1))


def no_radio_named_takes_the_first_that_can_be_used(case):
    case.peripheral("full")
    ours = case.ours("ble", "scan", "--seconds", "3", "--json", radio=None)
    expect(ours.finish(60) == 0, f"The scan failed.\n{ours.shown()}")
    expect("VM-Periph" in ours.output, f"Nothing was found: it took hci0?\n{ours.shown()}")


def blocked_by_rfkill(case):
    # bluetoothd switches on what it sees unblocked, and would be the first at it.
    stop_bluetoothd()
    output("python3", os.path.join(HERE, "rfkill.py"), "hci1", "1")
    ours = case.ours("ble", "adapters", radio=None)
    expect(ours.finish(30) == 0 and "blocked by rfkill" in ours.output, ours.shown())
    doctor(case, "blocked")
    case.tests("StateTests/blocked")
    restart_bluetoothd()


def not_blocked_while_in_use(case):
    case.peripheral("full")
    case.tests("StateTests/notBlockable")


def owned_by_bluetoothd(case):
    try:
        case.tests("StateTests/owned", radio="hci:0")
    finally:
        power("hci0")


def without_the_capability(case):
    case.tests("StateTests/unauthorized", prefix=NOBODY)
    ours = case.ours("ble", "scan", "--radio", RADIO, radio=None, prefix=NOBODY)
    expect(ours.finish(60) == 3, ours.shown())
    for word in ("CAP_NET_ADMIN", "setcap cap_net_admin+ep", "AmbientCapabilities"):
        expect(word in ours.output, f"The message does not say {word!r}.\n{ours.shown()}")
    doctor(case, "noCapability", *NOBODY)


def with_that_capability_and_no_other(case):
    case.peripheral("full")
    ours = case.ours("ble", "scan", "--seconds", "3", "--json", "--radio", RADIO, radio=None, prefix=SERVICE)
    expect(ours.finish(60) == 0 and "VM-Periph" in ours.output, f"The scan failed.\n{ours.shown()}")


def the_transports_suite_over_the_user_channel(case):
    """Of adapters that the suite makes itself (/dev/vhci), so that a bare peer is at their other end."""
    case.end_tests(case.ours(BUNDLE, "--testing-library", "swift-testing", "--filter", "HCITransportTests.TransportTests"))


# --- With controllers of ours outside, whose plugs can be pulled


def every_command_of_the_kernel_was_answered(case):
    answers, open_ones = commands_of_the_kernel(f"{LOGS}/hci.btsnoop")
    # Reset, LE Set Extended Advertising Enable, LE Set Extended Scan Enable, LE Extended Create Connection, LE Enable
    # Encryption, LE Long Term Key Request Reply, Write Authenticated Payload Timeout, Disconnect: the kernel came by all.
    for opcode in (0x0C03, 0x2039, 0x2042, 0x2043, 0x2019, 0x201A, 0x0C7C, 0x0406):
        expect(answers.get(opcode), f"The kernel sent no {opcode:04X}, or it was not answered: {sorted(answers)}")
    expect(not open_ones, f"Without an answer: {[f'{opcode:04X}' for opcode in open_ones]}")
    unknown = [f"{opcode:04X}" for opcode, statuses in answers.items() if 0x01 in statuses]
    expect(not unknown, f"Unknown to our controller: {unknown}")


def a_controller_that_hangs(case):
    case.peripheral("full")
    case.tests("StateTests/hung")


def unplugged_and_plugged_in_again(case):
    case.peripheral("full")
    case.tests("StateTests/unplugged", seconds=200)


def the_doctor_while_the_adapter_is_unplugged(case):
    """It has looked at the radio, and listens to the air for six seconds."""
    def scans():
        # LE Set Extended Scan Enable, on.
        with open(f"{LOGS}/hci.btsnoop", "rb") as file:
            return file.read().count(b"\x42\x20\x06\x01")
    before = scans()
    ours = case.ours("ble", "doctor", "--json", "--radio", RADIO, radio=None)
    port = port_of("hci1")
    until(30, lambda: scans() > before, "the doctor listens to the air")
    output("python3", os.path.join(HERE, "trouble.py"), "unplug", port)
    status = ours.finish(60)
    output("python3", os.path.join(HERE, "trouble.py"), "plug", port)
    until(60, lambda: os.path.exists("/sys/class/bluetooth/hci1"), "the adapter is back")
    found = [json.loads(line)["cause"] for line in ours.output.splitlines() if line.startswith("{")]
    expect(status == 1 and found == ["unplugged"], f"{found}\n{ours.shown()}")


def two_hundred_reconnects(case):
    case.peripheral("full")
    case.tests("SoakTests", seconds=550)


# --- Security and channels


def our_central_pairs_and_comes_back_with_the_bond(case):
    case.peripheral("full", "--secure")
    case.start("pairing-agent", ["pairing-agent"]).wait_for("AGENT", 30)
    capture = f"{LOGS}/ours-bond-central.btsnoop"
    case.tests("SecurityTests", environment={"BLE_CAPTURE": capture})
    expect(pairings(capture) == 1, f"There were {pairings(capture)} pairings on three links.")
    # On each link bluetoothd asks for other parameters, and gets them.
    expect(parameter_updates(capture) >= 3, f"{parameter_updates(capture)} updates of parameters on three links.")


def bluez_pairs_with_our_peripheral_and_comes_back(case):
    case.start("pairing-agent", ["pairing-agent"]).wait_for("AGENT", 30)
    capture = f"{LOGS}/ours-bond-peripheral.btsnoop"
    ours = case.start_tests("PeripheralTests/pairs", environment={"BLE_CAPTURE": capture})
    ours.wait_for("SERVING", 60)
    central = case.peer("peer_full.py", "--pair")
    expect(central.finish(120) == 0, f"bleak failed.\n{central.shown()}\n{ours.shown()}")
    case.end_tests(ours)
    expect(pairings(capture) == 1, f"There were {pairings(capture)} pairings on two links.")


def our_central_opens_a_channel_of_the_kernel(case):
    case.peripheral("full")
    listener = case.peer("peer_channel.py", "listen")
    listener.wait_for("LISTENING", 30)
    case.tests("ChannelTests/opened")
    listener.wait_for("ECHOED 20000", 20)


def the_kernel_opens_a_channel_of_our_peripheral(case):
    ours = case.start_tests("ChannelTests/published")
    ours.wait_for("PSM", 60)
    psm = re.search(r"PSM (\d+)", ours.output).group(1)
    central = case.peer("peer_channel.py", "connect", address("hci1"), psm)
    expect(central.finish(90) == 0, f"The kernel's side failed.\n{central.shown()}\n{ours.shown()}")
    case.end_tests(ours)


BOTH_ROLES = [
    our_central_and_bluez_as_the_peripheral,
    our_smallest_central_and_bluez,
    bleak_and_our_smallest_peripheral,
    bleak_and_ble_serve,
    bleak_and_our_peripheral,
    the_demo_of_the_lock_with_a_lock_on_bluez,
    our_central_pairs_and_comes_back_with_the_bond,
    bluez_pairs_with_our_peripheral_and_comes_back,
    both_roles_with_an_att_mtu_of_64,
    what_we_recorded_decodes_in_btmon,
]
OBSTACLES = [
    blocked_by_rfkill,
    the_list_of_adapters,
    the_list_of_adapters_without_privileges,
    the_list_of_adapters_while_a_program_has_one,
    the_doctor_without_such_an_adapter,
    the_doctor_and_an_adapter_that_the_kernel_does_not_get_ready,
    no_radio_named_takes_the_first_that_can_be_used,
    not_blocked_while_in_use,
    owned_by_bluetoothd,
    without_the_capability,
    with_that_capability_and_no_other,
    the_transports_suite_over_the_user_channel,
]


def our_central_outside(case):
    peripheral = case.peripheral("smallest")
    print("OUTSIDE smallest-central", flush=True)
    peripheral.wait_for("UNSUBSCRIBED fff1", 90)


def bleak_and_our_peripheral_outside(case):
    print("OUTSIDE smallest-peripheral", flush=True)
    central = case.peer("peer_smallest.py")
    expect(central.finish(120) == 0, f"bleak failed.\n{central.shown()}")


OUTSIDE = [our_central_outside, bleak_and_our_peripheral_outside]

# btmon 5.66 ends itself (segmentation fault) at an Error Response after a Write Request.
if output("btmon", "--version").strip() == "5.66":
    BOTH_ROLES.remove(what_we_recorded_decodes_in_btmon)

GROUPS = {
    "user-channel": [*BOTH_ROLES, *OBSTACLES],
    # Channels only here: btvirt drops data when its socket is full, which credits do not forgive.
    "our-controllers": [
        bleak_and_our_peripheral, our_central_pairs_and_comes_back_with_the_bond, bluez_pairs_with_our_peripheral_and_comes_back,
        our_central_opens_a_channel_of_the_kernel, the_kernel_opens_a_channel_of_our_peripheral,
        a_controller_that_hangs, unplugged_and_plugged_in_again,
        the_doctor_while_the_adapter_is_unplugged, every_command_of_the_kernel_was_answered,
    ],
    "outside": OUTSIDE,
    "legacy": [our_central_and_bluez_as_the_peripheral, bleak_and_our_peripheral, *OUTSIDE],
    "soak": [two_hundred_reconnects],
}


def main():
    build, group = sys.argv[1:3]
    text = sys.argv[3] if len(sys.argv) > 3 else ""
    plays = [play for play in GROUPS[group] if text in play.__name__.replace("_", " ")]
    passed = 0
    for play in plays:
        begin = time.monotonic()
        case = GuestCase(build)
        problem = None
        try:
            forget_us()
            play(case)
        except (Failure, OSError) as failure:
            problem = str(failure) or repr(failure)
        finally:
            case.close()
        seconds = time.monotonic() - begin
        print("ok  " if problem is None else "FAIL", f"{seconds:5.1f} s ", play.__name__.replace("_", " "), flush=True)
        if problem is None:
            passed += 1
        else:
            print(problem, flush=True)
    print(f"{passed} passed, {len(plays) - passed} failed", flush=True)
    sys.exit(0 if passed == len(plays) else 1)


main()
