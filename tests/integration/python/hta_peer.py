"""The same calls to HTA and to kino.hta: frames are equal in values, columns, types, labels and order. HTA sorts equal keys by chance: it is
made to keep their order, as for the recorded answers. Without KINO_TIER=all, the small traces and one real one. And traces that are made here."""
import contextlib
import importlib
import io
import logging
import os
import pickle
import warnings
import zipfile

import pandas
from support import hta

from . import hta_made

try:
    import hta.trace_analysis as peer
    from hta.analyzers.cuda_kernel_analysis import CudaKernelAnalysis as PeerKernels
except ImportError:
    peer = None

import kino.hta.trace_analysis as ours
from kino.hta.configs.env_options import HTAEnvOptions

EXACT = {"h100_bert"}
PLAIN = ["index", "cat", "name", "pid", "tid", "ts", "dur", "stream", "iteration"]  # HTA's frames keep what analyses add to them
SMALL = {"backward_thread", "critical_path_alexnet", "cuda_event_sync", "h100_bert", "synth_8rank"}
# In this order: HTA's frame keeps the columns that an analysis adds.
CALLS = {
    "temporal": lambda t, ranks: t.get_temporal_breakdown(visualize=False),
    "overlap": lambda t, ranks: t.get_comm_comp_overlap(visualize=False),
    "kernels": lambda t, ranks: without_nothing(*t.get_gpu_kernel_breakdown(visualize=False)),
    "few kernels": lambda t, ranks: without_nothing(*t.get_gpu_kernel_breakdown(False, 0.5, 3, False)),
    "annotations": lambda t, ranks: t.get_gpu_user_annotation_breakdown(visualize=False),
    "few annotations": lambda t, ranks: t.get_gpu_user_annotation_breakdown(False, False, 0.8, 3, ["Optimizer", "o"]),
    "idle": lambda t, ranks: t.get_idle_time_breakdown(ranks, visualize=False, show_idle_interval_stats=True),
    "launches": lambda t, ranks: t.get_cuda_kernel_launch_stats(ranks, visualize=False),
    "kernel launches": lambda t, ranks: t.get_cuda_kernel_launch_stats(ranks, include_memory_events=False, visualize=False),
    "operators": lambda t, ranks: t.get_aten_op_kernels_and_delay(ranks[:1]),
    "queues": lambda t, ranks: t.get_queue_length_time_series(ranks),
    "queue summary": lambda t, ranks: t.get_queue_length_summary(ranks),
    "blocked": lambda t, ranks: t.get_time_spent_blocked_on_full_queue(t.get_queue_length_time_series(ranks), 8),
    "bandwidth": lambda t, ranks: t.get_memory_bw_time_series(ranks),
    "bandwidth summary": lambda t, ranks: t.get_memory_bw_summary(ranks),
    "steps": lambda t, ranks: t.get_profiler_steps(),
    "stragglers": lambda t, ranks: t.get_potential_stragglers(),
    "annotated kernels": lambda t, ranks: drop_numbers(t.get_gpu_kernels_with_user_annotations(ranks[0])),
    "sequences": lambda t, ranks: t.get_frequent_cuda_kernel_sequences("aten::", ".", rank=ranks[0]),
    "critical path": lambda t, ranks: path_of(t, ranks[0]),
    "timeline": lambda t, ranks: timeline_of(t, t.t.get_trace(ranks[0])),
    "timeline of the device": lambda t, ranks: timeline_of(t, t.t.get_trace(ranks[0]).query("stream > 0")),
    "timeline of ranks": lambda t, ranks: sibling(t, "analyzers.timeline").prepare_timeline_gpu_events(
        t.t.get_trace(ranks[0])[PLAIN].assign(rank=ranks[0]), t.t.symbol_table).drop(columns=["name", "cat"]),
    "older calls": lambda t, ranks: older_calls_of(t, ranks[0]),
    "calls": lambda t, ranks: calls_of(t, ranks[0]),
    "modules": lambda t, ranks: modules_of(t, ranks[0]),
}


def without_nothing(kinds, kernels):
    """Kinds that overlap for no time have a row in HTA where an end and a start touch in the right order."""
    return kinds[kinds["sum"] != 0].reset_index(drop=True), kernels


def drop_numbers(frame):
    """Numbers of symbols mean nothing; rows without length overlap with annotations in pandas 1, which made the recorded answers, and not in 3."""
    if frame is None:
        return None
    return frame[frame["dur"] > 0].reset_index(drop=True).drop(columns=["name", "cat", "user_annotation"], errors="ignore")


