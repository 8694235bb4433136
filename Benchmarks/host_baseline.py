"""host_baseline.py HCIPEER BENCHMARK [--page PATH] [OPERATION...]: runs an app on our host, our host alone and Bumble's, one after
the other, each against an hcipeer of its own; prints the medians of some runs as 'name value unit' lines, and how many
times less than Bumble's the app and our host cost; --page writes a page of them. The exit status is 1 if an app is above
what is allowed."""
import contextlib
import importlib.metadata
import os
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
HCIPEER, BENCHMARK = sys.argv[1], sys.argv[2]
RUNS = 5
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


@contextlib.contextmanager
def processors_awake():
    """Work that gives way to all other keeps the processors from sleeping. Whoever sends to a sleeping one pays for its
    waking: a microsecond on a plain machine, and twenty on a virtual one whose processor is given back meanwhile."""
    idlers = [
        subprocess.Popen(
            # It ends with us, whatever becomes of us.
            [sys.executable, "-c", "import os\nparent = os.getppid()\nwhile os.getppid() == parent: sum(range(10**5))"],
            preexec_fn=lambda: os.nice(19))
        for _ in os.sched_getaffinity(0)]
    try:
        yield
    finally:
        for idler in idlers:
            idler.kill()
            idler.wait()


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
        # What the peer has counted, and says when its client goes: the requests of the discovery.
        for row in (line.split() for line in peer.communicate(timeout=10)[0].splitlines()):
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


PAGE = """# What a host costs

Written by `Benchmarks/host-baseline --page Documentation/HostCosts.md`.

One host alone against a controller whose peer answers at once (`Benchmarks/hcipeer`), over a Unix socket, values of 244
octets, {runs} runs of each, the median: processor time of the host's whole process, in user and kernel mode, for one
operation. Bumble is {bumble}, in Python. *Host* is ours without Apple's API. *App* is a program over Apple's API, counted up
to its delegate's method, on a queue of its own; *on main* is the same on the main queue, where each callback wakes the
main thread. An advertising report comes from one of 1,024 devices in turn, with duplicates allowed. Work that gives way to
all other keeps the processors awake, for both sides: waking a virtual one costs as much as two round trips.

| operation | Bumble, us | host, us | app, us | app on main, us | app: times less than Bumble | wanted | app's peak memory, MiB |
| --- | --- | --- | --- | --- | --- | --- | --- |
{rows}

Bumble's peak memory is {bumble_memory:.0f} MiB. Discovery is of 10 services and 50 characteristics, once, in a process that has
done nothing else: in {requests:.0f} requests. Times depend on the machine and on what else it does; the ratios less so.

The program is linked with the Swift libraries in it, at a fixed address: `swift build -c release --static-swift-stdlib
-Xlinker -no-pie`. With shared libraries, which is how SwiftPM links unless told otherwise, it needs about 8 MiB more, most
of it for what the loader changes in them.
{complaints}"""
TITLES = {
    "notify": "notification received", "write": "write command sent", "read": "read, round trip",
    "scan": "advertising report", "discover": "discovery"}


def write_page(path, found, complaints):
    rows = []
    for operation, title in TITLES.items():
        cost = {who: found[f"{who}_{operation}_cpu"][0] for who in ["bumble", *WAYS]}
        memory = found[f"app_{operation}_peak_memory"][0]
        rows.append(
            f"| {title} | " + " | ".join(f"{cost[who]:.3g}" for who in cost)
            + f" | {cost['bumble'] / cost['app']:.3g} | {LEAST[operation]} | {memory:.3g} |")
    missed = "".join(f"- {complaint}\n" for complaint in complaints)
    with open(path, "w", encoding="utf-8") as page:
        page.write(PAGE.format(
            runs=RUNS, bumble=importlib.metadata.version("bumble"), rows="\n".join(rows),
            bumble_memory=max(found[f"bumble_{operation}_peak_memory"][0] for operation in TITLES),
            requests=found["app_discovery_requests"][0],
            complaints=f"\n## Not reached\n\n{missed}" if missed else ""))


def main():
    operations = sys.argv[3:]
    page = None
    if operations[:1] == ["--page"]:
        page, operations = operations[1], operations[2:]
    operations = operations or list(COUNTS)
    if page and set(operations) != set(COUNTS):
        sys.exit("A page is of all operations.")
    everything = {}
    unknown = [operation for operation in operations if operation not in COUNTS]
    if unknown:
        sys.exit(f"There is no operation {unknown[0]}; there are {', '.join(COUNTS)}.")
    complaints = []
    with tempfile.TemporaryDirectory() as folder, processors_awake():
        path = os.path.join(folder, "hci")
        for operation in operations:
            count = str(COUNTS[operation])
            bumble = measure(
                operation, [sys.executable, os.path.join(HERE, "bumble_host.py"), operation, path, count], path)
            for who, options in WAYS.items():
                command = [BENCHMARK, who.split("_")[0], operation, "--radio", f"unix:{path}", "--count", count]
                ours = measure(operation, command + options, path)
                everything |= bumble | ours
                ratio = bumble[f"bumble_{operation}_cpu"][0] / ours[f"{who}_{operation}_cpu"][0]
                print(f"{who}_{operation}_times_less_than_bumble {ratio:.4g} ratio", flush=True)
                if who != "app":
                    continue
                if ratio < LEAST[operation]:
                    complaints.append(f"{operation}: {ratio:.3g} times less than Bumble, not {LEAST[operation]}")
                memory = ours[f"app_{operation}_peak_memory"][0]
                if memory > MOST_MEMORY:
                    complaints.append(f"{operation}: {memory:.3g} MiB, more than {MOST_MEMORY}")
    if everything.get("app_discovery_requests", (0,))[0] > MOST_REQUESTS:
        complaints.append(f"discover: more than {MOST_REQUESTS} requests")
    if page:
        write_page(page, everything, complaints)
    for complaint in complaints:
        print(complaint)
    sys.exit(1 if complaints else 0)


main()
