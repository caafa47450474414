#!/usr/bin/env python3
"""Device time as HTA sees it, every recorded case: temporal-breakdown, idle-time, comm-overlap, kernel-breakdown, annotation-breakdown,
annotated-kernels, kernel-types and steps. --compat hta against the rounded answers, --compat hta-ns against those in exact integer ns
(and, where these leave something out, against the peer's own doubles), and what must hold between our columns in every mode."""
import sys
from collections import defaultdict

from support import common, hta
from support.hta import exactly, nearly, nearly_time_in_us, percent, rows_of, time_in_us

MODES = (None, "hta-ns", "hta")


def identity(*names, agree=exactly):
    return {name: (name, agree) for name in names}


# Where the listed differences apply: HTA counts synchronisation records, or drops work without a launch.
OTHER_ROWS = {"critical_path_alexnet", "critical_path_simple_add", "cuda_event_sync", "negative_queue_length", "synth_8rank",
              "synth_8rank_last_step", "trace_diff_test"}
TEMPORAL = {**identity("rank"),
            **{f"{name}(us)": (name, time_in_us) for name in ("idle_time", "compute_time", "non_compute_time", "kernel_time")},
            **identity("idle_time_pctg", "compute_time_pctg", "non_compute_time_pctg", agree=percent)}
TEMPORAL_NS = {**identity("rank"), "idle": ("idle_time", exactly), "compute": ("compute_time", exactly),
               "non_compute": ("non_compute_time", exactly), "kernel_time": ("kernel_time", exactly)}
IDLE = {**identity("rank", "stream", "idle_category"), "idle_time": ("idle_time", time_in_us),
        "idle_time_ratio": ("idle_time_ratio", percent)}
STATISTICS = {**identity("rank", "stream", "idle_category", "count"),
              **{theirs: (ours, nearly_time_in_us) for theirs, ours in
                 (("mean", "mean"), ("std", "std"), ("min", "min"), ("25%", "p25"), ("50%", "p50"), ("75%", "p75"), ("max", "max"))}}
STREAM_KEY = ("rank", "stream", "idle_category")
NAMED = {**identity("name", "rank"), "sum (us)": ("sum", time_in_us), "max (us)": ("max", time_in_us), "min (us)": ("min", time_in_us),
         "stddev": ("stddev", nearly_time_in_us), "mean (us)": ("mean", nearly_time_in_us)}
KERNEL = {**NAMED, **identity("kernel_type")}
KERNEL_ARGUMENTS = {"num_kernels": "--num-kernels", "duration_ratio": "--duration-ratio"}


def check_failed(report, what, tables, name):
    """Where HTA fails: no rows that claim something, and a note."""
    report.equal(f"{what}: no rows", tables[name], [])
    report.check(f"{what}: a note says why", any("not available" in note for note in tables.notes), tables.notes)


def check_temporal(report, case):
    want, exact = case.golden("temporal_breakdown"), case.integer_ns()
    got = case.analyze("temporal-breakdown")
    what = f"{case.name}: temporal-breakdown"
    if hta.is_error(want):
        for mode in MODES:
            check_failed(report, f"{what} {mode}", case.analyze("temporal-breakdown", compat=mode), "temporal_breakdown")
        return
    hta.compare(report, what, got["temporal_breakdown"], rows_of(want), TEMPORAL, ("rank",))
    if exact:
        got = case.analyze("temporal-breakdown", compat="hta-ns")
        hta.compare(report, f"{what} ns", got["temporal_breakdown"], rows_of(exact["temporal_breakdown"]), TEMPORAL_NS, ("rank",))
    if case.name not in OTHER_ROWS: # what nobody asked for otherwise: all steps
        rounded = [{name: round(value, 2) if isinstance(value, float) else value for name, value in row.items()}
                   for row in hta.analyze(case.traces, "temporal-breakdown")["temporal_breakdown"]]
        report.equal(f"{what}: default", rounded,
                     hta.analyze(case.traces, "temporal-breakdown", "--compat", "hta-ns", "--include-last-step")["temporal_breakdown"])
    for row in case.analyze("temporal-breakdown", compat=None)["temporal_breakdown"]:
        parts = ("idle_time", "compute_time", "non_compute_time")
        report.equal(f"{what}: rank {row['rank']}: parts make the whole", sum(row[part] for part in parts), row["kernel_time"])
        report.check(f"{what}: rank {row['rank']}: percentages make 100", abs(sum(row[f"{part}_pctg"] for part in parts) - 100) < 1e-9)


