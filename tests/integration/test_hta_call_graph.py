#!/usr/bin/env python3
"""call-graph, and what is made from it, against HTA's recorded answers."""
import sys

from support import common, hta

NUMBER = (1 << 32) - 1
TREE = ("parent", "depth", "height")
EXACT = ("index", "num_kernels", *TREE)


def number_of(event):
    """Of an event in its file; roots of threads are below 0, and HTA says -1 for none."""
    return -1 if event is None else event & NUMBER if event >= 0 else event


def node_values(row):
    """A row as HTA has it, in us."""
    def filled(value, missing):
        return missing if value is None else value
    times = [-1 if row[name] is None else row[name] / 1000 for name in ("first_kernel_start", "last_kernel_end")]
    return [number_of(row["event"]), number_of(row["parent"]), filled(row["depth"], -1), filled(row["height"], -1),
            row["num_kernels"], row["kernel_dur_sum"] / 1000, filled(row["kernel_span"], 0) / 1000, *times]


def has_circles(case):
    """A span without length where, in its thread, one span ends and another starts: by HTA's order of marks it comes before the end,
    the end before the start, and the start before it, so that its answer is whatever the sort makes of that."""
    for path in case.traces:
        starts, ends, zeros = set(), set(), set()
        for event in common.parse(common.read_bytes(path))["traceEvents"]:
            if "dur" not in event or "cat" not in event or "stream" in event.get("args", {}):
                continue
            lane, ts = (event["pid"], event["tid"]), event["ts"]
            if event["dur"] == 0:
                zeros.add((lane, ts))
            else:
                starts.add((lane, ts))
                ends.add((lane, ts + event["dur"]))
        if zeros & starts & ends:
            return True
    return False


def check_graph(report, case, folder, compat):
    want = case.golden("call_graph", folder)
    if want is None:
        return
    got = case.analyze("call-graph", compat=compat)
    if hta.is_error(want):
        report.check(f"{case.name}: an answer where HTA has none", got["nodes"] and got["stacks"])
        return
    # In exact_ns HTA adds doubles: times are good to a quarter of a microsecond where they count from the epoch.
    slack = 0.26 if folder else 1e-6
    rounded = case.golden("call_graph")
    for rank, golden in want.items():
        what = f"{case.name}: {compat}: rank {rank}"
        stacks = [[row[name] for name in golden["stacks"]["columns"]] for row in got["stacks"] if row["rank"] == int(rank)]
        report.equal(f"{what}: stacks", stacks, golden["stacks"]["rows"])
        nodes = [node_values(row) for row in got["nodes"] if row["rank"] == int(rank)]
        report.equal(f"{what}: max_depth", max(node[2] for node in nodes), golden["max_depth"])
        report.equal(f"{what}: max_height", max(node[3] for node in nodes), golden["max_height"])
        sums = {column: sum(node[place] for node in nodes) for place, column in enumerate(golden["columns"])}
        there, compared = golden["sum"], golden["columns"]
        if any(sums[column] != there[column] for column in TREE):
            if folder and not hta.is_error(rounded):  # doubles tear spans apart that touch: the rounded times have the tree
                compared = ["index", "num_kernels", "kernel_dur_sum", *TREE]
                there = dict(there, **{column: rounded[rank]["sum"][column] for column in TREE})
            elif has_circles(case):
                compared = ["index"]
        for column in compared:
            is_time = column not in EXACT
            report.check(f"{what}: sum of {column}",
                         hta.close(sums[column], there[column], absolute=slack * 10) if is_time else sums[column] == there[column],
                         f"got {sums[column]}, want {there[column]}")
        for mine, theirs in zip(nodes, golden["rows"]):
            same = mine[:5] == theirs[:5] and all(abs(a - b) <= slack for a, b in zip(mine[5:], theirs[5:]))
            if not report.check(f"{what}: node {theirs[0]}", same, f"got {mine}, want {theirs}"):
                break
        if golden["complete"]:
            report.equal(f"{what}: nodes", len(nodes), len(golden["rows"]))


def check_sequences(report, case, folder, compat):
    want = case.golden("frequent_cuda_kernel_sequences", folder)
    if want is None:
        return
    if hta.is_error(want):
        case.analyze("kernel-sequences", compat=compat)  # must not fail
        return
    columns = {"pattern": ("pattern", hta.exactly), "count": ("count", hta.exactly),
               "GPU kernel duration (us)": ("gpu_kernel_duration", hta.nearly_time_in_us if folder else hta.time_in_us),
               "CPU op duration (us)": ("cpu_op_duration", hta.nearly_time_in_us if folder else hta.time_in_us)}
    for operator, golden in want.items():
        got = case.analyze("kernel-sequences", "--op", operator, "--top-k", "0", compat=compat)["kernel_sequences"]
        got = [row for row in got if row["rank"] == case.ranks[0]]
        report.equal(f"{case.name}: {compat}: {operator}: sequences", len(got), golden["rows_total"])
        rows = hta.rows_of(golden) if golden["rows_total"] else []
        hta.compare(report, f"{case.name}: {compat}: {operator}", got[:len(rows)], rows, columns, ("pattern",))


