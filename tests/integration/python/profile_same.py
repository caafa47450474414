"""What a user sees of a profiler, observed with torch.profiler and with kino.profiler: the same program, the same answer.

An observation is a function of the two modules (torch.profiler or kino.profiler, torch.autograd.profiler or kino.autograd.profiler).
It returns values that must not depend on time, threads' numbers or addresses. DIFFERENT has the ones that differ, with both answers;
docs/python/profiler.md explains each.
"""
import collections
import gc
import itertools
import json
import logging
import os
import re
import threading
import unittest.mock
import warnings

import kino.autograd.profiler
import kino.profiler
import torch
import torch.utils.data
from kino.profiler import _autograd
from torch import nn
from torch._C._profiler import _ExperimentalConfig, _RecordFunctionFast

CPU = torch.profiler.ProfilerActivity.CPU
observations = []


def same(function):
    observations.append(function)
    return function


def trace_of(profiler, path="same.json"):
    """PyTorch writes a trace once."""
    if not hasattr(profiler, "same_trace"):
        profiler.export_chrome_trace(path)
        with open(path, encoding="utf-8") as file:
            profiler.same_trace = json.load(file)
    return profiler.same_trace


def spans_of(profiler, category="cpu_op"):
    found = [event for event in trace_of(profiler)["traceEvents"] if event.get("ph") == "X" and event.get("cat") == category]
    return sorted(found, key=lambda event: event["ts"])


def warned(work):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        work()
    return [f"{warning.category.__name__}: {warning.message}" for warning in found if "clears events" not in str(warning.message)]


def raised(work):
    """The exception's type and text."""
    try:
        work()
    except Exception as error:  # noqa: BLE001 (any of them is an answer)
        return type(error).__name__, str(error)
    return None


def payload():
    x, y = torch.randn(10, 10), torch.randn(10, 10)
    return torch.mm(x, y) + y


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(10, 5), nn.Linear(5, 2)

    def forward(self, x):
        return self.second(self.first(x).relu())


# -- traces --

@same
def inputs_in_the_trace(P, A):
    base = torch.randn(1024)
    a, b = base.as_strided((16, 16), (17, 1), 0), base.as_strided((16, 16), (25, 2), 272)
    with A.profile(record_shapes=True) as p:
        torch.cat([torch.ones((64, 32)), torch.ones((64, 32))]).sin()
        torch.add(a, b)
        torch.nn.functional.dropout(a, 0.25, training=True)
    keys = ("Input Dims", "Input Strides", "Input type", "Concrete Inputs")
    return [(event["name"], [event["args"].get(key) for key in keys]) for event in spans_of(p)]


@same
def forward_backward_links(P, A):
    with A.profile() as p:
        t1, t2 = torch.ones(1, requires_grad=True), torch.ones(1, requires_grad=True)
        loss = nn.functional.binary_cross_entropy_with_logits(torch.add(t1, t2), torch.ones(1))
        loss.backward()
    events = trace_of(p)["traceEvents"]
    names = {(event["tid"], event["ts"]): event["name"] for event in events if event["ph"] == "X"}
    flows = sorted((event["id"], event["ph"], names[event["tid"], event["ts"]]) for event in events if event.get("cat") == "fwdbwd")
    of_events = sorted((event.flow_id, "s" if event.flow_start else "f", event.name) for event in p.function_events if event.flow_type == 1)
    return flows, of_events


@same
def metadata(P, A):
    with P.profile(activities=[CPU], record_shapes=True, with_flops=True) as p:
        payload()
        p.add_metadata("text", "of a user")
        p.add_metadata_json("list", "[1, 2, 3]")
    trace = trace_of(p)
    return {key: trace.get(key) for key in ("text", "list", "record_shapes", "with_flops", "profile_memory", "with_stack", "with_modules",
                                            "schemaVersion", "displayTimeUnit")}


@same
def user_annotations(P, A):
    with P.profile(activities=[CPU]) as p:
        with P.record_function("mine"):
            payload()
    return sorted((event.key, event.is_user_annotation, event.count) for event in p.key_averages())


