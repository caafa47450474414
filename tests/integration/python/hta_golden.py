"""HTA's recorded answers (../shared/golden/hta) through kino.hta, every file of them: FILES says how each is compared, and a file that it
does not know is a failure. Without KINO_TIER=all the cases of thousands of events are left out."""
import contextlib
import logging
import os

import pandas
from kino.hta import DeviceType, LabeledTrace, TraceAnalysis, TraceDiff
from kino.hta.common.execution_trace import add_et_column, correlate_execution_trace, load_execution_trace
from kino.hta.configs.env_options import HTAEnvOptions
from kino.hta.memory_analysis import MemoryAnalysis
from support import hta

from . import hta_answers as answers
from . import hta_graphs as graphs
from .hta_compare import Subject, check_facts, check_table

LARGE = {"nccl_2steps", "negative_queue_length", "trace_diff", "trace_diff_control", "trace_diff_test"}
FOLDERS = ("", "exact_ns", "as_shipped")
# What HTA's unstable sort decides where times are equal: the order of a launch and of another one's work, of the ends of copies, of calls.
QUARTILES = ("mean", "std", "25%", "50%", "75%")


def ns(microseconds):
    return round(float(microseconds) * 1000)


def check_integer_ns(report, subject, want):
    """Exact ns where HTA has doubles: what kino.hta gives in us with fractions is that to the ns."""
    analysis, name = subject.analysis, f"{subject.name}: integer ns"
    for rank, count in want["rows"].items():
        frame = analysis.t.traces[int(rank)]
        mine = {"rows": len(frame), "sum_ts": ns(frame["ts"].sum()), "sum_dur": ns(frame["dur"].sum())}  # of doubles, as in HTA
        check_facts(report, f"{name}: rank {rank}", mine, {"rows": count, "sum_ts": want["sum_ts"][rank], "sum_dur": want["sum_dur"][rank]}, 1e-6)
    temporal = analysis.get_temporal_breakdown(visualize=False)
    mine = [[rank, *map(ns, times)] for rank, *times in
            temporal[["rank", "idle_time(us)", "compute_time(us)", "non_compute_time(us)", "kernel_time(us)"]].values.tolist()]
    if want["temporal_breakdown"]:  # else there is no device work
        report.equal(f"{name}: temporal", mine, want["temporal_breakdown"]["rows"])
    overlap = analysis.get_comm_comp_overlap(visualize=False)["comp_comm_overlap_pctg"].tolist()
    shares = [100 * both / communication if communication else None for _, both, communication in want["comm_comp_overlap"]["rows"]]
    report.check(f"{name}: overlap", all(theirs is None or abs(got - theirs) < 0.0101 for got, theirs in zip(overlap, shares)), f"{overlap} {shares}")
    types, kernels = analysis.get_gpu_kernel_breakdown(visualize=False, duration_ratio=1.0, num_kernels=10**6)
    report.equal(f"{name}: kinds, in whole us", {kind: sum_ for kind, sum_ in zip(types["kernel_type"], types["sum"]) if sum_},
                 {kind: sum_ // 1000 for kind, sum_ in want["kernel_type_sums"].items() if sum_ >= 1000})
    mine = [[row[0], *map(ns, row[1:4]), *row[4:]] for row in
            kernels[["name", "sum (us)", "max (us)", "min (us)", "kernel_type", "rank"]].values.tolist()]
    theirs = want["kernel_breakdown_all"]["rows"]
    report.equal(f"{name}: kernels", mine[:120] if len(theirs) == 120 else mine, theirs)  # no more than 120 are recorded
    idle = analysis.get_idle_time_breakdown(subject.ranks, visualize=False)[0]
    mine = sorted(idle[["rank", "stream", "idle_category", "idle_time"]].values.tolist())
    theirs = sorted([*row[:3], row[3] / 1000] for row in want["idle_delay_30us"]["rows"])  # HTA gives two decimals
    report.check(f"{name}: idle", [row[:3] for row in mine] == [row[:3] for row in theirs] and
                 all(abs(one[3] - other[3]) <= 0.005001 for one, other in zip(mine, theirs)), f"got {mine[:3]}, want {theirs[:3]}")
    check_integer_queues(report, subject, want)
    graphs.check_integer_path(report, subject, want.get("critical_path", []))


def check_integer_queues(report, subject, want):
    name = f"{subject.name}: integer ns"
    summary = subject.analysis.get_queue_length_summary(subject.ranks)
    golden = want["queue_length_summary"]
    if summary is None:
        report.equal(f"{name}: queues", golden["rows"] if golden else [], [])
    else:
        flat = summary.reset_index()
        check_table(report, f"{name}: queues", flat.set_axis([last or first for first, last in flat.columns], axis=1), golden, 1e-6)
    launches = subject.analysis.get_cuda_kernel_launch_stats(subject.ranks, visualize=False)
    names = ("count", "sum_cpu_duration", "sum_gpu_duration", "sum_launch_delay", "short_kernels_lt_cpu_and_cpu_le_50", "runtime_outliers_gt_50",
             "launch_delay_outliers_gt_100")
    for row in want["launch_stats"]["rows"]:
        facts = answers.launch_facts(launches[row[0]])
        mine = [ns(facts[one]) if one.startswith("sum") else facts[one] for one in names]
        report.equal(f"{name}: launches of rank {row[0]}", [row[0], *mine], row)


def check_shipped_summary(columns):
    """Rows, and the columns that do not depend on the order of equal times."""
    def check(report, subject, want):
        summary = {"queue_length": subject.analysis.get_queue_length_summary, "memory_bw_gbps": subject.analysis.get_memory_bw_summary}
        frame = summary[want["columns"][-1].split("/")[0]](subject.ranks).reset_index()
        mine = frame.set_axis(["/".join(levels) for levels in frame.columns], axis=1)
        kept = [name for name in want["columns"] if name.split("/")[1] not in columns]
        rows = pandas.DataFrame(want["rows"], columns=want["columns"])[kept].values.tolist()
        check_table(report, f"{subject.name}: {kept[-1]}", mine[kept], {"columns": kept, "rows": rows})
    return check


def check_shipped_calls(report, subject, want):
    graphs.check_call_graph(report, subject, want, left_out=("depth", "height", "parent"))


def check_shipped_path(report, subject, want):
    graphs.check_critical_path(report, subject, want, left_out=("edges_by_type", "weight_by_type"))


# name, folders: how it is compared. A folder that is not named takes the words and the check of "".
FILES = {
    "load": ("facts of every frame: columns and their order, rows, sums, links, steps, metadata", answers.check_load),
    "events": ("rows of the frames, all or the first and last 150", answers.check_events),
    "temporal_breakdown": ("table", answers.check_temporal),
    "comm_comp_overlap": ("table", answers.check_overlap),
    "idle_time_breakdown": ("tables of both delays, and of the intervals", answers.check_idle),
    "gpu_kernel_breakdown": ("tables of five sets of arguments; in exact_ns sums of kinds are HTA's whole us per span: integer_ns has them", answers.check_kernels),
    "user_annotation_breakdown": ("tables of four sets of arguments", answers.check_annotations),
    "gpu_kernels_with_user_annotations": ("rows, and sums by annotation", answers.check_annotated_kernels),
    "kernel_classification": ("every name", answers.check_classification),
    "cuda_kernel_launch_stats": ("facts, and rows by correlation", answers.check_launches),
    "aten_op_kernels_and_delay": ("table, in the order of the files", answers.check_operators),
    "frequent_cuda_kernel_sequences": ("table, and facts of the overlaid trace", answers.check_sequences),
    "queue_length_time_series": ("rows, facts per stream, value after the last change at each time", answers.check_queues),
    "queue_length_summary": ("table", answers.check_queue_summary),
    "time_blocked_on_full_queue": ("tables of six limits", answers.check_blocked),
    "memory_bw_summary": ("table", answers.check_bandwidth),
    "memory_bw_time_series": ("rows, and facts per kind", answers.check_bandwidth_series),
    "profiler_steps": ("list", answers.check_steps),
    "stragglers": ("ranks as sets, table of the metric", answers.check_stragglers),
    "cupti_counters": ("table; counters come in any order", answers.check_cupti),
    "trace_with_counters": ("facts of the written traces, first and last counters", answers.check_counters),
    "call_stack_legacy": ("sums and rows", graphs.check_call_stacks),
    "call_graph": ("threads, sums and rows", graphs.check_call_graph),
    "critical_path": ("nodes, edges, path, breakdown, summary, overlaid traces (arrows as sets), saved and restored", graphs.check_critical_path),
    "exact_ns/integer_ns": ("values in ns", check_integer_ns),
    "as_shipped/queue_length_summary": ("rows, count, min and max: the rest depends on the order of equal times", check_shipped_summary(QUARTILES)),
    "as_shipped/memory_bw_summary": ("rows and min: the rest depends on the order of equal times", check_shipped_summary((*QUARTILES, "count", "max"))),
    "as_shipped/call_graph": ("threads, rows and sums of kernels: other sums depend on the order of equal times", check_shipped_calls),
    "as_shipped/critical_path": ("nodes, path, summary: kinds of delays depend on the order of equal times", check_shipped_path),
}


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
        got = TraceDiff.ops_diff(*sides, **args, device_type=device)
        report.equal(f"names of {name}", {key: sorted(names) for key, names in got.items()},
                     {key: sorted(names) for key, names in golden["ops_diff"].items()})


def check_memory(report):
    want = hta.read_json(hta.GOLDEN / "memory_analysis/memory_timeline.json")
    times, sizes = MemoryAnalysis(str(next((hta.TRACES / "memory_analysis").glob("*.gz"))))._process_raw_events()
    totals = [sum(size) for size in sizes]
    peak = totals.index(max(totals))
    by_category = list(zip(*sizes))
    mine = {"points": len(times), "first_times": times[:len(want["first_times"])], "last_time": times[-1], "peak_total_bytes": max(totals),
            "peak_index": peak, "peak_time": times[peak], "peak_by_category": sizes[peak], "max_by_category": list(map(max, by_category)),
            "final_by_category": sizes[-1], "size_744": sizes[744], "sum_of_sizes_by_category": list(map(sum, by_category)),
            "t_span": times[-1] - times[0], "samples": [[place, times[place], sizes[place]] for place, *_ in want["samples"]]}
    check_facts(report, "memory", mine, {name: value for name, value in want.items() if name not in ("raw_records", "categories")})


def check_execution_trace(report):
    golden, folder = hta.read_json(hta.GOLDEN / "execution_trace/execution_trace_correlation.json"), hta.TRACES / "execution_trace"
    analysis = TraceAnalysis({0: str(folder / "benchmark_simple_add_trace.json.gz")})
    trace = load_execution_trace(str(folder / "benchmark_simple_add_et.json.gz"))
    correlate_execution_trace(analysis.t, 0, trace)
    frame = analysis.t.get_trace(0)
    report.equal("execution trace: nodes", (len(trace.nodes), int(frame["et_node"].notna().sum())), (golden["et_nodes"], golden["correlated"]))
    for column in ("et_node_name", "input_shapes", "output_shapes"):
        add_et_column(frame, trace, column)
    analysis.t.symbol_table.add_symbols_to_trace_df(frame, "name")
    check_table(report, "execution trace", frame[golden["columns"]], golden)


def check_known_values(report):
    """Published numbers of traces that are not among the shared ones: compared where they are."""
    folder = hta.TRACES / "vision_transformer"
    if not folder.is_dir():
        print("NOT TESTED: vision_transformer/known_values.json: its traces are not in ../shared/traces/hta/vision_transformer")
        report.skipped += 1
        return
    want, analysis = hta.read_json(hta.GOLDEN / "vision_transformer/known_values.json"), TraceAnalysis(trace_dir=str(folder))
    report.equal("known: steps", analysis.get_profiler_steps(), want["profiler_steps"])
    check_table(report, "known: temporal", analysis.get_temporal_breakdown(visualize=False), want["temporal_breakdown"])
    check_table(report, "known: overlap", analysis.get_comm_comp_overlap(visualize=False), want["comm_comp_overlap"])
    types, kernels = analysis.get_gpu_kernel_breakdown(visualize=False, **want["gpu_kernel_breakdown"]["args"])
    check_table(report, "known: kinds", types, want["gpu_kernel_breakdown"]["kernel_type"])
    first = want["gpu_kernel_breakdown"]["first_row"]
    check_facts(report, "known: first kernel", kernels.iloc[0].to_dict(), {name: value for name, value in first.items() if name != "name_prefix"}, 1e-6)
    check_table(report, "known: idle", analysis.get_idle_time_breakdown([1], visualize=False)[0], want["idle_time_breakdown_rank_1"])
    for case in want["potential_stragglers"]:
        got = analysis.get_potential_stragglers(profiler_steps=case["profiler_steps"], num_candidates=case["num_candidates"])
        report.equal(f"known: stragglers {case}", sorted(got), case["result"])
    summary = analysis.get_queue_length_summary([0])["queue_length"]
    report.equal("known: streams", [stream for _, stream in summary.index], want["queue_streams_rank_0"])
    check_facts(report, "known: queue", summary.loc[(0, 7)].to_dict(), want["queue_length_rank_0_stream_7"], 1e-6)
    blocked = analysis.get_time_spent_blocked_on_full_queue(analysis.get_queue_length_time_series([0]), 400).iloc[0].to_dict()
    check_facts(report, "known: blocked", blocked, want["time_blocked_rank_0_max_queue_length_400"], 1e-3)
    launches = analysis.get_cuda_kernel_launch_stats([1, 7], visualize=False)
    for row in want["cuda_kernel_launch_stats"]:
        frame = launches[row["rank"]]
        check_facts(report, "known: launch", frame[frame["correlation"] == row["correlation"]].iloc[0].to_dict(),
                    {name: value for name, value in row.items() if name != "rank"})
    sequences = analysis.get_frequent_cuda_kernel_sequences("aten::linear", os.path.abspath("known"))
    check_facts(report, "known: sequences", sequences.iloc[2].to_dict(), want["frequent_cuda_kernel_sequences_aten_linear_row_2"])


# What is not an answer about the traces of a case.
TOOLS = {
    "trace_diff/trace_diff": ("tables and sets of names", check_diff),
    "memory_analysis/memory_timeline": ("facts and samples of the timeline", check_memory),
    "execution_trace/execution_trace_correlation": ("rows of the frame", check_execution_trace),
    "vision_transformer/known_values": ("tables and values, where the traces are", check_known_values),
}


def comparison_of(path):
    """How a recorded answer is compared, and with what; None for a file that is not known."""
    case, *folder, name = path.relative_to(hta.GOLDEN).with_suffix("").parts
    if name == "case" and not folder:
        return "which traces and options", None
    found = FILES.get("/".join([*folder, name])) or (FILES.get(name) if folder in ([], ["exact_ns"]) else None)
    return found or TOOLS.get(f"{case}/{name}")


@contextlib.contextmanager
def subject_of(case, folder):
    options = HTAEnvOptions.instance()
    options.set_disable_ns_rounding(folder == "exact_ns")
    files = dict(zip(case.ranks, map(str, case.traces)))
    yield Subject(case, folder, TraceAnalysis(files, include_last_profiler_step=case.has_last_step))
    options.set_disable_ns_rounding(False)


def check_case(report, case):
    for folder in FOLDERS:
        paths = sorted((case.folder / folder).glob("*.json"))
        # The order of FILES: call graphs add columns to the frames, which loading must not show.
        order = list(FILES)
        names = sorted((path.stem for path in paths if comparison_of(path)), key=lambda name: order.index(name) if name in order else len(order))
        if not names:
            continue
        with subject_of(case, folder) as subject:
            for name in names:
                check = comparison_of(case.folder / folder / f"{name}.json")[1]
                want = subject.golden(name)
                if check and f"{case.name}/{name}" not in TOOLS and not (hta.is_error(want)):
                    check(report, subject, want)


def run(report):
    logging.getLogger("hta").setLevel(logging.CRITICAL)
    is_all = os.environ.get("KINO_TIER") == "all"
    cases = hta.cases()
    paths = sorted(hta.GOLDEN.rglob("*.json"))
    report.equal("recorded answers that no comparison is known for", [str(path) for path in paths if not comparison_of(path)], [])
    for case in cases:
        if is_all or case.name not in LARGE:
            check_case(report, case)
    for name, (_, check) in TOOLS.items():
        folder = hta.TRACES / name.split("/")[0]
        if (is_all or name.split("/")[0] not in LARGE) and (check is check_known_values or folder.is_dir() or name.startswith("trace_diff")):
            check(report)