def check_idle(report, case):
    want, exact = case.golden("idle_time_breakdown"), case.integer_ns()
    what = f"{case.name}: idle-time"
    if hta.is_error(want):
        for mode in MODES:
            check_failed(report, f"{what} {mode}", case.analyze("idle-time", compat=mode), "idle")
        return
    for key in want:
        got = case.analyze("idle-time", "--stats", "--delay", f"{key.removeprefix('delay_')}us")
        hta.compare(report, f"{what} {key}", got["idle"], rows_of(want[key]["idle"]), IDLE, STREAM_KEY)
        hta.compare(report, f"{what} {key} stats", got["interval_stats"], rows_of(want[key]["interval_stats"]), STATISTICS, STREAM_KEY)
    plain = case.analyze("idle-time")
    report.equal(f"{what}: statistics only when asked for", plain["interval_stats"], [])
    hta.compare(report, f"{what} without stats", plain["idle"], rows_of(want["delay_30"]["idle"]), IDLE, STREAM_KEY)
    if exact:
        got = case.analyze("idle-time", compat="hta-ns")
        hta.compare(report, f"{what} ns", got["idle"], rows_of(exact["idle_delay_30us"]),
                    identity(*STREAM_KEY, "idle_time"), STREAM_KEY)
        theirs = case.golden("idle_time_breakdown", "exact_ns")
        got = case.analyze("idle-time", "--stats", compat="hta-ns")
        # two decimals of a microsecond, made of doubles that tell apart 0.25 us at worst
        near = {column: (ours, agree if agree is exactly else lambda mine, other: hta.close(hta.us(mine), other, 1e-5, 0.26))
                for column, (ours, agree) in STATISTICS.items()}
        hta.compare(report, f"{what} ns stats", got["interval_stats"], rows_of(theirs["delay_30"]["interval_stats"]), near, STREAM_KEY)
    check_idle_adds_up(report, what, case)


def check_idle_adds_up(report, what, case):
    """Idle and busy time of a stream are its span, from the events themselves."""
    tables = case.analyze("idle-time", compat=None)
    idle = defaultdict(int)
    for row in tables["idle"]:
        idle[row["rank"], row["stream"]] += row["idle_time"]
        report.check(f"{what}: never negative", row["idle_time"] >= 0, row)
    if len(case.ranks) > 1 or any("last step" in note for note in tables.notes):
        return
    spans = defaultdict(list)
    for row in common.query(case.traces[0], "SELECT stream, ts, dur FROM event WHERE cat IN "
                            "('kernel', 'gpu_memcpy', 'gpu_memset', 'Kernel', 'Memcpy', 'Memset')"):
        spans[row[0]].append((row[1], row[1] + row[2]))
    for stream, intervals in spans.items():
        covered, end = 0, None
        for start, stop in sorted(intervals):
            covered += max(0, stop - (start if end is None else max(start, end)))
            end = stop if end is None else max(end, stop)
        report.equal(f"{what}: stream {stream}: idle and busy make the span", idle[case.ranks[0], stream] + covered,
                     end - min(intervals)[0])


def check_overlap(report, case):
    want, exact = case.golden("comm_comp_overlap"), case.integer_ns()
    what = f"{case.name}: comm-overlap"
    got = case.analyze("comm-overlap")
    columns = {**identity("rank"), **identity("comp_comm_overlap_pctg", agree=percent)}
    hta.compare(report, what, got["comm_comp_overlap"], rows_of(want), columns, ("rank",))
    if exact:
        got = case.analyze("comm-overlap", compat="hta-ns")
        hta.compare(report, f"{what} ns", got["comm_comp_overlap"], rows_of(exact["comm_comp_overlap"]),
                    identity("rank", "overlap", "communication"), ("rank",))
    compute = {row["rank"]: row["compute_time"] for row in case.analyze("temporal-breakdown", compat=None)["temporal_breakdown"]}
    for row in case.analyze("comm-overlap", compat=None)["comm_comp_overlap"]:
        report.check(f"{what}: at most the smaller of both", row["overlap"] <= min(row["communication"], compute.get(row["rank"], 0)), row)


def kernel_arguments(arguments):
    out = []
    for key, value in arguments.items():
        if key == "include_memory_kernels":
            out += ["--include-memory", "yes" if value else "no"]
        else:
            out += [KERNEL_ARGUMENTS[key], value]
    return out