@same
def function_names_of_optimizers_and_loaders(P, A):
    model = Net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.randn(8, 10)), batch_size=2)
    with A.profile() as p:
        for (batch,) in loader:
            optimizer.zero_grad()
            model(batch).sum().backward()
            optimizer.step()
    return sorted(collections.Counter(event.name for event in p.function_events if "#" in event.name).items())


@same
def fast_ranges_with_keyword_inputs(P, A):
    x, y = torch.rand(4, 4), torch.rand(4, 4)
    rows = []
    for inputs, keywords in (([x, y], {"stream": 0, "grid": "lambda x : x + 1", "debug": 'a"', "boolean": True, "half": 0.5}),
                             ([x], {"names": ["a", "b"], "mixed": ["a", 1], "numbers": [1, 2], "count": 100}), (["hi"], {"hi": "hello"}),
                             ((x, y), {}), ([], {})):
        with P.profile(activities=[CPU], record_shapes=True) as p:
            with _RecordFunctionFast("fast", inputs, keywords):
                x.add(y)
        args = [event.get("args", {}) for category in ("cpu_op", "user_annotation") for event in spans_of(p, category) if event["name"] == "fast"]
        rows.append([{key: args[0].get(key) for key in keywords}, args[0].get("Input Dims"),
                     [(event.input_shapes, sorted((key, value) for key, value in event.kwinputs.items() if key not in ("debug", "mixed", "numbers")))
                      for event in p.events() if event.name == "fast"]])  # the others are not, or not so, in the trace
    return rows


@same
def fast_ranges_of_users(P, A):
    with P.profile(activities=[CPU], record_shapes=True) as p:
        with _RecordFunctionFast("fast", [torch.ones(2)], {"scope": "user_scope", "stream": "text"}):
            payload()
    return [(event["cat"], "stream" in event["args"]) for category in ("cpu_op", "user_annotation") for event in spans_of(p, category)
            if event["name"] == "fast"]


@same
def annotations_with_arguments(P, A):
    with A.profile(record_shapes=True) as p:
        with P.record_function("one", "1, 2, 3"):
            handle = torch.autograd._record_function_with_args_enter("two", 1, False, 2.5, [torch.ones(3), torch.ones(3)], "hello",
                                                                     torch.ones(3, 4, 5))
            torch.autograd._record_function_with_args_exit(handle)
        with P.record_function("three"):
            pass
    return [(event.name, event.input_shapes) for event in p.function_events if event.name in ("one", "two", "three")]


@same
def an_empty_window(P, A):
    with A.profile() as p:
        pass
    return len(p.function_events), p.key_averages().table(), [event for event in trace_of(p)["traceEvents"] if event.get("cat") == "cpu_op"]


@same
def failed_allocations(P, A):
    with P.profile(activities=[CPU], profile_memory=True) as p:
        try:
            torch.empty(1 << 50)
        except RuntimeError:
            pass
    found = [event for event in trace_of(p)["traceEvents"] if event["name"] == "[OutOfMemory]"]
    only_torch = {"Ev Idx", "finished"}
    return [(event["ph"], sorted(set(event["args"]) - only_torch), event["args"]["Bytes"]) for event in found], [
        (event.name, event.cpu_memory_usage) for event in p.events() if event.name == "[OutOfMemory]"]


@same
def overload_names(P, A):
    with P.profile(activities=[CPU], experimental_config=_ExperimentalConfig(capture_overload_names=True)) as p:
        torch.add(torch.ones(2), 5)
        torch.mm(torch.ones(2, 2), torch.ones(2, 2))
    rows = [(event.name, event.overload_name) for event in p.events()]
    averages = [[(event.key, event.overload_name, event.count) for event in p.key_averages(group_by_overload_name=is_by_name)]
                for is_by_name in (False, True)]
    return [event["name"] for event in spans_of(p)], rows, averages, p.key_averages(group_by_overload_name=True).table().splitlines()[1]


