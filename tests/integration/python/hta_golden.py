"""HTA's recorded answers (../shared/golden/hta) through kino.hta: columns, rows and their order, values."""
import gzip
import json
import logging
import math
import os
import shutil

import pandas
from kino.hta.common.call_stack import CallGraph as OldCallGraph
from kino.hta.common.trace_call_graph import CallGraph
from kino.hta import TraceAnalysis, TraceDiff, DeviceType, LabeledTrace
from kino.hta.common.execution_trace import add_et_column, correlate_execution_trace, load_execution_trace
from kino.hta.configs.env_options import HTAEnvOptions
from kino.hta.memory_analysis import MemoryAnalysis
from kino.hta.utils.utils import get_kernel_type, get_memory_kernel_type, shorten_name
from support import hta


# Rows without length that touch the end of one row and the start of another have no consistent order in HTA: see test_hta_critical_path.py.
UNORDERED = {"h100_bert", "nccl_2steps", "negative_queue_length", "rank_non_gpu", "trace_diff_control", "trace_diff_test"}
# Thousands of events: with KINO_TIER=all only.
LARGE = {"nccl_2steps", "negative_queue_length", "trace_diff_control", "trace_diff_test"}


def plain(value):
    """A cell as the recorded answers have it."""
    if isinstance(value, float) or hasattr(value, "dtype"):
        value = value.item() if hasattr(value, "item") else value
        return None if value != value else value
    return value


def close(got, want, relative):
    if isinstance(want, (int, float)) and isinstance(got, (int, float)) and not isinstance(want, bool):
        return math.isclose(got, want, rel_tol=relative, abs_tol=1e-9 if relative < 1e-6 else 0.0101)
    return got == want


def table_of(frame):
    """Columns, and rows as lists; what has several levels is joined with a slash."""
    if isinstance(frame.columns, pandas.MultiIndex):
        frame = frame.reset_index()
        return ["/".join(levels) for levels in frame.columns], frame.values.tolist()
    return list(frame.columns), frame.values.tolist()


def check_table(report, what, frame, want, relative=1e-8):
    """want: {"columns", "rows"}, perhaps with the first rows only."""
    if want is None:
        report.check(f"{what}: None", frame is None, str(frame))
        return
    if hta.is_error(want):  # HTA fails: a sensible answer, whatever it is
        return
    columns, rows = table_of(frame)
    report.equal(f"{what}: columns", columns, want["columns"])
    if "rows_total" in want:
        report.equal(f"{what}: number of rows", len(rows), want["rows_total"])
        rows = rows[:len(want["rows"])]
    if not report.equal(f"{what}: rows", len(rows), len(want["rows"])):
        return
    for place, (mine, theirs) in enumerate(zip(rows, want["rows"])):
        wrong = [(columns[at], plain(cell), theirs[at]) for at, cell in enumerate(mine) if not close(plain(cell), theirs[at], relative)]
        if wrong:
            report.check(f"{what}: row {place}", False, str(wrong[:3]))
            return
    report.passed += 1


def parts(golden):
    """The parts of a recorded answer by name; none where there is none, or HTA failed."""
    if not golden or hta.is_error(golden):
        return []
    return [(name, part) for name, part in golden.items() if not hta.is_error(part)]


def check_load(report, case, analysis):
    want, frames = case.golden("load"), analysis.t.traces
    report.equal(f"{case.name}: ranks", sorted(frames), want["ranks"])
    report.equal(f"{case.name}: min_ts", plain(analysis.t.min_ts), want["min_ts"])
    report.equal(f"{case.name}: device", analysis.t.get_device_type(), want["device_type"])
    for rank, facts in want["per_rank"].items():
        frame, what = frames[int(rank)], f"{case.name}: frame of rank {rank}"
        counters = set(frame.columns) - set(facts["columns"])
        report.equal(f"{what}: columns", sorted(frame.columns), sorted(facts["columns"]))
        report.check(f"{what}: order of columns", counters or "smsp" in str(facts["columns"]) or list(frame.columns) == facts["columns"])
        report.equal(f"{what}: rows", len(frame), facts["rows_after_load"])
        for name in ("ts", "dur", "correlation"):
            report.equal(f"{what}: sum of {name}", plain(frame[name].sum()), facts[f"sum_{name}"])
        report.check(f"{what}: labels", (frame.index == frame["index"]).all())
    for rank, golden in parts(case.golden("events")):
        frame = frames[int(rank)].copy()
        analysis.t.symbol_table.decode_df(frame, create_new_columns=False)
        rows = frame[golden["columns"]]
        chosen = rows if golden["complete"] else pandas.concat([rows.head(150), rows.tail(150)])
        check_table(report, f"{case.name}: events of rank {rank}", chosen, {**golden, "rows_total": len(chosen)})


