"""The KINO tab of TensorBoard: `tensorboard --logdir DIR` shows the web UI of the traces in DIR.

TensorBoard finds the plugin by itself (entry point "tensorboard_plugins"). plugin.py is the side of TensorBoard, engine.py the server
behind it, wsgi.py what is between the two."""
from __future__ import annotations

from typing import Any


def __getattr__(name: str) -> Any:
    """`Loader` is what TensorBoard loads; only it needs TensorBoard."""
    if name != "Loader":
        raise AttributeError(f"module 'kino.tensorboard' has no attribute '{name}'")
    from .plugin import Loader
    return Loader
