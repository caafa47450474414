#!/usr/bin/env python3
"""queue-length, queue-blocked, launch-stats, memory-bandwidth and op-kernels against HTA's recorded answers."""
import sys

from support import common, hta

STATISTICS = {"count": "count", "mean": "mean", "std": "std", "min": "min", "25%": "p25", "50%": "p50", "75%": "p75", "max": "max"}


def statistics(prefix):
    return {f"{prefix}{theirs}": (ours, hta.exactly if theirs == "count" else hta.nearly) for theirs, ours in STATISTICS.items()}


def check_queue_summary(report, case):
    want = case.golden("queue_length_summary")
    if hta.is_error(want):
        case.analyze("queue-length")  # must not fail
        return
    got = case.analyze("queue-length")["queue_length_summary"]
    rows = hta.rows_of(want) if want else []
    columns = {"rank/": ("rank", hta.exactly), "stream/": ("stream", hta.exactly), **statistics("queue_length/")}
    hta.compare(report, f"{case.name}: queue length", got, rows, columns, ("rank", "stream"))
    exact = case.integer_ns()
    if exact and "queue_length_summary" in exact:
        columns = {"rank": ("rank", hta.exactly), "stream": ("stream", hta.exactly), **statistics("")}
        got = case.analyze("queue-length", compat="hta-ns")["queue_length_summary"]
        hta.compare(report, f"{case.name}: queue length, ns", got, hta.rows_of(exact["queue_length_summary"]), columns,
                    ("rank", "stream"))


