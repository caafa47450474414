"""Timelines of frames as plotly charts: one lane per stream, thread level, rank or trace, one bar per event."""
from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum
from typing import Any, Optional

import pandas as pd  # type: ignore[import-untyped,import-not-found,unused-ignore]

from .._needs import need
from ..configs.config import logger
from .trace_df import find_events_by_name_patterns_using_decoded_names, find_events_by_name_patterns_using_symbol_table
from .trace_filter import Filter
from .trace_symbol_table import TraceSymbolTable

try:
    import plotly.express as px  # type: ignore[import-untyped,import-not-found,unused-ignore]
    from plotly.io import to_html  # type: ignore[import-untyped,import-not-found,unused-ignore]
except ImportError:  # only drawing needs it
    px = to_html = None

AnnotationStreamID: int = 0
CPUStreamID: int = -1
DefaultTTL: int = 30 * 24 * 3600

DefaultMustHaveColumns: list[str] = ["name", "ts", "dur"]
DefaultHoverColumns: list[str] = ["trace", "rank", "iteration", "stream", "cat", "index"]
DefaultTaskLabelColumns: list[str] = ["stream", "rank", "trace", "depth"]
DefaultCallStackHoverColumns: list[str] = ["name", "cat", "index", "ts", "dur", "rank", "stream", "height", "depth", "tid",
                                           "index_correlation"]
REQUIRED_COLUMNS_FOR_CPU_GPU_ALIGNMENT = {"index", "stream", "ts", "dur", "name", "first_kernel_start", "kernel_span", "num_kernels"}

_KEPT_AS_IS = re.compile(r"##.+##$|<.+>$|Mem\w+(\s+\w+)?\s+\(.+\)$")
_WITHOUT_PARAMETERS = re.compile(r"[\w:.#\s<>,]+")


class EventType(Enum):
    """Which events a timeline has.

    >>> from kino.hta.common.timeline import EventType
    >>> [kind.name for kind in EventType]
    ['GPUEvents', 'CPUEvents', 'AllEvents']
    """

    GPUEvents = 0
    CPUEvents = 1
    AllEvents = 2


class PlotFormat(Enum):
    """What becomes of a chart: returned as HTML, shown, or only written to the file.

    >>> from kino.hta.common.timeline import PlotFormat
    >>> PlotFormat("inline").name
    'Inline'
    """

    HTML = "html"
    Inline = "inline"
    File = "file"


@dataclass
class TimelinePlotSetting:
    """How a timeline is drawn. With ``auto_detect``, the kinds of events and lanes are set from the frame.

    >>> from kino.hta.common.timeline import TimelinePlotSetting
    >>> TimelinePlotSetting(task_height=50).short_events_display_duration
    1000
    """

    auto_detect: bool = True
    event_type: EventType = EventType.GPUEvents
    multi_ranks: bool = False
    multi_traces: bool = False
    multi_streams: bool = True
    x_start_column: str = "calibrated_start_global"
    x_end_column: str = "calibrated_end_global"
    task_column: str = "task"
    color_column: str = "name"
    task_height: int = 30
    amplify_short_events: bool = True
    short_events_display_duration: int = 1000
    use_global_time: bool = False
    plot_format: PlotFormat = PlotFormat.Inline
    compress_threads: bool = True


DefaultTimelinePlotSetting: TimelinePlotSetting = TimelinePlotSetting()


def auto_detect_setting(events: Any, setting: TimelinePlotSetting) -> None:
    """Sets the kinds of events and lanes from what the frame has.

    >>> import pandas
    >>> from kino.hta.common.timeline import TimelinePlotSetting, auto_detect_setting
    >>> setting = TimelinePlotSetting()
    >>> auto_detect_setting(pandas.DataFrame({"stream": [-1, 7], "rank": [0, 1]}), setting)
    >>> setting.event_type.name, setting.multi_ranks, setting.multi_traces
    ('AllEvents', True, False)
    """
    if not setting.auto_detect:
        return
    values = {column: set(events[column].unique()) if column in events.columns else set() for column in ("rank", "trace", "stream")}
    setting.multi_ranks, setting.multi_traces, setting.multi_streams = (len(values[column]) > 1 for column in ("rank", "trace", "stream"))
    streams = values["stream"] if "stream" in events.columns else {CPUStreamID}
    if CPUStreamID not in streams:
        setting.event_type = EventType.GPUEvents
    else:
        setting.event_type = EventType.AllEvents if len(streams) > 1 else EventType.CPUEvents


def _check_timeline_input(df: Any, setting: TimelinePlotSetting) -> bool:
    missing = {setting.x_start_column, setting.x_end_column, setting.task_column, setting.color_column} - set(df.columns)
    if df.empty:
        logger.error("There are no events to draw.")
    elif missing:
        logger.error("The DataFrame has no column named %s.", ", ".join(sorted(missing)))
    return not df.empty and not missing


