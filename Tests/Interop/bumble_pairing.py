"""bumble_pairing.py TRANSPORT ROLE [OPTIONS]: a Bumble host that pairs. As peripheral it has FFF0 with FFF1, which is
read and written on an encrypted link only; as central it reads FFF1 of whoever offers FFF0.

Prints READY, then a line for each thing that happens. Passkeys and out-of-band data go from one side to the other
through the file of --exchange."""
import argparse
import asyncio
import os

from bumble.att import ATT_Error
from bumble.core import UUID, AdvertisingData
from bumble.device import Device, DeviceConfiguration, Peer
from bumble.gatt import Characteristic, CharacteristicValue, Service
from bumble.gatt_client import Client
from bumble.hci import Address, HCI_Error
from bumble.keys import JsonKeyStore
from bumble.pairing import PairingConfig, PairingDelegate
from bumble.smp import OobContext, OobSharedData
from bumble.transport import open_transport

ADDRESS = "F0:F1:F2:07:07:07"
STEP_LIMIT = 20  # Seconds for one step.
CAPABILITIES = {
    "none": PairingDelegate.NO_OUTPUT_NO_INPUT,
    "keyboard": PairingDelegate.KEYBOARD_INPUT_ONLY,
    "display": PairingDelegate.DISPLAY_OUTPUT_ONLY,
    "yesno": PairingDelegate.DISPLAY_OUTPUT_AND_YES_NO_INPUT,
    "both": PairingDelegate.DISPLAY_OUTPUT_AND_KEYBOARD_INPUT,
}


def say(*words):
    print(*words, flush=True)


class Exchange:
    """A file by which the two sides tell each other what people would read off a screen."""

    def __init__(self, path):
        self.path = path

    def put(self, text, suffix=""):
        with open(self.path + suffix + ".new", "w") as file:
            file.write(text)
        os.replace(self.path + suffix + ".new", self.path + suffix)

    async def take(self, suffix=""):
        while not os.path.exists(self.path + suffix):
            await asyncio.sleep(0.02)
        with open(self.path + suffix) as file:
            return file.read()


class Person(PairingDelegate):
    def __init__(self, capability, exchange):
        keys = PairingDelegate.KeyDistribution
        give = keys.DISTRIBUTE_ENCRYPTION_KEY | keys.DISTRIBUTE_IDENTITY_KEY | keys.DISTRIBUTE_SIGNING_KEY
        super().__init__(CAPABILITIES[capability], give, give)
        self.exchange = exchange

    async def compare_numbers(self, number, digits):
        say("COMPARE", f"{number:06}")
        return True

    async def get_number(self):
        say("ENTER")
        return int(await self.exchange.take())

    async def display_number(self, number, digits):
        say("DISPLAY", f"{number:06}")
        self.exchange.put(f"{number:06}")


