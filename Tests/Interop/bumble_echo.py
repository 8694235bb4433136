"""bumble_echo.py TRANSPORT: the peripheral of the example EchoChannel, hosted by Bumble.

FFE0 holds the number of a credit-based channel; what comes on that goes back."""
import asyncio
import struct
import sys

from bumble.core import UUID, AdvertisingData
from bumble.device import Device
from bumble.gatt import Characteristic, Service
from bumble.hci import Address
from bumble.l2cap import LeCreditBasedChannelSpec
from bumble.transport import open_transport

PSM_CHARACTERISTIC = UUID("ABDD3056-28FA-441D-A470-55A75A52553A")


async def main():
    async with await open_transport(sys.argv[1]) as hci:
        device = Device.with_hci("Echo", Address("F0:F1:F2:00:00:02"), hci.source, hci.sink)

        def opened(channel):
            print("OPENED", channel.peer_mtu, channel.peer_mps, flush=True)
            echoed = 0

            def heard(sdu):
                nonlocal echoed
                echoed += len(sdu)
                channel.write(sdu)

            channel.sink = heard
            channel.on("close", lambda: print("ECHOED", echoed, flush=True))

        # Few credits and an odd frame length, so that both sides wait for each other.
        server = device.create_l2cap_server(
            LeCreditBasedChannelSpec(psm=0xC1, mtu=1024, mps=300, max_credits=7), opened)
        device.add_service(Service("FFE0", [Characteristic(
            PSM_CHARACTERISTIC, Characteristic.Properties.READ, Characteristic.Permissions.READABLE,
            struct.pack("<H", server.psm))]))
        device.advertising_data = bytes(AdvertisingData([
            (AdvertisingData.FLAGS, bytes([0x06])),
            (AdvertisingData.COMPLETE_LIST_OF_16_BIT_SERVICE_CLASS_UUIDS, bytes(UUID("FFE0"))),
            (AdvertisingData.COMPLETE_LOCAL_NAME, b"Echo"),
        ]))
        await device.power_on()
        await device.start_advertising(auto_restart=True)
        print("READY", flush=True)
        await hci.source.terminated


asyncio.run(main())