@same
def module_hierarchy_of_scripts(P, A):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        scripted = torch.jit.script(Net())
    scripted(torch.ones(3, 10))  # compiled
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with P.profile(activities=[CPU], with_modules=True) as p:
            scripted(torch.ones(3, 10))
    return [(event["name"], event.get("args", {}).get("Module Hierarchy")) for event in spans_of(p)]


@same
def numbers_of_an_execution_trace(P, A):
    observer = P.ExecutionTraceObserver().register_callback("et.json")
    with P.profile(activities=[CPU], schedule=P.schedule(skip_first=1, wait=0, warmup=1, active=2, repeat=1),
                   execution_trace_observer=observer) as p:
        for number in range(6):
            with P.record_function(f"loop {number}"):
                payload()
            p.step()
        path = p.execution_trace_observer.get_output_file_path()
    with open("et.json", encoding="utf-8") as file:
        nodes = json.load(file)["nodes"]
    numbers = sorted(attribute["value"] for node in nodes if "execution_trace|" not in node["name"] for attribute in node["attrs"]
                     if attribute["name"] == "rf_id")
    ours = sorted(event.get("args", {}).get("Record function id", -1) for category in ("cpu_op", "user_annotation") for event in spans_of(p, category))
    return path, [node["name"] for node in nodes if node["name"].startswith("loop")], numbers == ours


# -- events --

FIELDS = ("name", "trace_name", "overload_name", "count", "key", "scope", "is_async", "is_remote", "node_id", "device_type", "device_index",
          "is_legacy", "use_device", "flops", "input_shapes", "structured_input_shapes", "structured_input_strides", "input_dtypes", "concrete_inputs",
          "kwinputs", "is_user_annotation", "is_python_function", "activity_type", "cpu_memory_usage", "self_cpu_memory_usage",
          "device_memory_usage", "self_device_memory_usage", "device_time", "kernels", "flow_type", "flow_start", "python_id", "linked_correlation_id")


@same
def fields_of_events(P, A):
    torch.manual_seed(1)
    model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(144, 5))
    with P.profile(activities=[CPU], record_shapes=True, profile_memory=True, with_flops=True) as p:
        with P.record_function("train"):
            model(torch.ones(2, 3, 8, 8)).sum().backward()
    rows = []
    for event in p.events():
        parent = event.cpu_parent.name if event.cpu_parent else None
        rows.append([parent, [child.name for child in event.cpu_children], *(repr(getattr(event, name)) for name in FIELDS)])
    return sorted(rows, key=repr)


@same
def types_of_averages(P, A):
    with P.profile(activities=[CPU], record_shapes=True) as p:
        payload()
    average = p.key_averages()[0]
    total = p.profiler.total_average()
    return type(average).__name__, sorted(vars(average)), type(p.events()).__name__, total.key, total.count, type(p.profiler.self_cpu_time_total)


@same
def concrete_inputs(P, A):
    with P.profile(activities=[CPU], record_shapes=True) as p:
        torch.rand(2, 6).as_strided([4, 3], [1, 4])
        torch.full((2, 2), float("inf"))
        torch.ones(2).clamp_(min=-0.5)
    return [(event.name, repr(event.concrete_inputs)) for event in p.events()]


@same
def shapes_of_nested_tensors(P, A):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        nested = torch.nested.nested_tensor([torch.randn(4, 4), torch.randn(4, 4)])
    with P.profile(activities=[CPU], record_shapes=True) as p:
        nn.functional.linear(nested, torch.randn(4, 4), None)
    return [(event.name, event.input_shapes) for event in p.events()]


@same
def shapes_of_custom_functions(P, A):
    class Custom(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, scale, y):
            return x + y * scale

        @staticmethod
        def backward(ctx, grad):
            return grad, None, grad

    with P.profile(activities=[CPU], record_shapes=True) as p:
        Custom.apply(torch.ones(2, 3, requires_grad=True), 2.0, torch.ones(4)[:3]).sum().backward()
    return [(event.name, event.input_shapes) for event in p.events() if "Custom" in event.name]


