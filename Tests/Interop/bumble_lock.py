"""bumble_lock.py TRANSPORT: the smart lock of the examples, hosted by Bumble. Prints READY, then what happens to it.

Ends by itself when its HCI transport ends."""
import asyncio
import sys

from bumble.core import AdvertisingData
from bumble.device import Device
from bumble.gatt import Characteristic, CharacteristicValue, Service
from bumble.hci import Address
from bumble.transport import open_transport

NAME = "KL940704079"
ADDRESS = "F0:F1:F2:94:07:04"


async def main():
    async with await open_transport(sys.argv[1]) as hci:
        device = Device.with_hci(NAME, Address(ADDRESS), hci.source, hci.sink)
        P, R, W = Characteristic.Properties, Characteristic.READABLE, Characteristic.WRITEABLE

        def instructed(connection, value):
            print("INSTRUCTION", bytes(value).decode("ascii", "replace"), flush=True)

        level = 0x5F
        battery = Characteristic("FFF4", P.READ | P.NOTIFY, R, bytes([level]))
        instruction = Characteristic("FFF6", P.WRITE, W, CharacteristicValue(write=instructed))
        octets = bytes(int(part, 16) for part in ADDRESS.split(":"))[::-1]
        system_id = Characteristic("2A23", P.READ, R, octets[:3] + b"\xfe\xff" + octets[3:])
        device.add_service(Service("180A", [system_id]))
        device.add_service(Service("FFF0", [battery, instruction]))
        device.advertising_data = bytes(AdvertisingData([
            (AdvertisingData.FLAGS, bytes([0x06])),
            (AdvertisingData.COMPLETE_LOCAL_NAME, NAME.encode()),
        ]))
        await device.power_on()
        device.on("connection", lambda connection: print("CONNECTED", flush=True))
        await device.start_advertising(auto_restart=True)
        print("READY", flush=True)
        ended = asyncio.ensure_future(hci.source.terminated)
        while not ended.done():
            await asyncio.wait([ended], timeout=1)
            level = max(level - 1, 0)
            battery.value = bytes([level])
            await device.notify_subscribers(battery)


asyncio.run(main())
