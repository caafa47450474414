"""Device memory by category over time, from the file of torch.profiler's export_memory_timeline."""
from __future__ import annotations

import enum
import gzip
import json
import os
from typing import Any

from ._needs import need


def __getattr__(name: str) -> Any:
    if name == "colorscheme":  # plotly's, for the categories in their order
        return need("plotly.colors", "a chart").qualitative.Pastel
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")


class Category(enum.Enum):
    """What memory is used for, as torch.profiler tells it.

    >>> from kino.hta.memory_analysis import Category
    >>> Category.INPUT.value
    1
    """

    INPUT = enum.auto()
    TEMPORARY = enum.auto()
    ACTIVATION = enum.auto()
    GRADIENT = enum.auto()
    AUTOGRAD_DETAIL = enum.auto()
    PARAMETER = enum.auto()
    OPTIMIZER_STATE = enum.auto()


_CATEGORIES = ("Parameter", "Optimizer state", "Input", "Temporary", "Activation", "Gradient", "Autograd", "Unknown")
_CATEGORY_TO_INDEX = {name: number for number, name in enumerate(_CATEGORIES)}


class MemoryAnalysis:
    """The memory timeline of a file (.raw.json.gz): a list of [time in ns, action, bytes, category].

    >>> import gzip, json
    >>> from kino.hta.memory_analysis import MemoryAnalysis
    >>> with gzip.open("memory.raw.json.gz", "wt") as file: json.dump([[-1, 0, 8, 0], [5, 1, 4, 4], [5, 3, -8, 0]], file)
    >>> MemoryAnalysis("memory.raw.json.gz")._process_raw_events()[0]
    [5, 5]
    """

    def __init__(self, path: str) -> None:
        self.path = path

    def _process_raw_events(self) -> tuple[list[int], list[list[int]]]:
        """Times, and the bytes of each category from then on. What was there before has the first time."""
        with gzip.open(self.path, "rb") as file:
            records = json.loads(file.read())
        times: list[int] = []
        sizes: list[list[int]] = []
        for time, _, size, category in records:
            if not times or time != times[-1]:
                times.append(time)
                sizes.append(list(sizes[-1]) if sizes else [0] * len(_CATEGORIES))
            sizes[-1][category] += size
        first = min((time for time in times if time > 0), default=-1)
        return [first if time < 0 else time for time in times], sizes

    def plot_memory_timeline(self, save_graph: bool = False) -> None:
        """Draws it as areas on top of each other; needs plotly. ``save_graph`` writes images/memory_plot.png.

        >>> from kino.hta.memory_analysis import MemoryAnalysis
        >>> callable(MemoryAnalysis.plot_memory_timeline)
        True
        """
        figure = self._figure()
        if not save_graph:
            figure.show()
            return
        os.makedirs("images", exist_ok=True)
        figure.write_image("images/memory_plot.png")

    def _figure(self) -> Any:
        graphs, colors = need("plotly.graph_objects", "a chart"), need("plotly.colors", "a chart")
        times, sizes = self._process_raw_events()
        start = min(times, default=0)
        figure, below = graphs.Figure(), [0.0] * len(times)
        for number, name in enumerate(_CATEGORIES):
            below = [base + size[number] / 2**30 for base, size in zip(below, sizes)]
            color = colors.qualitative.Pastel[number]
            figure.add_trace(graphs.Scatter(x=[(time - start) / 1e6 for time in times], y=list(below), mode="lines", fill="tonexty",
                                            fillcolor=color, name=name, marker={"color": color}, showlegend=True))
        figure.update_xaxes(title="Time (ms)")
        figure.update_yaxes(title="Memory (GB)")
        figure.update_layout(title_text="Memory timeline", title_x=0.5, width=1200, height=800)
        return figure
