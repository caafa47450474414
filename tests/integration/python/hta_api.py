"""Parts of kino.hta by themselves, on frames made by hand, as HTA's own tests use them; TraceAnalysis on files that do not tell their ranks."""
import copy
import importlib.util
import logging
import os
import re
import shutil

import kino
import numpy
import pandas
from kino.hta import Trace, TraceAnalysis
from kino.hta.common import timeline, trace, trace_filter, trace_stack_filter
from kino.hta.common.call_stack import CallGraph as OldCallGraph
from kino.hta.common.call_stack import CallStackGraph as OldCallStackGraph
from kino.hta.common.trace_call_stack import CallStackGraph, CallStackIdentity, CallStackNode, sort_events
from kino.hta.common.trace_symbol_table import TraceSymbolTable
from kino.hta.common.types import DeviceType, infer_device_type, to_grouping_pattern
from kino.hta.configs.parser_config import ParserConfig

from .api import raised


def symbols_of(*texts):
    table = TraceSymbolTable()
    table.add_symbols(texts)
    return table


def bare_trace(**members):
    made = Trace.__new__(Trace)
    for name, value in members.items():
        setattr(made, name, value)
    return made


def check_links(report):
    frame = pandas.DataFrame([[1, 22, 15, -1], [2, 12, 16, -1], [3, 10, 22, -1], [4, 10, -1, -1], [5, 45, 15, -1], [6, 42, 16, -1], [7, 71, 30, 7]],
                             columns=["index", "name", "correlation", "stream"], index=range(1, 8))
    table = TraceSymbolTable()
    table.sym_index = {"Event Sync": 45, "Context Sync": 42}
    linked = trace.transform_correlation_to_index(frame, table)
    report.equal("synchronization is on the device", linked["index_correlation"].tolist(), [5, 6, 0, -1, 1, 2, 0])
    table = symbols_of("ProfilerStep#5", "cpu_op")
    frame = pandas.DataFrame({"ts": [100, 150, 300, 160], "dur": [200, 10, 5, 5], "stream": [-1, -1, -1, 7], "cat": 1, "name": [0, 1, 1, 1],
                              "index_correlation": [-1, 3, -1, 1]})
    report.equal("steps", (len(trace.add_iteration(frame, table)), frame["iteration"].tolist()), (1, [5, 5, -1, 5]))
    frame = pandas.DataFrame({"index": range(4), "ts": [0, 0, 100, 100], "tid": 1, "pid": 10, "cat": ["cpu_op", "fwdbwd"] * 2,
                              "ph": ["X", "s", "X", "f"], "bp": ["", "", "", "e"], "id": [-1, 7, -1, 7]})
    trace.add_fwd_bwd_links(frame)
    report.equal("forward and backward", frame.loc[[0, 2], "fwdbwd_index"].tolist(), [2, 0])


def check_trace(report):
    made = bare_trace(trace_files={3: "/fake"}, trace_path="/fake", traces={3: pandas.DataFrame({"ts": [0, 100, 200], "iteration": [-1, 0, 1]})},
                      symbol_table=TraceSymbolTable(), meta_data={3: {"device_type": "GPU", "baseTimeNanoseconds": 10}}, min_ts=5, is_parsed=True)
    report.equal("questions", (made.get_ranks(), made.get_iterations(), made.get_iterations(9), made.get_trace_duration(), made.get_device_type(),
                               made.get_trace_start_unixtime_ns(3)), ([3], [0, 1], [], 200, "GPU", 5010))
    report.check("no such rank", raised(ValueError, made.get_trace, 9) and raised(ValueError, made.get_raw_trace_for_one_rank, 9))
    series = pandas.DataFrame({"pid": [1], "ts": [10], "value": [100], "name": ["copies"], "id": [42]})
    report.equal("counters", made.convert_time_series_to_events(series, "counter", "value"),
                 [{"pid": 1, "ts": 15, "ph": "C", "args": {"counter": 100}, "name": "copies", "id": 42}])
    made = bare_trace(traces={0: pandas.DataFrame({"ts": [10, 20]}), 1: pandas.DataFrame({"ts": [5, 15]})}, min_ts=0)
    made._align_all_ranks()
    report.equal("alignment", (made.min_ts, made.traces[0]["ts"].tolist(), made.traces[1]["ts"].tolist()), (5, [5, 15], [0, 10]))
    report.check("suffixes", raised(ValueError, trace.parse_trace_file, "/some/file.txt"))
    report.check("missing files", raised(ValueError, Trace, {0: "/no/such/file.json"}))
    report.check("a folder without traces", raised(AssertionError, TraceAnalysis, trace_dir="/no/such/folder"))


