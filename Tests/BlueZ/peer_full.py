"""peer_full.py [--pair]: bleak, a client of BlueZ, as the central of the peripheral in Tests/BlueZTests/PeripheralTests.swift.

Uses everything of it, and writes "done" at the end; with --pair it reads only what wants an encrypted link, on two links
one after the other. Exit status 0 if all held."""
import asyncio
import sys

from bleak import BleakClient, BleakScanner

BASE = "0000{}-0000-1000-8000-00805f9b34fb"
SERVICE, FIXED, ECHO, NOTIFIED, INDICATED, LONG, REFUSED, SECRET = (
    BASE.format(f"bb0{number}") for number in range(8))


def expect(what, got, wanted):
    print("ok  " if got == wanted else "FAIL", what, "" if got == wanted else f"got {got!r}, wanted {wanted!r}", flush=True)
    if got != wanted:
        sys.exit(1)


async def values(client, uuid, count):
    got, enough = [], asyncio.Event()

    def heard(_, octets):
        got.append(bytes(octets))
        if len(got) >= count:
            enough.set()

    await client.start_notify(uuid, heard)
    await asyncio.wait_for(enough.wait(), 20)
    await client.stop_notify(uuid)
    return got[:count]


async def session(client):
    service = client.services.get_service(SERVICE)
    characteristics = sorted(service.characteristics, key=lambda c: c.handle)
    expect("characteristics", [c.uuid[4:8] for c in characteristics],
           ["bb01", "bb02", "bb03", "bb04", "bb05", "bb06", "bb07"])
    expect("properties", [sorted(c.properties) for c in characteristics], [
        ["read"], ["read", "write", "write-without-response"], ["notify"], ["indicate"], ["read", "write"],
        ["read", "write"], ["read"]])
    expect("description", bytes(await client.read_gatt_descriptor(
        service.get_characteristic(FIXED).get_descriptor(BASE.format("2901")).handle)), b"a constant")
    expect("read", bytes(await client.read_gatt_char(FIXED)), b"hello from Swift")
    await client.write_gatt_char(ECHO, b"request", response=True)
    expect("write, read back", bytes(await client.read_gatt_char(ECHO)), b"request")
    await client.write_gatt_char(ECHO, b"command", response=False)
    expect("command, read back", bytes(await client.read_gatt_char(ECHO)), b"command")
    long = bytes(i * 7 & 255 for i in range(500))
    await client.write_gatt_char(LONG, long, response=True)
    expect("long write, read back", bytes(await client.read_gatt_char(LONG)), long)
    expect("notifications", await values(client, NOTIFIED, 5), [bytes([n]) for n in range(5)])
    expect("indications", await values(client, INDICATED, 5), [bytes([n]) for n in range(5)])
    try:
        await client.write_gatt_char(REFUSED, b"x", response=True)
        expect("refusal", None, "an error")
    except Exception as error:  # Bleak's own type in one release, BlueZ's in the other.
        expect("refusal", "0x0e" in str(error).lower() or "unlikely" in str(error).lower(), True)
    await client.write_gatt_char(ECHO, b"done", response=True)


async def secret(client):
    expect("secret", bytes(await client.read_gatt_char(SECRET)), b"a secret")
    await client.write_gatt_char(ECHO, b"done", response=True)


async def connected(device, use):
    is_done = False
    try:
        async with BleakClient(device, adapter="hci0", timeout=30) as client:
            await use(client)
            is_done = True
    except EOFError:
        # bleak 0.22 may trip over its own closing of the bus, once all is done.
        if not is_done:
            raise


async def main():
    found = asyncio.get_running_loop().create_future()

    def seen(device, data):
        if SERVICE in data.service_uuids and not found.done():
            found.set_result(device)

    async with BleakScanner(seen, adapter="hci0"):
        device = await asyncio.wait_for(found, 20)
    for use in [secret, secret] if "--pair" in sys.argv else [session]:
        await connected(device, use)


asyncio.run(main())
