#!/usr/bin/env python3
"""docs/analyses/differences.md says where the default differs from --compat tensorboard. Here both modes are run on every recorded trace:
a difference must have a row for that analysis with a defect that the trace has, and a row must be seen where a trace has its defect."""
import re
import sys

from support import common, tensorboard

report = common.Report()
PAGE = common.ROOT / "docs/analyses/differences.md"
ANALYSES = ["overview", "operators", "kernels", "tensor-cores", "memory", "modules", "lightning"]

# What is special about each trace. Those that are not here have nothing that the plugin gets wrong; rows without a number may apply to all.
DEFECTS = {
    "real_h100_bert_small": {"D1", "D2", "D3", "D9", "D13", "D16", "D24"},
    "gpu_annotations_s11": {"D1"},
    "train_gpu_s11": {"D16", "D23", "D24"},
    "modules_deep_flow_s11": {"D23"},
    "shuffled_input_s11": {"D12", "D16", "D24"},
    "cpu_only_s11": {"D24"},
    "modules_no_flow_s11": {"D16", "D24"},
    "multi_gpu_dp_s11": {"D16", "D24"},
    "train_gpu_legacy_s11": {"D16", "D24"},
    "resnet50_num_workers_0": {"D16"},
}
# Pairs that must be seen here; the others are shown by hand-made traces in tests/unit.
SEEN = {("D1", "overview"), ("D2", "overview"), ("D2", "operators"), ("D2", "tensor-cores"), ("D9", "tensor-cores"), ("D9", "kernels"),
        ("D12", "operators"), ("D12", "tensor-cores"), ("D23", "operators"), ("D23", "overview"), ("D23", "tensor-cores")}


def listed():
    """(defect, analysis) of all rows; "–" for those without a number."""
    pairs = set()
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if len(cells) != 4 or not re.match(r"–|D\d", cells[0]):
            continue
        report.check(f"row {cells[0]} says what and why", all(cells))
        for defect in re.findall(r"–|D\d+", cells[0]):
            pairs |= {(defect, name) for name in re.findall(r"`([^`]+)`", cells[3])}
    return pairs


def known_analyses():
    done = common.run("analyze", "--list", "--format", "csv", "--quiet")
    return {line.split(",")[0] for line in done.stdout.decode().splitlines()}


def check_distributed(pairs):
    """Of whole runs, all of which have collectives: what differs there is D11."""
    for run, span, traces, _ in tensorboard.distributed_runs():
        compat = tensorboard.analyze(traces, "distributed", "--compat", "tensorboard")
        if compat != tensorboard.analyze(traces, "distributed"):
            report.check(f"{run} span {span}: distributed differs", ("D11", "distributed") in pairs, "no row says why")


def main():
    pairs, seen = listed(), set()
    known = known_analyses()
    check_distributed(pairs)
    for profile in tensorboard.profiles():
        special = DEFECTS.get(profile.run.split("/")[-1], set())
        for analysis in ANALYSES:
            if analysis not in known:
                continue
            compat, default = profile.analyze(analysis), profile.analyze(analysis, compat=False)
            if compat == default:
                continue
            reasons = {defect for defect, name in pairs if name == analysis and (defect == "–" or defect in special)}
            tables = [name for name in compat if compat[name] != default.get(name)]
            report.check(f"{profile.name}: {analysis} differs in {', '.join(tables)}", reasons, "no row says why")
            seen |= {(defect, analysis) for defect in reasons}
    for defect, analysis in sorted(SEEN):
        report.check(f"{defect} in {analysis} is listed", (defect, analysis) in pairs)
        if common.HAS_SHARED:  # the synthetic traces do not have all of them
            report.check(f"{defect} in {analysis} is seen", (defect, analysis) in seen)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
