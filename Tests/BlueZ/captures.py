"""What a recording of ours holds, and what btmon and tshark say of it."""
import os
import subprocess
import tempfile

from harness import expect

START = 16  # Octets of a btsnoop file before its first record.
# How btvirt completes LE Remote Connection Parameter Request Reply: without the Connection_Handle that belongs to it (Core
# 6.0, Vol 4, Part E, 7.8.31). Tshark calls that malformed, as it is.
BTVIRT_REPLY = bytes.fromhex("040e0401202000")


def records(path):
    """Of a recording: the record as it is in the file, whether the packet came from the controller, and the packet."""
    with open(path, "rb") as file:
        octets = file.read()
    at = START
    while at + 24 <= len(octets):
        length = int.from_bytes(octets[at + 4:at + 8], "big")
        end = at + 24 + length
        yield octets[at:end], bool(octets[at + 11] & 1), octets[at + 24:end]
        at = end


def frames(path):
    """The first packets of L2CAP frames: whether received, the channel, and what follows of the frame."""
    for _, is_received, packet in records(path):
        if packet[:1] == b"\x02" and len(packet) >= 9 and packet[2] >> 4 & 3 != 1:
            yield is_received, int.from_bytes(packet[7:9], "little"), packet[9:]


def pairings(path):
    """How many pairings there were: Pairing Requests (Core 6.0, Vol 3, Part H, 3.5.1)."""
    return sum(channel == 6 and payload[:1] == b"\x01" for _, channel, payload in frames(path))


def parameter_updates(path):
    """How many new parameters of a link were in force: LE Connection Update Complete with success (Vol 4, Part E,
    7.7.65.3)."""
    return sum(packet[:1] == b"\x04" and packet[1] == 0x3E and packet[3:5] == b"\x03\x00" for _, _, packet in records(path))


def commands_of_the_kernel(path):
    """Of the machine's recording (Linux, include/net/bluetooth/hci_mon.h: the adapter's number and what it is, in 16 bits
    each, where other recordings have flags): for each command the statuses that it was answered with. Command Complete and
    Command Status: Core 6.0, Vol 4, Part E, 7.7.14 and 7.7.15."""
    answers, open_ones = {}, {}
    for record, _, packet in records(path):
        adapter, kind = int.from_bytes(record[8:10], "big"), int.from_bytes(record[10:12], "big")
        now = int.from_bytes(record[16:24], "big")
        if kind == 2:
            opcode = int.from_bytes(packet[:2], "little")
            answers.setdefault(opcode, [])
            open_ones[adapter, opcode] = now
        elif kind == 3 and packet[0] in (0x0E, 0x0F):
            opcode = int.from_bytes(packet[3:5] if packet[0] == 0x0E else packet[4:6], "little")
            if open_ones.pop((adapter, opcode), None) is not None:
                answers[opcode].append(packet[5] if packet[0] == 0x0E else packet[2])
        elif kind in (1, 9):
            # The kernel has let go of the adapter, and records nothing of it any more. What it sent just before may still
            # have been answered; had an answer been missing, it would have waited for two seconds.
            open_ones = {key: since for key, since in open_ones.items() if key[0] != adapter or now - since > 1_000_000}
    return answers, [opcode for _, opcode in open_ones]


def of_one_server(path, ours):
    """The recording with one server's ATT alone, ours or the peer's: Tshark keeps one list of a link's attributes, and takes
    the handles of one side's for the other's. Requests have even methods but for Handle Value Confirmation (Vol 3, Part
    F, 3.3.1), and what a server sends by itself goes with its answers."""
    from_server = {0x01, 0x03, 0x05, 0x07, 0x09, 0x0B, 0x0D, 0x0F, 0x11, 0x13, 0x17, 0x19, 0x1B, 0x1D, 0x21, 0x23}
    with open(path, "rb") as file:
        octets = file.read(START)
    drops = False
    for record, is_received, packet in records(path):
        if packet == BTVIRT_REPLY:
            continue
        if packet[:1] == b"\x02" and len(packet) >= 9:
            if packet[2] >> 4 & 3 != 1:
                is_theirs = is_received == (packet[9] in from_server) if len(packet) > 9 else False
                # MTUs belong to both.
                drops = packet[7:9] == b"\x04\x00" and packet[9] not in (2, 3) and is_theirs == ours
            if drops:
                continue
        octets += record
    return octets


def tshark_reads(path):
    """No packet is malformed, with either side's attributes."""
    for ours in (True, False):
        with tempfile.NamedTemporaryFile(suffix=".btsnoop") as file:
            file.write(of_one_server(path, ours))
            file.flush()
            marked = tshark(file.name, "_ws.malformed")
            expect(not marked, f"Malformed packets in {os.path.basename(path)}:\n{marked[:3000]}")
    expect(tshark(path, "btatt"), f"There is no ATT in {os.path.basename(path)}.")


def tshark(path, filter):
    run = subprocess.run(["tshark", "-r", path, "-Y", filter], capture_output=True, text=True)
    expect(run.returncode == 0, f"tshark cannot read {path}: {run.stderr}")
    return run.stdout
