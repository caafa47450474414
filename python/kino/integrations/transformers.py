"""A callback for the Trainer of Hugging Face's transformers.

    from kino.integrations.transformers import KinoCallback

    callback = KinoCallback("logs", record_shapes=True)
    Trainer(model, args, train_dataset=data, callbacks=[callback]).train()
    print(callback.report())
"""
from __future__ import annotations

from typing import Any, Optional

from transformers import TrainerCallback

from ._windows import Windows, WithWindows


class KinoCallback(WithWindows, TrainerCallback):  # type: ignore[misc, unused-ignore]
    """Records steps of the training (by default the third to the fifth) with kino.profile, whose arguments it takes; `folder` gets a trace
    for each window. A step is one of the optimizer: with gradient accumulation several batches."""

    def __init__(self, folder: Optional[str] = None, **options: Any) -> None:
        self._windows = Windows(folder, **options)

    def on_train_begin(self, args: Any, state: Any, control: Any, **more: Any) -> None:
        self._windows.start()

    def on_step_end(self, args: Any, state: Any, control: Any, **more: Any) -> None:
        self._windows.step()

    def on_train_end(self, args: Any, state: Any, control: Any, **more: Any) -> None:
        self._windows.stop()