def check_filters(report):
    frame = pandas.DataFrame({"iteration": [-1, 550, 551, 552], "stream": [-1, 7, -1, 7], "correlation": [1, 1, -1, 2], "ts": [0, 10, 20, 30], "dur": 5})
    for what, one, want in (("index", trace_filter.IterationIndexFilter([1, 2]), [2, 3]), ("none", trace_filter.IterationIndexFilter(-1), []),
                            ("first", trace_filter.FirstIterationFilter(), [1]), ("time", trace_filter.TimeRangeFilter((10, 25)), [1, 2]),
                            ("device", trace_filter.GPUKernelFilter(), [1, 3]), ("host", trace_filter.CPUOperatorFilter(), [0, 2])):
        report.equal(f"filter: {what}", one(frame).index.tolist(), want)
    report.check("wrong types", raised(TypeError, trace_filter.IterationFilter, "bad") and raised(ValueError, trace_filter.TimeRangeFilter, (5, 1)) and
                 raised(TypeError, trace_filter.CompositeFilter, [3]))
    report.check("kinds of lanes", infer_device_type(pandas.DataFrame({"stream": [-1, 1], "pid": 1, "tid": 1})) is DeviceType.UNKNOWN)
    report.check("patterns", to_grouping_pattern(["a", "b"]).match("bc") and raised(ValueError, to_grouping_pattern, 3) and
                 to_grouping_pattern(re.compile("x"), inverse_match=True).match("y"))
    config = ParserConfig(ParserConfig.get_minimum_args()).set_parse_all_args(True)
    report.equal("fingerprint", config.get_fingerprint_key(), (("correlation", "stream"), True))


def check_stacks(report):
    frame = pandas.DataFrame({"index": range(8), "ts": [55, 61, 62, 85, 86, 86, 90, 91], "dur": [0, 15, 0, 1, 0, 0, 225181, 0], "stream": -1,
                              "index_correlation": -1})
    nothing = pandas.DataFrame(columns=["cpu_index", "gpu_index"])
    stack = CallStackGraph(frame, CallStackIdentity(0, 1, 1), nothing, frame, TraceSymbolTable())
    report.equal("rows without length", (stack.nodes[-1], stack.nodes[4], stack.nodes[5]),
                 (CallStackNode(-1, -1, 4, children=[0, 1, 3, 6]), CallStackNode(3, 1, 2, children=[5]), CallStackNode(4, 2, 1)))
    report.equal("questions to stacks", (stack.get_path_to_root(5), stack.get_leaf_nodes(3), stack.get_paths_to_leaves(3), stack.get_root(7)),
                 ([5, 4, 3, -1], [5], [[3, 4, 5]], -1))
    old = OldCallStackGraph(frame.iloc[[1, 3, 6, 7]], CallStackIdentity(0, 1, 1))
    report.equal("older stacks", ({index: node.children for index, node in old.get_nodes().items()}, old.get_depth().tolist()),
                 ({-1: [1, 3, 6], 1: [], 3: [], 6: [7], 7: []}, [0, 0, 0, 1]))
    marks = numpy.array([[4, 0, 1, 6], [4, 0, -1, 6], [3, 1, 1, 6], [3, 1, -1, 5]])
    sort_events(marks)
    report.equal("order of marks", marks[:, [0, 2]].tolist(), [[3, -1], [4, -1], [4, 1], [3, 1]])


