"""interop.py BUILD-FOLDER [TEXT]: plays our programs against Bumble hosts on RootCanal controllers, and against ports
that are no good radio. With TEXT, only the cases whose names hold it. Closes with 'N passed, N failed'.

Every process that it starts, it ends; every wait has a limit."""
import json
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor, as_completed

from isolation import enter_private_network, loopback_library

# Before any thread is started, and before rootcanal is imported.
IS_ALONE = enter_private_network()

from air_cases import AIR_CASES
from channel_cases import CHANNEL_CASES
from fake_controller import FakeController, GarblingRelay
from harness import Case, Failure, RootCanal, expect, free_ports
from pairing_cases import PAIRING_CASES

LOCK = "KL940704079"
CASES_AT_ONCE = 4


# --- The peers by themselves: if this fails, the rest says nothing about us


def peers_understand_each_other(case):
    air = RootCanal(case)
    peripheral = case.peer("bumble_smallest.py", air.for_bumble)
    peripheral.wait_for("READY", 30)
    central = case.peer("bumble_central.py", air.for_bumble)
    expect(central.finish(90) == 0, f"Bumble's central does not like Bumble's peripheral.\n{central.shown()}")
    peripheral.wait_for("WRITTEN hello", 5)


# --- Our programs and other people's hosts, on other people's controllers


def json_lines(program):
    lines = [line for line in program.output.splitlines() if line.strip()]
    expect(lines, f"There is no line of JSON.\n{program.shown()}")
    try:
        return [json.loads(line) for line in lines]
    except ValueError as error:
        raise Failure(f"A line is not JSON: {error}\n{program.shown()}") from error


def opened_and_closed(lock):
    lock.wait_for("INSTRUCTION unlock\n", 5)
    lock.wait_for("INSTRUCTION lock\n", 5)


def our_central_uses_a_lock_on_bumble(case):
    air = RootCanal(case)
    lock = case.peer("bumble_lock.py", air.for_bumble)
    lock.wait_for("READY", 30)
    ours = case.ours("ble", "demo", "lock", "--json", "--radio", air.for_us)
    expect(ours.finish(150) == 0, f"The demo failed.\n{ours.shown()}\n{lock.shown()}")
    opened_and_closed(lock)
    json_lines(ours)


def our_central_comes_back_to_a_lock_that_dropped_the_link(case):
    air = RootCanal(case)
    lock = case.peer("bumble_lock.py", air.for_bumble, "--drop", "8")
    lock.wait_for("READY", 30)
    ours = case.ours("smart-lock", LOCK, radio=air.for_us)
    expect(ours.finish(150) == 0, f"The program failed.\n{ours.shown()}\n{lock.shown()}")
    # CBError 7 is "peripheral disconnected".
    expect("CBErrorDomain 7" in ours.output, f"The lost link is not reported as CBError 7.\n{ours.shown()}")
    lock.wait_for("CONNECTED 2", 1)
    after = ours.output.split("connected again", 1)[-1]
    expect("battery " in after, f"The subscription was not restored.\n{ours.shown()}")


def our_central_meets_a_lock_that_vanishes_for_good(case):
    air = RootCanal(case)
    lock = case.peer("bumble_lock.py", air.for_bumble)
    lock.wait_for("READY", 30)
    ours = case.ours("smart-lock", LOCK, radio=air.for_us)
    lock.wait_for("CONNECTED", 60)
    lock.process.kill()
    expect(ours.finish(150) == 1, f"The exit status is not 1 although the lock is gone.\n{ours.shown()}")
    expect("CBErrorDomain" in ours.output, f"No callback told of the lost link.\n{ours.shown()}")


def our_smallest_central_uses_bumbles_peripheral(case):
    air = RootCanal(case)
    peripheral = case.peer("bumble_smallest.py", air.for_bumble)
    peripheral.wait_for("READY", 30)
    ours = case.ours("smallest-central", radio=air.for_us)
    expect(ours.finish(60) == 0, f"The program failed.\n{ours.shown()}\n{peripheral.shown()}")
    peripheral.wait_for("WRITTEN hello", 5)