def check_counters(report, case):
    want = case.golden("cupti_counters")
    if want is None:
        return
    got = case.analyze("cupti-counters", takes_last_step=False)
    values = {}
    for row in got["counter_values"]:
        values.setdefault((row["rank"], row["event"]), {})[row["counter"]] = row["value"]
    for rank, golden in zip(case.ranks, want):
        mine = [row for row in got["counters_by_kernel"] if row["rank"] == rank]
        names = golden["columns"][6:]
        rows = [[row["name"], row["ts"] / 1000, row["dur"] / 1000, row["op_stack"].split(" -> "), row["top_level_op"],
                 row["bottom_level_op"], *(values[rank, row["event"]].get(name, -1) for name in names)] for row in mine]
        report.equal(f"{case.name}: counters of rank {rank}", rows, golden["rows"])
        for row in golden["rows"]:  # fused multiply-adds are two operations
            flop = sum(value * (2 if "fma_" in name else 1) for name, value in zip(names, row[6:]))
            report.equal(f"{case.name}: operations of {row[0][:40]}", mine.pop(0)["flop"], flop)


def check_default(report, case):
    """What holds for any trace: each parent is there, one level up, and has the work of its children."""
    got = case.analyze("call-graph", compat=None)
    nodes = {(row["rank"], row["event"]): row for row in got["nodes"]}
    report.equal(f"{case.name}: events are distinct", len(nodes), len(got["nodes"]))
    below = {}
    for row in got["nodes"]:
        parent = nodes.get((row["rank"], row["parent"]))
        depth = parent["depth"] + 1 if parent else 0
        if not report.check(f"{case.name}: depth of event {row['event']}", row["depth"] == depth and (parent or row["parent"] < 0)):
            break
        count, time = below.get((row["rank"], row["parent"]), (0, 0))
        below[row["rank"], row["parent"]] = count + (row["num_kernels"] or 0), time + (row["kernel_dur_sum"] or 0)
    held = [key for key, row in nodes.items()
            if row["height"] > 0 and below.get(key, (0, 0)) != (row["num_kernels"] or 0, row["kernel_dur_sum"] or 0)]
    report.equal(f"{case.name}: work of the children", held, [])


def ops_diff_arguments(asked):
    def steps(side):
        numbers = asked[f"{side}_iteration"]
        numbers = numbers if isinstance(numbers, list) else [numbers]
        return [] if numbers == [None] else [f"--{side}-steps", f"{numbers[0]}-{numbers[-1]}"]
    return ["--control", "3", "--test", "1", *steps("control"), *steps("test"), "--device", asked["device"].lower(),
            "--short-names", "yes" if asked["use_short_name"] else "no"]


def check_ops_diff(report):
    if not report.has(hta.GOLDEN / "trace_diff"):
        return
    want = hta.read_json(hta.GOLDEN / "trace_diff/trace_diff.json")
    about = hta.read_json(hta.GOLDEN / "trace_diff/case.json")
    columns = {"name": ("name", hta.exactly), "Control_counts": ("control_counts", hta.exactly),
               "Control_total_duration": ("control_total_duration", hta.time_in_us), "Test_counts": ("test_counts", hta.exactly),
               "Test_total_duration": ("test_total_duration", hta.time_in_us), "diff_counts": ("diff_counts", hta.exactly),
               "diff_duration": ("diff_duration", hta.time_in_us),
               "counts_change_categories": ("counts_change_categories", hta.exactly)}
    for name, golden in want.items():
        if not isinstance(golden, dict):
            continue
        asked, paths = golden["args"], [hta.TRACES / about["control"], hta.TRACES / about["test"]]
        for compat in ("hta", "hta-ns"):  # whole microseconds: the same
            got = hta.analyze(paths, "ops-diff", *ops_diff_arguments(asked), "--compat", compat)["ops_diff"]
            hta.compare(report, f"trace_diff: {name}: {compat}", got, hta.rows_of(golden["compare"]), columns, ("name",))
        asked = dict(asked, use_short_name=False)  # the lists always have full names
        got = hta.analyze(paths, "ops-diff", *ops_diff_arguments(asked), "--compat", "hta")["ops_diff"]
        for change, names in golden["ops_diff"].items():
            report.equal(f"trace_diff: {name}: {change}", sorted(row["name"] for row in got if row["change"] == change), sorted(names))


def main():
    report = common.Report()
    for case in hta.cases():
        check_graph(report, case, "", "hta")
        check_graph(report, case, "exact_ns", "hta-ns")
        check_sequences(report, case, "", "hta")
        check_sequences(report, case, "exact_ns", "hta-ns")
        check_counters(report, case)
        check_default(report, case)
    check_ops_diff(report)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
