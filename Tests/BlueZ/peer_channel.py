"""peer_channel.py listen | connect ADDRESS PSM: an L2CAP channel of the kernel, over LE.

Listening (PSM 0x81), it sends back what comes; connecting, it writes 20,000 octets and wants them back. Exit status 0 if
all held. Linux, include/net/bluetooth/l2cap.h: struct sockaddr_l2; Python's own socket addresses have no address type."""
import ctypes
import os
import select
import socket
import struct
import sys
import time

libc = ctypes.CDLL(None, use_errno=True)
LE_PUBLIC = 1  # BDADDR_LE_PUBLIC
PSM = 0x81
COUNT = 20_000


def address(text, psm):
    octets = bytes.fromhex(text.replace(":", ""))[::-1]
    return struct.pack("<HH6sHBx", socket.AF_BLUETOOTH, psm, octets, 0, LE_PUBLIC)


def call(function, *arguments):
    if function(*arguments) != 0:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error))


def new_socket():
    return socket.socket(socket.AF_BLUETOOTH, socket.SOCK_SEQPACKET, socket.BTPROTO_L2CAP)


def listen():
    server = new_socket()
    any_address = address("00:00:00:00:00:00", PSM)
    call(libc.bind, server.fileno(), any_address, len(any_address))
    server.listen(1)
    print("LISTENING", flush=True)
    # Python cannot read the kernel's address of an LE peer, so the call is made by hand.
    descriptor = libc.accept(server.fileno(), None, None)
    with socket.socket(fileno=descriptor) as channel:
        total = 0
        try:
            while octets := received(channel):
                total += len(octets)
                send(channel, octets)
        except ConnectionResetError:
            pass  # The link ended, and the channel with it.
        print("ECHOED", total, flush=True)


def received(channel):
    """Never waits inside of the call: Linux 6.1 holds the socket's lock meanwhile, and its receiver of all that comes from
    the adapter waits for that lock (net/bluetooth/l2cap_sock.c: l2cap_sock_recvmsg, l2cap_sock_recv_cb)."""
    select.select([channel], [], [])
    return channel.recv(65535, socket.MSG_DONTWAIT)


def send(channel, octets):
    """A packet at a time: the size that fits any MTU here."""
    for start in range(0, len(octets), 400):
        channel.send(octets[start:start + 400])


def connect(peer, psm):
    octets = bytes(i * 13 // 5 & 255 for i in range(COUNT))
    received = b""
    with new_socket() as channel:
        # The kernel goes by our own address's type: without it, it would use no credits.
        ours = address("00:00:00:00:00:00", 0)
        call(libc.bind, channel.fileno(), ours, len(ours))
        theirs = address(peer, psm)
        call(libc.connect, channel.fileno(), theirs, len(theirs))
        channel.setblocking(False)
        rest, end = octets, time.monotonic() + 60
        while len(received) < COUNT:
            if time.monotonic() > end:
                sys.exit(f"Only {len(received)} octets came back.")
            readable, writable, _ = select.select([channel], [channel] if rest else [], [], 1)
            if readable:
                received += channel.recv(65535)
            if writable:
                rest = rest[channel.send(rest[:400]):]
    print("ok" if received == octets else "The octets are others.", flush=True)
    sys.exit(received != octets)


if sys.argv[1] == "listen":
    listen()
else:
    connect(sys.argv[2], int(sys.argv[3]))
