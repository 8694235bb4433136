"""bumble_scan.py TRANSPORT: a Bumble scanner that prints SEEN and the name of each device, once."""
import asyncio
import sys

from bumble.core import AdvertisingData
from bumble.device import Device
from bumble.hci import Address
from bumble.transport import open_transport


async def main():
    async with await open_transport(sys.argv[1]) as hci:
        device = Device.with_hci("Bumble", Address("F0:F1:F2:F3:F4:F6"), hci.source, hci.sink)
        seen = set()

        def report(advertisement):
            name = advertisement.data.get(AdvertisingData.COMPLETE_LOCAL_NAME)
            if name and name not in seen:
                seen.add(name)
                print("SEEN", name, flush=True)

        device.on("advertisement", report)
        await device.power_on()
        await device.start_scanning(filter_duplicates=False)
        await hci.source.terminated


asyncio.run(main())