def check_kernels(report, case):
    want, exact = case.golden("gpu_kernel_breakdown"), case.integer_ns()
    types = {**identity("kernel_type"), "sum": ("sum", time_in_us), "percentage": ("percentage", lambda a, b: hta.close(a, b, 0, 0.051))}
    for name, answer in want.items():
        what = f"{case.name}: kernel-breakdown {name}"
        got = case.analyze("kernel-breakdown", *kernel_arguments(answer["args"]))
        theirs = [row for row in rows_of(answer["kernel_type"]) if row["sum"] != 0]
        hta.compare(report, f"{what} types", got["kernel_type"], theirs, types, ("kernel_type",))
        hta.compare(report, f"{what} kernels", got["kernel"], rows_of(answer["kernel"]), KERNEL, ("kernel_type", "name", "rank"))
    if exact:
        what = f"{case.name}: kernel-breakdown ns"
        got = case.analyze("kernel-breakdown", "--num-kernels", 100000, compat="hta-ns")
        report.equal(f"{what} types", {row["kernel_type"]: row["sum"] for row in got["kernel_type"]},
                     {name: total for name, total in exact["kernel_type_sums"].items() if total})
        theirs = rows_of(exact["kernel_breakdown_all"])
        rows = got["kernel"][:len(theirs)] if len(theirs) == 120 else got["kernel"]  # they recorded no more than the first 120
        hta.compare(report, f"{what} kernels", rows, theirs,
                    identity("name", "sum", "max", "min", "kernel_type", "rank"), ("kernel_type", "name", "rank"))
    check_kernels_default(report, case)


def check_kernels_default(report, case):
    """Folding keeps sums, counts and extremes of the events; rows of all kernels are equal to HTA's rules in exact ns where the
    device rows are."""
    everything = case.analyze("kernel-breakdown", "--num-kernels", 100000, compat=None)["kernel"]
    folded = case.analyze("kernel-breakdown", "--num-kernels", 3, compat=None)["kernel"]
    for combine, column in ((sum, "sum"), (sum, "count"), (max, "max"), (min, "min"), (sum, "names")):
        whole, parts = defaultdict(list), defaultdict(list)
        for groups, rows in ((whole, everything), (parts, folded)):
            for row in rows:
                groups[row["rank"], row["kernel_type"]].append(row[column])
        report.equal(f"{case.name}: kernel-breakdown: {column} with and without folding",
                     {key: combine(values) for key, values in parts.items()}, {key: combine(values) for key, values in whole.items()})
    for row in folded:
        report.check(f"{case.name}: kernel-breakdown: {row['name'][:60]}: statistics are of the events",
                     row["min"] <= row["mean"] <= row["max"] and hta.close(row["mean"] * row["count"], row["sum"], 1e-9), row)


def check_annotations(report, case):
    want = case.golden("user_annotation_breakdown")
    forms = {"gpu": (), "cpu": ("--use-gpu", "no"), "cpu_top5": ("--use-gpu", "no", "--num", 5),
             "cpu_top5_allow_Optimizer": ("--use-gpu", "no", "--num", 5, "--allow", "Optimizer")}
    report.equal(f"{case.name}: annotation-breakdown: all forms are known", sorted(set(want) - set(forms)), [])
    for form, answer in want.items():
        what = f"{case.name}: annotation-breakdown {form}"
        got = case.analyze("annotation-breakdown", *forms[form])
        if answer is None:
            check_failed(report, what, got, "annotations")
        else:
            hta.compare(report, what, got["annotations"], rows_of(answer), NAMED, ("rank", "name"))
        theirs = case.golden("user_annotation_breakdown", "exact_ns")
        if theirs and theirs.get(form):
            near = {column: (ours, agree if agree is exactly else lambda mine, other: hta.close(hta.us(mine), other, 1e-6, 1e-3))
                    for column, (ours, agree) in NAMED.items()}
            got = case.analyze("annotation-breakdown", *forms[form], compat="hta-ns")
            hta.compare(report, f"{what} ns", got["annotations"], rows_of(theirs[form]), near, ("rank", "name"))