def bumbles_central_uses_our_smallest_peripheral(case):
    air = RootCanal(case)
    ours = case.ours("smallest-peripheral", radio=air.for_us)
    ours.wait_for("on the air", 30)
    central = case.peer("bumble_central.py", air.for_bumble)
    expect(central.finish(120) == 0, f"The central failed.\n{central.shown()}\n{ours.shown()}")
    ours.wait_for('written: "hello"', 5)
    expect(ours.finish(30) == 0, f"The peripheral failed.\n{ours.shown()}")


def our_two_programs_meet_on_foreign_controllers(case):
    air = RootCanal(case)
    peripheral = case.ours("smallest-peripheral", radio=air.for_us)
    peripheral.wait_for("on the air", 30)
    central = case.ours("smallest-central", radio=air.for_us)
    expect(central.finish(60) == 0, f"The central failed.\n{central.shown()}\n{peripheral.shown()}")
    expect(peripheral.finish(60) == 0, f"The peripheral failed.\n{peripheral.shown()}")


def our_search_finds_the_lock_by_its_system_id(case):
    air = RootCanal(case)
    lock = case.peer("bumble_lock.py", air.for_bumble)
    lock.wait_for("READY", 30)
    ours = case.ours("which-lock", "F0:F1:F2:94:07:04", radio=air.for_us)
    expect(ours.finish(60) == 0, f"The program failed.\n{ours.shown()}\n{lock.shown()}")


def our_scan_lists_the_lock(case):
    air = RootCanal(case)
    case.peer("bumble_lock.py", air.for_bumble).wait_for("READY", 30)
    ours = case.ours("ble", "scan", "--json", "--seconds", "4", "--radio", air.for_us)
    expect(ours.finish(60) == 0, f"The scan failed.\n{ours.shown()}")
    names = [line.get("name") for line in json_lines(ours)]
    expect(LOCK in names, f"There is no lock among {names}.\n{ours.shown()}")


def controller_goes_while_we_use_it(case):
    air = RootCanal(case)
    lock = case.peer("bumble_lock.py", air.for_bumble)
    lock.wait_for("READY", 30)
    ours = case.ours("ble", "demo", "lock", "--radio", air.for_us)
    lock.wait_for("CONNECTED", 60)
    air.program.process.kill()
    status = ours.finish(150)
    expect(status in (1, 3), f"The exit status is {status} although the radio is gone.\n{ours.shown()}")


def garbage_between_packets(case):
    air = RootCanal(case)
    relay = GarblingRelay(air.port)
    try:
        case.peer("bumble_lock.py", air.for_bumble).wait_for("READY", 30)
        ours = case.ours("ble", "demo", "lock", "--radio", f"tcp:127.0.0.1:{relay.port}")
        status = ours.finish(150)
        expect(status in (1, 3), f"The exit status is {status} although the radio is garbled.\n{ours.shown()}")
        expect("Fatal error" not in ours.output, f"It trapped.\n{ours.shown()}")
    finally:
        relay.close()


# --- Ports that are no good radio


def refused(case, radio, *words):
    """Each of two commands ends with status 3 and a sentence that has these words. `radio` makes the address."""
    for arguments in (("scan", "--seconds", "2"), ("demo", "lock", "--seconds", "20")):
        ours = case.ours("ble", *arguments, "--radio", radio())
        status = ours.finish(60)
        expect(status == 3, f"The exit status is {status}, not 3.\n{ours.shown()}")
        expect("Fatal error" not in ours.output, f"It trapped.\n{ours.shown()}")
        for word in words:
            expect(word.lower() in ours.output.lower(), f"The message does not say {word!r}.\n{ours.shown()}")