def _simplify_name(name: str, max_length: int = 45) -> str:
    """Without return type, namespaces that say nothing, and parameters; marks and memory operations stay. Long names are cut."""
    if not _KEPT_AS_IS.match(name):
        name = re.sub(r"^void\s+", "", name.replace("(anonymous namespace)::", "anon::"))
        name = name.replace("autograd::engine::evaluate_function: ", "autograd::")
        found = _WITHOUT_PARAMETERS.match(name)
        name = found[0] if found else name
    limit = max(20, max_length)
    return name if len(name) < limit else f"{name[:limit - 3]}..."


def _labels(prefix: str, values: Any) -> Any:
    """Labels that sort as their values do."""
    texts = values.str.pad(5, "right") if pd.api.types.is_string_dtype(values) else values.astype(str).str.zfill(3)
    return f"{prefix} " + texts


def _lanes_of_both(events: Any) -> Any:
    """The lanes of events of host and device."""
    streams = events["stream"]
    lanes = _labels("gpu stream", streams).mask(streams.eq(AnnotationStreamID), "gpu annotate")
    host = _labels("cpu level", events["depth"]) if "depth" in events.columns else "cpu events"
    return lanes.mask(streams.eq(CPUStreamID), host)


def _lanes_of_host(events: Any, setting: TimelinePlotSetting) -> list[Any]:
    parts = []
    if "tid" in events.columns and not setting.compress_threads:
        parts.append(_labels("tid", events["tid"]))
    if "depth" in events.columns:
        parts.append(_labels("cpu level", events["depth"]))
    return parts


def _set_task_names(events: Any, setting: TimelinePlotSetting) -> Any:
    """The lane of each event."""
    parts = [_labels(column, events[column]) for column, is_shown in (("trace", setting.multi_traces), ("rank", setting.multi_ranks))
             if is_shown]
    if setting.event_type is EventType.CPUEvents:
        parts += _lanes_of_host(events, setting)
        if not parts:
            parts = [pd.Series("cpu events", index=events.index)]
    elif "stream" in events.columns:
        is_device = setting.event_type is EventType.GPUEvents and setting.multi_streams
        parts.append(_labels("gpu stream", events["stream"]) if is_device else _lanes_of_both(events))
    if not parts:
        raise NotImplementedError("events without any of the columns trace, rank, stream, tid and depth have no lanes")
    lanes = parts[0]
    for part in parts[1:]:
        lanes = lanes + " " + part
    return lanes


def _get_sort_columns(events: Any, setting: TimelinePlotSetting) -> list[str]:
    columns = ["trace"] * setting.multi_traces + ["rank"] * setting.multi_ranks
    if setting.event_type is EventType.CPUEvents:
        columns += ["tid", "depth"]
    elif setting.event_type is EventType.AllEvents or setting.multi_streams:
        columns.append("stream")
    return [column for column in [*columns, "ts"] if column in events.columns]


def _has_texts(df: Any, column: str) -> bool:
    return column in df.columns and bool(pd.api.types.is_string_dtype(df[column]))


def _find_modules(df: Any, module_list: list[str], sym_table: Optional[TraceSymbolTable]) -> Any:
    """The index of the events that one of the patterns matches."""
    if sym_table and not _has_texts(df, "name"):
        return find_events_by_name_patterns_using_symbol_table(df, module_list, sym_table)
    column = next((column for column in ("name", "s_name") if _has_texts(df, column)), None)
    if column is None:
        raise ValueError("neither 'name' nor 's_name' has texts, and there is no symbol table")
    return find_events_by_name_patterns_using_decoded_names(df, module_list, column)


def align_module_with_kernels(events_df: Any, module_list: list[str], sym_table: Optional[TraceSymbolTable] = None,
                              include_original_cpu_events: bool = False) -> Any:
    """Device events, and annotations in stream 0 that cover the kernels of the modules whose names match a pattern.
    The frame needs the columns that CallGraph adds.

    >>> import pandas
    >>> from kino.hta.common.timeline import align_module_with_kernels
    >>> frame = pandas.DataFrame({"index": [0, 1], "stream": [-1, 7], "ts": [5, 20], "dur": [30, 4], "name": ["forward", "gemm"],
    ...                           "first_kernel_start": [20, -1], "kernel_span": [4, -1], "num_kernels": [1, 0]})
    >>> align_module_with_kernels(frame, ["forward"])[["name", "stream", "ts", "dur"]].values.tolist()
    [['gemm', 7, 20, 4], ['forward', 0, 20, 4]]
    """
    missing = REQUIRED_COLUMNS_FOR_CPU_GPU_ALIGNMENT - set(events_df.columns)
    if missing:
        raise ValueError(f"the DataFrame has no column named {', '.join(sorted(missing))}")
    streams = events_df["stream"]
    modules = events_df[streams.eq(CPUStreamID) & events_df["num_kernels"].ge(1)]
    annotations = modules.loc[_find_modules(modules, module_list, sym_table)].copy()
    annotations["ts"], annotations["dur"] = annotations["first_kernel_start"].astype(int), annotations["kernel_span"].astype(int)
    annotations["stream"] = AnnotationStreamID
    kept = streams.ne(AnnotationStreamID) if include_original_cpu_events else streams.gt(0)
    return pd.concat([events_df[kept], annotations], ignore_index=True)


