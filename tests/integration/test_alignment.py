#!/usr/bin/env python3
"""Is the clock of each rank found from its collectives? Runs with known clocks from a simulator of its own: offsets up to minutes,
drifts up to 50 ppm, ranks that leave a collective some microseconds apart (median 10, one in a hundred more than 200), several process
groups, pipelines. Offset and drift must hold within the error bar that is stated, for all times of the trace, and the bar must be at most
50 us; runs that say nothing about clocks must be refused.

KINO_ALIGNMENT_SEEDS=1000 tries so many seeds (default 100), KINO_ALIGNMENT_FIRST=500 begins with another one."""
import concurrent.futures
import json
import math
import os
import pathlib
import random
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from support import common  # noqa: E402

SEEDS = int(os.environ.get("KINO_ALIGNMENT_SEEDS", "100"))
FIRST = int(os.environ.get("KINO_ALIGNMENT_FIRST", "1"))
EPOCH_US = 1_780_000_000_000_000
BAR_NS = 50_000
SIGMA = math.log(20) / 2.3263  # of a lognormal with 99 % below 20 times its median


class Clock:
    """Shows offset + (1 + drift) * t at the true time t (seconds)."""

    def __init__(self, rng, is_reference):
        self.offset = 0 if is_reference else rng.uniform(-120, 120) * 10 ** rng.uniform(-5, 0)
        self.drift = rng.uniform(-50e-6, 50e-6)

    def show(self, t):
        return self.offset + t * (1 + self.drift)


def spread(rng, how):
    """How much later than the first a rank leaves a collective, in seconds."""
    if how == "lognormal":
        return 10e-6 * math.exp(rng.gauss(0, SIGMA))
    if how == "mixture":  # most are near, some are far
        return abs(rng.gauss(0, 14.8e-6)) if rng.random() < 0.97 else rng.uniform(50e-6, 900e-6)
    return -14.4e-6 * math.log(1 - rng.random()) + (rng.expovariate(1 / 300e-6) if rng.random() < 0.02 else 0)


def event(name, clock, start, end, args, stream=7):
    begin = round(clock.show(start) * 1e9)
    length = round(clock.show(end) * 1e9) - begin
    return {"ph": "X", "cat": "kernel", "name": name, "pid": 0, "tid": stream, "ts": EPOCH_US + begin / 1000, "dur": length / 1000,
            "args": {"device": 0, "stream": stream, "correlation": 1, **args}}


def collective(rng, clocks, members, t, args, how, events):
    """All come within 20 ms, and leave a transfer after the last."""
    arrival = {r: t + rng.uniform(0, 0.02) for r in members}
    end = max(arrival.values()) + rng.uniform(50e-6, 3e-3)
    for r in members:
        leave = end + spread(rng, how)
        events[r].append(event("ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)", clocks[r], arrival[r], leave, args))
    return end + 1e-3


def arguments(name, group, seq, size, ranks, has_seq=True):
    args = {"Collective name": name, "In msg nelems": size, "Out msg nelems": size, "Group size": len(ranks), "dtype": "Float",
            "Process Group Name": group, "Process Group Ranks": str(list(ranks))}
    return {**args, "Seq": seq} if has_seq else args


def pairs_of(rng, ranks, is_grid):
    """All in one group, or a grid of groups: nobody is in one group with all others."""
    if not is_grid:
        return [("0", list(range(ranks)))]
    width = rng.choice([2, 4])
    rows = [(f"tp{i}", list(range(i, i + width))) for i in range(0, ranks, width)]
    columns = [(f"dp{i}", list(range(i, ranks, width))) for i in range(width)]
    return rows + columns


def write(folder, events, ranks):
    for r in range(ranks):
        trace = {"distributedInfo": {"backend": "nccl", "rank": r, "world_size": ranks}, "traceEvents": events[r]}
        (folder / f"rank-{r}.json").write_text(json.dumps(trace))


