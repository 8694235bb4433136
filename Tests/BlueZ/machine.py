"""What the machine is made of, for cases that take it apart: bluetoothd, the adapters, the bridges to controllers."""
import glob
import os
import re
import shutil
import signal
import subprocess
import time

from harness import Case, expect

HERE = os.path.dirname(os.path.abspath(__file__))
BUNDLE = "swift-corebluetoothPackageTests.xctest"
RADIO = "hci:1"
LOGS = "/run/vm/ctl/logs"


def output(*command):
    return subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL).stdout


def processes(name):
    """Whose command line holds the name as a program or a script."""
    found = []
    for path in glob.glob("/proc/[0-9]*/cmdline"):
        try:
            with open(path, "rb") as file:
                words = file.read().decode(errors="replace").split("\0")
        except OSError:
            continue  # It has just ended.
        if any(os.path.basename(word) == name for word in words[:2]):
            found.append(int(path.split("/")[2]))
    return found


def until(seconds, condition, what):
    end = time.monotonic() + seconds
    while not condition():
        expect(time.monotonic() < end, f"Not within {seconds} s: {what}.")
        time.sleep(0.1)


def address(adapter):
    found = re.search(r"BD Address: ([0-9A-F:]{17})", output("hciconfig", adapter))
    expect(found, f"There is no {adapter}.")
    return found.group(1)


def power(adapter, is_on=True):
    def is_set():
        return subprocess.run(
            ["dbus-send", "--system", "--print-reply", "--dest=org.bluez", f"/org/bluez/{adapter}",
             "org.freedesktop.DBus.Properties.Set", "string:org.bluez.Adapter1", "string:Powered",
             f"variant:boolean:{'true' if is_on else 'false'}"], capture_output=True).returncode == 0
    until(60, is_set, f"{adapter} switched {'on' if is_on else 'off'} by bluetoothd")


def forget_us():
    """BlueZ tells its clients of a device that it knows only what changed, and on these controllers nothing changes."""
    for adapter in ("hci1", "hci2"):
        if os.path.exists(f"/sys/class/bluetooth/{adapter}"):
            device = "/org/bluez/hci0/dev_" + address(adapter).replace(":", "_")
            output("dbus-send", "--system", "--print-reply", "--dest=org.bluez", "/org/bluez/hci0",
                   "org.bluez.Adapter1.RemoveDevice", f"objpath:{device}")


def stop_bluetoothd():
    for process in processes("bluetoothd"):
        os.kill(process, signal.SIGTERM)
    until(20, lambda: not processes("bluetoothd"), "the end of bluetoothd")


def restart_bluetoothd(mtu=None):
    """With another limit for ATT_MTU, or as before. It begins without memory of us."""
    stop_bluetoothd()
    shutil.rmtree("/var/lib/bluetooth", ignore_errors=True)
    os.makedirs("/var/lib/bluetooth")
    with open("/etc/bluetooth/main.conf") as file:
        lines = [line for line in file if not line.startswith("ExchangeMTU")]
    if mtu:
        lines.insert(lines.index("[GATT]\n") + 1, f"ExchangeMTU = {mtu}\n")
    with open("/etc/bluetooth/main.conf", "w") as file:
        file.writelines(lines)
    # As vm-init starts it.
    with open(f"{LOGS}/bluetoothd.log", "a") as log:
        subprocess.Popen(
            ["taskset", "1", "chrt", "-r", "1", "/usr/libexec/bluetooth/bluetoothd", "-n"], stdin=subprocess.DEVNULL,
            stdout=log, stderr=log)
    power("hci0")


def port_of(adapter):
    """The device by which the controller outside of `adapter` is reached."""
    for index in glob.glob("/run/vm/controller*.index"):
        with open(index) as file:
            if file.read().strip() != adapter:
                continue
        for name in glob.glob("/sys/class/virtio-ports/*/name"):
            with open(name) as file:
                if file.read().strip() == os.path.basename(index).removesuffix(".index"):
                    return "/dev/" + name.split("/")[-2]
    return ""


class GuestCase(Case):
    def ours(self, product, *arguments, radio=RADIO, prefix=(), environment=None):
        """A product of the package, in the file system that it was built in."""
        environment = {
            "BLUEZ_VM_TESTS": "1", "BLUEZ_VM_OWN_ADDRESS": address("hci1"), "BLUEZ_VM_PORT": port_of("hci1"),
            "BLUEZ_VM_FOLDER": HERE, "BLE_STATE": os.path.join(self.folder(), "state"), **(environment or {})}
        if radio is not None:
            environment["BLE_RADIO"] = radio
        return self.start(
            " ".join([product, *arguments]),
            ["on-host", *prefix, os.path.join(self.build, product), *arguments], environment)

    def start_tests(self, tests, **options):
        return self.ours(BUNDLE, "--testing-library", "swift-testing", "--filter", f"BlueZTests.{tests}", **options)

    def end_tests(self, bundle, seconds=150):
        """All must pass, and there must be some."""
        status = bundle.finish(seconds)
        expect(status == 0, f"The tests failed.\n{bundle.shown()}")
        expect(re.search(r"Test run with [1-9]\d* tests? .*passed", bundle.output), f"No tests.\n{bundle.shown()}")

    def tests(self, tests, seconds=150, **options):
        self.end_tests(self.start_tests(tests, **options), seconds)

    def peripheral(self, profile, *arguments):
        program = self.start("gatt-peripheral", ["gatt-peripheral", "--profile", profile, *arguments])
        program.wait_for("READY", 60)
        return program

    def peer(self, script, *arguments):
        return self.start(script, ["python3", "-u", os.path.join(HERE, script), *arguments])
