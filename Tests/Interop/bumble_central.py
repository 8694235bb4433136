"""bumble_central.py TRANSPORT [--caching]: a Bumble central that uses the smallest peripheral of the examples, and with
--caching looks first at what the peripheral offers to clients that keep what they discovered.

Each check is a line, 'ok' or 'FAIL' in front; exit status 0 if all held."""
import asyncio
import sys

from bumble.att import ATT_Error
from bumble.core import UUID, AdvertisingData
from bumble.crypto import aes_cmac
from bumble.device import Device, Peer
from bumble.hci import Address
from bumble.transport import open_transport

SERVICE, VALUE = UUID.from_16_bits(0xFFF0), UUID.from_16_bits(0xFFF1)
STEP_LIMIT = 20  # Seconds for one step; RootCanal's real time is the only clock here.
failures = 0


def check(what, got, want):
    global failures
    good = got == want
    failures += not good
    print("ok  " if good else "FAIL", what, repr(got), "" if good else f"is not {want!r}", flush=True)


def within(step):
    return asyncio.wait_for(step, STEP_LIMIT)


async def find(device):
    found = asyncio.get_running_loop().create_future()
    names = {}

    def seen(advertisement):
        data = advertisement.data
        # A name that did not fit comes with the scan response, which is a report of its own.
        for kind in (AdvertisingData.COMPLETE_LOCAL_NAME, AdvertisingData.SHORTENED_LOCAL_NAME):
            if name := data.get(kind):
                names[advertisement.address] = name
        services = []
        for kind in (AdvertisingData.COMPLETE_LIST_OF_16_BIT_SERVICE_CLASS_UUIDS,
                     AdvertisingData.INCOMPLETE_LIST_OF_16_BIT_SERVICE_CLASS_UUIDS):
            services += data.get(kind) or []
        if SERVICE in services and advertisement.is_connectable and not found.done():
            found.set_result(advertisement.address)

    device.on("advertisement", seen)
    await device.start_scanning(filter_duplicates=False)
    address = await within(found)
    await device.stop_scanning()
    check("advertised name", names.get(address), "Smallest")
    return address


async def use(peer):
    check("MTU", await within(peer.request_mtu(247)) >= 185, True)
    await within(peer.discover_services())
    services = [service for service in peer.services if service.uuid == SERVICE]
    check("services FFF0", len(services), 1)
    await within(services[0].discover_characteristics())
    check("characteristics", [each.uuid for each in services[0].characteristics], [VALUE])
    value = services[0].characteristics[0]
    check("properties", int(value.properties), 0x1A)  # Read, Write, Notify: Core 6.0, Vol 3, Part G, 3.3.1.1.
    await within(value.discover_descriptors())
    check("descriptors", [each.type for each in value.descriptors], [UUID.from_16_bits(0x2902)])
    check("read", bytes(await within(value.read_value())), b"good day")
    heard = asyncio.Queue()
    await within(value.subscribe(lambda octets: heard.put_nowait(bytes(octets))))
    await within(value.write_value(b"hello", with_response=True))
    check("notified", await within(heard.get()), b"you wrote hello")
    check("read back", bytes(await within(value.read_value())), b"hello")
    long = bytes(range(150))
    await within(value.write_value(long, with_response=True))
    check("150 octets notified", await within(heard.get()), b"you wrote " + long)
    check("150 octets read back", bytes(await within(value.read_value())), long)
    check("error at a handle that is not there", await error_of(peer.read_value(value.handle + 1000)), 0x01)
    try:
        await within(value.unsubscribe())
    except asyncio.CancelledError:
        # The peripheral leaves as soon as nobody listens any more, and its controller may go before its answer is out.
        print("ok   the link ended at the unsubscription", flush=True)


async def caching(peer):
    """Core 6.0, Vol 3, Part G, 7: Client Supported Features and Database Hash, which is worked out here once more."""
    client = peer.gatt_client
    message = b""
    for attribute in await within(client.discover_attributes()):
        kind = int.from_bytes(attribute.type.to_bytes()[:2], "little")
        if kind in (0x2800, 0x2801, 0x2802, 0x2803, 0x2900):
            value = bytes(await within(client.read_value(attribute.handle)))
        elif kind in (0x2901, 0x2902, 0x2903, 0x2904, 0x2905):
            value = b""
        else:
            continue
        message += attribute.handle.to_bytes(2, "little") + kind.to_bytes(2, "little") + value
    hashes = await within(client.read_characteristics_by_uuid(UUID.from_16_bits(0x2B2A), None))
    check("database hash", bytes(hashes[0]).hex(), aes_cmac(message, bytes(16))[::-1].hex())
    features = next(a for a in await within(client.discover_attributes()) if a.type == UUID.from_16_bits(0x2B29))
    check("features", bytes(await within(client.read_value(features))), b"\x00")
    await within(client.write_value(features, b"\x01", with_response=True))
    check("features kept", bytes(await within(client.read_value(features))), b"\x01")
    check("a feature taken back", await error_of(client.write_value(features, b"\x00", with_response=True)), 0x13)


async def error_of(step):
    """The ATT error code with which a step ends. Core 6.0, Vol 3, Part F, 3.4.1.1: 0x01 is Invalid Handle."""
    try:
        await within(step)
    except ATT_Error as error:
        return error.error_code
    return None


async def main():
    async with await open_transport(sys.argv[1]) as hci:
        device = Device.with_hci("Bumble", Address("F0:F1:F2:F3:F4:F5"), hci.source, hci.sink)
        await within(device.power_on())
        connection = await within(device.connect(await find(device)))
        gone = asyncio.get_running_loop().create_future()
        connection.on("disconnection", lambda reason: gone.done() or gone.set_result(reason))
        peer = Peer(connection)
        if "--caching" in sys.argv:
            await caching(peer)
        await use(peer)
        # The peripheral may have left as soon as nobody listened any more.
        if not gone.done():
            await asyncio.wait([asyncio.ensure_future(connection.disconnect())], timeout=STEP_LIMIT)
        await within(gone)
        check("disconnected", gone.done(), True)
    sys.exit(1 if failures else 0)


asyncio.run(main())
