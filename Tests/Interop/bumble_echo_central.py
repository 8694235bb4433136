"""bumble_echo_central.py TRANSPORT COUNT: a Bumble central that sends COUNT octets over the channel of a peripheral
that offers FFE0, and compares what comes back.

Each check is a line, 'ok' or 'FAIL' in front; exit status 0 if all held."""
import asyncio
import struct
import sys

from bumble.core import UUID, AdvertisingData
from bumble.device import Device, Peer
from bumble.hci import Address
from bumble.l2cap import L2capError, LeCreditBasedChannelSpec
from bumble.transport import open_transport

SERVICE = UUID.from_16_bits(0xFFE0)
PSM_CHARACTERISTIC = UUID("ABDD3056-28FA-441D-A470-55A75A52553A")
STEP_LIMIT = 40  # Seconds for one step; real time is the only clock here.
failures = 0


def check(what, good):
    global failures
    failures += not good
    print("ok  " if good else "FAIL", what, flush=True)


def within(step):
    return asyncio.wait_for(step, STEP_LIMIT)


async def find(device):
    found = asyncio.get_running_loop().create_future()

    def seen(advertisement):
        services = advertisement.data.get(AdvertisingData.COMPLETE_LIST_OF_16_BIT_SERVICE_CLASS_UUIDS) or []
        if SERVICE in services and advertisement.is_connectable and not found.done():
            found.set_result(advertisement.address)

    device.on("advertisement", seen)
    await device.start_scanning(filter_duplicates=False)
    address = await within(found)
    await device.stop_scanning()
    return address


async def number_of(peer):
    await within(peer.discover_services())
    service = next(service for service in peer.services if service.uuid == SERVICE)
    await within(service.discover_characteristics())
    found = next(each for each in service.characteristics if each.uuid == PSM_CHARACTERISTIC)
    return struct.unpack("<H", bytes(await within(found.read_value())))[0]


async def refused(connection, psm):
    try:
        await within(connection.create_l2cap_channel(LeCreditBasedChannelSpec(psm=psm)))
    except L2capError as error:
        return error.error_code
    return None


async def main():
    octets = bytes((each * 7 + (each >> 8)) & 0xFF for each in range(int(sys.argv[2])))
    async with await open_transport(sys.argv[1]) as hci:
        device = Device.with_hci("Bumble", Address("F0:F1:F2:F3:F4:F6"), hci.source, hci.sink)
        await within(device.power_on())
        connection = await within(device.connect(await find(device)))
        psm = await number_of(Peer(connection))
        check(f"PSM {psm:#x} in the dynamic range", 0x80 <= psm <= 0xFF)
        # 0x0002 is "SPSM not supported": Core 6.0, Vol 3, Part A, 4.23.
        check("another PSM is refused with 0x0002", await refused(connection, 0xFF if psm != 0xFF else 0xFE) == 2)
        channel = await within(connection.create_l2cap_channel(
            LeCreditBasedChannelSpec(psm=psm, mtu=700, mps=100, max_credits=5)))
        received = bytearray()
        whole = asyncio.get_running_loop().create_future()

        def heard(sdu):
            received.extend(sdu)
            if len(received) >= len(octets) and not whole.done():
                whole.set_result(None)

        channel.sink = heard
        channel.write(octets)
        await within(whole)
        check(f"{len(received)} octets came back as they went", bytes(received) == octets)
        await within(channel.disconnect())
        check("closed", True)
        await asyncio.wait([asyncio.ensure_future(connection.disconnect())], timeout=STEP_LIMIT)
    sys.exit(1 if failures else 0)


asyncio.run(main())
