"""rfkill.py ADAPTER 0|1: unblocks or blocks one adapter. Linux, include/uapi/linux/rfkill.h: the switch's number, the type
2 (Bluetooth), the operation 2 (change), and whether to block in software."""
import glob
import struct
import sys

adapter, is_blocked = sys.argv[1:]
with open(glob.glob(f"/sys/class/bluetooth/{adapter}/rfkill*/index")[0]) as file:
    index = int(file.read())
with open("/dev/rfkill", "wb", buffering=0) as file:
    file.write(struct.pack("=IBBBB", index, 2, 2, int(is_blocked), 0))