@same
def signs_of_memory(P, A):
    with A.profile(profile_memory=True, record_shapes=True) as p:
        with P.record_function("make"):
            x = torch.rand(10, 10)
        with P.record_function("free"):
            del x
        y = torch.rand(5)
        del y
        gc.collect()
    return sorted((event.key, event.cpu_memory_usage, event.self_cpu_memory_usage) for event in p.key_averages(group_by_input_shape=True))


@same
def python_functions(P, A):
    class Dummy(nn.Module):
        def forward(self, x):
            return x + 1

    module = Dummy()
    with P.profile(activities=[CPU], with_stack=True, experimental_config=_ExperimentalConfig(verbose=True)) as p:
        module(torch.ones(4))
    events = [event for event in p.events() if event.is_python_function]
    written = spans_of(p, "python_function")
    mine = next(event for event in events if "Dummy" in event.name)
    other = next(event for event in written if "Dummy" in event["name"])
    ids = [[mine.python_id, mine.python_parent_id, mine.python_module_id], [other["args"][f"Python {key}id"] for key in ("", "parent ", "module ")]]
    return len(events) == len(written), mine.name, ids[0] == ids[1], [event.name for event in events if "Dummy" in event.name or "forward" in event.name]


@same
def times_of_events_and_trace(P, A):
    with P.profile(activities=[CPU]) as p:
        payload()
    trace = trace_of(p)
    start = p.profiler.kineto_results.trace_start_ns()
    event = next(event for event in p.events() if event.name == "aten::mm")
    written = next(event for event in trace["traceEvents"] if event.get("name") == "aten::mm")
    recovered = (event.time_range.start * 1000 + start - trace.get("baseTimeNanoseconds", 0)) / 1000
    return abs(recovered - written["ts"]) < 0.01, abs(event.time_range.elapsed_us() - written["dur"]) < 0.01


@same
def categories_of_events_and_trace(P, A):
    with P.profile(activities=[CPU]) as p:
        with P.record_function("mine"):
            payload()
    written = {(event["name"], event["cat"]) for event in trace_of(p)["traceEvents"] if event.get("ph") == "X" and event["cat"] != "Trace"}
    return {(event.name, event.activity_type) for event in p.events()} == written, sorted(written)


@same
def numbers_of_events_are_unique(P, A):
    seen = []
    for _ in range(3):
        with P.profile(activities=[CPU]) as p:
            payload()
        seen += [event.id for event in p.events()]
    return len(seen) == len(set(seen)), max(seen) < 2**32


@same
def events_of_the_results(P, A):
    with P.profile(activities=[CPU], record_shapes=True) as p:
        with P.record_function("mine"):
            payload()
    found = [(event.name(), event.activity_type(), event.shapes(), event.scope(), event.device_type(), event.duration_ns() > 0, event.is_async(),
              event.end_ns() - event.start_ns() == event.duration_ns(), event.correlation_id() > 0) for event in p.profiler.kineto_results.events()]
    return sorted(found, key=repr)


@same
def metadata_of_events(P, A):
    with P.profile(activities=[CPU], record_shapes=True, experimental_config=_ExperimentalConfig(expose_kineto_event_metadata=True)) as p:
        torch.add(1, 5)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [bool(event.metadata_json) for event in p.events() if event.name == "aten::add"]


# -- tables --

SORTS = (None, "cpu_time", "cpu_time_total", "self_cpu_time_total", "cpu_memory_usage", "self_cpu_memory_usage", "count", "cuda_time_total",
         "self_cuda_time_total", "self_device_time_total", "xpu_time_total", "flops")
OPTIONS = ({}, {"row_limit": 3}, {"row_limit": -1, "max_name_column_width": 12}, {"header": "A header"}, {"top_level_events_only": True},
           {"time_unit": "us"}, {"time_unit": "ms"}, {"time_unit": "s"}, {"max_shapes_column_width": 20}, {"max_src_column_width": 20})


def without_times(table):
    """Lines whose times are gone; in any order, because times decide it."""
    return sorted(re.sub(r" *[\d.]+(us|ms|s|%)(?= |$)", " T", line) for line in table.splitlines())


def trained(P, **options):
    torch.manual_seed(1)
    model, x = Net(), torch.ones(4, 10)
    with P.profile(activities=[CPU], record_shapes=True, profile_memory=True, with_flops=True, **options) as p:
        model(x).sum().backward()
    return p


