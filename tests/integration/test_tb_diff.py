#!/usr/bin/env python3
"""kino diff --compat tensorboard against the recorded answers of the plugin, and the default against a slow and obvious comparison."""
import gzip
import json
import statistics
import sys
import tempfile

from support import common, tensorboard


def diff(left, right, *arguments):
    done = common.run("diff", left, right, "--format", "json", "--quiet", *arguments)
    if done.returncode != 0:
        raise RuntimeError(f"kino diff {left} {right}: {done.stderr.decode('utf-8', 'replace')[:300]}")
    answer = json.loads(done.stdout)
    return {table["name"]: [dict(zip((column["name"] for column in table["columns"]), row)) for row in table["rows"]]
            for table in answer["tables"]}


def us(value):
    return value / 1000


def trees(tables):
    """{path: (left, right)}, each side as the plugin gives it; aggs by name."""
    nodes = {}
    for row in tables["diff_tree"]:
        nodes[row["path"]] = tuple({"name": row[f"{side}_name"], "duration": us(row[f"{side}_duration"]),
                                    "device_duration": us(row[f"{side}_device_duration"]),
                                    "total_duration": us(row[f"{side}_total_duration"]), "aggs": {}} for side in ("left", "right"))
    for row in tables["diff_tree_ops"]:
        nodes[row["path"]][row["side"] == "right"]["aggs"][row["name"]] = [row["calls"]] + [
            us(row[column]) for column in ("host_duration", "device_duration", "self_host_duration", "self_device_duration")]
    return nodes


def recorded(node):
    """The same of a recorded answer."""
    nodes, waiting = {}, [("0", node)]
    while waiting:
        path, one = waiting.pop()
        nodes[path] = tuple(dict(one[side], aggs={agg["name"]: [agg["calls"], agg["host_duration"], agg["device_duration"],
                                                                agg["self_host_duration"], agg["self_device_duration"]]
                                                  for agg in one[side]["aggs"]}) for side in ("left", "right"))
        waiting.extend((f"{path}-{i}", child) for i, child in enumerate(one["children"]))
    return nodes


def traces_of(run, worker, span):
    for profile in tensorboard.profiles():
        if profile.run.endswith(run) and profile.worker == worker and profile.span == span:
            return profile.trace
    return None


def compare(report, name, left, right, answer):
    tables = diff(left, right, "--compat", "tensorboard", "--tree-ops")
    got, want = trees(tables), recorded(answer)
    report.equal(f"{name} paths", sorted(got), sorted(want))
    for path, sides in want.items():
        if path in got:
            report.equal(f"{name} {path}", got[path], sides)
    # What is compared as a whole is the root.
    ops = {row["name"]: [row["left_calls"], us(row["left_host_duration"]), us(row["left_device_duration"]),
                         us(row["left_self_host_duration"]), us(row["left_self_device_duration"])]
           for row in tables["diff_ops"] if row["change"] != "new"}
    report.equal(f"{name} operators", ops, want["0"][0]["aggs"])


def check_recorded(report):
    count = 0
    for path in sorted((tensorboard.GOLDEN / "synthetic/diff").glob("*.json*")):
        answer = json.loads(common.read_bytes(path))
        left, right = (traces_of(*answer[side]) for side in ("base", "exp"))
        if left and right:
            compare(report, path.name, left, right, answer["diff"])
            count += 1
    report.check("diffs were compared", count >= 6, count)
    path = tensorboard.GOLDEN / "resnet50_num_workers_0/diff_self.json.gz"
    if not report.has(path):
        return
    with gzip.open(path) as file:
        answer = json.loads(file.read())
    trace = next(profile.trace for profile in tensorboard.profiles()
                 if profile.run == "resnet50_num_workers_0" and profile.span == "1")
    compare(report, "resnet50", trace, trace, answer.get("diff", answer))


# -- the default, on traces made here: three steps each, values worked out below

