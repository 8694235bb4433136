"""Credit-based channels: the example EchoChannel against Bumble, both ways, on RootCanal's controllers and on ours."""
from air_cases import OurAir
from harness import RootCanal, expect

COUNT = 50000
# RootCanal stops for good, without a completed packet to either host, once both have all its buffers full for a while.
FEW = 3000


def play_central(case, air, count):
    peripheral = case.peer("bumble_echo.py", air.for_bumble)
    peripheral.wait_for("READY", 30)
    ours = case.ours("echo-central", str(count), radio=air.for_us)
    expect(ours.finish(90) == 0, f"The program failed.\n{ours.shown()}\n{peripheral.shown()}")
    peripheral.wait_for(f"ECHOED {count}", 10)


def play_peripheral(case, air, count):
    ours = case.ours("echo-peripheral", radio=air.for_us)
    ours.wait_for("on the air", 30)
    central = case.peer("bumble_echo_central.py", air.for_bumble, str(count))
    expect(central.finish(120) == 0, f"The central failed.\n{central.shown()}\n{ours.shown()}")
    ours.wait_for(f"echoed {count} octets", 10)
    expect(ours.finish(30) == 0, f"The peripheral failed.\n{ours.shown()}")


def our_central_echoes_over_bumbles_channel(case):
    play_central(case, RootCanal(case), FEW)


def bumbles_central_echoes_over_our_channel(case):
    play_peripheral(case, RootCanal(case), FEW)


def our_air_carries_a_channel_to_bumble(case):
    play_central(case, OurAir(case), COUNT)


def our_air_carries_a_channel_from_bumble(case):
    play_peripheral(case, OurAir(case), COUNT)


CHANNEL_CASES = [
    our_central_echoes_over_bumbles_channel,
    bumbles_central_echoes_over_our_channel,
    our_air_carries_a_channel_to_bumble,
    our_air_carries_a_channel_from_bumble,
]
