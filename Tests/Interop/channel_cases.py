"""Credit-based channels: the example EchoChannel against Bumble, both ways, on RootCanal's controllers and on ours."""
from air_cases import OurAir
from harness import RootCanal, expect

COUNT = "50000"


def play_central(case, air):
    peripheral = case.peer("bumble_echo.py", air.for_bumble)
    peripheral.wait_for("READY", 30)
    ours = case.ours("echo-central", COUNT, radio=air.for_us)
    expect(ours.finish(90) == 0, f"The program failed.\n{ours.shown()}\n{peripheral.shown()}")
    peripheral.wait_for(f"ECHOED {COUNT}", 10)


def play_peripheral(case, air):
    ours = case.ours("echo-peripheral", radio=air.for_us)
    ours.wait_for("on the air", 30)
    central = case.peer("bumble_echo_central.py", air.for_bumble, COUNT)
    expect(central.finish(120) == 0, f"The central failed.\n{central.shown()}\n{ours.shown()}")
    ours.wait_for(f"echoed {COUNT} octets", 10)
    expect(ours.finish(30) == 0, f"The peripheral failed.\n{ours.shown()}")


def our_central_echoes_over_bumbles_channel(case):
    play_central(case, RootCanal(case))


def bumbles_central_echoes_over_our_channel(case):
    play_peripheral(case, RootCanal(case))


def our_air_carries_a_channel_to_bumble(case):
    play_central(case, OurAir(case))


def our_air_carries_a_channel_from_bumble(case):
    play_peripheral(case, OurAir(case))


CHANNEL_CASES = [
    our_central_echoes_over_bumbles_channel,
    bumbles_central_echoes_over_our_channel,
    our_air_carries_a_channel_to_bumble,
    our_air_carries_a_channel_from_bumble,
]