def check_annotated(report, case):
    for compat, folder in (("hta", ""), ("hta-ns", "exact_ns")):
        want = case.golden("gpu_kernels_with_user_annotations", folder)
        what = f"{case.name}: annotated-kernels {compat}"
        if want is None:
            continue
        got = case.analyze("annotated-kernels", compat=compat)
        if hta.is_error(want):
            report.check(f"{what}: a result where HTA has none", all(row["count"] > 0 for row in got["by_annotation"]))
            continue
        for rank, answer in want.items():
            kernels = [row for row in got["annotated_kernels"] if row["rank"] == int(rank)]
            sums = [row for row in got["by_annotation"] if row["rank"] == int(rank)]
            if answer is None:
                report.equal(f"{what}: rank {rank}: no annotations", (kernels, sums), ([], []))
                continue
            slack = 0 if compat == "hta" else 0.26
            report.equal(f"{what}: rank {rank}: kernels", len(kernels), answer["kernels"])
            hta.compare(report, f"{what}: rank {rank} sums", sums, rows_of(answer["by_annotation"]),
                        {**identity("s_user_annotation", "count"),
                         "total_dur": ("total_dur", lambda mine, other: hta.close(hta.us(mine), other, 1e-6, slack))},
                        ("s_user_annotation",))
            time = lambda mine, other: hta.close(hta.us(mine), other, 0, slack)
            theirs = rows_of(answer)
            hta.compare(report, f"{what}: rank {rank} rows", kernels[:len(theirs)] if not answer["complete"] else kernels, theirs,
                        {**identity("index", "s_user_annotation", "stream"), "ts": ("ts", time), "dur": ("dur", time)}, ("index",))


def check_types(report, case):
    want = case.golden("kernel_classification")
    for compat in ("hta", "hta-ns"):
        got = case.analyze("kernel-types", compat=compat)
        hta.compare(report, f"{case.name}: kernel-types {compat}", got["kernel_types"], rows_of(want),
                    identity("name", "kernel_type", "memory_type", "short_name"), ("name",))


def check_steps(report, case):
    want = case.golden("profiler_steps")["profiler_steps"]
    for compat in MODES:
        got = case.analyze("steps", compat=compat)["steps"]
        report.equal(f"{case.name}: steps {compat}", sorted({row["step"] for row in got}), want)
        for row in got:
            if row["device_start"] is not None:
                report.check(f"{case.name}: steps: device times are in order", row["device_start"] <= row["device_end"], row)


def check_default(report, case):
    """Where the same rows are device work of the same type, the default has the numbers of HTA's rules in exact ns."""
    ours, theirs = (case.analyze("kernel-breakdown", "--num-kernels", 100000, compat=mode) for mode in (None, "hta-ns"))
    names, types = (case.analyze("kernel-types", compat=mode)["kernel_types"] for mode in (None, "hta-ns"))
    counts = [{(row["rank"], row["name"], row["kernel_type"]): row["count"] for row in tables["kernel"]} for tables in (ours, theirs)]
    if not names or names != types or counts[0] != counts[1]:  # without a device the default looks at the host
        return 0
    what = f"{case.name}: default and hta-ns"
    for table in ("kernel", "kernel_type"):
        mine, other = ([{key: value for key, value in row.items() if key != "percentage"} for row in tables[table]]
                       for tables in (ours, theirs))
        report.equal(f"{what}: {table}", mine, other)
    for analysis, table in (("temporal-breakdown", "temporal_breakdown"), ("comm-overlap", "comm_comp_overlap")):
        mine, other = (case.analyze(analysis, compat=mode)[table] for mode in (None, "hta-ns"))
        other = [row for row in other if row.get("communication") != 0]  # the default has no rows of ranks that do not communicate
        for row, want in zip(mine, other):
            for column in (column for column in row if not column.endswith("_pctg")):
                report.equal(f"{what}: {analysis}: {column}", row[column], want[column])
        report.equal(f"{what}: {analysis}: rows", len(mine), len(other))
    return 1


CHECKS = {"temporal_breakdown": check_temporal, "idle_time_breakdown": check_idle, "comm_comp_overlap": check_overlap,
          "gpu_kernel_breakdown": check_kernels, "user_annotation_breakdown": check_annotations,
          "gpu_kernels_with_user_annotations": check_annotated, "kernel_classification": check_types, "profiler_steps": check_steps}


def main():
    report, alike = common.Report(), 0
    for case in hta.cases():
        alike += check_default(report, case)
        for name, check in CHECKS.items():
            if case.golden(name) is not None:
                check(report, case)
    report.check("some cases have the same device rows in both", alike >= 5 or not common.HAS_SHARED, alike)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
