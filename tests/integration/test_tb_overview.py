#!/usr/bin/env python3
"""overview and tensor-cores against the TensorBoard plugin's recorded answers: overview.json, raw.json, kernel_tc_pie.json,
operation_table.json and the series of trace_counters.json."""
import sys

from support import common, tensorboard

report = common.Report()
PARTS = ["kernel", "memcpy", "memset", "communication", "runtime", "dataloader", "cpu_exec", "other"]
RAW = ["Kernel", "Memcpy", "Memset", "Communication", "Runtime", "DataLoader", "CpuOp", "Other"]


class Check:
    def __init__(self, profile):
        self.name, self.is_exact = profile.name, "real_" not in profile.name

    def equal(self, what, got, want):
        return report.equal(f"{self.name}: {what}", got, want)

    def close(self, what, got, want, places=None):
        return report.check(f"{self.name}: {what}", tensorboard.close(got, want, self.is_exact, places), f"got {got}, want {want}")


def rounded(value, places=None):
    return None if value is None else round(value, places)


def check_summary(c, tables, golden):
    """Rows in their order; microseconds rounded to integers, percentages to 2 digits."""
    total = golden["performance"][0]
    want = [(row["name"], row["value"], row["extra"]) for row in [total, *total["children"]]]
    got = [(row["category"], rounded(row["time"] / 1000), rounded(row["percentage"], 2)) for row in tables["execution_summary"]]
    c.equal("categories", [row[0] for row in got], [row[0] for row in want])
    for (name, time, percent), (_, want_time, want_percent) in zip(got, want):
        c.close(f"{name} time", time, want_time, 0)
        c.close(f"{name} percentage", percent, want_percent, 2)


def check_configuration(c, tables, golden, run_size):
    want = {entry["title"]: entry["value"] for entry in golden["environments"]}
    row = tables["configuration"][0]
    c.equal("device type", row["device_type"], want["Device Type"])
    report.check(f"{c.name}: workers", run_size == int(want["Number of Worker(s)"]) and row["number_of_workers"] == 1)


def check_gpus(c, tables, golden):
    """Each device: what is null in ours is left out in the plugin's list."""
    titles = [("name", "Name", str), ("memory", "Memory", lambda v: f"{round(v / 2**30, 2)} GB"),
              ("compute_capability", "Compute Capability", str)]
    numbers = [("gpu_utilization", "GPU Utilization"), ("est_sm_efficiency", "Est. SM Efficiency"),
               ("est_achieved_occupancy", "Est. Achieved Occupancy"), ("kernel_time_using_tensor_cores", "Kernel Time using Tensor Cores")]
    got = []
    for row in tables["gpu_summary"]:
        if got:
            got.append(("<hr />", ""))
        got.append((f"GPU {row['device']}:", ""))
        got.extend((title, text(row[key])) for key, title, text in titles if row[key] is not None)
        got.extend((title, f"{round(row[key], 2)} %") for key, title in numbers if row[key] is not None)
    want = [(entry["title"], entry["value"]) for entry in golden.get("gpu_metrics", {}).get("data", [])]
    c.equal("titles of devices", [title.replace("<hr/>", "<hr />") for title, _ in got if title != "<hr />"],
            [title for title, _ in want if "<hr" not in title])
    for (title, mine), (_, theirs) in zip([e for e in got if "<hr" not in e[0]], [e for e in want if "<hr" not in e[0]]):
        if mine.endswith(" %") and theirs.endswith(" %"):
            c.close(title, float(mine[:-2]), float(theirs[:-2]), 2)
        else:
            c.equal(title, mine, theirs)


def check_steps(c, tables, raw):
    rows = tables["step_breakdown"]
    c.equal("steps", [str(row["step"]) for row in rows], raw["steps_names"])
    for row, want in zip(rows, raw["steps_costs_us"]):
        for part, role in zip(PARTS, RAW):
            if row[part] is None:
                c.equal(f"step {row['step']} {part} is not shown", want[role], 0)
            else:
                c.close(f"step {row['step']} {part}", row[part] / 1000, want[role], 2)
        c.close(f"step {row['step']} total", row["total"] / 1000, want["Total"], 2)


def origin_of(raw, rows):
    """Our times count from the run's first event; the plugin's are the file's."""
    return None if not rows else raw["global_start_ts"] - rows[0]["time"] / 1000


