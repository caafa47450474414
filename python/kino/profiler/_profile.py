"""kino.profile: torch.profiler.profile on Kino's recorder."""
from __future__ import annotations

import json
import os
import warnings
from collections.abc import Callable, Iterable
from types import TracebackType
from typing import Any, Optional

from torch.autograd.profiler import KinetoStepTracker
from torch.autograd.profiler_util import EventList
from torch.profiler import ExecutionTraceObserver, ProfilerAction, ProfilerActivity

from .._report import Report
from .._run import Run
from .._server import Server
from .._values import Size
from . import _config, _metadata, _timeline
from ._annotation import record_function
from ._autograd import profile as _Recording
from ._window import Window

_STEP = "ProfilerStep"  # the name of the steps, and of those who count them
_NONE, _WARMUP, _RECORD, _SAVE = (ProfilerAction.NONE, ProfilerAction.WARMUP, ProfilerAction.RECORD,
                                  ProfilerAction.RECORD_AND_SAVE)
# PyTorch's state after a device has stopped by itself; older versions do not have it.
_STOPPED: Optional[ProfilerAction] = getattr(ProfilerAction, "DEVICE_STOPPED", None)
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


class _KinetoProfile:
    """One window after the other, started and stopped by hand: PyTorch's lower level."""

    def __init__(self, *, activities: Optional[Iterable[Any]] = None, record_shapes: bool = False, profile_memory: bool = False,
                 with_stack: Any = False, with_flops: bool = False, with_modules: bool = False, experimental_config: Any = None,
                 execution_trace_observer: Any = None, acc_events: bool = False,
                 custom_trace_id_callback: Optional[Callable[[], str]] = None, post_processing_timeout_s: Optional[float] = None,
                 memory: Optional[Size] = None, all_threads: bool = True) -> None:
        self.activities, self.activity_filters = _config.activities_of(activities)
        self.use_device = _config.device_of(self.activities)
        self.record_shapes, self.profile_memory, self.with_stack = record_shapes, profile_memory, with_stack
        self.with_flops, self.with_modules = with_flops, with_modules
        self.experimental_config = _config.experimental(experimental_config, with_stack)
        self.execution_trace_observer = execution_trace_observer
        self.acc_events = acc_events
        self.custom_trace_id_callback = custom_trace_id_callback
        self.post_processing_timeout_s = post_processing_timeout_s
        self.memory, self.all_threads = memory, all_threads
        self.preset_metadata: dict[str, str] = {}
        self.profiler: Optional[_Recording] = None
        self._pending: dict[str, str] = {}  # metadata from before the first window

    # -- a window --

    def start(self) -> None:
        self.prepare_trace()
        self.start_trace()

    def stop(self) -> None:
        self.stop_trace()

    def _recording(self) -> _Recording:
        made = _Recording(
            use_cpu=ProfilerActivity.CPU in self.activities, use_device=self.use_device, record_shapes=self.record_shapes,
            with_flops=self.with_flops, profile_memory=self.profile_memory, with_stack=self.with_stack, with_modules=self.with_modules,
            use_kineto=True, experimental_config=self.experimental_config, acc_events=self.acc_events,
            post_processing_timeout_s=self.post_processing_timeout_s, activity_filters=self.activity_filters, memory=self.memory,
            all_threads=self.all_threads)
        made._ids_wanted = self.execution_trace_observer is not None
        return made

    def prepare_trace(self) -> None:
        """Everything that takes time, before start_trace: buffers, and on first use the bridge to PyTorch.

        >>> p = kino.profile(); p.prepare_trace(); p.get_trace_id() is not None
        True
        """
        if self.profiler is not None and not self.acc_events and not self.profiler.is_recording:
            _config.warn_once("Warning: Profiler clears events at the end of each cycle. Only events from the current cycle will be "
                              "reported. To keep events across cycles, set acc_events=True.")
            self.profiler.forget()
            self.profiler = None
        if self.profiler is None:
            self.profiler = self._recording()
        self.profiler.custom_trace_id_callback = self.custom_trace_id_callback  # which may be another one for each window
        self.profiler._prepare_trace()

    def start_trace(self) -> None:
        """Starts the window that prepare_trace prepared.

        >>> p = kino.profile(); p.prepare_trace()
        >>> p.start_trace(); _ = torch.ones(2); p.stop_trace()
        >>> len(p.events()) > 0
        True
        """
        if self._window("starting trace").is_over:
            self.prepare_trace()  # a schedule that goes from RECORD to WARMUP; PyTorch crashes here
        if self.execution_trace_observer:
            self.execution_trace_observer.start()
        pending, self._pending = self._pending, {}
        self._required("starting trace")._start_trace({**pending, **_metadata.of_window(self)})

    def stop_trace(self) -> None:
        """Ends the window: what it recorded can be read now.

        >>> p = kino.profile(); p.prepare_trace()
        >>> p.start_trace(); _ = torch.ones(2); p.stop_trace()
        >>> len(p.events()) > 0
        True
        """
        if self.execution_trace_observer:
            self.execution_trace_observer.stop()
        self._required("stopping trace")._stop_trace()

    def toggle_collection_dynamic(self, enable: bool, activities: Iterable[ProfilerActivity]) -> None:
        """Pauses or resumes operators while recording. Devices are not switched: NotImplementedError.

        >>> with kino.profile() as p:
        ...     p.toggle_collection_dynamic(False, [kino.ProfilerActivity.CPU])
        ...     _ = torch.ones(2)
        >>> len(p.events())
        0
        """
        if self.profiler is not None:
            self.profiler.toggle_collection_dynamic(enable, activities)

    # -- what was recorded --

    def _required(self, what: str) -> _Recording:
        if self.profiler is None:
            raise AssertionError(f"Profiler must be initialized before {what}")
        return self.profiler

    def _window(self, what: str) -> Window:
        return self._required(what)._required(what)

    def export_chrome_trace(self, path: str, use_python_export: bool = False) -> None:
        """Writes the last window: .json, .json.gz, .kino, or another format of kino.formats(); as often as one likes.

        >>> p.export_chrome_trace("window.json.gz")
        >>> len(kino.open("window.json.gz", progress=False).traces)
        1
        """
        self._required("exporting chrome trace").export_chrome_trace(os.fspath(path))

    def export_stacks(self, path: str, metric: str = "self_cpu_time_total") -> None:
        """A line for each stack of Python functions with the metric's sum, for flame graphs; needs with_stack.

        >>> with kino.profile(with_stack=True) as p:
        ...     _ = torch.ones(4) + 1
        >>> p.export_stacks("stacks.txt")
        """
        self._required("exporting stacks").export_stacks(path, metric)

    def export_memory_timeline(self, path: str, device: Optional[str] = None) -> None:
        """The memory of a device over time by category: .json, .json.gz, .raw.json.gz or .html, by the name's end. Needs record_shapes,
        profile_memory and with_stack, as in PyTorch, which has deprecated it.

        >>> with kino.profile(record_shapes=True, profile_memory=True, with_stack=True) as p:
        ...     _ = torch.ones(4) + 1
        >>> p.export_memory_timeline("memory.html", "cpu")
        """
        warnings.warn("`export_memory_timeline` is deprecated by PyTorch and will go when it goes there. run().memory() has the memory "
                      "over time.", FutureWarning, stacklevel=2)
        missing = [f"{name}=True" for name in ("record_shapes", "profile_memory", "with_stack") if not getattr(self, name)]
        if missing:
            raise ValueError(f"{', '.join(missing)} required for memory profiling.")
        results = self._required("memory profiling").kineto_results
        if results is None:
            raise AssertionError("Profiler and kineto_results must be initialized for memory profiling")
        _timeline.export(results.document(), results.owned, os.fspath(path), device or _timeline.default_device(self.use_device))

    def key_averages(self, group_by_input_shape: bool = False, group_by_stack_n: int = 0,
                     group_by_overload_name: bool = False) -> EventList:
        """Events added up by name; `.table(...)` prints them.

        >>> "aten::ones" in p.key_averages().table(sort_by="self_cpu_time_total")
        True
        """
        return self._required("getting key averages").key_averages(group_by_input_shape, group_by_stack_n, group_by_overload_name)

    def events(self) -> EventList:
        """PyTorch's FunctionEvents: of the last window, with acc_events of all.

        >>> "aten::ones" in {event.name for event in p.events()}
        True
        """
        return self._required("accessing events").function_events

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
        return self._required("reporting it").report(**options)

    def show(self, page: str = "overview", *, height: int = 800, proxy: Optional[str] = None) -> Server:
        """The web UI on the last window: a notebook shows it, elsewhere `.url` is its address; as Run.show.

        >>> server = p.show("timeline")
        >>> server.url
        'http://127.0.0.1:.../#/timeline'
        >>> server.close()
        """
        return self._required("showing it").show(page, height=height, proxy=proxy)

    # -- metadata --

    def add_metadata(self, key: str, value: str) -> None:
        """A text in the trace.

        >>> with kino.profile() as p:
        ...     p.add_metadata("model", "resnet")
        """
        self.add_metadata_json(key, json.dumps(value))

    def add_metadata_json(self, key: str, value: str) -> None:
        """A JSON value in the trace.

        >>> with kino.profile() as p:
        ...     p.add_metadata_json("layers", "[64, 64]")
        """
        if self.profiler is None:
            self._pending[key] = value
        else:
            self.profiler.metadata(key, value)

    def preset_metadata_json(self, key: str, value: str) -> None:
        """A JSON value in the trace of every window from the next one on.

        >>> p.preset_metadata_json("host", '"a"')
        """
        self.preset_metadata[key] = value


