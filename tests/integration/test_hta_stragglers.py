#!/usr/bin/env python3
"""stragglers against HTA's recorded answers."""
import sys

from support import common, hta


def check_metric(report, what, got, golden, exact):
    """exact: whole microseconds, else doubles of HTA with noise below a nanosecond."""
    rows = hta.rows_of(golden)
    if not report.equal(f"{what}: rows", len(got), len(rows)):
        return
    # Times there count from the first event of all ranks, ours from the run's origin: a constant apart.
    shift = got[0]["ts"] / 1000 - rows[0]["ts"]
    time = hta.time_in_us if exact else hta.nearly_time_in_us
    columns = {"rank": ("rank", hta.exactly), "stream": ("stream", hta.exactly), "iteration": ("iteration", hta.exactly),
               "name": ("name", hta.exactly), "dur": ("dur", time),
               "ts": ("ts", lambda ours, theirs: hta.close(ours / 1000 - shift, theirs, absolute=0.0011)),
               "normalized_start_time": ("normalized_start_time", hta.nearly), "duration": ("duration", hta.nearly)}
    hta.compare(report, what, got, rows, columns, ("rank", "stream", "iteration", "name"), order=False)


def check_case(report, case):
    """Number of recorded answers compared."""
    compared = 0
    for compat, folder in (("hta", ""), ("hta-ns", "exact_ns")):
        golden = case.golden("stragglers", folder)
        if not golden or hta.is_error(golden):
            continue
        compared += 1
        what = f"{case.name}, {compat}"
        steps = sorted({row["iteration"] for row in hta.rows_of(golden["metric"])})
        for which, ranks in golden.items():
            if which == "metric" or hta.is_error(ranks):
                continue
            chosen, count = which.split("_")
            arguments = ("--count", count) + (("--profiler-steps", str(steps[0])) if chosen == "first" else ())
            got = case.analyze("stragglers", *arguments, compat=compat)["stragglers"]
            report.equal(f"{what}: {which}", [row["rank"] for row in got], ranks)
        check_metric(report, f"{what}: metric", case.analyze("stragglers", compat=compat)["metric"], golden["metric"], not folder)
        # The default has a verdict of its own, made of no clocks: whoever it names is named once, and is in the table of ranks.
        mine = case.analyze("stragglers", compat=None)
        slow = [row["rank"] for row in mine["ranks"] if row["is_straggler"]]
        report.equal(f"{case.name}: default", [row["rank"] for row in mine["stragglers"]], slow)
    return compared


def main():
    report = common.Report()
    compared = 0
    for case in hta.cases():
        compared += check_case(report, case)
        if case.golden("stragglers") is None:
            case.analyze("stragglers")  # one rank, no kernels, no steps: must not fail
    report.check("some answers were compared", compared > 0)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
