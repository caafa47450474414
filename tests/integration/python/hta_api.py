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
from kino.hta.common import trace, trace_filter
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
    report.equal("pictures of annotations", (shown.count("pie"), shown.count("bar")), (1, frame["name"].nunique() - ("others" in set(frame["name"]))))
    BaseFigure.show = kept


def run(report):
    logging.getLogger("hta").setLevel(logging.CRITICAL)
    for check in (check_links, check_trace, check_filters, check_stacks, check_ranks, check_plots):
        check(report)
