#!/usr/bin/env python3
"""The operator view of the TensorBoard plugin, every recorded profile: tables, rings and call stacks by name and by shape, against
kino analyze operators --compat tensorboard. Our tables have exact ns; they are rounded here as the plugin rounds."""
import collections
import math
import sys

from support import common, tensorboard

DURATIONS = ("device_self_duration", "device_total_duration", "host_self_duration", "host_total_duration")
RINGS = {"device_self_time": "device_self_duration", "device_total_time": "device_total_duration",
         "host_self_time": "host_self_duration", "host_total_time": "host_total_duration"}


class Checker:
    def __init__(self, report, profile):
        self.report, self.profile = report, profile
        document = common.parse(common.read_bytes(profile.trace))
        times = [event[key] for event in common.events_of(document) for key in ("ts", "dur") if event.get("ph") == "X"]
        self.is_exact = all(time == int(time) for time in times)
        # The plugin computes with doubles: an end is ts + dur, rounded to what a double can tell apart at that time.
        self.grain = 0 if self.is_exact else math.ulp(float(max(event["ts"] for event in common.events_of(document) if "ts" in event)))

    def rounded(self, value, want, calls):
        """An integer of the plugin: exact, or on either side of a tie that doubles blur."""
        if self.is_exact:
            return round(value) == want
        slack = 1e-6 * abs(value) + 2 * self.grain * calls
        return round(value - slack) <= want <= round(value + slack)

    def row(self, what, got, want):
        for key, value in want.items():
            if key in ("name", "input_shape", "call_stack"):
                held = got[key] == value
            elif key in DURATIONS:
                held = self.rounded(got[key] / 1000, value, got["calls"])
            elif key == "tc_eligible":
                held = got[key] == (value == "Yes")
            elif key in ("tc_self_ratio", "tc_total_ratio"):
                held = tensorboard.close(round(got[key], 2), value, self.is_exact, 2)
            else:
                held = got[key] == value
            self.report.check(f"{what}: {key}", held, f"got {got[key]}, want {value}")
        for key in DURATIONS:
            if key not in want:
                self.report.equal(f"{what}: {key} is not available", got[key], None)

    def table(self, what, got, want, keys, sort):
        """Rows by their keys; the order by the column that both are sorted by, so that ties may stand in any order."""
        got_rows = {tuple(row[key] for key in keys): row for row in got}
        self.report.equal(f"{what}: rows are distinct", len(got_rows), len(got))
        self.report.equal(f"{what}: the same rows", sorted(got_rows), sorted(tuple(row[key] for key in keys) for row in want))
        for row in want:
            mine = got_rows.get(tuple(row[key] for key in keys))
            if mine:
                self.row(f"{what}: {row['name']}", mine, row)
        values = [row[sort] for row in got]
        self.report.equal(f"{what}: sorted by {sort}", values, sorted(values, reverse=True))
        if self.is_exact:
            self.report.equal(f"{what}: ties in order of first sight", [row["name"] for row in got], [row["name"] for row in want])

    def rings(self, what, got, want):
        """Grouped as the table; by shape a name is there several times."""
        for ring, column in RINGS.items():
            mine = sorted((row["name"], row[column] / 1000, row["calls"]) for row in got if want[ring] and row[column] > 0)
            theirs = sorted(map(tuple, want[ring]["rows"])) if want[ring] else []
            self.report.equal(f"{what}: {ring}", [name for name, *_ in mine], [name for name, _ in theirs])
            for (name, value, calls), (_, wanted) in zip(mine, theirs):
                slack = 0 if self.is_exact else 1e-6 * value + 2 * self.grain * calls
                self.report.check(f"{what}: {ring} of {name}", abs(value - wanted) <= slack, f"got {value}, want {wanted}")


NO_OPERATORS = ("ProfilerStep#", "Optimizer.", "enumerate(", "DataParallel.forward", "DistributedDataParallel.forward", "[pl]")


def count_operators(document):
    """Calls by name: operator events, without those that are the only operator in one of their own name (the same call seen twice)."""
    threads, counts = collections.defaultdict(list), collections.Counter()
    for event in common.events_of(document):
        if event.get("ph") == "X" and event["cat"].lower() in ("cpu_op", "operator"):
            threads[event["pid"], event["tid"]].append((event["ts"], -event["ts"] - event["dur"], event["name"]))
    for spans in threads.values():
        stack, children = [], collections.defaultdict(list)
        for index, (start, end, name) in sorted(enumerate(spans), key=lambda item: item[1][:2]):
            while stack and start >= -spans[stack[-1]][1]:
                stack.pop()
            children[stack[-1] if stack else None].append(index)
            stack.append(index)
        counts.update(name for _, _, name in spans)
        counts.subtract(spans[only[0]][2] for parent, only in children.items()
                        if parent is not None and len(only) == 1 and spans[only[0]][2] == spans[parent][2])
    return {name: count for name, count in counts.items() if not name.startswith(NO_OPERATORS)}


def check_default(report, profile):
    """Without --compat every call of every operator counts exactly once."""
    rows = profile.analyze("operators", compat=False)["operators"]
    report.equal(f"{profile.name}: calls by default", {row["name"]: row["calls"] for row in rows},
                 count_operators(common.parse(common.read_bytes(profile.trace))))


def check(report, profile):
    check_default(report, profile)
    checker = Checker(report, profile)
    for group, suffix, keys in (("name", "", ["name"]), ("name-shape", "_by_shape", ["name", "input_shape"])):
        tables = profile.analyze("operators", "--group", group, "--stacks")
        golden = profile.golden(f"operation_table{suffix}")
        what = f"{profile.name} {group}"
        checker.table(what, tables["operators"], golden["data"], keys, golden["metadata"]["sort"])
        stacks = [row for rows in (profile.golden(f"operation_stack{suffix}") or {}).values() for row in rows]
        by_operator = {}
        for row in tables["call_stacks"]:
            by_operator.setdefault(tuple(row[key] for key in keys), []).append(row)
        for row in stacks:
            by_operator.setdefault(tuple(row[key] for key in keys), [])
        for operator, rows in by_operator.items():
            wanted = [row for row in stacks if tuple(row[key] for key in keys) == operator]
            checker.table(f"{what}, stacks of {operator[0]}", rows, wanted, ["call_stack"], golden["metadata"]["sort"])
        checker.rings(what, tables["operators"], profile.golden(f"operation_pie{suffix}"))
    return 1


def main():
    report = common.Report()
    count = sum(check(report, profile) for profile in tensorboard.profiles())
    report.check("there are profiles to compare", count >= 20, f"{count} found")
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