def trace(folder, name, mm, kernels, extra=()):
    """Steps of 100 us; in each an operator aten::mm of `mm` us that launches kernels (name, us); times in us."""
    events = []
    for step in range(3):
        at = 1000 + step * 100
        events.append({"ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{step}", "pid": 1, "tid": 1, "ts": at, "dur": 100})
        events.append({"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": at + 1, "dur": mm,
                       "args": {"External id": 10 * step + 1}})
        for i, (kernel, dur) in enumerate(kernels):
            ids = {"External id": 10 * step + 1, "correlation": 100 * step + i + 1}
            events.append({"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": at + 2 + i, "dur": 1,
                           "args": ids})
            events.append({"ph": "X", "cat": "kernel", "name": kernel, "pid": 0, "tid": 7, "ts": at + 10 + 20 * i, "dur": dur,
                           "args": dict(ids, device=0, stream=7)})
        events.extend(dict(event, ts=at + event["ts"]) for event in extra)
    path = folder + f"/{name}.json"
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"traceEvents": events}, file)
    return path


def check_default(report, folder):
    left = trace(folder, "left", 20, [("gemm", 10), ("copy", 4)])
    right = trace(folder, "right", 30, [("gemm", 15), ("relu", 6)],
                  [{"ph": "X", "cat": "cpu_op", "name": "aten::relu", "pid": 1, "tid": 1, "ts": 50, "dur": 5}])
    tables = diff(left, right)
    steps = {row["part"]: (row["left"], row["right"], row["delta"]) for row in tables["diff_steps"]}
    report.equal("step time", steps["Step time"], (100000, 100000, 0))
    report.equal("kernel part", steps["Kernel"], (14000, 21000, 7000))
    kernels = [(row["name"], row["change"], row["left_time"], row["right_time"], row["percent"]) for row in tables["diff_kernels"]]
    report.equal("kernels", kernels, [("relu", "new", 0, 6000, None), ("gemm", "both", 10000, 15000, 50.0),
                                      ("copy", "gone", 4000, 0, -100.0)])
    ops = [(row["name"], row["change"], row["left_time"], row["right_time"], row["left_calls"], row["right_calls"])
           for row in tables["diff_ops"]]
    report.equal("operators", ops, [("aten::mm", "both", 14000, 21000, 1.0, 1.0), ("aten::relu", "new", 0, 0, 0.0, 1.0)])


def check_several(report, folder):
    """Medians and spread: kernels of 10, 12, 30 us against 11, 15 us."""
    lefts, rights = [10, 12, 30], [11, 15]
    a = [trace(folder, f"a{value}", 20, [("gemm", value)]) for value in lefts]
    b = [trace(folder, f"b{value}", 20, [("gemm", value)]) for value in rights]
    want = (statistics.median(lefts) * 1000, statistics.median(rights) * 1000, 20000, 4000)
    columns = ("left_time", "right_time", "left_spread", "right_spread")
    row = diff(",".join(a), ",".join(b))["diff_kernels"][0]
    report.equal("medians of lists", tuple(row[column] for column in columns), want)
    done = common.run("diff", *a, "vs", *b, "--format", "json", "--quiet")
    table = next(table for table in json.loads(done.stdout)["tables"] if table["name"] == "diff_kernels")
    row = dict(zip((column["name"] for column in table["columns"]), table["rows"][0]))
    report.equal("medians of vs", tuple(row[column] for column in columns), want)


def main():
    report, skipped = common.Report(), 0
    with tempfile.TemporaryDirectory() as folder:
        check_default(report, folder)
        check_several(report, folder)
    if tensorboard.GOLDEN.is_dir():
        check_recorded(report)
    else:
        print("../shared/golden/tensorboard is absent: nothing to compare with", file=sys.stderr)
        skipped += 1
    return report.finish(skipped)


if __name__ == "__main__":
    sys.exit(main())
