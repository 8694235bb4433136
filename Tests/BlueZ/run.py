"""run.py BUILD-FOLDER [--suite bookworm|trixie] [--group NAME] [TEXT]: our programs beside real Linux kernels and BlueZ.

Each group of cases is a machine of its own (Scripts/bluez-vm), on each of the two releases. With TEXT, only the cases
whose names hold it. Closes with 'N passed, N failed'. Every machine ends by itself, or at its time limit."""
import argparse
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor, as_completed

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(HERE, "..", "Interop"))
sys.dont_write_bytecode = True

from captures import tshark_reads
from harness import Failure, Program, expect

MACHINE = os.path.join(ROOT, "Scripts", "bluez-vm", "run-in-bluez-vm.sh")
SUITES = {"bookworm": "BlueZ 5.66, Linux 6.1", "trixie": "BlueZ 5.82, Linux 6.12"}
OURS_INSIDE = ["--user", "1", "--beside", "--memory", "1024"]
# The limit of a machine with everything in it, on a slow computer.
LIMIT = 900


# One kernel's group waits most of the time.
MACHINES_AT_ONCE = 3

stopped = threading.Event()


class Group:
    """A machine, the programs outside that belong to it, and what is looked at when it is over."""

    def __init__(self, name, suites=tuple(SUITES)):
        self.name = name
        self.suites = suites

    def options(self, scratch):
        """Of run-in-bluez-vm.sh."""
        air = f"unix:{scratch}/air"
        on_our_controllers = [*OURS_INSIDE, "--adapters", "0", "--controller", air, "--controller", air]
        return {
            "user-channel": OURS_INSIDE,
            "our-controllers": on_our_controllers,
            "soak": on_our_controllers,
            "outside": ["--serve", f"1={scratch}/hci"],
            "legacy": ["--le", "--adapters", "3", *OURS_INSIDE, "--serve", f"2={scratch}/hci"],
        }[self.name]

    def play(self, build, suite, text, logs):
        """Passed, failed, and what there is to say.

        BlueZ's emulator of controllers may end itself, and QEMU may run a place that the kernel has half patched: that says
        nothing of us, and so the group is played once more, which is told."""
        passed, failed, said = self.play_once(build, suite, text, logs)
        end = failed and (end_of_the_emulator(logs) or half_patched(said))
        if not end:
            return passed, failed, said
        passed, failed, again = self.play_once(build, suite, text, logs + "-again")
        return passed, failed, f"{said}\n== {self.name}, once more, for the machine has ended itself: {end}\n{again}"

    def play_once(self, build, suite, text, logs):
        lines = [f"== {self.name}, {SUITES[suite]}"]
        programs = []
        # The path of a socket has 107 octets at most.
        with tempfile.TemporaryDirectory(prefix="bluez-") as scratch:
            try:
                passed, failed = self.watch(build, suite, text, logs, scratch, programs, lines)
            except Failure as failure:
                lines.append(f"FAIL {failure}")
                passed, failed = 0, 1
            finally:
                for program in reversed(programs):
                    program.stop(signal.SIGTERM)
        return passed, failed, "\n".join(lines)

    def watch(self, build, suite, text, logs, scratch, programs, lines):
        expect(not stopped.is_set(), "It was stopped from outside.")
        options = self.options(scratch)
        if "--controller" in options:
            air = Program("ble air", [f"{build}/ble", "air", "--unix", f"{scratch}/air"])
            programs.append(air)
            air.wait_for("listening", 30)
        guest = ["python3", "-u", os.path.join(HERE, "guest.py"), build, self.name, *([text] if text else [])]
        machine = Program(
            "the machine", [MACHINE, *options, "--share", f"{ROOT}:ro", "--timeout", str(LIMIT), "--logs", logs, "--snoop", "--", *guest],
            {"BLUEZ_VM_SUITE": suite}, at_our_end="TERM")  # It cleans up then.
        programs.append(machine)
        outside = []
        while machine.process.poll() is None:
            expect(not stopped.is_set(), "It was stopped from outside.")
            machine.read(0.2)
            for product in re.findall(r"^OUTSIDE (.*)\n", machine.output, re.MULTILINE)[len(outside):]:
                outside.append(Program(product, [f"{build}/{product}"], {"BLE_RADIO": f"unix:{scratch}/hci"}))
                programs.append(outside[-1])
        machine.read()
        lines.append(re.sub(r"^(OUTSIDE|build-image:) .*\n", "", machine.output, flags=re.MULTILINE).rstrip())
        counts = re.findall(r"^(\d+) passed, (\d+) failed$", machine.output, re.MULTILINE)
        expect(counts, f"The machine ended without a result (exit status {machine.process.returncode}).")
        passed, failed = map(int, counts[-1])
        if failed:
            for program in programs:
                program.read()
                if program is not machine:
                    lines.append(program.shown())
        for program in outside:
            good = tally(f"{program.name} outside", lambda: ends_well(program), lines)
            passed, failed = passed + good, failed + (not good)
        captures = sorted(name for name in os.listdir(logs) if name.startswith("ours") and name.endswith(".btsnoop"))
        if captures:
            def decode():
                for name in captures:
                    tshark_reads(os.path.join(logs, name))
            good = tally(f"tshark reads what was captured: {len(captures)} files", decode, lines)
            passed, failed = passed + good, failed + (not good)
        return passed, failed


