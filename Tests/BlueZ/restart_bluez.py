"""restart_bluez.py: bluetoothd ends and starts again, and so does the peripheral on it, which prints READY."""
import os
import signal
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "Interop"))
sys.dont_write_bytecode = True

from machine import processes, restart_bluetoothd

for process in processes("gatt-peripheral"):
    os.kill(process, signal.SIGKILL)
restart_bluetoothd()
os.execvp("gatt-peripheral", ["gatt-peripheral"])
