"""Starts programs, waits for what they say, and ends them. Nothing here waits without a limit."""
import itertools
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
LONGEST_OUTPUT = 6000  # Characters of a program's output in a failure's text.


class Failure(Exception):
    pass


def expect(condition, text):
    if not condition:
        raise Failure(text)


# Below the range from which the system takes ports for connections (ip(7): 32768 to 60999).
_ports = itertools.count(20_000)
_ports_lock = threading.Lock()


def free_ports(count):
    """Ports of the loopback that nobody listens on, none of them given out twice."""
    found = []
    with _ports_lock:
        while len(found) < count:
            port = next(_ports)
            try:
                socket.create_server(("127.0.0.1", port)).close()
                found.append(port)
            except OSError:
                continue
    return found


def listening_ports():
    """The ports that somebody in this network listens on. To connect would be to use them: each connection to
    RootCanal's HCI port makes a controller."""
    ports = set()
    for file in ("/proc/net/tcp", "/proc/net/tcp6"):
        with open(file) as table:
            for row in table.readlines()[1:]:
                columns = row.split()
                if columns[3] == "0A":  # TCP_LISTEN, linux/tcp_states.h
                    ports.add(int(columns[1].rpartition(":")[2], 16))
    return ports


class Program:
    """A process whose output, standard error included, can be waited for."""

    def __init__(self, name, command, environment=None, at_our_end="KILL"):
        self.name = name
        # Whatever happens to the tests, it does not outlive them.
        leash = ["setpriv", "--pdeathsig", at_our_end] if shutil.which("setpriv") else []
        self.process = subprocess.Popen(
            leash + command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            env={**os.environ, "SWIFT_BACKTRACE": "enable=no", **(environment or {})})
        self.descriptor = self.process.stdout.fileno()
        os.set_blocking(self.descriptor, False)
        self.output = ""

    def read(self, seconds=0.0):
        """Takes what the program has said, and waits for a word if it has said nothing new."""
        select.select([self.descriptor], [], [], seconds)
        try:
            while chunk := os.read(self.descriptor, 65536):
                self.output += chunk.decode("utf-8", "replace")
        except BlockingIOError:
            return
        # Its output has ended: only the process itself is to be waited for.
        time.sleep(min(seconds, 0.02))

    def shown(self):
        text = self.output[-LONGEST_OUTPUT:].rstrip()
        return f"--- {self.name} (exit status {self.process.poll()})\n{text or '(nothing)'}"

    def wait_for(self, text, seconds, times=1):
        end = time.monotonic() + seconds
        while self.output.count(text) < times:
            has_ended = self.process.poll() is not None
            self.read(0.1)
            if self.output.count(text) >= times:
                break
            expect(not has_ended, f"{self.name} ended before it said {text!r}.\n{self.shown()}")
            expect(time.monotonic() < end, f"{self.name} did not say {text!r} within {seconds} s.\n{self.shown()}")

    def finish(self, seconds):
        """Waits for its end. The exit status; negative is the signal that ended it."""
        end = time.monotonic() + seconds
        while self.process.poll() is None:
            self.read(0.1)
            expect(time.monotonic() < end, f"{self.name} did not end within {seconds} s.\n{self.shown()}")
        self.read()
        return self.process.returncode

    def stop(self, with_signal=signal.SIGTERM):
        if self.process.stdout.closed:
            return
        if self.process.poll() is None:
            self.process.send_signal(with_signal)
            try:
                self.process.wait(5)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        self.read()
        self.process.stdout.close()


class RootCanal:
    """One RootCanal process: an air, and a controller for each connection to its port."""

    def __init__(self, case):
        import rootcanal.binaries  # Not everybody who starts programs has it.

        self.port, test, link, link_le = free_ports(4)
        binary = rootcanal.binaries.get_package_binary_resource_path("rootcanal")
        environment = {"LD_PRELOAD": case.preload} if case.preload else {}
        self.program = case.start(
            "RootCanal",
            [str(binary), "-hci_port", str(self.port), "-test_port", str(test), "-link_port", str(link),
             "-link_ble_port", str(link_le)], environment)
        end = time.monotonic() + 20
        while not {self.port, test} <= listening_ports():
            self.program.read(0.05)
            expect(self.program.process.poll() is None, f"RootCanal did not start.\n{self.program.shown()}")
            expect(time.monotonic() < end, f"RootCanal opened no port.\n{self.program.shown()}")
        # Stays open: RootCanal ends itself if the channel is gone when it writes the last of an answer.
        self.channel = self.quicken(test)

    @staticmethod
    def quicken(port):
        """Sets 1 ms instead of 5 ms from one tick to the next, and gives back the test channel.

        Its own protocol: length and command, number of arguments, length and argument; the answer is a text after its
        length."""
        command, argument = b"set_timer_period", b"1"
        channel = socket.create_connection(("127.0.0.1", port), 5)
        channel.sendall(bytes([len(command)]) + command + b"\x01" + bytes([len(argument)]) + argument)
        expect(channel.recv(256), "RootCanal's test port does not answer")
        return channel

    @property
    def for_bumble(self):
        return f"tcp-client:127.0.0.1:{self.port}"

    @property
    def for_us(self):
        return f"tcp:127.0.0.1:{self.port}"


class Case:
    """One case and its processes, which end with it."""

    def __init__(self, build, preload=None):
        self.build = build
        self.preload = preload
        self.programs = []
        self.folders = []

    def start(self, name, command, environment=None):
        program = Program(name, command, environment)
        self.programs.append(program)
        return program

    def peer(self, script, *arguments):
        """One of the Python scripts beside this file."""
        return self.start(script, [sys.executable, "-u", os.path.join(HERE, script), *arguments])

    def folder(self):
        """A folder of the case's own, which goes with it."""
        self.folders.append(tempfile.TemporaryDirectory())
        return self.folders[-1].name

    def ours(self, product, *arguments, radio=None, environment=None):
        """A product of the package. `radio` goes into the environment."""
        # What programs keep is the case's own.
        state = {"BLE_STATE": os.path.join(self.folder(), "state")}
        environment = {**state, **(environment or {}), **({} if radio is None else {"BLE_RADIO": radio})}
        return self.start(
            " ".join([product, *arguments]), [os.path.join(self.build, product), *arguments], environment)

    def close(self):
        for program in reversed(self.programs):
            program.stop()
        for folder in self.folders:
            folder.cleanup()
