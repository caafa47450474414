"""A profiler for Lightning's Trainer.

    from kino.integrations.lightning import KinoProfiler

    profiler = KinoProfiler(folder="logs", record_shapes=True)
    Trainer(profiler=profiler, max_steps=20).fit(model, data)
    print(profiler.report())
"""
from __future__ import annotations

from typing import Any, Optional

try:
    from lightning.pytorch.profilers import Profiler
except ImportError:
    from pytorch_lightning.profilers import Profiler

from ..profiler import record_function
from ._windows import Windows, WithWindows

_STEP = "run_training_batch"
_STEPS = ("training_step", "validation_step", "test_step", "predict_step")


class KinoProfiler(WithWindows, Profiler):  # type: ignore[misc, unused-ignore]
    """Records steps of the training (by default the third to the fifth) with kino.profile, whose arguments it takes. Lightning's actions are
    annotations `[pl][profile]NAME`; Trainer's summary is where the time went.

    `folder` gets a trace for each window; `row_limit` is the length of the table in the summary.
    """

    def __init__(self, dirpath: Any = None, filename: Optional[str] = None, *, folder: Optional[str] = None, row_limit: int = 20,
                 **options: Any) -> None:
        super().__init__(dirpath=dirpath, filename=filename)
        self._windows = Windows(folder, **options)
        self._row_limit = row_limit
        self._open: dict[str, Any] = {}
        self._has_batches = False

    def start(self, action_name: str) -> None:
        self._windows.start()
        if action_name not in self._open:
            annotation = record_function(f"[pl][profile]{action_name}")
            annotation.__enter__()
            self._open[action_name] = annotation

    def stop(self, action_name: str) -> None:
        annotation = self._open.pop(action_name, None)
        if annotation is not None:
            annotation.__exit__(None, None, None)
        self._has_batches = self._has_batches or action_name == _STEP
        is_step = action_name == _STEP or (not self._has_batches and action_name.endswith(_STEPS[1:]))
        if is_step:
            self._windows.step()

    def summary(self) -> str:
        if not self._windows.has_recorded:
            return "kino: no window was recorded (the run was shorter than the schedule's wait and warmup)"
        table = self._windows.profiler.key_averages().table(sort_by="self_cpu_time_total", row_limit=self._row_limit)
        return f"{table}\n{self.report()}"

    def teardown(self, stage: Optional[str]) -> None:
        for annotation in reversed(list(self._open.values())):
            annotation.__exit__(None, None, None)
        self._open.clear()
        self._windows.stop()
        super().teardown(stage)