def _decode(events: Any, symbol_table: TraceSymbolTable) -> None:
    texts = [_simplify_name(text) for text in symbol_table.get_sym_table()]
    for column in {"name", "cat"} & set(events.columns):
        events[column] = events[column].map(lambda number: texts[number])


def visible_lengths(durations: Any, shortest: int) -> Any:
    """Durations with a lower bound, which their type may be too small for.

    >>> import pandas
    >>> from kino.hta.common.timeline import visible_lengths
    >>> visible_lengths(pandas.Series([5, 100], dtype="int8"), 1000).tolist()
    [1000, 1000]
    """
    return (durations.astype("int64") if durations.dtype.kind == "i" else durations).clip(lower=shortest)


def _set_times(events: Any, setting: TimelinePlotSetting) -> None:
    """Times count from the first event, unless the setting asks for dates; short events get a length that can be seen."""
    first = events["ts"].min()
    events["ts"] = events["ts"] - first
    lengths = visible_lengths(events["dur"], setting.short_events_display_duration) if setting.amplify_short_events else events["dur"]
    for column, times in ((setting.x_start_column, events["ts"]), (setting.x_end_column, events["ts"] + lengths)):
        events[column] = pd.to_datetime(times + first, unit="us") if setting.use_global_time else times


def prepare_timeline_events(df: Any, setting: TimelinePlotSetting = DefaultTimelinePlotSetting,
                            symbol_table: Optional[TraceSymbolTable] = None, hover_columns: Optional[list[str]] = None) -> Any:
    """The frame that plot_events_timeline draws: lanes, starts and ends, names as texts. Empty where the frame is, or where
    it has no names, starts and durations.

    >>> from kino.hta.common.timeline import prepare_timeline_events
    >>> events = prepare_timeline_events(analysis.t.get_trace(0), symbol_table=analysis.t.symbol_table)
    >>> {"task", "calibrated_start_global", "calibrated_end_global"} <= set(events.columns)
    True
    """
    missing = set(DefaultMustHaveColumns) - set(df.columns)
    if df.empty or missing:
        logger.error("There are no events to draw." if df.empty else f"The DataFrame has no column named {', '.join(sorted(missing))}.")
        return pd.DataFrame()
    wanted = {*(hover_columns or DefaultHoverColumns), *DefaultMustHaveColumns, *DefaultTaskLabelColumns}
    events = df[[column for column in df.columns if column in wanted]].copy()
    auto_detect_setting(df, setting)
    if symbol_table:
        _decode(events, symbol_table)
    _set_times(events, setting)
    events[setting.task_column] = _set_task_names(events, setting)
    return events.sort_values(_get_sort_columns(events, setting), kind="stable")


def _figure(title: str, events: Any, setting: TimelinePlotSetting, hover_columns: list[str]) -> Any:
    express = px or need("plotly.express", "a timeline")
    start, end, color = setting.x_start_column, setting.x_end_column, setting.color_column
    lanes = sorted(events[setting.task_column].unique())
    if len(lanes) < 20:
        setting.task_height = 80
    figure = express.timeline(events, x_start=start, x_end=end, y=setting.task_column, color=color, title=title,
                              hover_data=[column for column in hover_columns if column in events.columns],
                              category_orders={setting.task_column: lanes}, color_discrete_sequence=express.colors.qualitative.D3,
                              height=50 + setting.task_height * len(lanes))
    if not pd.api.types.is_datetime64_any_dtype(events[start]):  # plotly takes starts and ends for dates
        figure.layout.xaxis.type = "linear"
        names, lengths = events[color].astype(str), events[end] - events[start]
        for bars in figure.data:
            bars.x = lengths[names.eq(bars.name)].tolist()
    figure.update_layout(xaxis={"showgrid": True, "rangeslider_visible": True, "range": [events[start].min(), events[end].max()]},
                         paper_bgcolor="rgba(0,0,0,0)")
    return figure