def check_calls(report):
    """Trees from the columns of a frame, calls of other threads, Python functions that end after their callers."""
    frame = pandas.DataFrame({"index": range(5), "ts": [0, 10, 60, 5, 70], "dur": [100, 40, 30, 20, 10], "stream": [-1, -1, -1, 7, -1], "pid": 1,
                              "tid": [2, 2, 2, 9, 3], "index_correlation": [-1, 3, -1, 1, -1]})
    for column in ("depth", "height", "parent", "num_kernels", "kernel_dur_sum", "kernel_span", "first_kernel_start", "last_kernel_end"):
        frame[column] = -1
    pairs, symbols, nodes = pandas.DataFrame({"cpu_index": [1], "gpu_index": [3]}), TraceSymbolTable(), {}
    stack = CallStackGraph(frame.iloc[:3], CallStackIdentity(0, 1, 2), pairs, frame, symbols, nodes)
    report.equal("columns of calls", frame.loc[[0, 1, 2], ["parent", "depth", "height", "num_kernels", "kernel_span"]].values.tolist(),
                 [[-2, 0, 2, 1, 20], [0, 1, 1, 1, 20], [0, 1, 1, 0, 0]])
    again = CallStackGraph(frame.iloc[:3], CallStackIdentity(0, 1, 2), pairs, frame, symbols)
    report.equal("calls from columns", ({index: (node.parent, node.children) for index, node in again.nodes.items()}, again.get_depth().tolist()),
                 ({index: (node.parent, node.children) for index, node in stack.nodes.items()}, [0, 1, 1]))
    other = CallStackGraph(frame.iloc[4:], CallStackIdentity(0, 1, 3), pairs, frame, symbols, nodes)
    other.update_parent_of_first_layer_nodes(2)
    report.equal("calls of another thread", (other.root_index, stack.get_path_to_root(4), nodes[4].depth, -3 in nodes), (-2, [4, 2, 0, -2], 2, False))
    report.equal("what is not known", (stack.get_root(99), stack.get_path_to_root(99), stack.get_paths_to_leaves(99), stack.get_parent(99)), (-1, [], [], -2))
    report.check("no such call", raised(ValueError, stack._update_parent, [0], 99) and raised(ValueError, stack.update_parent_of_first_layer_nodes, 99))
    functions = pandas.DataFrame({"python_id": [1, 2, 3, -1], "python_parent_id": [-1, 1, 2, 3], "tid": [5, 5, 6, 5], "ts": [0, 10, 20, 30],
                                  "dur": [50, 60, 90, 90]})
    OldCallGraph(bare_trace(traces={}), ranks=[]).constrain_child_time_withinin_parent(functions)
    report.equal("functions end with their callers", functions["dur"].tolist(), [50, 40, 90, 90])
    operators = frame.assign(s_cat=["cpu_op", "cuda_runtime", "cpu_op", "kernel", "cpu_op"])
    report.equal("kernels of operators", trace_stack_filter.get_matching_kernels(operators.iloc[:3], operators, "s_cat")["index"].tolist(), [3])


def check_timelines(report):
    symbols = symbols_of("void gemm<int>(float*)", "kernel", "ProfilerStep#3", "aten::add", "cpu_op")
    frame = pandas.DataFrame({"index": range(4), "name": [2, 3, 0, 0], "cat": [4, 4, 1, 1], "ts": [1000, 1200, 1300, 4000], "dur": [4000, 100, 10, 2500],
                              "stream": [-1, -1, 7, 20], "depth": [0, 1, -1, -1]})
    setting = timeline.TimelinePlotSetting()
    events = timeline.prepare_timeline_events(frame, setting, symbols)
    report.equal("a timeline", events[["task", "name", "calibrated_start_global", "calibrated_end_global"]].values.tolist(),
                 [["cpu level 000", "ProfilerStep#3", 0, 4000], ["cpu level 001", "aten::add", 200, 1200],
                  ["gpu stream 007", "gemm<int>", 300, 1300], ["gpu stream 020", "gemm<int>", 3000, 5500]])
    report.equal("its setting", (setting.event_type, setting.multi_streams, setting.multi_ranks), (timeline.EventType.AllEvents, True, False))
    exact = timeline.TimelinePlotSetting(amplify_short_events=False, use_global_time=True)
    ends = timeline.prepare_timeline_events(frame.assign(rank=[0, 0, 1, 1]), exact, symbols)
    report.equal("dates and ranks", (ends["calibrated_end_global"].max(), ends["task"].iloc[-1]),
                 (pandas.Timestamp(6500, unit="us"), "rank 001 gpu stream 020"))
    lanes = timeline.TimelinePlotSetting(compress_threads=False)
    host = timeline.prepare_timeline_events(frame.iloc[:2].assign(tid=[4, 5]), lanes, symbols, hover_columns=["tid"])
    report.equal("threads", host["task"].tolist(), ["tid 004 cpu level 000", "tid 005 cpu level 001"])
    report.check("nothing to draw", timeline.prepare_timeline_events(pandas.DataFrame()).empty and
                 timeline.plot_events_timeline("nothing", pandas.DataFrame()) is None and raised(ValueError, timeline.align_module_with_kernels, frame, ["aten"]))
    report.check("events without lanes", raised(NotImplementedError, timeline._set_task_names, frame[["ts"]], timeline.TimelinePlotSetting()))


