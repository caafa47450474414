"""HTA's recorded answers through kino.hta: loading, and the analyses that give frames."""
import gzip
import json
import os
import shutil

import pandas
from kino.hta import TraceAnalysis
from kino.hta.analyzers.straggler import _compute_normalized_start_time_of_significant_comm_kernels as late_metric
from kino.hta.utils.utils import get_kernel_type, get_memory_kernel_type, shorten_name
from support import hta

from .hta_compare import check_facts, check_table, parts, plain

ANNOTATIONS = {"gpu": {}, "cpu": {"use_gpu_annotation": False}, "cpu_top5": {"use_gpu_annotation": False, "num_kernels": 5},
               "cpu_top5_allow_Optimizer": {"use_gpu_annotation": False, "num_kernels": 5, "allowlist_patterns": ["Optimizer"]}}


def relative(subject):
    return 1e-6 if subject.is_exact else 1e-8


def frame_facts(analysis, rank):
    """What load.json says of a rank's frame."""
    frame, trace = analysis.t.traces[rank], analysis.t
    links, texts = frame["index_correlation"], trace.symbol_table.get_sym_table()
    return {"columns": list(frame.columns), "rows_after_load": len(frame),
            "rows_by_cat": frame["cat"].map(lambda number: texts[number]).value_counts().to_dict(),
            "sum_ts": plain(frame["ts"].sum()), "sum_dur": plain(frame["dur"].sum()), "min_ts": plain(frame["ts"].min()),
            "max_ts": plain(frame["ts"].max()), "sum_end_minus_ts_minus_dur": plain((frame["end"] - frame["ts"] - frame["dur"]).sum()),
            "n_stream_ge0": int(frame["stream"].ge(0).sum()), "streams": sorted(map(int, frame["stream"].unique())),
            "sum_correlation": plain(frame["correlation"].sum()), "n_index_correlation_gt0": int(links.gt(0).sum()),
            "n_index_correlation_eq0": int(links.eq(0).sum()), "n_index_correlation_neg": int(links.lt(0).sum()),
            "sum_index_correlation": plain(links.sum()),
            "iteration_counts": {str(number): int(count) for number, count in frame["iteration"].value_counts().items()},
            "iterations": [int(number) for number in trace.get_iterations(rank)], "trace_duration": plain(trace.get_trace_duration(rank)),
            "distinct_names": int(frame["name"].nunique()), "meta_keys": sorted(trace.meta_data[rank])}


def check_load(report, subject, want):
    frames, trace = subject.analysis.t.traces, subject.analysis.t
    check_facts(report, subject.name, {"ranks": sorted(frames), "min_ts": trace.min_ts, "device_type": trace.get_device_type()},
                {name: value for name, value in want.items() if name in ("ranks", "min_ts", "device_type")})
    for rank, facts in want["per_rank"].items():
        mine = frame_facts(subject.analysis, int(rank))
        if "smsp" in str(facts["columns"]):  # the columns of counters come in the order of a set
            mine["columns"], facts = sorted(mine["columns"]), {**facts, "columns": sorted(facts["columns"])}
        check_facts(report, f"{subject.name}: frame of rank {rank}", mine, facts, relative(subject))
        report.check(f"{subject.name}: labels of rank {rank}", (frames[int(rank)].index == frames[int(rank)]["index"]).all())


def check_events(report, subject, want):
    for rank, golden in parts(want):
        frame = subject.analysis.t.traces[int(rank)].copy()
        subject.analysis.t.symbol_table.decode_df(frame, create_new_columns=False)
        rows = frame[golden["columns"]]
        chosen = rows if golden["complete"] else pandas.concat([rows.head(150), rows.tail(150)])
        check_table(report, f"{subject.name}: events of rank {rank}", chosen, {**golden, "rows_total": len(chosen)}, relative(subject))


def check_temporal(report, subject, want):
    check_table(report, f"{subject.name}: temporal", subject.analysis.get_temporal_breakdown(visualize=False), want, relative(subject))


def check_overlap(report, subject, want):
    check_table(report, f"{subject.name}: overlap", subject.analysis.get_comm_comp_overlap(visualize=False), want, relative(subject))


def check_idle(report, subject, want):
    for delay, golden in parts(want):
        got = subject.analysis.get_idle_time_breakdown(subject.ranks, visualize=False, show_idle_interval_stats=True,
                                                       consecutive_kernel_delay=int(delay[6:]))
        check_table(report, f"{subject.name}: idle {delay}", got[0], golden["idle"], relative(subject))
        check_table(report, f"{subject.name}: intervals {delay}", got[1].reset_index(), golden["interval_stats"], relative(subject))


def check_annotations(report, subject, want):
    for which, golden in parts(want):
        got = subject.analysis.get_gpu_user_annotation_breakdown(visualize=False, **ANNOTATIONS[which])
        check_table(report, f"{subject.name}: annotations, {which}", got, golden, relative(subject))


