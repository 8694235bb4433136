"""bumble_lock.py TRANSPORT [--drop SECONDS]: the smart lock of the examples, hosted by Bumble.

Prints READY once it advertises, then a line for each thing that happens to it. With --drop it ends its first link
after that many seconds, as a lock does whose battery is weak. Ends by itself when its controller is gone."""
import argparse
import asyncio

from bumble.core import UUID, AdvertisingData
from bumble.device import Device
from bumble.gatt import Characteristic, CharacteristicValue, Service
from bumble.hci import Address
from bumble.transport import open_transport

NAME = "KL940704079"
ADDRESS = "F0:F1:F2:94:07:04"


class Lock:
    def __init__(self, hci, drop):
        self.drop = drop
        self.links = 0
        self.level = 0x5F
        self.device = Device.with_hci(NAME, Address(ADDRESS), hci.source, hci.sink)
        can, may = Characteristic.Properties, Characteristic.Permissions
        self.battery = Characteristic("FFF4", can.READ | can.NOTIFY, may.READABLE, bytes([self.level]))
        instruction = Characteristic("FFF6", can.WRITE, may.WRITEABLE, CharacteristicValue(write=self.instructed))
        # GATT Specification Supplement, System ID: the address, least octet first, with FF FE in its middle.
        octets = bytes(int(part, 16) for part in ADDRESS.split(":"))[::-1]
        system_id = Characteristic("2A23", can.READ, may.READABLE, octets[:3] + b"\xfe\xff" + octets[3:])
        self.device.add_service(Service("180A", [system_id]))
        self.device.add_service(Service("FFF0", [self.battery, instruction]))
        self.device.advertising_data = bytes(AdvertisingData([
            (AdvertisingData.FLAGS, bytes([0x06])),
            (AdvertisingData.COMPLETE_LIST_OF_16_BIT_SERVICE_CLASS_UUIDS, bytes(UUID("FFF0"))),
            (AdvertisingData.COMPLETE_LOCAL_NAME, NAME.encode()),
            (AdvertisingData.MANUFACTURER_SPECIFIC_DATA, b"\xff\xff" + octets[::-1]),
        ]))
        self.device.on("connection", self.connected)

    def instructed(self, connection, value):
        print("INSTRUCTION", bytes(value).decode("ascii", "replace"), flush=True)

    def connected(self, connection):
        self.links += 1
        print("CONNECTED", self.links, flush=True)
        connection.on("disconnection", lambda reason: print(f"DISCONNECTED 0x{reason:02X}", flush=True))
        if self.drop is not None and self.links == 1:
            asyncio.get_running_loop().call_later(self.drop, lambda: asyncio.ensure_future(connection.disconnect()))

    async def run(self, ended):
        await self.device.power_on()
        await self.device.start_advertising(auto_restart=True)
        print("READY", flush=True)
        while not ended.done():
            await asyncio.wait([ended], timeout=1)
            self.level = max(self.level - 1, 0)
            self.battery.value = bytes([self.level])
            await self.device.notify_subscribers(self.battery)


async def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("transport")
    arguments.add_argument("--drop", type=float)
    options = arguments.parse_args()
    async with await open_transport(options.transport) as hci:
        await Lock(hci, options.drop).run(asyncio.ensure_future(hci.source.terminated))


asyncio.run(main())
