"""interop.py BUILD-FOLDER [TEXT]: plays our programs against Bumble hosts on RootCanal controllers, and against ports
that are no good radio. With TEXT, only the cases whose names hold it. Closes with 'N passed, N failed'.

Runs in a network namespace of its own (see `run`). Every process that it starts, it ends."""
import json
import os
import socket
import subprocess
import sys
import time

from fake_controller import FakeController

HERE = os.path.dirname(os.path.abspath(__file__))
BUILD = sys.argv[1]
ONLY = sys.argv[2] if len(sys.argv) > 2 else ""
HCI_PORT = 6402


class Failure(Exception):
    pass


def expect(condition, text):
    if not condition:
        raise Failure(text)


class Program:
    """A process whose output can be waited for."""

    def __init__(self, command, **environment):
        self.name = os.path.basename(command[0])
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
            env={**os.environ, "SWIFT_BACKTRACE": "enable=no", **environment})
        os.set_blocking(self.process.stdout.fileno(), False)
        self.output = ""

    def read(self):
        while chunk := self.process.stdout.read():
            self.output += chunk

    def wait_for(self, text, seconds):
        end = time.monotonic() + seconds
        while text not in self.output:
            self.read()
            expect(self.process.poll() is None or text in self.output,
                   f"{self.name} ended before it said {text!r}:\n{self.output}")
            expect(time.monotonic() < end, f"{self.name} did not say {text!r} within {seconds} s:\n{self.output}")
            time.sleep(0.02)

    def finish(self, seconds):
        end = time.monotonic() + seconds
        while self.process.poll() is None:
            self.read()
            expect(time.monotonic() < end, f"{self.name} did not end within {seconds} s:\n{self.output}")
            time.sleep(0.02)
        self.read()
        return self.process.returncode

    def end(self):
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(5)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()


class Case:
    """One case's processes, ended with it."""

    def __init__(self):
        self.programs = []

    def start(self, command, **environment):
        program = Program(command, **environment)
        self.programs.append(program)
        return program

    def peer(self, script):
        return self.start([sys.executable, "-u", os.path.join(HERE, script), f"tcp-client:127.0.0.1:{HCI_PORT}"])

    def ours(self, product, *arguments, radio=f"tcp:127.0.0.1:{HCI_PORT}"):
        return self.start([os.path.join(BUILD, product), *arguments], BLE_RADIO=radio)

    def rootcanal(self):
        program = self.start(
            [sys.executable, "-u", "-m", "rootcanal", "-hci_port", str(HCI_PORT), "-test_port", "6401",
             "-link_port", "6403", "-link_ble_port", "6404"])
        end = time.monotonic() + 20
        while True:
            try:
                # No HCI port: each connection there makes a controller.
                socket.create_connection(("127.0.0.1", 6401), 1).close()
                return program
            except OSError:
                expect(program.process.poll() is None, f"RootCanal ended:\n{program.output}")
                expect(time.monotonic() < end, "RootCanal did not open its ports within 20 s")
                time.sleep(0.1)

    def close(self):
        for program in reversed(self.programs):
            program.end()


# --- Other people's peripherals and centrals


def central_example_uses_a_lock_on_bumble(case):
    case.rootcanal()
    lock = case.peer("bumble_lock.py")
    lock.wait_for("READY", 30)
    ours = case.ours("ble", "demo", "lock", "--json", "--radio", f"tcp:127.0.0.1:{HCI_PORT}")
    status = ours.finish(120)
    lock.read()
    expect(status == 0, f"exit status {status}:\n{ours.output}")
    for instruction in ("unlock", "lock"):
        expect(f"INSTRUCTION {instruction}\n" in lock.output, f"the lock did not get {instruction!r}:\n{lock.output}")
    for line in ours.output.splitlines():
        json.loads(line)


def bumble_central_uses_the_smallest_peripheral(case):
    case.rootcanal()
    ours = case.ours("smallest-peripheral")
    ours.wait_for("on the air", 30)
    central = case.peer("bumble_central.py")
    status = central.finish(90)
    expect(status == 0, f"the central's exit status is {status}:\n{central.output}\n{ours.output}")
    ours.wait_for('written: "hello"', 5)


def scan_lists_a_lock_on_bumble(case):
    case.rootcanal()
    case.peer("bumble_lock.py").wait_for("READY", 30)
    ours = case.ours("ble", "scan", "--json", "--seconds", "4", "--radio", f"tcp:127.0.0.1:{HCI_PORT}")
    expect(ours.finish(60) == 0, ours.output)
    names = [json.loads(line).get("name") for line in ours.output.splitlines() if line.startswith("{")]
    expect("KL940704079" in names, f"no lock among {names}:\n{ours.output}")


def peer_vanishes_in_mid_procedure(case):
    case.rootcanal()
    lock = case.peer("bumble_lock.py")
    lock.wait_for("READY", 30)
    ours = case.ours("ble", "demo", "lock", "--radio", f"tcp:127.0.0.1:{HCI_PORT}")
    lock.wait_for("CONNECTED", 60)
    lock.process.kill()
    status = ours.finish(150)
    expect(status == 1, f"exit status {status} although the lock is gone:\n{ours.output}")


# --- Ports that are no good radio


def radio_fails(case, radio, *words):
    ours = case.ours("ble", "scan", "--seconds", "2", "--radio", radio)
    status = ours.finish(60)
    expect(status == 3, f"exit status {status}, not 3:\n{ours.output}")
    expect("Fatal error" not in ours.output, ours.output)
    for word in words:
        expect(word.lower() in ours.output.lower(), f"the message has no {word!r}:\n{ours.output}")


def unreachable_port(case):
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    radio_fails(case, f"tcp:127.0.0.1:{port}", str(port))


def fake(mode, *words):
    def play(case):
        controller = FakeController(mode)
        try:
            radio_fails(case, f"tcp:127.0.0.1:{controller.port}", *words)
        finally:
            controller.close()
    play.__name__ = f"controller: {mode}"
    return play


CASES = [
    central_example_uses_a_lock_on_bumble,
    bumble_central_uses_the_smallest_peripheral,
    scan_lists_a_lock_on_bumble,
    peer_vanishes_in_mid_procedure,
    unreachable_port,
    fake("http", "H4"),
    fake("no LE", "Low Energy"),
    fake("garbage", "H4"),
    fake("silent", "answer"),
    fake("hangs after reset", "answer"),
]


def main():
    passed = failed = 0
    for play in CASES:
        name = play.__name__.replace("_", " ")
        if ONLY not in name:
            continue
        case = Case()
        try:
            play(case)
            passed += 1
            print("ok  ", name, flush=True)
        except (Failure, OSError, ValueError) as problem:
            failed += 1
            print("FAIL", name, "\n", problem, flush=True)
        finally:
            case.close()
    print(f"{passed} passed, {failed} failed")
    sys.exit(1 if failed else 0)


main()
