"""bumble_smallest.py TRANSPORT: the smallest peripheral of the examples, hosted by Bumble.

FFF0 holds FFF1, which can be read, written and heard; what is written comes back as a notification."""
import asyncio
import sys

from bumble.core import UUID, AdvertisingData
from bumble.device import Device
from bumble.gatt import Characteristic, CharacteristicValue, Service
from bumble.hci import Address
from bumble.transport import open_transport

NAME = "Smallest"


async def main():
    async with await open_transport(sys.argv[1]) as hci:
        device = Device.with_hci(NAME, Address("F0:F1:F2:00:00:01"), hci.source, hci.sink)
        can, may = Characteristic.Properties, Characteristic.Permissions
        value = bytearray(b"good day")

        async def written(connection, octets):
            value[:] = octets
            print("WRITTEN", bytes(octets).decode("ascii", "replace"), flush=True)
            await device.notify_subscribers(characteristic, b"you wrote " + bytes(octets))

        characteristic = Characteristic(
            "FFF1", can.READ | can.WRITE | can.NOTIFY, may.READABLE | may.WRITEABLE,
            CharacteristicValue(read=lambda connection: bytes(value), write=written))
        device.add_service(Service("FFF0", [characteristic]))
        device.advertising_data = bytes(AdvertisingData([
            (AdvertisingData.FLAGS, bytes([0x06])),
            (AdvertisingData.COMPLETE_LIST_OF_16_BIT_SERVICE_CLASS_UUIDS, bytes(UUID("FFF0"))),
            (AdvertisingData.COMPLETE_LOCAL_NAME, NAME.encode()),
        ]))
        await device.power_on()
        await device.start_advertising(auto_restart=True)
        print("READY", flush=True)
        await hci.source.terminated


asyncio.run(main())