def check_annotated_kernels(report, subject, want):
    for rank, golden in parts(want):
        what = f"{subject.name}: annotated kernels of rank {rank}"
        frame = subject.analysis.get_gpu_kernels_with_user_annotations(int(rank), shorten_names=False)
        if golden is None:
            report.check(f"{what}: None", frame is None, str(frame)[:200])
            continue
        report.equal(f"{what}: kernels", len(frame), golden["kernels"])
        sums = frame.groupby("s_user_annotation")["dur"].agg(["count", "sum"]).reset_index()
        check_table(report, f"{what}: by annotation", sums.set_axis(golden["by_annotation"]["columns"], axis=1), golden["by_annotation"],
                    relative(subject))
        rows = frame[golden["columns"]]
        check_table(report, what, rows if golden["complete"] else rows.head(len(golden["rows"])), golden, relative(subject))


def check_kernels(report, subject, want):
    for which, golden in parts(want):
        types, kernels = subject.analysis.get_gpu_kernel_breakdown(visualize=False, **golden["args"])
        check_table(report, f"{subject.name}: kernels, {which}", kernels, golden["kernel"], relative(subject))
        what, theirs = f"{subject.name}: kinds, {which}", {row[0]: row[1] for row in golden["kernel_type"]["rows"] if row[1]}
        if subject.is_exact:  # HTA cuts each span to whole us there; integer_ns.json has the sums
            mine = dict(zip(types["kernel_type"], types["sum"]))
            report.check(f"{what}: no less than HTA's whole us", all(mine.get(kind, 0) >= sum_ for kind, sum_ in theirs.items()), mine)
            continue
        rows = [row for row in golden["kernel_type"]["rows"] if row[1]]  # spans without length make rows by chance
        check_table(report, what, types[types["sum"] != 0], {**golden["kernel_type"], "rows": rows})


def check_classification(report, subject, want):
    for name, kind, memory, short in want["rows"]:
        got = (get_kernel_type(name), get_memory_kernel_type(name) if kind == "MEMORY" else None, shorten_name(name))
        report.equal(f"{subject.name}: kind of {name[:40]}", got, (kind, memory, short))


def launch_facts(frame):
    cpu, gpu, delay = frame["cpu_duration"], frame["gpu_duration"], frame["launch_delay"]
    return {"count": len(frame), "sum_cpu_duration": cpu.sum(), "sum_gpu_duration": gpu.sum(), "sum_launch_delay": delay.sum(),
            "max_launch_delay": delay.max() if len(frame) else None, "short_kernels_lt_cpu_and_cpu_le_50": int((gpu.lt(cpu) & cpu.le(50)).sum()),
            "runtime_outliers_gt_50": int(cpu.gt(50).sum()), "launch_delay_outliers_gt_100": int(delay.gt(100).sum())}


def check_launches(report, subject, want):
    for which, by_rank in parts(want):
        got = subject.analysis.get_cuda_kernel_launch_stats(subject.ranks, include_memory_events=which == "default", visualize=False)
        for rank, golden in by_rank.items():
            frame, what = got[int(rank)], f"{subject.name}: launches of rank {rank}, {which}"
            facts = {name: value for name, value in golden.items() if name not in ("complete", "columns", "rows")}
            check_facts(report, what, launch_facts(frame), facts, relative(subject))
            rows = sorted(golden["rows"])
            ordered = frame.sort_values(list(frame.columns)).head(len(rows))
            if golden["complete"] or ordered["correlation"].is_unique:
                check_table(report, what, ordered, {**golden, "rows": rows}, relative(subject))


def check_operators(report, subject, want):
    for rank, golden in parts(want):
        frame = subject.analysis.get_aten_op_kernels_and_delay([int(rank)])[int(rank)]
        frame = frame.sort_values(["occurrence_count", "aten_op_name", "kernel_sequence"], ascending=[False, True, True])
        check_table(report, f"{subject.name}: operators of rank {rank}", frame, golden, relative(subject))


def events_of(path):
    """traceEvents of a file of HTA's, which is compressed whatever its name says."""
    with gzip.open(path) as file:
        return json.loads(file.read())["traceEvents"]


def check_sequences(report, subject, want):
    folder = os.path.abspath(f"sequences-{subject.case.name}-{subject.folder}")
    os.makedirs(folder)
    for operator, golden in parts(want):
        what = f"{subject.name}: sequences of {operator}"
        got = subject.analysis.get_frequent_cuda_kernel_sequences(operator, folder, rank=subject.ranks[0])
        if "columns" not in golden:
            report.equal(f"{what}: rows", len(got), golden["rows_total"])
            continue
        check_table(report, what, got, golden, relative(subject))
        events, facts = events_of(os.path.join(folder, golden["overlay"]["file"])), golden["overlay"]
        mine = {"events": len(events), "events_with_Patterns": sum("Patterns" in event.get("args", {}) for event in events),
                "X_with_empty_args": sum(event.get("ph") == "X" and event.get("args") == {} for event in events)}
        report.equal(f"{what}: overlay", mine, {name: facts[name] for name in mine})


