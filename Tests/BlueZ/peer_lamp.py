"""peer_lamp.py: bleak, a client of BlueZ, as the central of "ble serve Examples/Profiles/lamp.json".

Exit status 0 if all that the file describes is there, and what is written is kept and notified."""
import asyncio
import sys

from bleak import BleakClient, BleakScanner

BASE = "0000{}-0000-1000-8000-00805f9b34fb"
SWITCH, DEAF, BATTERY, MAKER = (BASE.format(uuid) for uuid in ("fff1", "fff2", "2a19", "2a29"))


def expect(what, got, wanted):
    print("ok  " if got == wanted else "FAIL", what, got, flush=True)
    if got != wanted:
        sys.exit(1)


async def session(client):
    expect("properties", sorted(client.services.get_characteristic(SWITCH).properties),
           ["notify", "read", "write", "write-without-response"])
    descriptor = client.services.get_characteristic(SWITCH).get_descriptor(BASE.format("2901"))
    expect("description", bytes(await client.read_gatt_descriptor(descriptor.handle)), b"00 is off, 01 is on")
    expect("text", bytes(await client.read_gatt_char(MAKER)), b"Lamps and Sons")
    heard = asyncio.get_running_loop().create_future()
    await client.start_notify(SWITCH, lambda _, octets: heard.done() or heard.set_result(bytes(octets)))
    await client.write_gatt_char(SWITCH, b"\x01", response=True)
    expect("notified", await asyncio.wait_for(heard, 10), b"\x01")
    expect("kept", bytes(await client.read_gatt_char(SWITCH)), b"\x01")
    try:
        await client.write_gatt_char(DEAF, b"\x01", response=True)
        expect("refusal", None, "an error")
    except Exception as error:  # Bleak's own type in one release, BlueZ's in the other.
        expect("refusal", "0x80" in str(error).lower(), True)


async def main():
    found = asyncio.get_running_loop().create_future()

    def seen(device, data):
        if BASE.format("fff0") in data.service_uuids and data.local_name == "Lamp" and not found.done():
            found.set_result(device)

    async with BleakScanner(seen, adapter="hci0"):
        device = await asyncio.wait_for(found, 20)
    is_done = False
    try:
        async with BleakClient(device, adapter="hci0", timeout=30) as client:
            await session(client)
            is_done = True
    except EOFError:
        # bleak 0.22 may trip over its own closing of the bus, once all is done.
        if not is_done:
            raise


asyncio.run(main())