def check_breakdowns(report, case, analysis, folder="", relative=1e-8):
    name, ranks = f"{case.name} {folder}", case.ranks
    check_table(report, f"{name}: temporal", analysis.get_temporal_breakdown(visualize=False), case.golden("temporal_breakdown", folder), relative)
    check_table(report, f"{name}: overlap", analysis.get_comm_comp_overlap(visualize=False), case.golden("comm_comp_overlap", folder), relative)
    for delay, want in parts(case.golden("idle_time_breakdown", folder)):
        got = analysis.get_idle_time_breakdown(ranks, visualize=False, show_idle_interval_stats=True, consecutive_kernel_delay=int(delay[6:]))
        check_table(report, f"{name}: idle {delay}", got[0], want["idle"], relative)
        check_table(report, f"{name}: intervals {delay}", got[1].reset_index(), want["interval_stats"], relative)
    summary = analysis.get_queue_length_summary(ranks)
    check_table(report, f"{name}: queues", summary, case.golden("queue_length_summary", folder), relative)
    annotations = {"gpu": {}, "cpu": {"use_gpu_annotation": False}, "cpu_top5": {"use_gpu_annotation": False, "num_kernels": 5},
                   "cpu_top5_allow_Optimizer": {"use_gpu_annotation": False, "num_kernels": 5, "allowlist_patterns": ["Optimizer"]}}
    for which, want in parts(case.golden("user_annotation_breakdown", folder)):
        got = analysis.get_gpu_user_annotation_breakdown(visualize=False, **annotations[which])
        check_table(report, f"{name}: annotations, {which}", got, want, relative)


def check_kernels(report, case, analysis):
    for which, golden in parts(case.golden("gpu_kernel_breakdown")):
        types, kernels = analysis.get_gpu_kernel_breakdown(visualize=False, **golden["args"])
        rows = [row for row in golden["kernel_type"]["rows"] if row[1]]  # spans without length make rows by chance
        check_table(report, f"{case.name}: kinds, {which}", types[types["sum"] != 0], {**golden["kernel_type"], "rows": rows})
        check_table(report, f"{case.name}: kernels, {which}", kernels, golden["kernel"])
    for name, kind, memory, short in case.golden("kernel_classification")["rows"]:
        got = (get_kernel_type(name), get_memory_kernel_type(name) if kind == "MEMORY" else None, shorten_name(name))
        report.equal(f"{case.name}: kind of {name[:40]}", got, (kind, memory, short))


def check_launches(report, case, analysis):
    for which, by_rank in parts(case.golden("cuda_kernel_launch_stats")):
        got = analysis.get_cuda_kernel_launch_stats(case.ranks, include_memory_events=which == "default", visualize=False)
        for rank, golden in by_rank.items():
            frame, what = got[int(rank)], f"{case.name}: launches of rank {rank}, {which}"
            report.equal(f"{what}: count", len(frame), golden["count"])
            for column in ("cpu_duration", "gpu_duration", "launch_delay"):
                report.equal(f"{what}: {column}", plain(frame[column].sum()), golden[f"sum_{column}"])
            ordered = frame.sort_values(list(frame.columns))
            if golden["complete"]:
                check_table(report, what, ordered, {**golden, "rows": sorted(golden["rows"])})
    for rank, golden in parts(case.golden("aten_op_kernels_and_delay")):
        frame = analysis.get_aten_op_kernels_and_delay([int(rank)])[int(rank)]
        frame = frame.sort_values(["occurrence_count", "aten_op_name", "kernel_sequence"], ascending=[False, True, True])
        check_table(report, f"{case.name}: operators of rank {rank}", frame, golden)
    for operator, golden in parts(case.golden("frequent_cuda_kernel_sequences")):
        if "columns" in golden:
            got = analysis.get_frequent_cuda_kernel_sequences(operator, ".", rank=case.ranks[0])
            check_table(report, f"{case.name}: sequences of {operator}", got, golden)