def check_queue_series(report, case):
    want, load = case.golden("queue_length_time_series"), case.golden("load")
    if not want or hta.is_error(want):
        return
    got = case.analyze("queue-length", "--series")["queue_length_series"]
    for rank, streams in want.items():
        for stream, series in streams["per_stream"].items():
            what = f"{case.name}: series of rank {rank}, stream {stream}"
            mine = [row for row in got if row["rank"] == int(rank) and row["stream"] == int(stream)]
            report.equal(f"{what}: points", len(mine), series["points"])
            report.equal(f"{what}: sum", sum(row["queue_length"] for row in mine), series["sum_queue_length"])
            last = {}
            for row in mine:
                last[row["ts"]] = row["queue_length"]
            # Times there count from the first event that is left, ours from the run's origin: a constant apart.
            times = sorted(last)
            if times and series.get("series"):
                shift = times[0] // 1000 - series["series"][0][0]
                report.equal(f"{what}: changes", [[time // 1000 - shift, last[time]] for time in times][:len(series["series"])],
                             series["series"])
    report.check(f"{case.name}: the trace was loaded", load is not None)


def check_blocked(report, case):
    want = case.golden("time_blocked_on_full_queue")
    if not want or hta.is_error(want):
        return
    columns = {"rank": ("rank", hta.exactly), "stream": ("stream", hta.exactly),
               "duration_at_max_queue_length": ("duration_at_max_queue_length", hta.time_in_us),
               "relative_duration_at_max_queue_length": ("relative_duration_at_max_queue_length", hta.nearly)}
    for limit, table in want.items():
        if not table or hta.is_error(table):
            continue
        got = case.analyze("queue-blocked", "--max-queue-length", limit)["time_blocked"]
        hta.compare(report, f"{case.name}: blocked at {limit}", got, hta.rows_of(table), columns, ("rank", "stream"))


def check_launches(report, case):
    want = case.golden("cuda_kernel_launch_stats")
    if not want or hta.is_error(want):
        case.analyze("launch-stats")
        return
    for which, arguments in (("default", ("--include-memory",)), ("no_memory", ())):
        per_rank = want.get(which)
        if not per_rank or hta.is_error(per_rank):
            continue
        got = case.analyze("launch-stats", *arguments)
        for rank, golden in per_rank.items():
            what = f"{case.name}: launches of rank {rank}, {which}"
            summary = [row for row in got["launch_summary"] if row["rank"] == int(rank)]
            if not report.equal(f"{what}: one row", len(summary), 1):
                continue
            pairs = {"count": golden["count"], "short_kernels": golden["short_kernels_lt_cpu_and_cpu_le_50"],
                     "runtime_outliers": golden["runtime_outliers_gt_50"],
                     "launch_delay_outliers": golden["launch_delay_outliers_gt_100"]}
            for ours, value in pairs.items():
                report.equal(f"{what}: {ours}", summary[0][ours], value)
            for ours in ("cpu_duration", "gpu_duration", "launch_delay"):
                report.check(f"{what}: {ours}", hta.time_in_us(summary[0][ours], golden[f"sum_{ours}"]),
                             f"got {summary[0][ours]}, want {golden[f'sum_{ours}']}")
            mine = [[row["correlation"], row["cpu_duration"] // 1000, row["gpu_duration"] // 1000, row["launch_delay"] // 1000]
                    for row in got["launch_stats"] if row["rank"] == int(rank)]
            rows = [row for row in golden["rows"] if row]
            report.equal(f"{what}: rows", sorted(mine)[:len(rows)] if golden["complete"] else mine[:len(rows)],
                         sorted(rows) if golden["complete"] else rows)
    exact = case.integer_ns()
    if exact and "launch_stats" in exact:
        got = case.analyze("launch-stats", "--include-memory", compat="hta-ns")["launch_summary"]
        names = {"count": "count", "sum_cpu_duration": "cpu_duration", "sum_gpu_duration": "gpu_duration",
                 "sum_launch_delay": "launch_delay", "short_kernels": "short_kernels", "runtime_outliers": "runtime_outliers",
                 "launch_delay_outliers": "launch_delay_outliers"}
        columns = {"rank": ("rank", hta.exactly), **{theirs: (ours, hta.exactly) for theirs, ours in names.items()}}
        hta.compare(report, f"{case.name}: launches, ns", got, hta.rows_of(exact["launch_stats"]), columns, ("rank",))


def check_bandwidth(report, case):
    want = case.golden("memory_bw_summary")
    if hta.is_error(want):
        case.analyze("memory-bandwidth")
        return
    got = case.analyze("memory-bandwidth", "--series")
    columns = {"rank/": ("rank", hta.exactly), "name/": ("name", hta.exactly), **statistics("memory_bw_gbps/")}
    rows = hta.rows_of(want) if want else []
    hta.compare(report, f"{case.name}: memory bandwidth", got["memory_bw_summary"], rows, columns, ("rank", "name"))
    series = case.golden("memory_bw_time_series")
    for rank, golden in (series or {}).items() if not hta.is_error(series) else ():
        mine = [row for row in got["memory_bw_series"] if row["rank"] == int(rank)]
        report.equal(f"{case.name}: changes of rank {rank}", len(mine), golden["points"])
        for name, facts in golden.get("by_name", {}).items():
            values = [row["memory_bw"] for row in mine if row["name"] == name]
            report.equal(f"{case.name}: {name}: points", len(values), facts["points"])
            report.check(f"{case.name}: {name}: sum", hta.close(sum(values), facts["sum"], absolute=1e-6))
            report.check(f"{case.name}: {name}: max", hta.close(max(values), facts["max"]))


def check_operators(report, case):
    want = case.golden("aten_op_kernels_and_delay")
    if not want or hta.is_error(want):
        case.analyze("op-kernels")
        return
    got = case.analyze("op-kernels")["op_kernels"]
    columns = {"aten_op_name": ("aten_op_name", hta.exactly), "kernel_sequence": ("kernel_sequence", hta.exactly),
               "occurrence_count": ("occurrence_count", hta.exactly),
               "avg_aten_op_launch_delay": ("avg_aten_op_launch_delay", lambda ours, theirs: hta.close(ours / 1000, theirs, absolute=0.00101)),
               "avg_runtime_delay": ("avg_runtime_delay", lambda ours, theirs: hta.close(ours / 1000, theirs, absolute=0.00101))}
    for rank, golden in want.items():
        if hta.is_error(golden):
            continue
        mine = [row for row in got if row["rank"] == int(rank)]
        report.equal(f"{case.name}: operators of rank {rank}", len(mine), golden["rows_total"])
        rows = hta.rows_of(golden)
        hta.compare(report, f"{case.name}: operators of rank {rank}", mine[:len(rows)], rows, columns,
                    ("aten_op_name", "kernel_sequence"), order=False)


def main():
    report = common.Report()
    for case in hta.cases():
        for check in (check_queue_summary, check_queue_series, check_blocked, check_launches, check_bandwidth, check_operators):
            check(report, case)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