class profile(_KinetoProfile):  # noqa: N801 (PyTorch's name)
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
                 with_stack: Any = False, with_flops: bool = False, with_modules: bool = False, experimental_config: Any = None,
                 execution_trace_observer: Any = None, acc_events: bool = False, use_cuda: Optional[bool] = None,
                 custom_trace_id_callback: Optional[Callable[[], str]] = None, post_processing_timeout_s: Optional[float] = None,
                 memory: Optional[Size] = None, all_threads: bool = True) -> None:
        super().__init__(
            activities=_config.with_cuda(activities, use_cuda), record_shapes=record_shapes, profile_memory=profile_memory,
            with_stack=with_stack, with_flops=with_flops, with_modules=with_modules, experimental_config=experimental_config,
            execution_trace_observer=execution_trace_observer or ExecutionTraceObserver.build_execution_trace_obs_from_env(),
            acc_events=acc_events, custom_trace_id_callback=custom_trace_id_callback,
            post_processing_timeout_s=post_processing_timeout_s, memory=memory, all_threads=all_threads)
        self.schedule = schedule or _always
        self.record_steps = schedule is not None
        self.on_trace_ready = on_trace_ready
        self.step_num = 0
        self.step_rec_fn: Optional[record_function] = None
        self.current_action = self._action_of(0)
        KinetoStepTracker.init_step_count(_STEP)

    # -- steps --

    def _action_of(self, step: int) -> ProfilerAction:
        action = self.schedule(step)
        if _STOPPED is not None and action == _STOPPED:
            raise ValueError("ProfilerAction.DEVICE_STOPPED is set internally by the profiler and must not be returned by a "
                             "user-provided schedule")
        return action

    def __enter__(self) -> profile:
        self.start()
        return self

    def __exit__(self, exc_type: Optional[type[BaseException]], exc_val: Optional[BaseException],
                 exc_tb: Optional[TracebackType]) -> None:
        self.stop()
        KinetoStepTracker.erase_step_count(_STEP)
        if self.execution_trace_observer:
            self.execution_trace_observer.cleanup()

    def start(self) -> None:
        """What `with` does first.

        >>> p = kino.profile(); p.start(); _ = torch.ones(2); p.stop()
        >>> len(p.events()) > 0
        True
        """
        self._transit_action(_NONE, self.current_action)
        self._mark_step()

    def stop(self) -> None:
        """What `with` does last; on_trace_ready is called where a window was open.

        >>> p = kino.profile(on_trace_ready=lambda window: print("ready")); p.start(); p.stop()
        ready
        """
        self._end_step()
        self._transit_action(self.current_action, None)

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
        previous, following = self.current_action, self._action_of(self.step_num + 1)
        self.step_num += 1
        self.current_action = following
        self._transit_action(previous, following)
        if os.environ.get("KINETO_USE_DAEMON"):  # for traces by iterations that a daemon asks PyTorch for
            KinetoStepTracker.increment_step(_STEP)
        self._mark_step()

    def _mark_step(self) -> None:
        if self.record_steps:
            self.step_rec_fn = record_function(f"{_STEP}#{self.step_num}")
            self.step_rec_fn.__enter__()

    def _end_step(self) -> None:
        marked, self.step_rec_fn = self.step_rec_fn, None
        if marked is not None:
            marked.__exit__(None, None, None)

    def _transit_action(self, previous: ProfilerAction, following: Optional[ProfilerAction]) -> None:
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

    def get_trace_id(self) -> Optional[str]:
        """The name of the last window; None before the first.

        >>> kino.profile().get_trace_id() is None
        True
        """
        return self.profiler.trace_id if self.profiler else None

    def set_custom_trace_id_callback(self, callback: Callable[[], str]) -> None:
        """What gives names to windows from the next one on.

        >>> p = kino.profile(); p.set_custom_trace_id_callback(lambda: "mine"); p.prepare_trace(); p.get_trace_id()
        'mine'
        """
        self.custom_trace_id_callback = callback

    def _stats(self) -> Any:
        """PyTorch's counters of the profiler itself: what preparing, starting and stopping took."""
        return self.profiler._stats if self.profiler else None