@same
def tables(P, A):
    p = trained(P)
    found = []
    for is_by_shape, sort in itertools.product((False, True), SORTS):
        averages = p.key_averages(group_by_input_shape=is_by_shape)
        found.append(without_times(averages.table(sort_by=sort, row_limit=-1)))
    for options in OPTIONS:
        text = p.key_averages(group_by_input_shape=True).table(**options)
        found.append(len(text.splitlines()) if "row_limit" in options else without_times(text))
    return found


@same
def tables_of_events(P, A):
    p = trained(P)
    return without_times(p.events().table(row_limit=-1)), without_times(str(p.profiler)), without_times(p.profiler.table(row_limit=-1))


@same
def units_of_tables(P, A):
    p = trained(P)
    found = []
    for unit in ("s", "ms", "us"):
        text = p.key_averages().table(time_unit=unit)
        found.append(sorted(set(re.findall(r"\.\d{3}(s|ms|us)\b", text))))
    return found


@same
def stacks(P, A):
    def innermost(x):
        return x.exp()

    found = []
    with A.profile(with_stack=True, experimental_config=_ExperimentalConfig(verbose=True)) as p:
        for _ in range(50):
            innermost(torch.ones(100, 100))
    for metric in ("self_cpu_time_total", "self_cuda_time_total"):
        p.export_stacks("stacks.txt", metric)
        with open("stacks.txt", encoding="utf-8") as file:
            lines = file.read().splitlines()
        found.append((bool(lines), all(int(line.rpartition(" ")[2]) > 0 for line in lines), any(":_innermost" in line for line in lines)))
    grouped = p.key_averages(group_by_stack_n=4)
    return found, sorted({len(event.stack) for event in grouped if event.key == "aten::exp"}), "Source Location" in grouped.table()


# -- refusals and warnings --

@same
def refusals(P, A):
    p = P.profile(activities=[CPU])
    before = [raised(work) for work in (lambda: p.export_chrome_trace("x"), p.events, p.key_averages, p.start_trace, p.stop_trace,
                                        lambda: p.export_stacks("x"))]
    with A.profile() as q:
        payload()
    only_trace = P.profile(activities=[CPU], experimental_config=_ExperimentalConfig(trace_only=True))
    with only_trace:
        payload()
    return before, [raised(work) for work in (
        lambda: q.export_stacks("x"), q.__enter__, only_trace.events, lambda: P.profile(activities=[]), lambda: P.profile(activities=[CPU, CPU]),
        lambda: P.profile(activities=[CPU, {CPU: ["CPU_OP"]}]), lambda: P.profile(activities=["cpu"]),
        lambda: P.profile(schedule=lambda _: P.ProfilerAction.DEVICE_STOPPED), lambda: A.profile(use_cpu=False),
        lambda: A.profile(post_processing_timeout_s=-1.0), lambda: P.schedule(wait=-1, warmup=0, active=1), lambda: P.schedule(wait=0, warmup=1, active=1)(-1),
        lambda: q.function_events.export_stacks("x", "no_metric"), lambda: q._parse_kineto_results(q.kineto_results, timeout_s=-1.0))]


@same
def unknown_kinds_of_activities(P, A):
    def record():
        with P.profile(activities=[{CPU: ["NO_SUCH_KIND"]}]):
            payload()

    return (raised(record) or [None])[0]


@same
def no_kinds_of_activities(P, A):
    with P.profile(activities=[{CPU: []}]) as p:
        payload()
    return len(p.events())


@same
def warnings_of_arguments(P, A):
    def enter(**options):
        with P.profile(**options):
            pass

    return [warned(work) for work in (
        lambda: A.profile(use_cuda=True), lambda: A.profile(use_device="cuda"), lambda: A.profile(use_device="nonsense"), lambda: A.profile(use_device="xpu"),
        lambda: P.schedule(wait=0, warmup=0, active=1), lambda: P.profile(activities=[CPU], use_cuda=False),
        lambda: enter(activities=[CPU], with_stack=True, experimental_config=_ExperimentalConfig(trace_only=True)))]


