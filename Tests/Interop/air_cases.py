"""Cases on an air of ours: `ble air` serves the controllers, and the hosts are Bumble's, or Bumble's and ours."""
import json
import signal

from harness import expect


class OurAir:
    """One `ble air`, and a controller for each connection to its port."""

    def __init__(self, case, *arguments):
        self.program = case.ours("ble", "air", "--port", "0", "--json", *arguments)
        self.program.wait_for('"event":"listening"', 20)
        events = [json.loads(line) for line in self.program.output.splitlines() if '"listening"' in line]
        self.port = int(events[0]["radio"].rsplit(":", 1)[1])

    @property
    def for_bumble(self):
        return f"tcp-client:127.0.0.1:{self.port}"

    @property
    def for_us(self):
        return f"tcp:127.0.0.1:{self.port}"

    def ends_well(self, connections):
        """All connections have ended, and the air goes at Ctrl-C."""
        self.program.wait_for('"event":"closed"', 20, connections)
        self.program.process.send_signal(signal.SIGINT)
        status = self.program.finish(20)
        expect(status == 130, f"The exit status is {status}, not 130.\n{self.program.shown()}")


def our_air_carries_two_bumble_hosts(case):
    air = OurAir(case)
    peripheral = case.peer("bumble_smallest.py", air.for_bumble)
    peripheral.wait_for("READY", 30)
    central = case.peer("bumble_central.py", air.for_bumble)
    expect(central.finish(90) == 0, f"The central failed.\n{central.shown()}\n{peripheral.shown()}")
    peripheral.wait_for("WRITTEN hello", 5)
    peripheral.stop()
    air.ends_well(connections=2)


def our_air_carries_our_central_and_bumbles_peripheral(case):
    air = OurAir(case)
    peripheral = case.peer("bumble_smallest.py", air.for_bumble)
    peripheral.wait_for("READY", 30)
    ours = case.ours("smallest-central", radio=air.for_us)
    expect(ours.finish(60) == 0, f"The program failed.\n{ours.shown()}\n{peripheral.shown()}")
    peripheral.wait_for("WRITTEN hello", 5)
    peripheral.stop()
    air.ends_well(connections=2)


def our_air_carries_bumbles_central_and_our_peripheral(case):
    air = OurAir(case)
    ours = case.ours("smallest-peripheral", radio=air.for_us)
    ours.wait_for("on the air", 30)
    central = case.peer("bumble_central.py", air.for_bumble, "--caching")
    expect(central.finish(90) == 0, f"The central failed.\n{central.shown()}\n{ours.shown()}")
    ours.wait_for('written: "hello"', 5)
    expect(ours.finish(30) == 0, f"The peripheral failed.\n{ours.shown()}")
    air.ends_well(connections=2)


def our_air_carries_a_lock_on_bumble(case):
    air = OurAir(case)
    lock = case.peer("bumble_lock.py", air.for_bumble)
    lock.wait_for("READY", 30)
    ours = case.ours("ble", "demo", "lock", "--radio", air.for_us)
    expect(ours.finish(150) == 0, f"The demo failed.\n{ours.shown()}\n{lock.shown()}")
    lock.wait_for("INSTRUCTION unlock\n", 5)
    lock.wait_for("INSTRUCTION lock\n", 5)


def our_air_lets_a_link_time_out_whose_host_has_gone(case):
    air = OurAir(case)
    lock = case.peer("bumble_lock.py", air.for_bumble)
    lock.wait_for("READY", 30)
    ours = case.ours("smart-lock", radio=air.for_us)
    lock.wait_for("CONNECTED", 60)
    lock.process.kill()
    # CBError 6 is "connection timeout": the controller has gone without a word.
    ours.wait_for("CBErrorDomain 6", 60)


def our_air_shows_its_devices_to_bumble(case):
    air = OurAir(case, "--devices")
    ours = case.ours("ble", "scan", "--json", "--seconds", "3", "--radio", air.for_us)
    expect(ours.finish(60) == 0, f"The scan failed.\n{ours.shown()}")
    expect('"KL940704079"' in ours.output, f"There is no lock on the air.\n{ours.shown()}")
    scanner = case.peer("bumble_scan.py", air.for_bumble)
    scanner.wait_for("SEEN KL940704079", 30)
    air.program.wait_for('"event":"closed"', 10)


def our_air_carries_periodic_advertising_between_bumble_hosts(case):
    air = OurAir(case)
    advertiser = case.peer("bumble_periodic.py", air.for_bumble, "advertiser")
    advertiser.wait_for("READY", 30)
    follower = case.peer("bumble_periodic.py", air.for_bumble, "follower")
    follower.wait_for("ESTABLISHED 100", 30)
    follower.wait_for("DATA " + bytes(range(250)).hex(), 10, 5)
    expect(follower.finish(60) == 0, f"The follower failed.\n{follower.shown()}\n{advertiser.shown()}")
    expect("LOST" in follower.output, f"The loss was not told.\n{follower.shown()}")


AIR_CASES = [
    our_air_carries_two_bumble_hosts,
    our_air_carries_our_central_and_bumbles_peripheral,
    our_air_carries_bumbles_central_and_our_peripheral,
    our_air_carries_a_lock_on_bumble,
    our_air_lets_a_link_time_out_whose_host_has_gone,
    our_air_shows_its_devices_to_bumble,
    our_air_carries_periodic_advertising_between_bumble_hosts,
]