def unreachable_port(case):
    port = free_ports(1)[0]
    refused(case, lambda: f"tcp:127.0.0.1:{port}", str(port))


def doctor_finds(case, radio, cause):
    ours = case.ours("ble", "doctor", "--json", "--radio", radio)
    expect(ours.finish(60) == 1, f"It does not end with 1.\n{ours.shown()}")
    expect([finding.get("cause") for finding in json_lines(ours)] == [cause], ours.shown())


def the_doctor_finds_that_nobody_listens(case):
    doctor_finds(case, f"tcp:127.0.0.1:{free_ports(1)[0]}", "radioUnreachable")


def the_doctor_finds_that_the_kernel_has_no_bluetooth_for_us(case):
    """The kernel keeps it from every network namespace but the first (bt_sock_create)."""
    doctor_finds(case, "hci:0", "noKernelSupport")


def no_such_host(case):
    refused(case, lambda: "tcp:no-such-host.invalid:6402", "no-such-host.invalid")


def fake(mode, *words):
    def play(case):
        controllers = []

        def radio():
            controllers.append(FakeController(mode))
            return f"tcp:127.0.0.1:{controllers[-1].port}"

        try:
            refused(case, radio, *words)
        finally:
            for controller in controllers:
                controller.close()
    play.__name__ = f"controller: {mode}"
    return play


CASES = [
    peers_understand_each_other,
    our_scan_lists_the_lock,
    our_smallest_central_uses_bumbles_peripheral,
    bumbles_central_uses_our_smallest_peripheral,
    our_two_programs_meet_on_foreign_controllers,
    our_search_finds_the_lock_by_its_system_id,
    our_central_uses_a_lock_on_bumble,
    our_central_comes_back_to_a_lock_that_dropped_the_link,
    our_central_meets_a_lock_that_vanishes_for_good,
    controller_goes_while_we_use_it,
    garbage_between_packets,
    unreachable_port,
    no_such_host,
    the_doctor_finds_that_nobody_listens,
    the_doctor_finds_that_the_kernel_has_no_bluetooth_for_us,
    fake("http", "H4"),
    fake("no LE", "Low Energy"),
    fake("garbage", "H4"),
    fake("silent", "answer"),
    fake("hangs after reset", "answer"),
    fake("closes at once"),
    *AIR_CASES,
    *PAIRING_CASES,
    *CHANNEL_CASES,
]


def run(play, build, preload):
    """Its name, how long it took, and why it failed: None if it passed."""
    begin = time.monotonic()
    case = Case(build, preload)
    problem = None
    try:
        play(case)
    except (Failure, OSError) as failure:
        problem = str(failure) or repr(failure)
    finally:
        case.close()
    return play.__name__.replace("_", " "), time.monotonic() - begin, problem


def run_all(plays, build, preload):
    """How many passed. The cases wait most of the time, and know nothing of each other."""
    passed = 0
    with ThreadPoolExecutor(max_workers=CASES_AT_ONCE) as pool:
        for done in as_completed([pool.submit(run, play, build, preload) for play in plays]):
            name, seconds, problem = done.result()
            print("ok  " if problem is None else "FAIL", f"{seconds:5.1f} s ", name, flush=True)
            if problem is None:
                passed += 1
            else:
                print(problem, flush=True)
    return passed


def main():
    build = sys.argv[1]
    only = sys.argv[2] if len(sys.argv) > 2 else ""
    plays = [play for play in CASES if only in play.__name__.replace("_", " ")]
    with tempfile.TemporaryDirectory() as folder:
        preload = None if IS_ALONE else loopback_library(folder)
        if IS_ALONE or preload:
            passed = run_all(plays, build, preload)
        else:
            print("RootCanal listens on all addresses: allow network namespaces, or install gcc, to keep it private.")
            passed = 0
    failed = len(plays) - passed
    print(f"{passed} passed, {failed} failed")
    sys.exit(1 if failed or not passed else 0)


main()
