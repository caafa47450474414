"""kino.profile: torch.profiler.profile on Kino's recorder."""
from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterable
from types import TracebackType
from typing import Any, Optional

from torch.autograd.profiler_util import EventList
from torch.profiler import ExecutionTraceObserver, ProfilerAction, ProfilerActivity

from .. import _bridge
from .._report import Report
from .._run import Run
from .._values import Size, size_in_bytes
from . import _config, _events, _metadata, _tracing
from ._annotation import record_function
from ._window import Window

_DEFAULT_MEMORY = 128 << 20
_NONE, _WARMUP, _RECORD, _SAVE = (ProfilerAction.NONE, ProfilerAction.WARMUP, ProfilerAction.RECORD,
                                  ProfilerAction.RECORD_AND_SAVE)
# What is done between the actions of two steps; None: the end.
_TRANSITIONS: dict[tuple[ProfilerAction, Optional[ProfilerAction]], str] = {
    (_NONE, _NONE): "", (_NONE, _WARMUP): "prepare", (_NONE, _RECORD): "prepare start", (_NONE, _SAVE): "prepare start",
    (_WARMUP, _NONE): "warn start stop", (_WARMUP, _WARMUP): "", (_WARMUP, _RECORD): "start", (_WARMUP, _SAVE): "start",
    (_RECORD, _NONE): "warn stop", (_RECORD, _WARMUP): "warn stop", (_RECORD, _RECORD): "", (_RECORD, _SAVE): "",
    (_SAVE, _NONE): "stop ready", (_SAVE, _WARMUP): "stop ready prepare", (_SAVE, _RECORD): "stop ready prepare start",
    (_SAVE, _SAVE): "stop ready prepare start",
    (_NONE, None): "", (_WARMUP, None): "start stop", (_RECORD, None): "stop ready", (_SAVE, None): "stop ready",
}


def _always(_: int) -> ProfilerAction:
    return _RECORD