def check_ranks(report):
    """Ranks that the caller gives, not the files: answers are those of the files."""
    kino.demo("asked", ranks=2, steps=3, size="200kB")
    folder = os.path.abspath("asked")
    plain = TraceAnalysis(trace_dir=folder)
    swapped = TraceAnalysis({5: f"{folder}/rank-1.json", 7: f"{folder}/rank-0.json"})
    for name in ("get_temporal_breakdown", "get_comm_comp_overlap"):
        want = getattr(plain, name)(visualize=False).iloc[::-1].assign(rank=[5, 7]).reset_index(drop=True)
        report.check(f"{name} of given ranks", getattr(swapped, name)(visualize=False).equals(want))
    report.check("kernels of given ranks", swapped.get_gpu_kernel_breakdown(False)[0].equals(plain.get_gpu_kernel_breakdown(False)[0]))
    report.equal("frames of given ranks", sorted(swapped.t.traces), [5, 7])
    report.check("an unknown rank", raised(ValueError, plain.get_idle_time_breakdown, [9], visualize=False))
    shutil.copy(f"{folder}/rank-0.json", "alone.json")
    report.equal("a list of files", TraceAnalysis([os.path.abspath("alone.json")]).t.get_ranks(), [0])
    exact = TraceAnalysis(trace_dir=folder, compat=None)
    table = kino.open(folder, progress=False).temporal_breakdown()
    report.check("one run of all ranks", len(plain.t.store.open()) == 1 and len(swapped.t.store.open()) == 2)
    report.check("a copy of a trace", copy.deepcopy(plain).get_temporal_breakdown(visualize=False).equals(plain.get_temporal_breakdown(visualize=False)))
    child = os.fork()
    if child == 0:
        os._exit(0 if plain.get_profiler_steps() == [2, 3, 4] else 1)
    report.equal("after a fork", os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 0)
    report.equal("Kino's own numbers", [round(value * 1000) for value in exact.get_temporal_breakdown(visualize=False)["idle_time(us)"]], table["idle_time"])


def check_plots(report):
    """What is drawn, without showing it: bars, pies, and for each kernel and annotation a picture."""
    if not importlib.util.find_spec("plotly"):
        print("NOT TESTED: plotly is not installed (tools/install-hta)")
        report.skipped += 1
        return
    from plotly.basedatatypes import BaseFigure
    analysis, shown, kept = TraceAnalysis(trace_dir=os.path.abspath("asked")), [], BaseFigure.show
    BaseFigure.show = lambda self, *args, **names: shown.append(self.data[0].type)
    kernels = analysis.get_gpu_kernel_breakdown()[1]
    kinds, names = kernels["kernel_type"].nunique(), kernels.loc[kernels["name"] != "others", ["kernel_type", "name"]].drop_duplicates()
    report.equal("pictures of kernels", (shown.count("pie"), shown.count("bar")), (1 + kinds, len(names)))
    for what, draw, want in (("temporal", analysis.get_temporal_breakdown, ["bar"]), ("overlap", analysis.get_comm_comp_overlap, ["bar"]),
                             ("idle", analysis.get_idle_time_breakdown, ["bar"]), ("launches", analysis.get_cuda_kernel_launch_stats, ["histogram"] * 3),
                             ("sequences", lambda: analysis.get_frequent_cuda_kernel_sequences("aten::linear", ".", 1, visualize=True), ["bar"])):
        shown.clear()
        draw()
        report.equal(f"pictures: {what}", shown, want)
    shown.clear()
    frame = analysis.get_gpu_user_annotation_breakdown(use_gpu_annotation=False)
    drawn = timeline.prepare_timeline_events(analysis.t.get_trace(0), timeline.TimelinePlotSetting(), analysis.t.symbol_table)
    bars = timeline._figure("all", drawn, timeline.TimelinePlotSetting(), [])
    report.equal("bars of a timeline", sorted(length for one in bars.data for length in one.x),
                 sorted((drawn["calibrated_end_global"] - drawn["calibrated_start_global"]).tolist()))
    report.equal("pictures of annotations", (shown.count("pie"), shown.count("bar")), (1, frame["name"].nunique() - ("others" in set(frame["name"]))))
    BaseFigure.show = kept


def run(report):
    logging.getLogger("hta").setLevel(logging.CRITICAL)
    for check in (check_links, check_trace, check_filters, check_stacks, check_calls, check_timelines, check_ranks, check_plots):
        check(report)
