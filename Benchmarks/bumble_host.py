"""bumble_host.py OPERATION PATH COUNT: Bumble's host alone, against hcipeer at a Unix socket.

Does the operation COUNT times, as the `benchmark` product does with our host, and prints 'name value unit' lines.
Processor time is the process's own, in user and kernel mode."""
import asyncio
import resource
import sys
import time

from bumble.device import Device, Peer
from bumble.hci import Address
from bumble.transport import open_transport

OPERATION, PATH, COUNT = sys.argv[1], sys.argv[2], int(sys.argv[3])
VALUE_LENGTH = 244  # Octets: what an ATT MTU of 247 leaves, in one packet of 251.


async def discover(peer):
    await peer.discover_services()
    for service in peer.services:
        await service.discover_characteristics()


async def connect(device):
    found = asyncio.get_running_loop().create_future()
    device.on("advertisement", lambda advertisement: found.done() or found.set_result(advertisement.address))
    await device.start_scanning()
    address = await found
    await device.stop_scanning()
    peer = Peer(await device.connect(address))
    await peer.request_mtu(247)
    return peer


async def scan(device):
    """COUNT reports, from the start of the scan."""
    done = asyncio.get_running_loop().create_future()
    seen = 0

    def report(_):
        nonlocal seen
        seen += 1
        if seen == COUNT:
            done.set_result(None)

    device.on("advertisement", report)
    # Bumble sets it once the scan runs, too late for the first reports, which then wait for a scan response.
    device.scanning_is_passive = True
    begin = time.process_time()
    await device.start_scanning(active=False, filter_duplicates=False)
    await done
    return time.process_time() - begin


async def use(peer):
    if OPERATION == "discover":
        begin = time.process_time()
        await discover(peer)
        return time.process_time() - begin
    await discover(peer)
    # hcipeer numbers them: 0 floods once it is subscribed, 2 takes what is written.
    flood = [each for service in peer.services for each in service.characteristics if each.properties & 0x10]
    begin = time.process_time()
    if OPERATION == "notify":
        await flood[0].discover_descriptors()
        done = asyncio.get_running_loop().create_future()
        heard = 0

        def hear(_):
            nonlocal heard
            heard += 1
            if heard == COUNT:
                done.set_result(None)

        begin = time.process_time()
        await flood[0].subscribe(hear)
        await done
    elif OPERATION == "read":
        for _ in range(COUNT):
            await flood[0].read_value()
    elif OPERATION == "write":
        value = b"w" * VALUE_LENGTH
        for _ in range(COUNT):
            await flood[2].write_value(value, with_response=False)
        # An answer comes when all that was written before has left.
        await flood[0].read_value()
    return time.process_time() - begin


async def main():
    async with await open_transport(f"unix:{PATH}") as hci:
        device = Device.with_hci("Bumble", Address("F0:F1:F2:F3:F4:F5"), hci.source, hci.sink)
        await device.power_on()
        used = await scan(device) if OPERATION == "scan" else await use(await connect(device))
    print(f"bumble_{OPERATION}_count {COUNT} n")
    print(f"bumble_{OPERATION}_cpu {used / COUNT * 1e6:.4f} us")
    print(f"bumble_{OPERATION}_peak_memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.4f} MiB")


asyncio.run(main())