def check_series(c, tables, raw, counters):
    if not counters:
        c.equal("no series", tables["utilization_series"], [])
        return
    origin = origin_of(raw, tables["utilization_series"])
    slack = 0 if c.is_exact else 0.01
    for device in sorted({row["device"] for row in tables["utilization_series"]}):
        mine = [(row["time"] / 1000 + origin, row["gpu_utilization"] / 100)
                for row in tables["utilization_series"] if row["device"] == device]
        events = [(e["ts"], e["args"]["GPU Utilization"]) for e in counters if e["name"] == f"GPU {device} Utilization"]
        compare_points(c, f"utilization of {device}", mine, events[2:], slack)
        mine = []
        for row in tables["sm_efficiency_series"]:
            if row["device"] == device:
                mine += [(row["start"] / 1000 + origin, row["est_sm_efficiency"] / 100), (row["end"] / 1000 + origin, 0)]
        events = [(e["ts"], e["args"]["Est. SM Efficiency"]) for e in counters if e["name"] == f"GPU {device} Est. SM Efficiency"]
        pieces = [pair for pair in zip(events[2::2], events[3::2]) if pair[0][1] >= 1e-9]  # without what is left over (D25)
        compare_points(c, f"SM efficiency of {device}", mine, [point for pair in pieces for point in pair], slack)


def compare_points(c, what, got, want, slack):
    if not c.equal(f"{what}: points", len(got), len(want)):
        return
    wrong = [(g, w) for g, w in zip(got, want) if abs(g[0] - w[0]) > max(slack, 1e-9 * w[0]) or abs(g[1] - w[1]) > (1e-9 if c.is_exact else 1e-3)]
    report.check(f"{c.name}: {what}", not wrong, f"{len(wrong)} of {len(want)}, first {wrong[:1]}")


def check_tensor_cores(c, profile, raw):
    tables = profile.analyze("tensor-cores")
    for row in tables["devices"]:
        want = raw["gpu"][str(row["device"])]["tensor_core_ratio"]
        c.close(f"tensor cores of device {row['device']}", rounded(row["tensor_core_ratio"], 2), None if want is None else round(want * 100, 2), 2)
    pie = profile.golden("kernel_tc_pie")
    if pie:
        want = {name: value for name, value in pie["total"]["rows"]}
        c.close("used", tables["ratios"][0]["used_ratio"] / 100, want["Using Tensor Cores"])
        c.close("not used", 1 - tables["ratios"][0]["used_ratio"] / 100, want["Not Using Tensor Cores"], 6)
    operators = {row["name"]: row for row in tables["operators"]}
    for want in profile.golden("operation_table")["data"]:
        row = operators.get(want["name"])
        if row is None:
            c.equal(f"{want['name']} has no device work", (want.get("device_total_duration", 0), want["tc_self_ratio"]), (0, 0))
            continue
        c.close(f"{want['name']} self", rounded(row["self_ratio"] or 0, 2), want["tc_self_ratio"], 2)
        c.close(f"{want['name']} total", rounded(row["total_ratio"] or 0, 2), want["tc_total_ratio"], 2)
    kernels = {row["name"]: row for row in tables["kernels"]}
    table = profile.golden("kernel_table")
    if table:
        names = [column["name"] for column in table["data"]["columns"]]
        for values in table["data"]["rows"]:
            want = dict(zip(names, values))
            row = kernels.get(want["Name"])
            if row is None:
                c.equal(f"{want['Name']} took no time", want["Total Duration (us)"], 0)
                continue
            c.equal(f"{want['Name']} used", row["used"], want["Tensor Cores Used"] == "Yes")
            c.equal(f"{want['Name']} calls", row["calls"], want["Calls"])


def main():
    profiles = list(tensorboard.profiles())
    runs = {}
    for profile in profiles:
        runs.setdefault(profile.run, set()).add(profile.worker)
    for profile in profiles:
        c = Check(profile)
        golden, raw = profile.golden("overview"), profile.golden("raw")
        tables = profile.analyze("overview", "--sm-series")
        check_configuration(c, tables, golden, len(runs[profile.run]))
        check_summary(c, tables, golden)
        check_gpus(c, tables, golden)
        check_steps(c, tables, raw)
        check_series(c, tables, raw, profile.golden("trace_counters"))
        check_tensor_cores(c, profile, raw)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
