"""torch.autograd.profiler.profile on Kino's recorder: one window, or several one after the other. kino.profile drives it by steps."""
from __future__ import annotations

import decimal
import time
import uuid
import warnings
from collections.abc import Callable, Iterable
from types import TracebackType
from typing import Any, Optional

import torch.autograd.profiler as torch_profiler
from torch.autograd.profiler_util import EventList
from torch.profiler import ProfilerActivity

from .. import _bridge
from .._report import Report
from .._run import Run
from .._server import Server
from .._values import Size, size_in_bytes
from . import _config, _events, _metadata, _tracing
from ._results import Results
from ._window import Window

_DEFAULT_MEMORY = 128 << 20


def _microseconds_since(start_ns: int) -> int:
    return (time.perf_counter_ns() - start_ns) // 1000 + 1  # at least one: 0 means that it was not done


class profile:  # noqa: N801 (PyTorch's name)
    """Records operators, memory and annotations inside a `with`: the older of PyTorch's two interfaces. kino.profile has schedules.

    New: `memory` ("256MB") is what the recorder may use, `all_threads=False` records the calling thread and its backward threads only;
    `report()`, `run()` and `show()`.
    """

    def __init__(self, enabled: bool = True, *, use_cuda: bool = False, use_device: Optional[str] = None, record_shapes: bool = False,
                 with_flops: bool = False, profile_memory: bool = False, with_stack: Any = False, with_modules: bool = False,
                 use_kineto: bool = False, use_cpu: bool = True, experimental_config: Any = None, acc_events: bool = False,
                 custom_trace_id_callback: Optional[Callable[[], str]] = None, post_processing_timeout_s: Optional[float] = None,
                 activity_filters: Optional[dict[ProfilerActivity, set[str]]] = None, memory: Optional[Size] = None,
                 all_threads: bool = True) -> None:
        self.enabled = enabled
        if not enabled:
            return
        self.use_cuda, self.use_cpu = use_cuda, use_cpu
        self.use_device = _config.usable_device(use_device, use_cuda)
        self.record_shapes, self.with_flops = record_shapes or with_flops, with_flops
        self.profile_memory, self.with_stack, self.with_modules = profile_memory, with_stack, with_modules
        self.experimental_config = _config.experimental(experimental_config, with_stack)
        self.acc_events = acc_events
        self.custom_trace_id_callback = custom_trace_id_callback
        self.post_processing_timeout_s = _config.seconds("post_processing_timeout_s", post_processing_timeout_s)
        self.activity_filters = _config.checked_filters(activity_filters or {})
        self.all_threads = all_threads or _config.is_set(self.experimental_config, "profile_all_threads")
        self.kineto_activities = _config.kineto_activities(use_cpu, use_kineto, self.use_device)
        self.entered = False
        self.is_recording = self._is_inside_another = False
        self.trace_id = ""
        self.kineto_results: Optional[Results] = None
        self.profiling_start_time_ns = self.profiling_end_time_ns = 0
        self._ids_wanted = False  # by an observer of the execution, for "Record function id"
        self._stats = torch_profiler._ProfilerStats()
        self._budget = size_in_bytes(memory) or _DEFAULT_MEMORY
        self._window: Optional[Window] = None
        self._pending: dict[str, str] = {}  # metadata for the next window
        self._kept: list[Any] = []  # events of earlier windows
        self.origin: Optional[decimal.Decimal] = None  # of the times of all events
        self._function_events: Optional[EventList] = None
        self._tracing = _tracing.Tracing(with_stack, _config.wants_collections(self.experimental_config))
        _config.say_what_does_not_apply(self)

    # -- a window --

    def __enter__(self) -> Optional[profile]:
        if not self.enabled:
            return None
        if self.entered:
            raise RuntimeError("Profiler context manager is not reentrant")
        self._prepare_trace()
        self._start_trace()
        return self

    def __exit__(self, exc_type: Optional[type[BaseException]], exc_val: Optional[BaseException],
                 exc_tb: Optional[TracebackType]) -> Optional[bool]:
        if not self.enabled:
            return None
        self._stop_trace()
        return False

    def default_trace_id(self) -> str:
        """32 random hexadecimal digits."""
        return uuid.uuid4().hex.upper()

    def create_trace_id(self) -> str:
        """Of the next window."""
        return self.custom_trace_id_callback() if self.custom_trace_id_callback else self.default_trace_id()

    def _prepare_trace(self) -> None:
        """Everything that takes time, before _start_trace: buffers, and on first use the bridge to PyTorch."""
        if self.is_recording:
            raise RuntimeError("this profiler is recording already: stop() comes before the next start()")
        self.entered = True
        before = time.perf_counter_ns()
        self._bridge = _bridge.load()
        _config.say_what_the_bridge_lacks(self, self._bridge)
        if self._window is not None:
            self._leave_window()
        self.trace_id = self.create_trace_id()
        self._window = Window(self._budget, self.trace_id)
        self._stats.profiler_prepare_call_duration_us = _microseconds_since(before)

    def _leave_window(self) -> None:
        """The next one needs the recorder: of this one the events are kept, if that was asked for."""
        if self.acc_events:
            self._kept = list(self.function_events)
        else:
            self.origin = None
        self.forget()

    def forget(self) -> None:
        """The window is not wanted any more."""
        window, self._window, self._function_events, self.kineto_results = self._window, None, None, None
        if window is not None:
            window.forget()

    def _start_trace(self, metadata: Optional[dict[str, str]] = None) -> None:
        self.entered = True
        window = self._required("starting trace")
        before = time.perf_counter_ns()
        for key, text in {**self._pending, **(metadata or {})}.items():
            window.metadata(key, text)
        self._pending.clear()
        self._counts = _bridge.counts()
        window.start()
        self.is_recording = True
        self._is_inside_another = torch_profiler._is_profiler_enabled  # PyTorch's own, which goes on afterwards
        torch_profiler._run_on_profiler_start()
        self._tracing.start()
        self._switch(self.use_cpu and self.activity_filters.get(ProfilerActivity.CPU) != set())
        self._stats.profiler_enable_call_duration_us = _microseconds_since(before)
        self.profiling_start_time_ns = time.perf_counter_ns()

    def _stop_trace(self) -> None:
        window = self._required("stopping trace")
        _config.synchronize(self.use_device)
        before = time.perf_counter_ns()
        self._switch(False)
        self._tracing.stop(with_owners=self.record_shapes and self.profile_memory)
        self.metadata("kino_overhead", _metadata.overhead(self._counts, _bridge.counts()))
        window.stop()
        self.is_recording = False
        if not self._is_inside_another:
            torch_profiler._run_on_profiler_stop()
        self.profiling_end_time_ns = before
        self._stats.profiler_disable_call_duration_us = _microseconds_since(before)
        self._stats.profiling_window_duration_sec = (before - self.profiling_start_time_ns) / 1e9
        self.kineto_results = Results(window, self, self._tracing.owned)

    def _switch(self, is_on: bool) -> None:
        if not is_on:
            self._bridge.kino_torch_disable()
            return
        wanted = {_bridge.SHAPES: self.record_shapes, _bridge.MEMORY: self.profile_memory, _bridge.THIS_THREAD: not self.all_threads,
                  _config.OVERLOADS: _config.is_set(self.experimental_config, "capture_overload_names"),
                  _config.MODULES: self.with_modules, _config.IDS: self._ids_wanted}
        bits = sum(bit for bit, is_wanted in wanted.items() if is_wanted)
        self._bridge.kino_torch_enable(bits & _config.bits_of(self._bridge))

    def toggle_collection_dynamic(self, enabled: bool, activities: Iterable[ProfilerActivity]) -> None:
        """Pauses or resumes operators while recording. Devices are not switched: NotImplementedError."""
        wanted = set(activities)
        if wanted - {ProfilerActivity.CPU}:
            raise NotImplementedError("kino.profile switches ProfilerActivity.CPU alone while it records; "
                                      f"asked for: {', '.join(sorted(activity.name for activity in wanted))}")
        if wanted and self._window is not None:
            self._switch(enabled)

    def metadata(self, key: str, text: str) -> None:
        """A JSON value in the trace: of this window, or of the next when there is none."""
        if self._window is None:
            self._pending[key] = text
        else:
            self._window.metadata(key, text)

    # -- what was recorded --

    def _required(self, what: str) -> Window:
        if self._window is None:
            raise AssertionError(f"Profiler must be initialized before {what}")
        return self._window

    def _parse_kineto_results(self, result: Results, timeout_s: Optional[float] = None) -> list[Any]:
        return _events.function_events(result, self, _config.seconds("timeout_s", timeout_s))

    def _ensure_function_events(self) -> None:
        if _config.is_set(self.experimental_config, "trace_only"):
            raise RuntimeError("events() is not available when trace_only=True in ExperimentalConfig. "
                               "Use export_chrome_trace() instead.")
        if self._function_events is not None:
            return
        before = time.perf_counter_ns()
        parsed = self._parse_kineto_results(self.kineto_results, self.post_processing_timeout_s) if self.kineto_results else []
        self._stats.parse_kineto_call_duration_us = _microseconds_since(before)
        before = time.perf_counter_ns()
        made = EventList(parsed, use_device=self.use_device, profile_memory=self.profile_memory, with_flops=self.with_flops)
        made._build_tree()
        self._stats.function_events_build_tree_call_duration_us = _microseconds_since(before)
        self._stats.number_of_events = len(made)
        made.extend(self._kept)
        self._function_events = made

    @property
    def function_events(self) -> EventList:
        """PyTorch's FunctionEvents: of the last window, with acc_events of all."""
        self._ensure_function_events()
        return self._function_events

    def __repr__(self) -> str:
        return repr(self.function_events) if self.enabled and self.kineto_results else "<unfinished kino.autograd.profiler.profile>"

    def __str__(self) -> str:
        return str(self.function_events) if self.enabled and self.kineto_results else "<unfinished kino.autograd.profiler.profile>"

    def table(self, sort_by: Optional[str] = None, row_limit: int = 100, max_src_column_width: int = 75, max_name_column_width: int = 55,
              max_shapes_column_width: int = 80, header: Optional[str] = None, top_level_events_only: bool = False) -> str:
        """The events as a table of text."""
        text: str = self.function_events.table(
            sort_by=sort_by, row_limit=row_limit, max_src_column_width=max_src_column_width, max_name_column_width=max_name_column_width,
            max_shapes_column_width=max_shapes_column_width, header=header, top_level_events_only=top_level_events_only)
        return text

    def export_chrome_trace(self, path: str, metadata: Optional[dict[str, str]] = None, use_python_export: bool = False) -> None:
        """Writes the last window: .json, .json.gz, .kino, or another format of kino.formats(); as often as one likes."""
        self._required("exporting chrome trace").write(path)

    def export_stacks(self, path: str, metric: str = "self_cpu_time_total") -> None:
        """A line for each stack of Python functions with the metric's sum, for flame graphs."""
        if not self.with_stack:
            raise AssertionError("export_stacks() requires with_stack=True")
        self.need_stacks()
        self.function_events.export_stacks(path, metric)

    def need_stacks(self) -> None:
        """Says so when stacks were asked for and there can be none."""
        if self.with_stack and not self._tracing.is_there:
            raise NotImplementedError("there are no stacks: this build of Kino has no kino._tracer for this Python")

    def key_averages(self, group_by_input_shape: bool = False, group_by_stack_n: int = 0,
                     group_by_overload_name: bool = False) -> EventList:
        """Events added up by name; `.table(...)` prints them."""
        if group_by_stack_n:
            self.need_stacks()
        return self.function_events.key_averages(group_by_input_shape, group_by_stack_n, group_by_overload_name)

    def total_average(self) -> Any:
        """All events added up."""
        return self.function_events.total_average()

    @property
    def self_cpu_time_total(self) -> float:
        """The sum of the self times of all events, in microseconds."""
        total: float = self.function_events.self_cpu_time_total
        return total

    def run(self) -> Run:
        """The engine's run of the last window: analyses, SQL, Arrow; no file is left."""
        return self._required("reading it").run()

    def report(self, **options: Any) -> Report:
        """Where the time went and what to do first: Run.report of the last window."""
        run = self.run()
        if not len(run.query("SELECT 1 FROM event WHERE cat IN ('cpu_op', 'python_function', 'kernel') LIMIT 1")):
            warnings.warn("no operator was recorded in this window: none ran in it, or activities has no ProfilerActivity.CPU", stacklevel=2)
        return run.report(**options)

    def show(self, page: str = "overview", *, height: int = 800, proxy: Optional[str] = None) -> Server:
        """The web UI on the last window: a notebook shows it, elsewhere `.url` is its address; as Run.show."""
        server = self.run().show(page, height=height, proxy=proxy)
        server.source = self._window  # whose file it reads
        return server
