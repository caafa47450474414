"""Accelerate's profile handler.

    from kino.integrations.accelerate import KinoProfileKwargs

    with accelerator.profile(KinoProfileKwargs(record_shapes=True, output_trace_dir="logs")) as p:
        train(batch)
    print(p.report())
"""
from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Optional

from accelerate.utils import ProfileKwargs

from .._values import Size
from ..profiler import profile, schedule


@dataclass
class KinoProfileKwargs(ProfileKwargs):  # type: ignore[misc, unused-ignore]
    """accelerate.ProfileKwargs, with which Accelerator.profile(...) records by kino.profile. `memory` is what the recorder may use. (Not for
    Accelerator(kwargs_handlers=...), which takes Accelerate's own classes alone.)"""

    memory: Optional[Size] = None

    def build(self) -> Any:
        names = self.activities
        return profile(activities=[self._get_profiler_activity(name) for name in names] if names is not None else None,
                       schedule=schedule(**self.schedule_option) if self.schedule_option else None, on_trace_ready=self.on_trace_ready,
                       record_shapes=self.record_shapes, profile_memory=self.profile_memory, with_stack=self.with_stack,
                       with_flops=self.with_flops, with_modules=self.with_modules, memory=self.memory)