def simulate(folder, seed, count=None):
    """Writes a run and returns its clocks and how long it took."""
    rng = random.Random(seed)
    is_grid = seed % 4 == 3
    ranks = 8 if is_grid else rng.choice([2, 3, 4, 8])
    how = rng.choice(["lognormal", "mixture", "exponential"])
    clocks = [Clock(rng, r == 0) for r in range(ranks)]
    events = {r: [] for r in range(ranks)}
    groups = pairs_of(rng, ranks, is_grid)
    has_seq, t, pause = rng.random() < 0.7, 0.1, 10 ** rng.uniform(-3, -0.3)
    for seq in range(count or rng.choice([100, 130, 250])):
        size = rng.choice([1024, 4096])
        for name, members in groups:
            t = collective(rng, clocks, members, t, arguments("allreduce", name, seq, size, members, has_seq), how, events)
        t += pause * rng.uniform(0.5, 1.5)
    write(folder, events, ranks)
    return clocks, t


def rows_of(folder, *options):
    done = common.run("analyze", "clock-alignment", folder, "--format", "json", "--quiet", "--jobs", 1, *options)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)["tables"][0]
    names = [c["name"] for c in found["columns"]]
    return [dict(zip(names, row)) for row in found["rows"]]


def judge(folder, seed):
    """What is wrong with the clocks of one seed, and the largest bar."""
    run = folder / str(seed)
    run.mkdir()
    clocks, length = simulate(run, seed)
    rows, wrong, bar = rows_of(run), [], 0
    origin = min(min(e["ts"] for e in json.loads(p.read_text())["traceEvents"]) for p in run.glob("*.json")) - EPOCH_US
    for row in rows[1:]:
        clock, error = clocks[row["rank"]], row["error"]
        if row["offset"] is None:
            wrong.append(f"rank {row['rank']}: {row['reason']}")
            continue
        bar = max(bar, error)
        for t in (0.1, length / 2, length):
            reference = clocks[0].show(t) * 1e9 - origin * 1e3  # on the run's axis
            true = (clock.show(t) - clocks[0].show(t)) * 1e9
            found = row["offset"] + row["drift"] * 1e-6 * (reference - row["at"])
            if abs(found - true) > error:
                wrong.append(f"rank {row['rank']} at {t:.1f} s: {found - true:.0f} ns off, the bar is {error}")
        relative = ((1 + clock.drift) / (1 + clocks[0].drift) - 1) * 1e6
        if abs(row["drift"] - relative) > row["drift_error"]:
            wrong.append(f"rank {row['rank']}: drift {row['drift']}, truly {relative}, the bar is {row['drift_error']}")
    if bar > BAR_NS:
        wrong.append(f"the bar is {bar} ns")
    return seed, wrong, bar


def check_seeds(report, folder):
    with concurrent.futures.ThreadPoolExecutor(max_workers=min(4, os.cpu_count() or 1)) as pool:
        results = list(pool.map(lambda seed: judge(folder, seed), range(FIRST, FIRST + SEEDS)))
    wrong = [(seed, w) for seed, w, _ in results if w]
    for seed, what in wrong:
        print(f"seed {seed}: {'; '.join(what[:3])}")
    print(f"{SEEDS - len(wrong)} of {SEEDS} seeds right; largest bar {max(bar for _, _, bar in results)} ns")
    report.check("clocks are found within the bar in 99 of 100 seeds", len(wrong) * 100 <= SEEDS, f"{len(wrong)} of {SEEDS} wrong")


def refused(report, folder, what, make):
    run = folder / what.replace(" ", "-")
    run.mkdir()
    make(run)
    rows = rows_of(run)
    is_refused = all(row["offset"] is None and row["reason"] for row in rows[1:])
    report.check(f"{what}: refused, with a reason", is_refused and len(rows) > 1, str(rows))


def two_ranks(run, count, other, how="lognormal", jitter=0.0):
    """Two ranks; `other` changes what the second one says of its calls."""
    rng = random.Random(7)
    clocks, events = [Clock(rng, True), Clock(rng, False)], {0: [], 1: []}
    for seq in range(count):
        collective(rng, clocks, [0, 1], 0.1 + seq * 0.05, arguments("allreduce", "0", seq, 1024, [0, 1]), how, events)
        events[1][-1]["args"].update(other(seq))
        events[1][-1]["dur"] += rng.uniform(0, jitter) * 1e6
    write(run, events, 2)


