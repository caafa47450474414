#!/usr/bin/env python3
"""kino analyze distributed --compat tensorboard against the recorded answers of the plugin, and what the default changes."""
import json
import pathlib
import sys
import tempfile

from support import common, tensorboard


def by_step(rows, columns):
    """{step: {worker: [whole microseconds, truncated as the plugin does]}}"""
    table = {}
    for row in rows:
        table.setdefault(row["step"] or "null", {})[row["worker"]] = [int(row[column] / 1000) for column in columns]
    return table


def ops(rows):
    """{worker: [rows of the plugin]}; averages rounded as Python rounds."""
    table = {}
    for row in rows:
        table.setdefault(row["worker"], []).append(
            [row["name"], row["calls"], row["total_size"], round(row["total_size"] / row["calls"]), round(row["total_latency"] / 1000),
             round(row["total_latency"] / 1000 / row["calls"]), round(row["data_transfer_time"] / 1000),
             round(row["data_transfer_time"] / 1000 / row["calls"])])
    return table


def devices(rows):
    """{node: {process: {device: properties}}}, or None where there are none."""
    table = {}
    for row in rows:
        process = table.setdefault(row["node"], {}).setdefault(f"Process {row['process']}", {})
        if row["device"] is not None:
            process[f"GPU{row['device']}"] = {"Name": row["name"], "Memory": f"{round(row['memory'] / 2 ** 30, 2)} GB",
                                              "Memory Raw": row["memory"], "Compute Capability": row["compute_capability"]}
    return table or None


def compare(report, name, tables, answers):
    report.equal(f"{name} overlap", by_step(tables["computation_overview"],
                                            ("computation", "overlapping", "communication", "other")), answers["overlap"])
    report.equal(f"{name} waittime", by_step(tables["communication_overview"], ("data_transfer_time", "synchronizing_time")),
                 answers["waittime"])
    report.equal(f"{name} commops", ops(tables["communication_ops"]), answers["commops"])
    report.equal(f"{name} gpuinfo", devices(tables["workers"]), answers["gpuinfo"])


def recorded(folder):
    answers = {}
    for route in ("overlap", "waittime", "commops", "gpuinfo"):
        body = json.loads((folder / f"distributed_{route}.json").read_text())
        answers[route] = body and body["data"]
    answers["commops"] = {worker: table["rows"] for worker, table in answers["commops"].items()}
    return answers


def check_runs(report):
    count = 0
    for run, span, traces, folder in tensorboard.distributed_runs():
        spans = () if span == "default" else ("--span", span)
        compare(report, run, tensorboard.analyze([traces[0].parent], "distributed", "--compat", "tensorboard", *spans), recorded(folder))
        # The default knows these collectives too: on the host the same numbers; on a device without the host's calls, so never more.
        tables = tensorboard.analyze([traces[0].parent], "distributed", *spans)
        got = by_step(tables["communication_overview"], ("data_transfer_time", "synchronizing_time"))
        want = recorded(folder)["waittime"]
        if "gloo" in run:
            report.equal(f"{run} waittime, default", got, want)
        else:
            pairs = [(sum(got[step][worker]), sum(want[step][worker])) for step in want for worker in want[step]]
            report.check(f"{run} waittime, default: kernels alone", all(0 < mine <= theirs for mine, theirs in pairs), pairs)
        count += 1
    report.check("runs were compared", count >= 3, count)


def check_unit(report, folder):
    if not report.has(tensorboard.GOLDEN / "unit"):
        return
    case = json.loads((tensorboard.GOLDEN / "unit/distributed_nccl.json").read_text())
    for worker in case["workers"]:
        (folder / f"{worker['worker']}.pt.trace.json").write_text(json.dumps(worker["trace"]))
    compare(report, "unit", tensorboard.analyze([folder], "distributed", "--compat", "tensorboard"), case["expected"]["All"])


def check_absent(report):
    """Profiles of the plugin without the view: no rows, and a note."""
    for profile in tensorboard.profiles():
        if (profile.folder.parent / f"All.span{profile.span}").is_dir():
            continue
        report.equal(f"{profile.name} has no view", profile.analyze("distributed")["computation_overview"], [])


def main():
    if not tensorboard.GOLDEN.is_dir():
        common.skip("../shared/golden/tensorboard is absent: nothing to compare with")
    report = common.Report()
    check_runs(report)
    with tempfile.TemporaryDirectory() as folder:
        check_unit(report, pathlib.Path(folder))
    check_absent(report)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
