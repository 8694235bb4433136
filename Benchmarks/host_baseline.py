"""host_baseline.py HCIPEER BENCHMARK [OPERATION...]: runs an app on our host, our host alone and Bumble's, one after
the other, each against an hcipeer of its own; prints the medians of some runs as 'name value unit' lines, and how many
times less than Bumble's the app and our host cost. The exit status is 1 if an app is above what is allowed."""
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
# What is measured of ours: the host alone; an app whose delegate is called on a queue of its own, of which the limits
# are; and one whose delegate is called on the main queue.
WAYS = {"host": [], "app": [], "app_on_main": ["--queue", "main"]}
# How many times less than Bumble's host alone an app must cost, up to its delegate; and its memory, in MiB.
LEAST = {"notify": 20, "write": 15, "read": 7, "scan": 40, "discover": 10}
MOST_MEMORY = 20
MOST_REQUESTS = 64


def figures(operation, command, path):
    """One run: a peer, and a host until it ends. Its figures by name."""
    mode = "adv" if operation == "scan" else "central"
    peer = subprocess.Popen(
        [HCIPEER, "-u", path, "-m", mode, "-n", str(COUNTS[operation]), "-s", "244", "-M", "247", "-b", "64"],
        stdout=subprocess.PIPE, text=True)
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
        found = {name: (float(value), unit) for name, value, unit in rows}
        peer.kill()
        # What the peer has counted: the requests of the discovery.
        for row in (line.split() for line in peer.communicate()[0].splitlines()):
            if row[:1] == ["peer_discovery_requests"]:
                found[f"{rows[0][0].split('_')[0]}_discovery_requests"] = (float(row[1]), row[2])
        return found
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
    complaints = []
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "hci")
        for operation in operations:
            count = str(COUNTS[operation])
            bumble = measure(
                operation, [sys.executable, os.path.join(HERE, "bumble_host.py"), operation, path, count], path)
            for who, options in WAYS.items():
                command = [BENCHMARK, who.split("_")[0], operation, "--radio", f"unix:{path}", "--count", count]
                ours = measure(operation, command + options, path)
                ratio = bumble[f"bumble_{operation}_cpu"][0] / ours[f"{who}_{operation}_cpu"][0]
                print(f"{who}_{operation}_times_less_than_bumble {ratio:.4g} ratio", flush=True)
                if who != "app":
                    continue
                if ratio < LEAST[operation]:
                    complaints.append(f"{operation}: {ratio:.3g} times less than Bumble, not {LEAST[operation]}")
                if ours[f"app_{operation}_peak_memory"][0] > MOST_MEMORY:
                    complaints.append(f"{operation}: more than {MOST_MEMORY} MiB")
            if ours.get("app_discovery_requests", (0,))[0] > MOST_REQUESTS:
                complaints.append(f"{operation}: more than {MOST_REQUESTS} requests for the discovery")
    for complaint in complaints:
        print(complaint)
    sys.exit(1 if complaints else 0)


main()
