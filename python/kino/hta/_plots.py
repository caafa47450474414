"""HTA's charts, with plotly where it is installed; without it nothing is drawn, and the log says so."""
from __future__ import annotations

from typing import Any, Optional

from ._needs import is_there, need
from .configs.config import logger


def can_draw() -> bool:
    if not is_there("plotly"):
        logger.warning("plotly is not installed (pip install plotly): nothing is drawn")
        return False
    return True


def _show(figure: Any, renderer: Optional[str] = None, **layout: Any) -> None:
    figure.update_layout(**layout)
    figure.show(renderer=renderer) if renderer else figure.show()


def _express() -> Any:
    return need("plotly.express", "a chart")


def temporal(frame: Any) -> None:
    """Stacked bars of a rank's time."""
    parts = ["idle_time", "compute_time", "non_compute_time"]
    shares = frame[["rank"]].copy()
    for part in parts:
        shares[part] = frame[f"{part}(us)"] / frame["kernel_time(us)"]
    _show(_express().bar(shares, x="rank", y=parts, title="Temporal breakdown across ranks", labels={"rank": "Rank"}),
          yaxis_tickformat=".2%", yaxis_title="Percentage", legend_title="Time Breakdown")


def overlap(frame: Any) -> None:
    """A bar a rank."""
    shares = frame.assign(ratio=frame["comp_comm_overlap_pctg"] / 100)
    _show(_express().bar(shares, x="rank", y="ratio", title="Computation-Communication Overlap",
                         labels={"rank": "Rank", "ratio": "Computation-Communication Overlap Percentage"}), yaxis_tickformat=".2%")


def idle(frame: Any, rank: int, as_shares: bool) -> None:
    """Stacked bars of a stream's idle time."""
    texts = frame.assign(stream=frame["stream"].astype(str))
    figure = _express().bar(texts, x="stream", y="idle_time_ratio" if as_shares else "idle_time", color="idle_category",
                            hover_data=["idle_time", "idle_time_ratio"], title=f"Idle time breakdown on rank {rank} per CUDA stream")
    axis = {"yaxis_tickformat": ".2%", "yaxis_title": "Percentage"} if as_shares else {"yaxis_title": "Idle time (us)"}
    _show(figure, legend_title="Idle Time Breakdown", **axis)


def _pies(frame: Any, title: str, renderer: Optional[str]) -> None:
    """One a rank, two in a row."""
    graphs, subplots = need("plotly.graph_objects", "a chart"), need("plotly.subplots", "a chart")
    ranks = sorted(frame["rank"].unique())
    lines = (len(ranks) + 1) // 2
    figure = subplots.make_subplots(rows=max(lines, 1), cols=2, specs=[[{"type": "domain"}] * 2] * max(lines, 1))
    for place, rank in enumerate(ranks):
        mine = frame[frame["rank"] == rank]
        figure.add_trace(graphs.Pie(labels=mine["name"], values=mine["sum (us)"], title=f"Rank {rank}", automargin=False),
                         place // 2 + 1, place % 2 + 1)
    _show(figure, renderer, title_text=title, height=400 * (1 + len(ranks) / 2))


def _means(frame: Any, title: str, renderer: Optional[str]) -> None:
    """For each name, bars of the means of ranks with whiskers from least to most."""
    for name, mine in frame[frame["name"] != "others"].groupby("name", sort=False):
        mean = mine["mean (us)"]
        figure = _express().bar(mine, x="rank", y="mean (us)", labels={"rank": "Rank", "mean (us)": "Mean Duration (us)"},
                                error_y=mine["max (us)"] - mean, error_y_minus=mean - mine["min (us)"])
        _show(figure, renderer, title_text=title.format(name=name), xaxis={"tickmode": "linear", "tick0": 0, "dtick": 1})


def kernels(types: Any, names: Any, renderer: Optional[str]) -> None:
    """Shares of kinds, then kernels of each kind."""
    shares = types[types["percentage"] > 0]
    _show(_express().pie(shares, values="percentage", names="kernel_type", title="Kernel Type Percentage Across All Ranks"), renderer)
    for kind, mine in names.groupby("kernel_type", sort=False):
        _pies(mine, f'Kernel type "{kind}" - kernel distribution on each rank', renderer)
        _means(mine, f'Kernel type "{kind}" - {{name}}', renderer)


def annotation_breakdown(frame: Any, renderer: Optional[str]) -> None:
    _pies(frame, "User annotation distribution on each rank", renderer)
    _means(frame, "User annotation = {name}", renderer)


def launches(rank: int, frame: Any, runtime_cutoff: int, launch_delay_cutoff: int) -> None:
    """Three histograms: short kernels, long calls, long delays."""
    short = frame[(frame["cpu_duration"] <= runtime_cutoff) & (frame["gpu_duration"] < frame["cpu_duration"])]
    for rows, column, title in (
            (short, "cpu_duration", f"Short GPU kernels (gpu op duration < cpu op duration) on rank {rank}"),
            (frame[frame["cpu_duration"] > runtime_cutoff], "cpu_duration",
             f"Runtime Event Duration Outliers (duration > {runtime_cutoff} us) on rank {rank}"),
            (frame[frame["launch_delay"] > launch_delay_cutoff], "launch_delay",
             f"Launch Delay Outliers (duration > {launch_delay_cutoff} us) on rank {rank}")):
        _show(_express().histogram(rows, x=column, title=title))


def operators(rank: int, frame: Any) -> None:
    """The table itself."""
    graphs = need("plotly.graph_objects", "a chart")
    titles = ["ATen Operation", "Kernel Sequence", "Occurrence Count", "Average ATen Op Launch Delay (us)", "Average Runtime Delay (us)"]
    cells = [frame[column] for column in frame.columns]
    _show(graphs.Figure(data=[graphs.Table(header={"values": titles}, cells={"values": cells, "align": "left"})]),
          title=f"ATen Operations, Associated Kernels, ATen and Runtime Delays for Rank {rank}", width=1500, height=1500)


def sequences(frame: Any, operator_name: str, top_k: int) -> None:
    """Bars of how often the first ones occur."""
    figure = _express().bar(frame.head(top_k), x="pattern", y="count", title=f"Frequent CUDA kernel sequences of {operator_name}")
    _show(figure, xaxis={"showticklabels": False})


def stragglers(metric: Any, metric_name: str) -> None:
    """Bars of the start of the chosen kernel by rank; red is late."""
    several = "iteration" in metric.columns
    late = metric.assign(is_straggler=["Yes" if late else "No" for late in metric["is_straggler"]])
    _show(_express().bar(late, x="rank", y=metric_name, facet_col="iteration" if several else None, color="is_straggler",
                         color_discrete_map={"Yes": "red", "No": "blue"}, title="Potential Stragglers"))


def difference(frame: Any, what: str, difference_column: str, title: str, show_image: bool, export_path: Optional[str]) -> None:
    """Control, test and difference side by side."""
    graphs = need("plotly.graph_objects", "a chart")
    ending = "_total_duration"
    labels = [column[:-len(ending)] for column in frame.columns if column.endswith(ending)]
    bars = [graphs.Bar(name=label, x=frame.index, y=frame[f"{label}_{what}"]) for label in labels]
    bars.append(graphs.Bar(name="Difference", x=frame.index, y=frame[difference_column]))
    figure = graphs.Figure(data=bars)
    figure.update_layout(barmode="group", title_text=title)
    if show_image:
        figure.show()
    if export_path:
        figure.write_image(export_path)
