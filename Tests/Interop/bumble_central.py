"""bumble_central.py TRANSPORT: a Bumble central that uses the smallest peripheral of the examples.

Exit status 0 if everything held; each check is a line, 'ok' or 'FAIL' in front."""
import asyncio
import sys

from bumble.core import UUID, AdvertisingData
from bumble.device import Device, Peer
from bumble.hci import Address
from bumble.transport import open_transport

SERVICE, VALUE = UUID.from_16_bits(0xFFF0), UUID.from_16_bits(0xFFF1)
failures = 0


def check(what, got, want):
    global failures
    good = want(got) if callable(want) else got == want
    failures += not good
    print("ok  " if good else "FAIL", what, repr(got), flush=True)


async def main():
    async with await open_transport(sys.argv[1]) as hci:
        device = Device.with_hci("Bumble", Address("F0:F1:F2:F3:F4:F5"), hci.source, hci.sink)
        await device.power_on()
        found = asyncio.get_running_loop().create_future()

        def seen(advertisement):
            services = []
            for kind in (AdvertisingData.COMPLETE_LIST_OF_16_BIT_SERVICE_CLASS_UUIDS,
                         AdvertisingData.INCOMPLETE_LIST_OF_16_BIT_SERVICE_CLASS_UUIDS):
                services += advertisement.data.get(kind, raw=False) or []
            if SERVICE in services and not found.done():
                found.set_result(advertisement)

        device.on("advertisement", seen)
        await device.start_scanning(filter_duplicates=False)
        advertisement = await asyncio.wait_for(found, 20)
        await device.stop_scanning()
        name = advertisement.data.get(AdvertisingData.COMPLETE_LOCAL_NAME, raw=False)
        check("advertised name", name, "Smallest")
        connection = await asyncio.wait_for(device.connect(advertisement.address), 20)
        peer = Peer(connection)
        check("MTU", await peer.request_mtu(247), 247)
        await asyncio.wait_for(peer.discover_services(), 20)
        services = [service.uuid for service in peer.services]
        check("service FFF0", SERVICE in services, True)
        for service in peer.services:
            await service.discover_characteristics()
        value = peer.get_characteristics_by_uuid(VALUE)[0]
        check("properties", int(value.properties), 0x1A)  # Read, Write, Notify: Core, Vol 3, Part G, 3.3.1.1.
        check("read", bytes(await value.read_value()), b"good day")
        heard = asyncio.get_running_loop().create_future()
        await value.discover_descriptors()
        check("descriptors", [d.type for d in value.descriptors], [UUID.from_16_bits(0x2902)])
        await value.subscribe(lambda data: heard.done() or heard.set_result(bytes(data)))
        await value.write_value(b"hello", with_response=True)
        check("notified", await asyncio.wait_for(heard, 10), b"you wrote hello")
        check("read back", bytes(await value.read_value()), b"hello")
        long = bytes(range(200))
        await value.write_value(long, with_response=True)
        check("200 octets read back", bytes(await value.read_value()), long)
        await value.unsubscribe()
        await connection.disconnect()
        check("disconnected", True, True)
    sys.exit(1 if failures else 0)


asyncio.run(main())
