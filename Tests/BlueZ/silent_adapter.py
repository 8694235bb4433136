"""silent_adapter.py: an adapter whose controller answers nothing. It goes when the program ends."""
import os

# Linux, drivers/bluetooth/hci_vhci.c: the packet FF 00 makes an adapter; the answer repeats both, and its number follows.
descriptor = os.open("/dev/vhci", os.O_RDWR)
os.write(descriptor, b"\xff\x00")
answer = os.read(descriptor, 4)
print(f"ADAPTER {int.from_bytes(answer[2:4], 'little')}", flush=True)
while os.read(descriptor, 2048):
    pass