def sibling(analysis, name):
    """A module of the package that an analysis is of: HTA or kino.hta."""
    return importlib.import_module(f"{type(analysis).__module__.removesuffix('.trace_analysis')}.{name}")


def timeline_of(analysis, frame):
    timeline = sibling(analysis, "common.timeline")
    events = timeline.prepare_timeline_events(frame[PLAIN], timeline.TimelinePlotSetting(), analysis.t.symbol_table)
    events["name"] = events["name"].str.slice(0, 6)  # HTA shortens them twice: <built-in method items of dict> becomes <built
    events["calibrated_end_global"] = events["calibrated_end_global"].astype("float64")  # whole ones where all events are short, in HTA
    return events[sorted(events.columns)]  # HTA's come in the order of a set


def older_calls_of(analysis, rank):
    graph = sibling(analysis, "common.call_stack").CallGraph(analysis.t, ranks=[rank], pre_process_trace_data=True)
    return [graph.mapping, analysis.t.get_trace(rank)[["parent", "depth", "dur"]]]


def calls_of(analysis, rank):
    """Without parents, which HTA cuts to the type of heights (8 bits with pandas 3); types are those of pandas' .loc there."""
    graph = sibling(analysis, "common.trace_call_graph").CallGraph(analysis.t, ranks=[rank])
    columns = [column for column in graph.stack_columns if column != "parent"]
    return [graph.mapping.astype({"pid": "int64", "tid": "int64"}), analysis.t.get_trace(rank)[columns].astype("float64")]


def modules_of(analysis, rank):
    sibling(analysis, "common.trace_call_graph").CallGraph(analysis.t, ranks=[rank])  # adds columns
    frame = analysis.t.get_trace(rank)
    aligned = sibling(analysis, "common.timeline").align_module_with_kernels(frame, ["aten::"], analysis.t.symbol_table)
    return aligned[["index", "stream", "ts", "dur", "num_kernels", "kernel_span"]].astype("float64")


def path_of(analysis, rank):
    found = analysis.critical_path_analysis(rank, "ProfilerStep", 0)
    if found is None:
        return None
    graph, is_ok = found
    edges = {(begin, end, data["object"].weight, data["object"].type.value) for begin, end, data in graph.edges(data=True)}
    with contextlib.redirect_stdout(io.StringIO()):
        summary = graph.summary()
    return [is_ok, graph.critical_path_nodes, edges, graph.edge_to_event_map, graph.critical_path_events_set, pandas.DataFrame(summary)]


def difference(got, want):
    """What differs, or None."""
    if isinstance(want, pandas.DataFrame):
        try:
            pandas.testing.assert_frame_equal(want, got)
        except AssertionError as error:
            return str(error)[:300]
        return None
    if isinstance(want, (list, tuple)):
        if len(want) != len(got):
            return f"{len(got)} parts, not {len(want)}"
        return next((found for found in map(difference, got, want) if found), None)
    if isinstance(want, dict) and want and isinstance(next(iter(want.values())), pandas.DataFrame):
        return difference([list(got), *got.values()], [list(want), *want.values()])
    return None if got == want else f"got {str(got)[:200]}, want {str(want)[:200]}"


@contextlib.contextmanager
def stable_order():
    kept = {kind: kind.sort_values for kind in (pandas.DataFrame, pandas.Series)}
    for kind, function in kept.items():
        kind.sort_values = lambda self, *args, function=function, **more: function(self, *args, **{"kind": "stable", **more})
    shown = PeerKernels.visualize_aten_op_kernels_and_overhead
    PeerKernels.visualize_aten_op_kernels_and_overhead = classmethod(lambda *_: None)  # it cannot be turned off
    yield
    PeerKernels.visualize_aten_op_kernels_and_overhead = shown
    for kind, function in kept.items():
        kind.sort_values = function


def check_frames(report, case, theirs, mine):
    for rank, frame in theirs.t.traces.items():
        left, right = frame.copy(), mine.t.traces[rank].copy()
        report.equal(f"{case.name}: types of symbols", [str(right[name].dtype) for name in ("cat", "name")],
                     [str(left[name].dtype) for name in ("cat", "name")])
        theirs.t.symbol_table.decode_df(left, create_new_columns=False)
        mine.t.symbol_table.decode_df(right, create_new_columns=False)
        counters = [name for name in left.columns if name.startswith("smsp__")]  # in any order
        report.equal(f"{case.name}: frame of rank {rank}", difference(right[left.columns] if counters else right, left), None)
    report.equal(f"{case.name}: metadata", mine.t.meta_data, theirs.t.meta_data)


