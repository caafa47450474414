#!/usr/bin/env python3
"""The kernel view of the TensorBoard plugin, every recorded profile: both tables and the ring, against kino analyze kernels --compat
tensorboard. Our tables have exact ns and numbers; they are rounded and written here as the plugin does."""
import math
import sys

from support import common, tensorboard

COLUMNS = {
    "Name": "name", "Operator": "operator", "Grid": "grid", "Block": "block", "Register Per Thread": "register_per_thread",
    "Shared Memory": "shared_memory", "Kernel Uses Tensor Cores": "tensor_cores_used", "Tensor Cores Used": "tensor_cores_used",
    "Op is Tensor Cores eligible": "op_is_tensor_cores_eligible", "Calls": "calls", "Total Duration (us)": "total_duration",
    "Mean Duration (us)": "mean_duration", "Max Duration (us)": "max_duration", "Min Duration (us)": "min_duration",
    "Mean Blocks Per SM": "mean_blocks_per_sm", "Mean Est. Achieved Occupancy (%)": "mean_est_achieved_occupancy",
}
DURATIONS = ("total_duration", "mean_duration", "max_duration", "min_duration")
MEANS = ("mean_blocks_per_sm", "mean_est_achieved_occupancy")


class Checker:
    def __init__(self, report, profile):
        self.report, self.profile = report, profile
        document = common.parse(common.read_bytes(profile.trace))
        spans = [event for event in common.events_of(document) if event.get("ph") == "X"]
        self.is_exact = all(event[key] == int(event[key]) for event in spans for key in ("ts", "dur"))
        # The plugin computes with doubles: an end is ts + dur, rounded to what a double can tell apart at that time.
        self.grain = 0 if self.is_exact else math.ulp(float(max(event["ts"] for event in spans)))

    def duration(self, value, want, is_rounded, calls):
        value /= 1000
        if self.is_exact:
            return (round(value) if is_rounded else value) == want
        slack = 1e-6 * abs(value) + 2 * self.grain * calls
        return round(value - slack) <= want <= round(value + slack) if is_rounded else abs(value - want) <= slack

    def cell(self, column, row, want, is_by_op):
        got = row[column]
        if column in ("grid", "block"):
            return (got or "None") == want
        if column in ("register_per_thread", "shared_memory"):
            return str(got) == want
        if column in ("tensor_cores_used", "op_is_tensor_cores_eligible"):
            return got == (want == "Yes")
        if column in MEANS:
            # A sum of doubles may lie on either side of a tie: 0.025 is 0.02 here and 0.03 there in the recorded answers.
            is_tie = abs(abs(got * 100) % 1 - 0.5) <= 1e-6
            return tensorboard.close(round(got, 2), want, self.is_exact and not is_tie, 2)
        if column in DURATIONS:
            return self.duration(got, want, not is_by_op or column == "mean_duration", row["calls"])
        return got == want

    def table(self, what, got, answer, is_by_op):
        names = [COLUMNS[column["name"]] for column in answer["columns"]]
        want = [dict(zip(names, row)) for row in answer["rows"]]
        keys = ["name"] + (["operator", "grid", "block", "register_per_thread", "shared_memory"] if is_by_op else [])
        mine = {tuple(str(row[key]) for key in keys): row for row in got}
        theirs = {tuple(str(row[key]) for key in keys): row for row in want}
        self.report.equal(f"{what}: rows are distinct", len(mine), len(got))
        self.report.equal(f"{what}: the same rows", sorted(mine), sorted(theirs))
        for key, row in theirs.items():
            for column in names:
                self.report.check(f"{what}: {key[:2]}: {column}", key not in mine or self.cell(column, mine[key], row[column], is_by_op),
                                  f"got {mine.get(key, {}).get(column)}, want {row[column]}")
        for column in set(MEANS) - set(names):
            self.report.check(f"{what}: {column} is not available", all(row[column] is None for row in got))
        totals = [row["total_duration"] for row in got]
        self.report.equal(f"{what}: longest first", totals, sorted(totals, reverse=True))

    def ring(self, what, got, answer):
        theirs = dict(answer["total"]["rows"])
        self.report.equal(f"{what}: ring", sorted(row["name"] for row in got), sorted(theirs))
        for row in got:
            want = theirs.get(row["name"], math.inf)
            self.report.check(f"{what}: ring: {row['name']}", self.duration(row["total_duration"], want, False, row["calls"]),
                              f"got {row['total_duration']} ns, want {want} us")


def check(report, profile):
    checker = Checker(report, profile)
    by_name = profile.analyze("kernels")["kernels"]
    by_op = profile.analyze("kernels", "--group", "name-op")["kernels"]
    if profile.golden("kernel_table") is None:
        report.equal(f"{profile.name}: no kernels", by_name + by_op, [])
        return 0
    checker.table(f"{profile.name} name", by_name, profile.golden("kernel_table")["data"], False)
    checker.table(f"{profile.name} name-op", by_op, profile.golden("kernel_op_table")["data"], True)
    checker.ring(profile.name, by_name, profile.golden("kernel_pie"))
    # Without --compat every kernel is there exactly once in both groupings.
    calls = [sum(row["calls"] for row in profile.analyze("kernels", "--group", group, compat=False)["kernels"])
             for group in ("name", "name-op")]
    report.equal(f"{profile.name}: kernels by default", calls, [sum(row["calls"] for row in by_name)] * 2)
    return 1


def main():
    report = common.Report()
    count = sum(check(report, profile) for profile in tensorboard.profiles())
    report.check("there are profiles to compare", count >= 20, f"{count} found")
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
