"""peer_smallest.py [--adapter hci0]: bleak, a client of BlueZ, as the central of our smallest peripheral.

Finds FFF0, reads FFF1, hears it, writes "hello", hears the answer, leaves. Exit status 0 if all held."""
import argparse
import asyncio
import sys

from bleak import BleakClient, BleakScanner

BASE = "0000{}-0000-1000-8000-00805f9b34fb"


def expect(what, got, wanted):
    print("ok  " if got == wanted else "FAIL", what, got, flush=True)
    if got != wanted:
        sys.exit(1)


async def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--adapter", default="hci0")
    args = parser.parse_args()
    found = asyncio.get_running_loop().create_future()

    def seen(device, data):
        if BASE.format("fff0") in data.service_uuids and not found.done():
            found.set_result((device, data))

    async with BleakScanner(seen, adapter=args.adapter):
        device, data = await asyncio.wait_for(found, 20)
    expect("name", data.local_name, "Smallest")
    is_done = False
    try:
        async with BleakClient(device, adapter=args.adapter, timeout=30) as client:
            value = BASE.format("fff1")
            expect("services", BASE.format("fff0") in [s.uuid for s in client.services], True)
            expect("properties", sorted(client.services.get_characteristic(value).properties), ["notify", "read", "write"])
            expect("read", bytes(await client.read_gatt_char(value)), b"good day")
            heard = asyncio.get_running_loop().create_future()
            await client.start_notify(value, lambda _, octets: heard.done() or heard.set_result(bytes(octets)))
            await client.write_gatt_char(value, b"hello", response=True)
            expect("notified", await asyncio.wait_for(heard, 10), b"you wrote hello")
            await client.stop_notify(value)
            is_done = True
    except EOFError:
        # bleak 0.22 may trip over its own closing of the bus, once all is done.
        if not is_done:
            raise
    print("disconnected", flush=True)


asyncio.run(main())