def check_saved(report, case):
    """A graph that HTA saved; and one that names what is not part of a graph, which is refused and not called."""
    from kino.hta.analyzers.critical_path_analysis import restore_cpgraph
    files, request = dict(zip(case.ranks, map(str, case.traces))), case.golden("critical_path")[0]
    theirs, mine = (module.TraceAnalysis(dict(files)) for module in (peer, ours))
    graph, _ = theirs.critical_path_analysis(0, request["annotation"], request["instance_id"])
    path = graph.save(os.path.abspath("saved-by-hta"))
    again = restore_cpgraph(path, mine.t, 0)
    edges = [{(begin, end, data["weight"], data["object"].type.value) for begin, end, data in one.edges(data=True)} for one in (again, graph)]
    report.check("a graph of HTA: edges", edges[0] == edges[1])
    report.equal("a graph of HTA: path", again.critical_path_nodes, graph.critical_path_nodes)
    with contextlib.redirect_stdout(io.StringIO()):
        report.equal("a graph of HTA: summary", again.summary().to_dict(), graph.summary().to_dict())
    report.check("a graph of HTA: its path again", again.critical_path())
    with zipfile.ZipFile(path) as archive, zipfile.ZipFile("bad.zip", "w") as bad:
        for name in archive.namelist():
            content = pickle.dumps(Caller()) if name.endswith("cp_data.pkl") else archive.read(name)
            bad.writestr(name, content)
    try:
        restore_cpgraph("bad.zip", mine.t, 0)
        refusal = "none"
    except ValueError as error:
        refusal = str(error)
    report.check("a file that calls a function is refused", "bad.zip" in refusal and "is not part of a graph" in refusal, refusal)
    report.check("and the function is not called", not os.path.exists("called"))


class Caller:
    """Writes a file when it is unpickled."""

    def __reduce__(self):
        return open, ("called", "w")


@contextlib.contextmanager
def exact_times():
    """Both without rounding to microseconds."""
    options = [module.HTAEnvOptions.instance() for module in (importlib.import_module("hta.configs.env_options"),)]
    options.append(HTAEnvOptions.instance())
    for one in options:
        one.set_disable_ns_rounding(True)
    yield
    for one in options:
        one.set_disable_ns_rounding(False)


def difference_of_types(got, want):
    """For exact times, where HTA's values are sums of doubles; the recorded answers are compared within their tolerance."""
    if isinstance(want, pandas.DataFrame):
        kinds = [[(str(name), str(kind)) for name, kind in one.dtypes.items()] for one in (got, want)]
        return None if kinds[0] == kinds[1] else f"got {kinds[0]}, want {kinds[1]}"
    values = [list(one.values()) if isinstance(one, dict) else one for one in (got, want)]
    if isinstance(values[1], (list, tuple)):
        return next((found for found in map(difference_of_types, *values) if found), None)
    return None


def check_case(report, case, compare=difference):
    files = dict(zip(case.ranks, map(str, case.traces)))
    theirs, mine = (module.TraceAnalysis(dict(files), include_last_profiler_step=case.has_last_step) for module in (peer, ours))
    check_frames(report, case, theirs, mine)
    for name, call in CALLS.items():
        try:
            want = call(theirs, case.ranks)
        except Exception:  # HTA fails: the recorded answers say so, too
            continue
        report.equal(f"{case.name}: {name}", compare(call(mine, case.ranks), want), None)


def run(report):
    if peer is None:
        print("NOT TESTED: HTA is not installed (tools/install-hta): nothing to compare with")
        report.skipped += 1
        return
    logging.disable(logging.CRITICAL)
    with stable_order(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of pandas and numpy about HTA
        for case in hta.cases():
            if case.name in SMALL or os.environ.get("KINO_TIER") == "all":
                check_case(report, case)
            if case.name == "critical_path_alexnet":
                check_saved(report, case)
            if (case.folder / "exact_ns").is_dir() and case.name in EXACT:
                with exact_times():
                    check_case(report, case, difference_of_types)
        for case in hta_made.cases(20 if os.environ.get("KINO_TIER") == "all" else 2):
            check_case(report, case)
    logging.disable(logging.NOTSET)