def check_series(report, case, analysis):
    want = case.golden("queue_length_time_series")
    if want is not None and not hta.is_error(want):
        got = analysis.get_queue_length_time_series(case.ranks)
        report.equal(f"{case.name}: ranks with queues", sorted(got), sorted(map(int, want)))
        for rank, golden in want.items():
            series = got[int(rank)].reset_index()
            if golden["complete"]:
                check_table(report, f"{case.name}: queues of rank {rank}", series, golden)
            for stream, facts in golden["per_stream"].items():
                mine = series[series["stream"] == int(stream)]["queue_length"]
                report.equal(f"{case.name}: queue of {rank}, {stream}", (len(mine), plain(mine.sum())), (facts["points"], facts["sum_queue_length"]))
        for limit, golden in parts(case.golden("time_blocked_on_full_queue")):
            check_table(report, f"{case.name}: blocked at {limit}", analysis.get_time_spent_blocked_on_full_queue(got, int(limit)), golden)
    bandwidth = case.golden("memory_bw_summary")
    check_table(report, f"{case.name}: bandwidth", analysis.get_memory_bw_summary(case.ranks), bandwidth, 1e-6)
    series = analysis.get_memory_bw_time_series(case.ranks)
    for rank, golden in parts(case.golden("memory_bw_time_series")):
        report.equal(f"{case.name}: bandwidth of rank {rank}", len(series[int(rank)]), golden["points"])
        if golden["complete"]:
            check_table(report, f"{case.name}: bandwidth of rank {rank}", series[int(rank)], golden, 1e-6)


def check_call_graph(report, case, analysis):
    want = parts(case.golden("call_graph"))
    if not want or case.name in UNORDERED:
        return
    OldCallGraph(analysis.t)
    for rank, golden in parts(case.golden("call_stack_legacy")):
        frame, what = analysis.t.get_trace(int(rank)), f"{case.name}: older call stacks of rank {rank}"
        report.equal(f"{what}: sums", [plain(frame[column].sum()) for column in ("depth", "parent")], [golden["sum_depth"], golden["sum_parent"]])
        rows = {row[0]: row for row in frame[golden["columns"]].values.tolist()}
        report.equal(f"{what}: rows", [rows.get(row[0]) for row in golden["rows"]], golden["rows"])
    graph = CallGraph(analysis.t)
    for rank, golden in want:
        what, frame = f"{case.name}: calls of rank {rank}", analysis.t.get_trace(int(rank))
        stacks = graph.mapping[graph.mapping["rank"].eq(int(rank))]
        report.equal(f"{what}: threads", stacks[golden["stacks"]["columns"]].values.tolist(), golden["stacks"]["rows"])
        report.equal(f"{what}: sums", {column: plain(frame[column].sum()) for column in golden["sum"]}, golden["sum"])
        rows = {row[0]: row for row in frame[golden["columns"]].values.tolist()}
        report.equal(f"{what}: rows", [rows.get(row[0]) for row in golden["rows"]], golden["rows"])


def check_others(report, case, analysis):
    report.equal(f"{case.name}: steps", analysis.get_profiler_steps(), case.golden("profiler_steps")["profiler_steps"])
    late = case.golden("stragglers")
    if late and not hta.is_error(late) and "all_2" in late and not hta.is_error(late["all_2"]):
        for count in (1, 2):
            report.equal(f"{case.name}: stragglers, {count}", sorted(analysis.get_potential_stragglers(num_candidates=count)),
                         sorted(late[f"all_{count}"]))
    for rank, golden in parts(case.golden("gpu_kernels_with_user_annotations")):
        frame = analysis.get_gpu_kernels_with_user_annotations(int(rank), shorten_names=False)
        if golden is None or golden["complete"]:
            check_table(report, f"{case.name}: annotated kernels of rank {rank}", None if golden is None else frame[golden["columns"]], golden)
    counters = case.golden("cupti_counters")
    for golden, frame in zip(counters or [], analysis.get_cupti_counter_data_with_operators(case.ranks) if counters else []):
        check_table(report, f"{case.name}: counters", frame[golden["columns"]], golden)


