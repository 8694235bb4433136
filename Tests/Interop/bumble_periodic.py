"""bumble_periodic.py TRANSPORT advertiser|follower: Bumble hosts of which the one advertises periodically for 15 s,
and the other follows that: it prints ESTABLISHED, DATA and the octets, and LOST when the advertiser is gone."""
import asyncio
import sys

from bumble.device import AdvertisingEventProperties, AdvertisingParameters, Device, PeriodicAdvertisingParameters
from bumble.hci import Address
from bumble.transport import open_transport

ADVERTISER, SET = Address("F0:F1:F2:F3:F4:F7"), 5
DATA = bytes(range(250))


async def advertise(device):
    properties = AdvertisingEventProperties(is_connectable=False, is_scannable=False)
    train = await device.create_advertising_set(
        AdvertisingParameters(advertising_event_properties=properties, advertising_sid=SET),
        random_address=ADVERTISER,
        periodic_advertising_parameters=PeriodicAdvertisingParameters(
            periodic_advertising_interval_min=100, periodic_advertising_interval_max=100),
        periodic_advertising_data=DATA, auto_start=False)
    await train.start_periodic()
    await train.start()
    print("READY", flush=True)
    await asyncio.sleep(15)


async def follow(device):
    await device.start_scanning(filter_duplicates=False)
    sync = await device.create_periodic_advertising_sync(ADVERTISER, SET, sync_timeout=2.0)
    ended = asyncio.Event()
    sync.on("establishment", lambda: print("ESTABLISHED", sync.periodic_advertising_interval, flush=True))
    sync.on("periodic_advertisement", lambda report: print("DATA", report.data_bytes.hex(), flush=True))
    sync.on("loss", lambda: (print("LOST", flush=True), ended.set()))
    await asyncio.wait_for(ended.wait(), 60)


async def main():
    async with await open_transport(sys.argv[1]) as hci:
        is_advertiser = sys.argv[2] == "advertiser"
        own = ADVERTISER if is_advertiser else Address("F0:F1:F2:F3:F4:F8")
        device = Device.with_hci("Bumble", own, hci.source, hci.sink)
        await device.power_on()
        await (advertise(device) if is_advertiser else follow(device))


asyncio.run(main())
