"""host_baseline.py HCIPEER BENCHMARK [OPERATION...]: runs our host and Bumble's, one after the other, each against an
hcipeer of its own; prints the medians of some runs as 'name value unit' lines, and their ratios."""
import os
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
HCIPEER, BENCHMARK = sys.argv[1], sys.argv[2]
RUNS = 3
LIMIT = 120  # Seconds for one run.
# How often each operation is done in a run.
COUNTS = {"notify": 20_000, "write": 20_000, "read": 5_000, "scan": 20_000, "discover": 1}


def figures(operation, command, path):
    """One run: a peer, and a host until it ends. Its figures by name."""
    mode = "adv" if operation == "scan" else "central"
    peer = subprocess.Popen(
        [HCIPEER, "-u", path, "-m", mode, "-n", str(COUNTS[operation]), "-s", "244", "-M", "247", "-b", "64"],
        stdout=subprocess.DEVNULL)
    try:
        end = time.monotonic() + 5
        while not os.path.exists(path):
            if peer.poll() is not None or time.monotonic() > end:
                sys.exit("hcipeer does not start.")
            time.sleep(0.01)
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT)
        except subprocess.TimeoutExpired:
            sys.exit(f"{' '.join(command)} did not end within {LIMIT} s.")
        if done.returncode != 0:
            sys.exit(f"{' '.join(command)} failed:\n{done.stdout}{done.stderr}")
        rows = [line.split() for line in done.stdout.splitlines()]
        return {name: (float(value), unit) for name, value, unit in rows}
    finally:
        peer.kill()
        peer.wait()
        if os.path.exists(path):
            os.unlink(path)


def measure(operation, command, path):
    runs = [figures(operation, command, path) for _ in range(RUNS)]
    medians = {name: (statistics.median(run[name][0] for run in runs), unit) for name, (_, unit) in runs[0].items()}
    for name, (value, unit) in medians.items():
        print(f"{name} {value:.6g} {unit}", flush=True)
    return medians


def main():
    operations = sys.argv[3:] or list(COUNTS)
    unknown = [operation for operation in operations if operation not in COUNTS]
    if unknown:
        sys.exit(f"There is no operation {unknown[0]}; there are {', '.join(COUNTS)}.")
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "hci")
        for operation in operations:
            count = str(COUNTS[operation])
            ours = measure(
                operation, [BENCHMARK, "host", operation, "--radio", f"unix:{path}", "--count", count], path)
            bumble = measure(
                operation, [sys.executable, os.path.join(HERE, "bumble_host.py"), operation, path, count], path)
            ratio = ours[f"host_{operation}_cpu"][0] / bumble[f"bumble_{operation}_cpu"][0]
            print(f"host_{operation}_cpu_of_bumble {ratio:.4g} ratio", flush=True)


main()