class Host:
    def __init__(self, hci, options):
        self.options = options
        self.exchange = Exchange(options.exchange)
        configuration = DeviceConfiguration(
            name="Bumble", address=Address(options.address), eatt_enabled=options.eatt, classic_enabled=False)
        self.device = Device.from_config_with_hci(configuration, hci.source, hci.sink)
        if options.eatt:
            self.watch_bearers()
        # Without a name of its own it takes the only bonds that are there: those of another stack.
        self.device.keystore = JsonKeyStore(None if options.address != ADDRESS else "bumble", options.keystore)
        self.oob = None

    async def prepare(self):
        if self.options.oob:
            context = OobContext()
            share = context.share()
            self.exchange.put(share.r.hex() + " " + share.c.hex(), ".bumble")
            peer = None
            if self.options.oob == "both":
                random, confirm = (await self.exchange.take(".ours")).split()
                peer = OobSharedData(c=bytes.fromhex(confirm), r=bytes.fromhex(random))
            self.oob = PairingConfig.OobConfig(context, peer, None)
        self.device.pairing_config_factory = lambda connection: PairingConfig(
            sc=not self.options.legacy, mitm=self.options.capability != "none", bonding=True,
            delegate=Person(self.options.capability, self.exchange),
            identity_address_type=PairingConfig.AddressType.RANDOM, oob=self.oob)

    def watch_bearers(self):
        """Says what comes on bearers that are channels of their own, and how it is answered."""
        server = self.device.gatt_server
        on_pdu = server.on_gatt_pdu

        def heard(bearer, pdu):
            if hasattr(bearer, "source_cid"):
                say(f"ON BEARER 0x{bearer.source_cid:04X}", pdu.name)
            on_pdu(bearer, pdu)

        server.on_gatt_pdu = heard

    def watch(self, connection):
        say("CONNECTED")
        connection.on("pairing", lambda keys: say("PAIRED", "sc" if keys.ltk else "legacy"))
        connection.on("pairing_failure", lambda reason: say("PAIRING FAILED", reason))
        connection.on("connection_encryption_change", lambda: say("ENCRYPTED"))
        connection.on("connection_encryption_failure", lambda code: say("ENCRYPTION FAILED", code))
        connection.on("disconnection", lambda reason: say(f"DISCONNECTED 0x{reason:02X}"))

    async def peripheral(self, ended):
        can, may = Characteristic.Properties, Characteristic.Permissions
        # Of an authenticated pairing authentication is what is asked for.
        guard = may.READABLE | may.WRITEABLE
        if self.options.capability == "none" and not self.options.oob:
            guard |= may.READ_REQUIRES_ENCRYPTION | may.WRITE_REQUIRES_ENCRYPTION
        else:
            guard |= may.READ_REQUIRES_AUTHENTICATION | may.WRITE_REQUIRES_AUTHENTICATION
        self.device.add_service(Service("FFF0", [
            Characteristic("FFF1", can.READ | can.WRITE, guard, CharacteristicValue(read=lambda _: b"secret"))]))
        self.device.advertising_data = bytes(AdvertisingData([
            (AdvertisingData.FLAGS, bytes([0x06])),
            (AdvertisingData.COMPLETE_LIST_OF_16_BIT_SERVICE_CLASS_UUIDS, bytes(UUID("FFF0"))),
        ]))
        self.device.on("connection", self.watch)
        await self.device.start_advertising(auto_restart=True)
        say("READY")
        await ended

    async def find(self):
        found = asyncio.get_running_loop().create_future()

        def seen(advertisement):
            services = advertisement.data.get(AdvertisingData.COMPLETE_LIST_OF_16_BIT_SERVICE_CLASS_UUIDS) or []
            if UUID("FFF0") in services and advertisement.is_connectable and not found.done():
                found.set_result(advertisement.address)

        self.device.on("advertisement", seen)
        await self.device.start_scanning(filter_duplicates=False)
        address = await asyncio.wait_for(found, STEP_LIMIT)
        await self.device.stop_scanning()
        return address

    async def central(self):
        say("READY")
        connection = await asyncio.wait_for(self.device.connect(await self.find()), STEP_LIMIT)
        self.watch(connection)
        peer = Peer(connection)
        if self.options.bonded:
            await asyncio.wait_for(connection.encrypt(), STEP_LIMIT)
        await asyncio.wait_for(peer.discover_services(), STEP_LIMIT)
        service = next(service for service in peer.services if service.uuid == UUID("FFF0"))
        await asyncio.wait_for(service.discover_characteristics(), STEP_LIMIT)
        value = service.characteristics[0]
        if not self.options.bonded:
            try:
                await asyncio.wait_for(value.read_value(), STEP_LIMIT)
            except ATT_Error as error:
                say(f"REFUSED 0x{error.error_code:02X}")
            await asyncio.wait_for(connection.pair(), STEP_LIMIT)
        say("VALUE", bytes(await asyncio.wait_for(value.read_value(), STEP_LIMIT)).decode())
        if self.options.eatt:
            clients = await asyncio.wait_for(Client.connect_eatt(connection, count=2), STEP_LIMIT)
            answers = await asyncio.wait_for(
                asyncio.gather(*(client.read_value(value.handle) for client in clients)), STEP_LIMIT)
            say("ON BEARERS", *(bytes(answer).decode() for answer in answers))
        # Keys may still be on their way.
        await asyncio.sleep(0.3)
        await asyncio.wait([asyncio.ensure_future(connection.disconnect())], timeout=STEP_LIMIT)


async def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("transport")
    arguments.add_argument("role", choices=["central", "peripheral"])
    arguments.add_argument("--capability", choices=CAPABILITIES, default="none")
    arguments.add_argument("--address", default=ADDRESS)
    arguments.add_argument("--legacy", action="store_true")
    arguments.add_argument("--bonded", action="store_true")
    arguments.add_argument("--eatt", action="store_true")
    arguments.add_argument("--oob", choices=["one", "both"])
    arguments.add_argument("--keystore", required=True)
    arguments.add_argument("--exchange", required=True)
    options = arguments.parse_args()
    async with await open_transport(options.transport) as hci:
        host = Host(hci, options)
        await host.device.power_on()
        await host.prepare()
        try:
            if options.role == "peripheral":
                await host.peripheral(asyncio.ensure_future(hci.source.terminated))
            else:
                await host.central()
        except (HCI_Error, asyncio.TimeoutError) as error:
            say("FAILED", repr(error))
            raise SystemExit(1) from error


asyncio.run(main())