def series_facts(points):
    """What is recorded of a stream's queue: the value after the last change at each time, and sums."""
    lengths = points["queue_length"]
    last = points.groupby("ts", sort=False)["queue_length"].last()
    return {"points": len(points), "sum_queue_length": plain(lengths.sum()), "min": plain(lengths.min()), "max": plain(lengths.max()),
            "final": plain(lengths.iloc[-1]), "distinct_ts": len(last), "sum_last_per_ts": plain(last.sum())}, last


def check_queues(report, subject, want):
    if hta.is_error(want):
        return
    got = subject.analysis.get_queue_length_time_series(subject.ranks)
    report.equal(f"{subject.name}: ranks with queues", sorted(got), sorted(map(int, want)))
    for rank, golden in want.items():
        series = got[int(rank)].reset_index()
        if golden["complete"]:
            check_table(report, f"{subject.name}: queues of rank {rank}", series, golden, relative(subject))
        for stream, facts in golden["per_stream"].items():
            what = f"{subject.name}: queue of {rank}, {stream}"
            mine, last = series_facts(series[series["stream"] == int(stream)])
            check_facts(report, what, mine, {name: value for name, value in facts.items() if name != "series"}, relative(subject))
            points = pandas.DataFrame({"ts": last.index, "queue_length": last.to_numpy()}).head(len(facts["series"]))
            check_table(report, f"{what}: series", points, {"columns": ["ts", "queue_length"], "rows": [list(row) for row in facts["series"]]},
                        relative(subject))


def check_queue_summary(report, subject, want):
    check_table(report, f"{subject.name}: queue summary", subject.analysis.get_queue_length_summary(subject.ranks), want, relative(subject))


def check_blocked(report, subject, want):
    series = subject.analysis.get_queue_length_time_series(subject.ranks)
    for limit, golden in parts(want):
        got = subject.analysis.get_time_spent_blocked_on_full_queue(series, int(limit))
        check_table(report, f"{subject.name}: blocked at {limit}", got, golden, relative(subject))


def check_bandwidth(report, subject, want):
    check_table(report, f"{subject.name}: bandwidth", subject.analysis.get_memory_bw_summary(subject.ranks), want, 1e-6)


def check_bandwidth_series(report, subject, want):
    series = subject.analysis.get_memory_bw_time_series(subject.ranks)
    for rank, golden in parts(want):
        frame, what = series[int(rank)], f"{subject.name}: bandwidth of rank {rank}"
        values = frame.groupby("name")["memory_bw_gbps"]
        mine = {name: {"points": len(one), "max": one.max(), "sum": one.sum()} for name, one in values}
        check_facts(report, what, {"points": len(frame), "by_name": mine}, {"points": golden["points"], "by_name": golden["by_name"]}, 1e-6)
        if golden["complete"]:
            check_table(report, what, frame, golden, 1e-6)


def check_steps(report, subject, want):
    report.equal(f"{subject.name}: steps", subject.analysis.get_profiler_steps(), want["profiler_steps"])


def check_stragglers(report, subject, want):
    """Ranks in any order: HTA sorts counts of steps, of which several are equal."""
    analysis, steps = subject.analysis, subject.analysis.get_profiler_steps()
    for which, chosen in (("all", None), ("first", steps[:1])):
        for count in (1, 2):
            got = analysis.get_potential_stragglers(profiler_steps=chosen, num_candidates=count)
            report.equal(f"{subject.name}: stragglers, {which} {count}", sorted(got), sorted(want[f"{which}_{count}"]))
    frames = analysis.t.get_all_traces()
    rows = pandas.concat(list(frames.values()), keys=list(frames), names=["rank", "idx"]).reset_index()
    metric = late_metric(rows[rows["iteration"].isin(steps)], analysis.t.symbol_table)[0].copy()
    metric["name"] = [analysis.t.symbol_table.get_sym_table()[number] for number in metric["name"]]
    check_table(report, f"{subject.name}: metric of stragglers", metric[want["metric"]["columns"]], want["metric"], relative(subject))


def check_cupti(report, subject, want):
    for golden, frame in zip(want, subject.analysis.get_cupti_counter_data_with_operators(subject.ranks)):
        check_table(report, f"{subject.name}: counters", frame[golden["columns"]], golden)


def check_counters(report, subject, want):
    """Traces are written beside themselves: copies."""
    case, folder = subject.case, os.path.abspath(f"counted-{subject.case.name}")
    os.mkdir(folder)
    copies = {rank: shutil.copy(path, folder) for rank, path in zip(case.ranks, case.traces)}
    counted = TraceAnalysis(copies, include_last_profiler_step=case.has_last_step)
    counted.generate_trace_with_counters(ranks=case.ranks)
    for name, facts in parts(want):
        what, events = f"{subject.name}: {name}", events_of(os.path.join(folder, name))
        added = [event for event in events if event.get("ph") == "C"]
        by_name = {}
        for event in added:  # recorded with 9 decimals
            event["args"] = {key: round(value, 9) for key, value in event["args"].items()}
            by_name[event["name"]] = by_name.get(event["name"], 0) + 1
        got = {"total_events": len(events), "counter_events": len(added), "by_name": by_name, "first": added[:len(facts["first"])],
               "last": added[len(added) - len(facts["last"]):]}
        check_facts(report, what, got, facts)