@same
def a_profiler_that_is_off(P, A):
    off = A.profile(enabled=False)
    with off as entered:
        payload()
    return entered, off.__exit__(None, None, None)


@same
def a_schedule_that_fails(P, A):
    p = P.profile(activities=[CPU], schedule=lambda step: P.ProfilerAction.WARMUP if step == 0 else P.ProfilerAction.DEVICE_STOPPED)
    p.start()
    error = raised(p.step)
    state = p.step_num, p.current_action, p.step_rec_fn
    p.stop()
    return error, state


# -- windows --

@same
def is_enabled(P, A):
    found = [torch.autograd.profiler._is_profiler_enabled]
    for profiler in (P.profile(activities=[CPU]), A.profile()):
        with profiler:
            found += [torch.autograd.profiler._is_profiler_enabled, A._is_profiler_enabled]
        found.append(torch.autograd.profiler._is_profiler_enabled)
    return found


@same
def counts_of_schedules(P, A):
    found = []
    for warmup, active, repeat, is_kept in ((0, 1, 1, True), (0, 5, 0, True), (0, 5, 3, True), (1, 5, 0, True), (5, 5, 2, True), (20, 1, 0, True),
                                            (0, 5, 0, False), (5, 5, 2, False)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with P.profile(activities=[CPU], schedule=P.schedule(wait=0, warmup=warmup, active=active, repeat=repeat), acc_events=is_kept) as p:
                for _ in range(30):
                    torch.add(1, 2)
                    p.step()
        found.append(sum(event.count for event in p.key_averages() if event.key == "aten::add"))
    return found


@same
def states_when_traces_are_ready(P, A):
    seen = []
    with P.profile(activities=[CPU], schedule=P.schedule(wait=1, warmup=1, active=2, repeat=2),
                   on_trace_ready=lambda p: seen.append((p.step_num, p.current_action.name, sum(event.name == "aten::mm" for event in p.events())))) as p:
        for _ in range(9):
            payload()
            p.step()
    return seen, p.step_num, p.current_action.name


@same
def steps_that_a_daemon_counts(P, A):
    with unittest.mock.patch.dict(os.environ, {"KINETO_USE_DAEMON": "1"}):
        first = A.KinetoStepTracker.current_step()
        with P.profile(activities=[CPU], schedule=P.schedule(wait=1, warmup=1, active=2)) as p:
            for _ in range(8):
                p.step()
        return A.KinetoStepTracker.current_step() - first, "ProfilerStep" in A.KinetoStepTracker._step_dict


@same
def trees_are_built_late(P, A):
    with P.profile(activities=[CPU]) as p:
        payload()
    stats = p._stats()
    before = stats.number_of_events, stats.function_events_build_tree_call_duration_us
    p.events()
    return before, stats.number_of_events, stats.function_events_build_tree_call_duration_us > 0, stats.profiling_window_duration_sec > 0, [
        getattr(stats, f"{name}_call_duration_us") > 0 for name in ("profiler_prepare", "profiler_enable", "profiler_disable", "parse_kineto")]


@same
def times_that_run_out(P, A):
    with P.profile(activities=[CPU], post_processing_timeout_s=0.0) as p:
        for _ in range(10):
            payload()
    said = []
    handler = logging.Handler()
    handler.emit = lambda record: said.append(record.getMessage())
    logger = logging.getLogger("torch.autograd.profiler")
    logger.addHandler(handler)
    try:
        count = len(p.events())
    finally:
        logger.removeHandler(handler)
    with P.profile(activities=[CPU], post_processing_timeout_s=60.0) as q:
        payload()
    return count, ["timed out" in text and "partial results" in text for text in said], len(q.events())


@same
def garbage_collections(P, A):
    counts = []
    for is_on in (True, False):
        with P.profile(activities=[CPU], with_stack=True, experimental_config=_ExperimentalConfig(record_python_gc_info=is_on)) as p:
            payload()
            gc.collect()
        counts.append(sum(event["name"] == "Python GC" for event in trace_of(p)["traceEvents"]) > 0)
    return counts


@same
def collection_that_is_switched(P, A):
    with P.profile(activities=[CPU]) as p:
        torch.ones(2).add(1)
        p.toggle_collection_dynamic(False, [CPU])
        torch.ones(2).mul(1)
        p.toggle_collection_dynamic(True, [CPU])
        torch.ones(2).sub(1)
    return sorted({event.name for event in p.events()})


@same
def trace_ids(P, A):
    numbers = itertools.count()
    p = P.profile(activities=[CPU], custom_trace_id_callback=lambda: f"id{next(numbers)}", schedule=P.schedule(wait=0, warmup=1, active=1))
    found = [p.get_trace_id()]
    with p:
        for _ in range(4):
            found.append(p.get_trace_id())
            p.step()
        p.set_custom_trace_id_callback(lambda: "another")
        p.step()
        p.step()
    with P.profile(activities=[CPU]) as q:
        pass
    return found, p.get_trace_id(), re.fullmatch("[0-9A-F]{32}", q.get_trace_id()) is not None


@same
def the_lower_level(P, A):
    p = P._KinetoProfile(activities=[CPU], record_shapes=True)
    p.preset_metadata_json("preset", "[7]")
    p.start()
    payload()
    p.stop()
    return trace_of(p).get("preset"), [event.name for event in p.events()]


@same
def other_threads(P, A):
    with P.profile(activities=[CPU], experimental_config=_ExperimentalConfig(profile_all_threads=True), record_shapes=True) as p:
        thread = threading.Thread(target=payload)
        thread.start()
        thread.join()
        payload()
    return len({event.thread for event in p.events() if event.name == "aten::mm"}), sum(event.name == "aten::mm" for event in p.events())


@same
def ranges_that_end_elsewhere(P, A):
    with P.profile(activities=[CPU], experimental_config=_ExperimentalConfig(profile_all_threads=True)) as p:
        annotation = P.record_function("elsewhere")
        annotation.__enter__()
        thread = threading.Thread(target=lambda: annotation.__exit__(None, None, None))
        thread.start()
        thread.join()
    return [(event.name, event.is_async) for event in p.events()]


@same
def exceptions(P, A):
    p = P.profile(activities=[CPU])
    error = raised(lambda: _fail_inside(P, p))
    return error and error[0], [event.name for event in p.events()], torch.autograd.profiler._is_profiler_enabled


def _fail_inside(P, p):
    with p, P.record_function("fails"):
        torch.ones(2) @ torch.ones(3)


def observed(function, module):
    """With torch or kino."""
    torch.manual_seed(1)
    gc.collect()
    P, A = (torch.profiler, torch.autograd.profiler) if module == "torch" else (kino.profiler, kino.autograd.profiler)
    try:
        return function(P, A)
    except Exception as error:  # noqa: BLE001 (a difference like any other)
        return f"{type(error).__name__}: {error}"


# Observations that differ, with PyTorch's answer and Kino's. Explained in docs/python/profiler.md, "Differences".
DIFFERENT = {"no_kinds_of_activities": (11, 0), "ranges_that_end_elsewhere": ([("elsewhere", True)], [("elsewhere", False)])}


def run(report):
    _autograd._DEFAULT_MEMORY = 8 << 20  # preparing more for each of many windows would take most of the test's time
    for function in observations:
        name = function.__name__
        want, got = observed(function, "torch"), observed(function, "kino")
        if name in DIFFERENT:
            report.equal(f"{name}: PyTorch's answer and ours", (want, got), DIFFERENT[name])
        else:
            report.check(f"{name}: as PyTorch's", repr(got) == repr(want), difference(got, want))


def difference(got, want):
    """The first place where they differ, as far as they are lists."""
    if isinstance(got, (list, tuple)) and isinstance(want, (list, tuple)) and len(got) == len(want):
        for number, (mine, other) in enumerate(zip(got, want)):
            if repr(mine) != repr(other):
                return f"[{number}] {difference(mine, other)}"
    return f"got {str(got)[:400]}, want {str(want)[:400]}"