class profile:  # noqa: N801 (PyTorch's name)
    """Records operators, memory and annotations, at a fraction of the cost of torch.profiler.profile, whose arguments and methods it has.

    New: `memory` ("256MB") is what the recorder may use, `all_threads=False` records the calling thread and its backward threads
    only, as PyTorch does; `report()`, `run()` and `show()`.

    >>> with kino.profile(record_shapes=True) as p:
    ...     _ = torch.ones(4) + 1
    >>> "aten::add" in {row.key for row in p.key_averages()}
    True
    """

    def __init__(self, *, activities: Optional[Iterable[Any]] = None, schedule: Optional[Callable[[int], ProfilerAction]] = None,
                 on_trace_ready: Optional[Callable[..., Any]] = None, record_shapes: bool = False, profile_memory: bool = False,
                 with_stack: bool = False, with_flops: bool = False, with_modules: bool = False, experimental_config: Any = None,
                 execution_trace_observer: Any = None, acc_events: bool = False, use_cuda: Optional[bool] = None,
                 custom_trace_id_callback: Optional[Callable[[], str]] = None, post_processing_timeout_s: Optional[float] = None,
                 memory: Optional[Size] = None, all_threads: bool = True) -> None:
        self.activities, self.activity_filters = _config.activities_of(activities, use_cuda)
        self.use_device = _config.device_of(self.activities)
        self.record_shapes, self.profile_memory, self.with_stack = record_shapes, profile_memory, with_stack
        self.with_flops, self.with_modules = with_flops, with_modules
        self.experimental_config = experimental_config
        self.execution_trace_observer = execution_trace_observer or ExecutionTraceObserver.build_execution_trace_obs_from_env()
        self.acc_events = acc_events
        self.custom_trace_id_callback = custom_trace_id_callback
        self.post_processing_timeout_s = post_processing_timeout_s
        self.all_threads = all_threads
        self.schedule = schedule or _always
        self.record_steps = schedule is not None
        self.on_trace_ready = on_trace_ready
        self.step_num = 0
        self.step_rec_fn: Optional[record_function] = None
        self.current_action = self.schedule(0)
        self.preset_metadata: dict[str, str] = {}
        self._budget = size_in_bytes(memory) or _DEFAULT_MEMORY
        self._window: Optional[Window] = None
        self._pending: dict[str, str] = {}  # metadata for the next window
        self._kept: list[Any] = []  # events of earlier windows
        self._origin: Any = None  # of their times
        self._events: Optional[EventList] = None
        self._tracing = _tracing.Tracing(with_stack)
        _config.say_what_does_not_apply(self)

    # -- a window --

    def prepare_trace(self) -> None:
        """Everything that takes time, before start_trace: buffers, and on first use the bridge to PyTorch.

        >>> p = kino.profile(); p.prepare_trace(); p.get_trace_id() is not None
        True
        """
        if self._window is not None:
            self._end_cycle()
        self._bridge = _bridge.load()
        self._window = Window(self._budget, _config.trace_id_of(self.custom_trace_id_callback))

    def _end_cycle(self) -> None:
        assert self._window is not None
        if self.acc_events:
            self._kept += self._read_events()
        else:
            _config.warn_once("Warning: Profiler clears events at the end of each cycle. Only events from the current cycle will be "
                              "reported. To keep events across cycles, set acc_events=True.")
        self._window.forget()
        self._window, self._events = None, None

    def start_trace(self) -> None:
        """Starts the window that prepare_trace prepared.

        >>> p = kino.profile(); p.prepare_trace()
        >>> p.start_trace(); _ = torch.ones(2); p.stop_trace()
        >>> len(p.events()) > 0
        True
        """
        if self._required("starting trace").is_over:
            self.prepare_trace()  # a schedule that goes from RECORD to WARMUP; PyTorch crashes here
        window = self._required("starting trace")
        if self.execution_trace_observer:
            self.execution_trace_observer.start()
        for key, text in {**self._pending, **_metadata.of_window(self)}.items():
            window.metadata(key, text)
        self._pending.clear()
        self._counts = _bridge.counts()
        window.start()
        self._tracing.start()
        self._switch(ProfilerActivity.CPU in self.activities)

    def stop_trace(self) -> None:
        """Ends the window: what it recorded can be read now.

        >>> p = kino.profile(); p.prepare_trace()
        >>> p.start_trace(); _ = torch.ones(2); p.stop_trace()
        >>> len(p.events()) > 0
        True
        """
        window = self._required("stopping trace")
        if self.execution_trace_observer:
            self.execution_trace_observer.stop()
        _config.synchronize(self.use_device)
        self._switch(False)
        self._tracing.stop()
        self.add_metadata_json("kino_overhead", _metadata.overhead(self._counts, _bridge.counts()))
        window.stop()

    def _switch(self, is_on: bool) -> None:
        if not is_on:
            self._bridge.kino_torch_disable()
            return
        bits = _bridge.SHAPES if self.record_shapes or self.with_flops else 0
        bits |= _bridge.MEMORY if self.profile_memory else 0
        bits |= 0 if self.all_threads else _bridge.THIS_THREAD
        self._bridge.kino_torch_enable(bits)

    def toggle_collection_dynamic(self, enable: bool, activities: Iterable[ProfilerActivity]) -> None:
        """Pauses or resumes operators while recording. Devices are not switched: NotImplementedError.

        >>> with kino.profile() as p:
        ...     p.toggle_collection_dynamic(False, [kino.ProfilerActivity.CPU])
        ...     _ = torch.ones(2)
        >>> len(p.events())
        0
        """
        wanted = set(activities)
        if wanted - {ProfilerActivity.CPU}:
            raise NotImplementedError("only ProfilerActivity.CPU can be switched while recording")
        if wanted and self._window is not None:
            self._switch(enable)

    # -- steps --

    def __enter__(self) -> profile:
        self.start()
        return self

    def __exit__(self, kind: Optional[type[BaseException]], error: Optional[BaseException],
                 traceback: Optional[TracebackType]) -> None:
        self.stop()
        if self.execution_trace_observer:
            self.execution_trace_observer.cleanup()

    def start(self) -> None:
        """What `with` does first.

        >>> p = kino.profile(); p.start(); _ = torch.ones(2); p.stop()
        >>> len(p.events()) > 0
        True
        """
        self._transit(_NONE, self.current_action)
        self._mark_step()

    def stop(self) -> None:
        """What `with` does last; on_trace_ready is called where a window was open.

        >>> p = kino.profile(on_trace_ready=lambda window: print("ready")); p.start(); p.stop()
        ready
        """
        self._end_step()
        self._transit(self.current_action, None)

    def step(self) -> None:
        """The next step begins.

        >>> with kino.profile(schedule=kino.schedule(wait=0, warmup=1, active=1)) as p:
        ...     for number in range(2):
        ...         _ = torch.ones(2)
        ...         p.step()
        >>> p.step_num
        2
        """
        self._end_step()
        previous, following = self.current_action, self.schedule(self.step_num + 1)
        self.step_num += 1
        self.current_action = following
        self._transit(previous, following)
        _config.count_step()
        self._mark_step()

    def _mark_step(self) -> None:
        if self.record_steps:
            self.step_rec_fn = record_function(f"ProfilerStep#{self.step_num}")
            self.step_rec_fn.__enter__()

    def _end_step(self) -> None:
        marked, self.step_rec_fn = self.step_rec_fn, None
        if marked is not None:
            marked.__exit__(None, None, None)

    def _transit(self, previous: ProfilerAction, following: Optional[ProfilerAction]) -> None:
        work = {"prepare": self.prepare_trace, "start": self.start_trace, "stop": self.stop_trace, "ready": self._trace_ready}
        for what in _TRANSITIONS[previous, following].split():
            if what == "warn":
                warnings.warn(f"Incorrect schedule: {previous.name} followed by {following.name if following else 'the end'}",
                              stacklevel=4)
            else:
                work[what]()

    def _trace_ready(self) -> None:
        if self.on_trace_ready:
            self.on_trace_ready(self)

    # -- what was recorded --

    def _required(self, what: str) -> Window:
        if self._window is None:
            raise AssertionError(f"Profiler must be initialized before {what}")
        return self._window

    def export_chrome_trace(self, path: str, use_python_export: bool = False) -> None:
        """Writes the last window: .json, .json.gz, .kino, or another format of kino.formats(); as often as one likes.

        >>> p.export_chrome_trace("window.json.gz")
        >>> len(kino.open("window.json.gz", progress=False).traces)
        1
        """
        self._required("exporting chrome trace").write(os.fspath(path))

    def run(self) -> Run:
        """The engine's run of the last window: analyses, SQL, Arrow; no file is left.

        >>> len(p.run().query("SELECT name FROM event")) > 0
        True
        """
        return self._required("reading it").run()

    def report(self, **options: Any) -> Report:
        """Where the time went and what to do first: Run.report of the last window.

        >>> type(p.report()).__name__
        'Report'
        """
        return self.run().report(**options)

    def show(self) -> Any:
        """The web UI on the last window.

        >>> p.show()
        Traceback (most recent call last):
        ...
        NotImplementedError: write the trace and open it: kino serve TRACE
        """
        raise NotImplementedError("write the trace and open it: kino serve TRACE")

    def _read_events(self) -> list[Any]:
        window = self._required("accessing events")
        if getattr(self.experimental_config, "trace_only", False):
            raise RuntimeError("events() is not available when trace_only=True in ExperimentalConfig. "
                               "Use export_chrome_trace() instead.")
        found, self._origin = _events.function_events(window.text(), self.use_device, self.with_flops,
                                                      self._origin if self._kept else None)
        return found

    def events(self) -> EventList:
        """PyTorch's FunctionEvents: of the last window, with acc_events of all.

        >>> "aten::ones" in {event.name for event in p.events()}
        True
        """
        if self._events is None:
            self._events = _events.event_list(self._kept + self._read_events(), self.use_device, self.profile_memory, self.with_flops)
        return self._events

    def key_averages(self, group_by_input_shape: bool = False, group_by_stack_n: int = 0,
                     group_by_overload_name: bool = False) -> EventList:
        """Events added up by name; `.table(...)` prints them.

        >>> "aten::ones" in p.key_averages().table(sort_by="self_cpu_time_total")
        True
        """
        if group_by_overload_name:
            raise NotImplementedError("overload names are not recorded")
        self._need_stacks(bool(group_by_stack_n))
        return self.events().key_averages(group_by_input_shape, group_by_stack_n, group_by_overload_name)

    def export_stacks(self, path: str, metric: str = "self_cpu_time_total") -> None:
        """A line for each stack of Python functions with the metric's sum, for flame graphs.

        >>> p.export_stacks("stacks.txt")
        """
        self._need_stacks(True)
        self.events().export_stacks(path, metric)

    def _need_stacks(self, is_needed: bool) -> None:
        if is_needed and self.with_stack and not self._tracing.is_there:
            raise NotImplementedError("there are no stacks: this build has no kino._tracer for this Python")

    def export_memory_timeline(self, path: str, device: Optional[str] = None) -> None:
        """Not in kino.profile.

        >>> p.export_memory_timeline("memory.html")
        Traceback (most recent call last):
        ...
        NotImplementedError: deprecated by PyTorch; run().memory() has the memory over time
        """
        raise NotImplementedError("deprecated by PyTorch; run().memory() has the memory over time")

    # -- metadata --

    def add_metadata(self, key: str, value: str) -> None:
        """A text in the trace.

        >>> with kino.profile() as p:
        ...     p.add_metadata("model", "resnet")
        """
        self.add_metadata_json(key, _metadata.quoted(value))

    def add_metadata_json(self, key: str, value: str) -> None:
        """A JSON value in the trace.

        >>> with kino.profile() as p:
        ...     p.add_metadata_json("layers", "[64, 64]")
        """
        if self._window is None:
            self._pending[key] = value
        else:
            self._window.metadata(key, value)

    def preset_metadata_json(self, key: str, value: str) -> None:
        """A JSON value in the trace of every window from the next one on.

        >>> p.preset_metadata_json("host", '"a"')
        """
        self.preset_metadata[key] = value

    def get_trace_id(self) -> Optional[str]:
        """The name of the last window; None before the first.

        >>> kino.profile().get_trace_id() is None
        True
        """
        return self._window.trace_id if self._window else None

    def set_custom_trace_id_callback(self, callback: Callable[[], str]) -> None:
        """What gives names to windows from the next one on.

        >>> p = kino.profile(); p.set_custom_trace_id_callback(lambda: "mine"); p.prepare_trace(); p.get_trace_id()
        'mine'
        """
        self.custom_trace_id_callback = callback
