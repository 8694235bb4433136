"""trouble.py bluetoothd | power | plug PORT | unplug PORT: what a soak test does to BlueZ, or to our own adapter.

bluetoothd ends and starts again, or switches its adapter off and on, and the peripheral on it starts anew, as neither keeps
its advertisement. Or the adapter, whose plug is a bridge to PORT, is pulled or plugged in again. Ends when all is there; what it starts stays, and
inherits nothing."""
import os
import signal
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "Interop"))
sys.dont_write_bytecode = True

from machine import LOGS, power, processes, restart_bluetoothd, until


def start(name, *arguments):
    path = f"{LOGS}/{name}.log"
    with open(path, "w") as log:
        subprocess.Popen([name, *arguments], stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)
    return path


def peripheral_anew(restart):
    for process in processes("gatt-peripheral"):
        os.kill(process, signal.SIGKILL)
    restart()
    path = start("gatt-peripheral")

    def is_ready():
        with open(path) as file:
            return "READY" in file.read()
    until(60, is_ready, "the peripheral that was started anew")


def power_cycle():
    power("hci0", False)
    power("hci0")


if sys.argv[1] == "plug":
    start("h4bridge", "vhci", sys.argv[2])
elif sys.argv[1] == "unplug":
    for process in processes("h4bridge"):
        with open(f"/proc/{process}/cmdline", "rb") as file:
            if sys.argv[2] in file.read().decode().split("\0"):
                os.kill(process, signal.SIGKILL)
else:
    peripheral_anew({"bluetoothd": restart_bluetoothd, "power": power_cycle}[sys.argv[1]])