def check_refusals(report, folder):
    refused(report, folder, "too few collectives", lambda run: two_ranks(run, 9, lambda seq: {}))
    refused(report, folder, "other process groups", lambda run: two_ranks(run, 120, lambda seq: {"Process Group Name": "1"}))
    refused(report, folder, "other sequence numbers", lambda run: two_ranks(run, 120, lambda seq: {"Seq": seq + 5000}))
    refused(report, folder, "few of them match", lambda run: two_ranks(run, 120, lambda seq: {"Seq": seq + 5000 * (seq % 5 != 0)}))
    refused(report, folder, "other sizes", lambda run: two_ranks(run, 120, lambda seq: {"In msg nelems": 2048, "Out msg nelems": 2048}))
    refused(report, folder, "ends that have nothing to do with each other", lambda run: two_ranks(run, 120, lambda seq: {}, jitter=0.04))
    refused(report, folder, "broadcasts", lambda run: broadcasts(run))


def broadcasts(run):
    """The root of a broadcast does not wait for those that receive."""
    two_ranks(run, 120, lambda seq: {})
    for path in run.glob("*.json"):
        trace = json.loads(path.read_text())
        for e in trace["traceEvents"]:
            e["args"]["Collective name"] = "broadcast"
        path.write_text(json.dumps(trace))


def check_pipeline(report, folder):
    """Sends and receives alone connect the stages."""
    rng, run = random.Random(11), folder / "pipeline"
    run.mkdir()
    clocks, events = [Clock(rng, r == 0) for r in range(3)], {r: [] for r in range(3)}
    t = 0.1
    for seq in range(150):
        for a, b in ((0, 1), (1, 2), (2, 1), (1, 0)):
            end = t + 2e-3
            for rank, name, peer in ((a, "send", {"Dst Rank": b}), (b, "recv", {"Src Rank": a})):
                args = {**arguments(name, "pp", seq, 4096, [0, 1, 2]), **peer}
                events[rank].append(event("ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)", clocks[rank], t + rng.uniform(0, 1e-3),
                                          end + spread(rng, "lognormal"), args))
            t = end + 5e-3
    write(run, events, 3)
    origin = min(min(e["ts"] for e in es) for es in events.values()) - EPOCH_US
    for row in rows_of(run)[1:]:
        true = (clocks[row["rank"]].show(t / 2) - clocks[0].show(t / 2)) * 1e9
        found = row["offset"] is not None and row["offset"] + row["drift"] * 1e-6 * (clocks[0].show(t / 2) * 1e9 - origin * 1e3 - row["at"])
        report.check(f"pipeline: rank {row['rank']} is aligned through sends", row["offset"] is not None and abs(found - true) <= row["error"], str(row))


def ends_of(path, members):
    """By process group and sequence number: when its kernels end, in us."""
    ends = {}
    for e in json.loads(path.read_text())["traceEvents"]:
        if e.get("cat") == "kernel":
            ends.setdefault((e["args"]["Process Group Name"], e["args"]["Seq"]), []).append(e["ts"] + e["dur"])
    return [max(times) - min(times) for times in ends.values() if len(times) == members]


def check_merge(report, folder):
    """In one file, the ends of a collective are as close as ranks leave it; without alignment as far as the clocks are apart."""
    run, merged, clocks = folder / "merge", folder / "merged.json", folder / "clocks.csv"
    run.mkdir()
    two_ranks(run, 120, lambda seq: {})

    def convert(*options):
        done = common.run("convert", run, merged, "--merge", "--quiet", *options)
        assert done.returncode == 0, done.stderr
        return merged.read_bytes(), sorted(ends_of(merged, 2))

    text, apart = convert()
    report.check("merged: half of the ends are within 30 us, all within 10 ms", apart[60] < 30 and apart[-1] < 10_000, str(apart[::20]))
    report.check("merged: 'auto' is the default", convert("--align", "auto")[0] == text)
    report.check("merged: without alignment, clocks stay apart", convert("--align", "off")[1][0] > 500)
    clocks.write_bytes(common.run("analyze", "clock-alignment", run, "--format", "csv", "--quiet").stdout)
    report.check("merged: clocks from a file are the same", convert("--align", clocks)[1][60] < 30)
    clocks.write_text("rank,offset,drift,at\n1,soon,0,0\n")
    done = common.run("convert", run, merged, "--merge", "--align", clocks)
    report.check("a file that is not one of clocks is refused", done.returncode == 1 and b"line 2: offset must be" in done.stderr, done.stderr)


def main():
    report = common.Report()
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        check_seeds(report, folder)
        check_refusals(report, folder)
        check_pipeline(report, folder)
        check_merge(report, folder)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