def plot_events_timeline(title: str, events: Any, setting: TimelinePlotSetting = DefaultTimelinePlotSetting,
                         hover_columns: Optional[list[str]] = None, output_image_path: Optional[str] = None) -> Optional[str]:
    """Draws events that prepare_timeline_events gave; to a file as well, HTML or an image by its suffix. Gives the HTML where the
    setting asks for it. Needs plotly; ``kino serve`` shows traces that are too large for a chart.

    >>> from kino.hta.common.timeline import PlotFormat, TimelinePlotSetting, plot_events_timeline, prepare_timeline_events
    >>> setting = TimelinePlotSetting(plot_format=PlotFormat.HTML)
    >>> events = prepare_timeline_events(analysis.t.get_trace(0).head(50), setting, analysis.t.symbol_table)
    >>> "<html>" in plot_events_timeline("the first events", events, setting)  # doctest: +PLOTLY
    True
    """
    if not _check_timeline_input(events, setting):
        return None
    figure = _figure(title, events, setting, hover_columns or DefaultHoverColumns)
    if output_image_path:
        figure.write_html(file=output_image_path) if output_image_path.endswith(".html") else figure.write_image(output_image_path)
        logger.info("Saved plot as %s.", output_image_path)
    if setting.plot_format is PlotFormat.Inline:
        figure.show()
    return str(to_html(figure, include_plotlyjs="cdn")) if setting.plot_format is PlotFormat.HTML else None


def get_fig_title_from_fig_name(fig_name: str, sep: str = r"\s+|_+|-+") -> str:
    """A title from the name of a file.

    >>> from kino.hta.common.timeline import get_fig_title_from_fig_name
    >>> get_fig_title_from_fig_name("first_step-of run")
    'First Step Of Run'
    """
    return " ".join(word.capitalize() for word in re.split(sep, fig_name or "untitled_figure") if word)


def get_fig_name_from_fig_title(title: str) -> str:
    """The name of a file from a title.

    >>> from kino.hta.common.timeline import get_fig_name_from_fig_title
    >>> get_fig_name_from_fig_title("First Step")
    'first_step'
    """
    return "_".join((title or "Untitled Figure").lower().split())


class Timeline:
    """Events with how they are drawn; a filter chooses some of them.

    >>> from kino.hta.common.timeline import Timeline
    >>> from kino.hta.common.trace_filter import GPUKernelFilter
    >>> timeline = Timeline(analysis.t.get_trace(0), analysis.t.symbol_table, filter_func=GPUKernelFilter())
    >>> bool((timeline.timeline_events["stream"] >= 0).all())
    True
    """

    def __init__(self, timeline_events: Any, symbol_table: TraceSymbolTable, filter_func: Optional[Filter] = None,
                 setting: TimelinePlotSetting = DefaultTimelinePlotSetting, hover_columns: Optional[list[str]] = None) -> None:
        self.timeline_events, self.symbol_table, self.setting = timeline_events, symbol_table, setting
        self.hover_columns: list[str] = hover_columns or DefaultHoverColumns
        self.prepare(filter_func)

    @staticmethod
    def is_timeline_events(df: Any, setting: TimelinePlotSetting) -> bool:
        """Whether prepare_timeline_events gave the frame.

        >>> from kino.hta.common.timeline import Timeline, TimelinePlotSetting
        >>> Timeline.is_timeline_events(analysis.t.get_trace(0), TimelinePlotSetting())
        False
        """
        return {setting.task_column, setting.x_start_column, setting.x_end_column} <= set(df.columns)

    def prepare(self, filter_func: Optional[Filter] = None) -> None:
        """Chooses events and prepares them, unless they are prepared already.

        >>> from kino.hta.common.timeline import Timeline
        >>> timeline = Timeline(analysis.t.get_trace(0), analysis.t.symbol_table)
        >>> timeline.prepare(); timeline.is_timeline_events(timeline.timeline_events, timeline.setting)
        True
        """
        if self.is_timeline_events(self.timeline_events, self.setting):
            return
        events = filter_func(self.timeline_events, self.symbol_table) if filter_func else self.timeline_events
        self.timeline_events = prepare_timeline_events(events, symbol_table=self.symbol_table, setting=self.setting)

    def plot(self, title: str, save_path: Optional[str] = None) -> None:
        """plot_events_timeline of its events.

        >>> from kino.hta.common.timeline import PlotFormat, Timeline, TimelinePlotSetting
        >>> setting = TimelinePlotSetting(plot_format=PlotFormat.File)
        >>> timeline = Timeline(analysis.t.get_trace(0).head(50), analysis.t.symbol_table, setting=setting)
        >>> timeline.plot("the first events", save_path="first.html")  # doctest: +PLOTLY
        """
        plot_events_timeline(title, self.timeline_events, setting=self.setting, hover_columns=self.hover_columns,
                             output_image_path=save_path)