def end_of_the_emulator(logs):
    """What the kernel says of it, if it has: btvirt 5.82 was seen to go on at an address where nothing is."""
    try:
        with open(os.path.join(logs, "dmesg.txt"), errors="replace") as file:
            found = re.search(r"btvirt\[\d+\]:? (general protection|segfault).*", file.read())
    except OSError:
        return None
    return found and found.group()


def half_patched(said):
    """The breakpoint that the kernel puts where it patches its own code, met when it was gone already."""
    found = re.search(r"Oops: int3.*", said)
    return found and found.group()


def tally(name, check, lines):
    try:
        check()
    except Failure as failure:
        lines.append(f"FAIL {name}\n{failure}")
        return False
    lines.append(f"ok    {name}")
    return True


def ends_well(program):
    expect(program.finish(60) == 0, f"It failed.\n{program.shown()}")


# The longest first.
GROUPS = [
    Group("user-channel"),
    # What it looks for is ours, and the kernel's part of it is in the other groups: one release is enough.
    Group("soak", ["trixie"]),
    Group("our-controllers"),
    Group("legacy"),
    Group("outside"),
]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("--suite", choices=SUITES)
    parser.add_argument("--group", choices=[group.name for group in GROUPS])
    parser.add_argument("--logs", help="a folder that keeps the machines' logs and captures")
    parser.add_argument("text", nargs="?", default="")
    options = parser.parse_intermixed_args()
    os.chdir(ROOT)
    # Who stops us wants the machines to end, and nothing left of them.
    signal.signal(signal.SIGTERM, lambda *_: stopped.set())
    build = os.path.relpath(os.path.realpath(options.build), os.path.realpath(ROOT))
    jobs = [
        (suite, group) for group in GROUPS for suite in group.suites
        if options.group in (None, group.name) and options.suite in (None, suite)]
    scratch = tempfile.mkdtemp()
    passed = failed = 0
    failures = []
    try:
        with ThreadPoolExecutor(max_workers=MACHINES_AT_ONCE) as pool:
            results = [
                pool.submit(
                    group.play, build, suite, options.text,
                    os.path.join(options.logs or scratch, f"{suite}-{group.name}")) for suite, group in jobs]
            for done in as_completed(results):
                good, bad, text = done.result()
                passed, failed = passed + good, failed + bad
                print(text, flush=True)
                if bad:
                    failures.append(text)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    # Once more, for much may have been said since.
    for text in failures:
        print(f"In {text.splitlines()[0].strip('= ')}:")
        print("\n".join(line for line in text.splitlines() if line.startswith("FAIL")))
    print(f"{passed} passed, {failed} failed")
    sys.exit(1 if failed or not passed else 0)


main()