def check_counters(report, case, analysis):
    """Traces are written beside themselves: copies."""
    want = case.golden("trace_with_counters")
    if not want or hta.is_error(want):
        return
    folder = os.path.abspath(f"counted-{case.name}")
    os.mkdir(folder)
    copies = {rank: shutil.copy(path, folder) for rank, path in zip(case.ranks, case.traces)}
    counted = TraceAnalysis(copies, include_last_profiler_step=case.has_last_step)
    counted.generate_trace_with_counters(ranks=case.ranks)
    for name, facts in want.items():
        with gzip.open(os.path.join(folder, name)) as file:  # compressed whatever the name says, as HTA does
            events = json.loads(file.read())["traceEvents"]
        added = [event for event in events if event.get("ph") == "C"]
        report.equal(f"{case.name}: events of {name}", (len(events), len(added)), (facts["total_events"], facts["counter_events"]))
        for event in added:  # recorded with 9 decimals
            event["args"] = {key: round(value, 9) for key, value in event["args"].items()}
        report.equal(f"{case.name}: first counters of {name}", added[:len(facts["first"])], facts["first"])


def check_case(report, case):
    files = dict(zip(case.ranks, map(str, case.traces)))
    analysis = TraceAnalysis(dict(files), include_last_profiler_step=case.has_last_step)
    check_load(report, case, analysis)
    check_breakdowns(report, case, analysis)
    for check in (check_kernels, check_launches, check_series, check_others, check_counters, check_call_graph):
        check(report, case, analysis)
    if (case.folder / "exact_ns").is_dir():
        HTAEnvOptions.instance().set_disable_ns_rounding(True)
        exact = TraceAnalysis(dict(files), include_last_profiler_step=case.has_last_step)
        check_breakdowns(report, case, exact, "exact_ns", 1e-6)
        HTAEnvOptions.instance().set_disable_ns_rounding(False)


def check_diff(report):
    want = hta.read_json(hta.GOLDEN / "trace_diff/trace_diff.json")
    sides = [LabeledTrace(label, trace_dir=str(hta.TRACES / f"trace_diff_{label.lower()}")) for label in ("Control", "Test")]
    report.equal("ranks", [side.ranks() for side in sides], [want["control_ranks"], want["test_ranks"]])
    report.equal("iterations", [side.iterations() for side in sides], [want["control_iterations"], want["test_iterations"]])
    for name, golden in want.items():
        if not isinstance(golden, dict) or "args" not in golden:
            continue
        args = dict(golden["args"])
        device, short = DeviceType[args.pop("device")], args.pop("use_short_name")
        frame = TraceDiff.compare_traces(*sides, **args, device_type=device, use_short_name=short)
        frame = frame.sort_index().rename_axis(golden["compare"]["columns"][0]).reset_index()
        rows = sorted(golden["compare"]["rows"])
        check_table(report, f"diff {name}", frame, {"columns": golden["compare"]["columns"], "rows": rows})
        if "ops_diff" in golden:
            got = TraceDiff.ops_diff(*sides, **args, device_type=device)
            report.equal(f"names of {name}", {key: sorted(names) for key, names in got.items()},
                         {key: sorted(names) for key, names in golden["ops_diff"].items()})


def check_tools(report):
    want = hta.read_json(hta.GOLDEN / "memory_analysis/memory_timeline.json")
    times, sizes = MemoryAnalysis(str(next((hta.TRACES / "memory_analysis").glob("*.gz"))))._process_raw_events()
    report.equal("memory: points", (len(times), times[:5], sizes[744], sizes[-1]),
                 (want["points"], want["first_times"], want["size_744"], want["final_by_category"]))
    golden = hta.read_json(hta.GOLDEN / "execution_trace/execution_trace_correlation.json")
    folder = hta.TRACES / "execution_trace"
    analysis = TraceAnalysis({0: str(folder / "benchmark_simple_add_trace.json.gz")})
    trace = load_execution_trace(str(folder / "benchmark_simple_add_et.json.gz"))
    correlate_execution_trace(analysis.t, 0, trace)
    frame = analysis.t.get_trace(0)
    report.equal("execution trace: nodes", (len(trace.nodes), int(frame["et_node"].notna().sum())), (golden["et_nodes"], golden["correlated"]))
    for column in ("et_node_name", "input_shapes", "output_shapes"):
        add_et_column(frame, trace, column)
    analysis.t.symbol_table.add_symbols_to_trace_df(frame, "name")
    check_table(report, "execution trace", frame[golden["columns"]], golden)


def run(report):
    logging.getLogger("hta").setLevel(logging.CRITICAL)
    is_all = os.environ.get("KINO_TIER") == "all"
    for case in hta.cases():
        if is_all or case.name not in LARGE:
            check_case(report, case)
    if (hta.TRACES / "memory_analysis").is_dir():
        check_tools(report)
    if is_all and report.has(hta.GOLDEN / "trace_diff/trace_diff.json"):
        check_diff(report)
