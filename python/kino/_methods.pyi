# Made by tools/make-python-stubs from the definitions of the analyses: change them there.
from collections.abc import Iterable
from typing import Any, Literal

from ._table import Result, Table
from ._definitions import Analysis
from ._values import Size, Time

RESULTS: dict[str, type[Result]]

def doc_of(analysis: Analysis) -> str: ...
def result_class_name(analysis: Analysis) -> str: ...

class CompletenessResult(Result):
    findings: Table
    checks: Table
    recorder_losses: Table

class OverviewResult(Result):
    configuration: Table
    gpu_summary: Table
    execution_summary: Table
    step_breakdown: Table
    utilization_series: Table
    sm_efficiency_series: Table

class OperatorsResult(Result):
    operators: Table
    call_stacks: Table

class TensorCoresResult(Result):
    devices: Table
    ratios: Table
    operators: Table
    kernels: Table

class MemoryResult(Result):
    memory_statistics: Table
    memory_events: Table
    memory_curve: Table
    memory_peaks: Table

class MemoryTimelineResult(Result):
    memory_timeline: Table
    memory_peak: Table
    memory_categories: Table

class MemorySnapshotResult(Result):
    memory_snapshot: Table
    memory_snapshot_sites: Table
    memory_snapshot_segments: Table
    memory_snapshot_gaps: Table

class MemoryLeaksResult(Result):
    memory_leaks: Table
    memory_leaks_blocks: Table

class PeakMemoryResult(Result):
    peak_memory: Table
    peak_memory_sites: Table

class LightningResult(Result):
    lightning: Table
    lightning_actions: Table

class DistributedResult(Result):
    computation_overview: Table
    communication_overview: Table
    communication_ops: Table
    workers: Table

class IdleTimeResult(Result):
    idle: Table
    interval_stats: Table

class KernelBreakdownResult(Result):
    kernel_type: Table
    kernel: Table

class AnnotatedKernelsResult(Result):
    annotated_kernels: Table
    by_annotation: Table

class QueueLengthResult(Result):
    queue_length_summary: Table
    queue_length_series: Table

class LaunchStatsResult(Result):
    launch_stats: Table
    launch_summary: Table

class MemoryBandwidthResult(Result):
    memory_bw_summary: Table
    memory_bw_series: Table

class CallGraphResult(Result):
    stacks: Table
    nodes: Table

class KernelSequencesResult(Result):
    kernel_sequences: Table
    kernel_sequence_calls: Table

class CuptiCountersResult(Result):
    counters_by_kernel: Table
    counter_values: Table

class OpsDiffResult(Result):
    ops_diff: Table
    sides: Table

class StragglersResult(Result):
    stragglers: Table
    metric: Table
    ranks: Table

class StragglerCauseResult(Result):
    straggler_cause: Table
    arrivals: Table
    waiting: Table
    rank_steps: Table

class GapsResult(Result):
    gaps: Table
    activity: Table
    blame: Table

class HangResult(Result):
    hang: Table
    hang_ranks: Table

class CriticalPathResult(Result):
    summary: Table
    path: Table
    edges_by_type: Table
    breakdown: Table
    graph: Table
    nodes: Table
    edges: Table

class WhatIfResult(Result):
    what_if: Table
    path: Table
    best_edits: Table

class CollectivesResult(Result):
    collectives: Table
    sizes: Table
    ranks: Table

class FwdBwdResult(Result):
    operators: Table
    pairs: Table

class KernelCostsResult(Result):
    kernel_costs: Table
    lines: Table

class OpCostsResult(Result):
    op_costs: Table
    source_lines: Table
    directions: Table
    unknown: Table

class RooflineResult(Result):
    roofline: Table
    ceilings: Table
    mfu: Table

class FunctionsResult(Result):
    functions: Table
    lines: Table
    waits: Table
    python: Table
    python_lines: Table

class AnalysisMethods:
    def analyze(self, name: str, /, **params: Any) -> Any: ...
    def completeness(self, *, kinds: str | int | Iterable[str | int] | None = None) -> CompletenessResult:
        """Is the trace complete and valid: what was dropped, repaired, unmatched, out of order.

        Finds everything that makes other results less certain: damage seen while
        reading, events that the profiler reports as dropped, launches without device
        activity and vice versa, dangling ids and flows, spans that cross their
        neighbors or the recording window, impossible durations, clocks that disagree,
        missing or duplicate ranks, and missing metadata.

        A check with nothing to look at (such as device activity in a CPU trace) is not
        available; a note and the table 'checks' say why. 'kino check' shows the same
        with a verdict.

        Parameters:
            kinds: show only these kinds or severities, separated by commas; any: everything except notes

        Tables:
            findings: what is missing, wrong or inconsistent, by severity, kind and trace
            checks: every check, including those that found nothing, and why some could not be made
            recorder_losses: what kino's recorder could not keep, by reason and thread

        >>> [table.name for table in run.completeness()]
        ['findings', 'checks', 'recorder_losses']
        """

    def overview(self, *, sm_series: bool | str | None = False, compat: Literal['tensorboard'] | None = None) -> OverviewResult:
        """Which devices were used, how busy they were, and where the step time went.

        Each moment of a step belongs to the first of these that is active: kernel,
        communication, copy, memset, runtime call, data loader, host operator. What
        remains is Other. If there are no kernels, data loader and operators come before
        communication. Annotations are ranges around work, not work. So the parts of a
        step add up to it. A step lasts from its start on the host, or the end of the
        previous step, to the end of the device work it launched; a trace without steps
        is one step. All steps count. The extent of a step on the host and on the device
        is shown as well. See docs/analyses/profile.md for the full definition.

        Parameters:
            sm_series: fill sm_efficiency_series: at most two rows per kernel (default: no)
            compat: numbers as a reference implementation gives them, defects included; tensorboard

        Tables:
            configuration: one row per trace
            gpu_summary: one row per device, over the steps from first to last
            execution_summary: the average step and its parts
            step_breakdown: one row per step; its parts add up to the step time
            utilization_series: one row per device and bucket of time
            sm_efficiency_series: one row per device and piece of time; see sm_series

        >>> [table.name for table in run.overview()]
        ['configuration', 'gpu_summary', 'execution_summary', 'step_breakdown', 'utilization_series', 'sm_efficiency_series']
        """

    def operators(self, *, group: Literal['name', 'name-shape'] | None = 'name', stacks: bool | str | None = False, compat: Literal['tensorboard'] | None = None) -> OperatorsResult:
        """Which operators take the most time, on the host and on the device.

        Sums all calls of each operator over the whole trace: its time on the host, the
        device work it launched, and how much of that used tensor cores. 'self' excludes
        operators inside it, 'total' includes them; an operator inside one of the same
        name is counted at both levels.

        With --stacks, the table call_stacks shows the same numbers per call stack: the
        argument 'Call stack' of older traces, otherwise the Python calls enclosing the
        operator (with_stack=True in the profiler).

        Parameters:
            group: one row per name, or per name and input shapes; name, name-shape (default: name)
            stacks: fill the table call_stacks (default: no)
            compat: numbers as a reference implementation gives them, defects included; tensorboard

        Tables:
            operators: one row per operator, most device time first (host time without a device)
            call_stacks: one row per operator and call stack, in the same order

        >>> [table.name for table in run.operators()]
        ['operators', 'call_stacks']
        """

    def kernels(self, *, group: Literal['name', 'name-op'] | None = 'name', compat: Literal['tensorboard'] | None = None) -> Table:
        """Which kernels take the device time, and what launched them.

        Sums all calls of each kernel over the whole trace; copies and memsets are not
        kernels. Concurrent kernels are each counted in full. With --group name-op, a
        row is a kernel with one operator, grid, block, registers and shared memory; the
        operator is the one the launch belongs to.

        Parameters:
            group: one row per name, or per name, operator and launch properties; name, name-op (default: name)
            compat: numbers as a reference implementation gives them, defects included; tensorboard

        Tables:
            kernels: one row per kernel, most time first

        >>> run.kernels().name
        'kernels'
        """

    def tensor_cores(self, *, compat: Literal['tensorboard'] | None = None) -> TensorCoresResult:
        """How much kernel time uses tensor cores, and which operators could use them.

        Kernels that use tensor cores (NVIDIA) or matrix cores (AMD) are recognized by
        name; eligible operators by a list of matrix products, convolutions and
        attention, or because a kernel below them uses tensor cores. Device time of an
        operator includes copies and memsets. The list of the TensorBoard plugin ends
        before Hopper.

        Parameters:
            compat: numbers as a reference implementation gives them, defects included; tensorboard

        Tables:
            devices: one row per device
            ratios: one row per trace: what is used, and what could be
            operators: operators with device work, and eligible ones; most time first
            kernels: one row per kernel, most time first

        >>> [table.name for table in run.tensor_cores()]
        ['devices', 'ratios', 'operators', 'kernels']
        """

    def memory(self, *, device: str | int | Iterable[str | int] | None = None, from_: Time | None = None, to: Time | None = None, points: int | str | None = 10240, min_size: Size | None = '0', compat: Literal['tensorboard'] | None = None) -> MemoryResult:
        """Memory by operator, lifetime of blocks, memory over time, and its peak.

        From the allocator's records (profile_memory=True). A record belongs to the
        innermost operator of its thread that contains it; a release is matched with the
        allocation of the same address on the same device and belongs to the same
        operator. Memory in use and reserved memory are as reported by the allocator
        with each record.

        Records outside operators appear in memory_events, curve and peaks, but not in
        memory_statistics. An operator nested in one of the same name is counted at each
        level in the columns that include operators below.

        Parameters:
            device: only this device: GPU0, CPU, ...
            from_: only records from this time on, relative to the start of the run
            to: only records up to this time
            points: at most this many points in the curve of a device; 0: all (default: 10240)
            min_size: leave smaller blocks out of memory_events (default: 0)
            compat: numbers as a reference implementation gives them, defects included; tensorboard

        Tables:
            memory_statistics: one row per device and operator, largest self increase first
            memory_events: one row per block: first the released ones, by release time
            memory_curve: memory of each device over time
            memory_peaks: one row per device

        >>> [table.name for table in run.memory()]
        ['memory_statistics', 'memory_events', 'memory_curve', 'memory_peaks']
        """

    def memory_timeline(self, *, compat: Literal['hta', 'hta-ns'] | None = None) -> MemoryTimelineResult:
        """How much memory is allocated over time, and for what.

        Reads PyTorch's raw memory timeline (export_memory_timeline to a file
        *.raw.json.gz): sizes by category at every time at which memory changed, the
        peak and its composition. The first point is what was allocated before the
        profiler started. For other traces, shows the totals of their [memory] events.

        Parameters:
            compat: numbers as a reference implementation gives them, defects included; hta, hta-ns

        Tables:
            memory_timeline: one row per time at which memory changed
            memory_peak: one row per rank and device
            memory_categories: one row per category: its share of the peak

        >>> [table.name for table in run.memory_timeline()]
        ['memory_timeline', 'memory_peak', 'memory_categories']
        """

    def memory_snapshot(self, *, num_gaps: int | str | None = 20) -> MemorySnapshotResult:
        """What the allocator holds: by call site, by segment, and in gaps.

        From a memory snapshot of PyTorch (torch.cuda.memory._dump_snapshot): bytes in
        segments and in active blocks, what rounding and fragmentation cost, which call
        stacks allocated the active blocks, and the largest gaps. Fragmented are
        inactive blocks of segments that also have active ones: such a segment cannot
        be given back.

        Parameters:
            num_gaps: rows of the table of gaps (default: 20)

        Tables:
            memory_snapshot: one row per rank and device
            memory_snapshot_sites: one row per call stack that allocated active blocks
            memory_snapshot_segments: one row per segment, largest first
            memory_snapshot_gaps: largest inactive blocks in segments with active ones

        >>> [table.name for table in run.memory_snapshot()]
        ['memory_snapshot', 'memory_snapshot_sites', 'memory_snapshot_segments', 'memory_snapshot_gaps']
        """

    def memory_leaks(self, *, from_: Time | None = None, to: Time | None = None) -> MemoryLeaksResult:
        """What was allocated between two marks and never freed before the second.

        From the history of a memory snapshot, or from the [memory] events of a trace:
        allocations at or after --from that were not freed before --to, added up by
        the call stack that made them. A block that the program asked to free is not
        a leak, even if another stream still uses it.

        Parameters:
            from_: first mark (default: the beginning of the history)
            to: second mark (default: the end of the history)

        Tables:
            memory_leaks: one row per call stack that allocated what was not freed
            memory_leaks_blocks: one row per block, in order of allocation

        >>> [table.name for table in run.memory_leaks()]
        ['memory_leaks', 'memory_leaks_blocks']
        """

    def peak_memory(self) -> PeakMemoryResult:
        """Which call stacks held the memory when most of it was allocated.

        From the history of a memory snapshot, or from the [memory] events of a trace:
        the peak of each device, and what was allocated then by the call stack that
        made it. Blocks of a snapshot that its history does not mention were allocated
        all the time. What is not known was allocated before the history began.

        Tables:
            peak_memory: one row per rank and device
            peak_memory_sites: one row per call stack that held memory at the peak

        >>> [table.name for table in run.peak_memory()]
        ['peak_memory', 'peak_memory_sites']
        """

    def modules(self, *, compat: Literal['tensorboard'] | None = None) -> Table:
        """Time by module of the model, as a tree.

        A row is a place in the module tree: a path of modules from the top, with the
        calls made there. Calls nest by time on their thread. Host time is the time of
        the calls, device time that of the work launched below them; neither includes
        the backward pass.

        With 'compat', every place shows the sums of all calls of its module, wherever
        they were made, and a module that is called twice has two rows.

        Parameters:
            compat: numbers as a reference implementation gives them, defects included; tensorboard

        Tables:
            modules: one row per place in the module tree, parents before children

        >>> run.modules().name
        'modules'
        """

    def lightning(self, *, compat: Literal['tensorboard'] | None = None) -> LightningResult:
        """PyTorch Lightning: time by module, and trainer actions.

        Modules form a tree by name: 'model' is the parent of 'model.fc' if both exist.
        Their numbers are those of 'modules'. The second table lists the actions that
        Lightning's profiler marked (run_training_batch, ...), nested by time on their
        thread.

        Parameters:
            compat: numbers as a reference implementation gives them, defects included; tensorboard

        Tables:
            lightning: one row per module, parents before children
            lightning_actions: one row per call of a trainer action, parents before children

        >>> [table.name for table in run.lightning()]
        ['lightning', 'lightning_actions']
        """

    def distributed(self, *, compat: Literal['tensorboard'] | None = None) -> DistributedResult:
        """Computation, communication and waiting time of the workers of a run.

        Compares the workers of a run: how much of each step is computation,
        communication, both at once, or neither; how long collectives took, and how much
        of that was data transfer and how much waiting for other workers; each
        collective with its calls, bytes and times; and the devices.

        Calls of a collective on different workers are matched by name, process group,
        step and order. The shortest of the matched times is the transfer; whatever a
        worker spends beyond that is waiting. A call without a match in another trace
        counts entirely as transfer, and a note says how many there are.

        Parameters:
            compat: numbers as a reference implementation gives them, defects included; tensorboard

        Tables:
            computation_overview: one row per worker and step: where the time went; means first
            communication_overview: one row per worker and step: transfer and waiting; means first
            communication_ops: one row per worker and collective, in order of first call
            workers: one row per device of a worker

        >>> [table.name for table in run.distributed()]
        ['computation_overview', 'communication_overview', 'communication_ops', 'workers']
        """

    def temporal_breakdown(self, *, include_last_step: bool | str | None = True, compat: Literal['hta', 'hta-ns'] | None = None) -> Table:
        """How much of the time each device computes, does other work, or is idle.

        Divides the time from a rank's first device activity to its last into idle
        (nothing runs), compute (computation runs) and non-compute (only copies, memsets
        or communication run). Concurrent work counts once; communication hidden by
        computation is compute time.

        Parameters:
            include_last_step: include the last step; with compat: no, as HTA does (default: yes)
            compat: numbers as a reference implementation gives them, defects included; hta, hta-ns

        Tables:
            temporal_breakdown: one row per rank

        >>> run.temporal_breakdown().name
        'temporal_breakdown'
        """

    def idle_time(self, *, streams: str | int | Iterable[str | int] | None = None, delay: Time | None = '30us', stats: bool | str | None = False, include_last_step: bool | str | None = True, compat: Literal['hta', 'hta-ns'] | None = None) -> IdleTimeResult:
        """How long each stream is idle, and what it waits for.

        Sums the gaps between the kernels, copies and memsets of each stream. A gap is
        host_wait if the work after it was launched after the work before it had ended
        (the host is too slow); otherwise kernel_wait if it is shorter than delay
        (overhead of the device itself); otherwise other (mostly waiting for another
        stream).

        Parameters:
            streams: only these streams, separated by commas
            delay: attribute shorter gaps with work queued to the device itself (kernel_wait) (default: 30us)
            stats: also show the distribution of the gaps (default: no)
            include_last_step: include the last step; with compat: no, as HTA does (default: yes)
            compat: numbers as a reference implementation gives them, defects included; hta, hta-ns

        Tables:
            idle: one row per rank, stream and cause
            interval_stats: the gaps of each of them; requires stats

        >>> [table.name for table in run.idle_time()]
        ['idle', 'interval_stats']
        """

    def comm_overlap(self, *, include_last_step: bool | str | None = True, compat: Literal['hta', 'hta-ns'] | None = None) -> Table:
        """How much of the communication is hidden behind computation.

        The time in which communication kernels of a rank run, and the percentage of it
        in which computation runs as well. At 100 %, communication costs nothing. If
        there is no device work, collectives on the host (Gloo, MPI) and operators are
        used instead.

        Parameters:
            include_last_step: include the last step; with compat: no, as HTA does (default: yes)
            compat: numbers as a reference implementation gives them, defects included; hta, hta-ns

        Tables:
            comm_comp_overlap: one row per rank that communicates

        >>> run.comm_overlap().name
        'comm_comp_overlap'
        """

    def kernel_breakdown(self, *, duration_ratio: float | str | None = 0.8, num_kernels: int | str | None = 10, include_memory: bool | str | None = True, include_last_step: bool | str | None = True, compat: Literal['hta', 'hta-ns'] | None = None) -> KernelBreakdownResult:
        """What kind of work the devices spend their time on, and in which kernels.

        By type: how long computation, communication and copies run, alone and at the
        same time; each instant of a rank counts in exactly one row. By kernel:
        durations summed by name for each rank and type; if a type has more than
        num_kernels names, small ones are folded into 'others'. Overlapping kernels are
        each counted in full there.

        Parameters:
            duration_ratio: fold kernels beyond this fraction of the cumulative sum, 0 to 1 (default: 0.8)
            num_kernels: keep this many kernels per rank and type by name (default: 10)
            include_memory: include copies and memsets (default: yes)
            include_last_step: include the last step; with compat: no, as HTA does (default: yes)
            compat: numbers as a reference implementation gives them, defects included; hta, hta-ns

        Tables:
            kernel_type: one row per combination of types, most time first; all ranks combined
            kernel: one row per rank and kernel, by type, name and rank

        >>> [table.name for table in run.kernel_breakdown()]
        ['kernel_type', 'kernel']
        """

    def annotation_breakdown(self, *, use_gpu: bool | str | None = True, duration_ratio: float | str | None = 0.8, num: int | str | None = 1000, allow: str | int | Iterable[str | int] | None = None, include_last_step: bool | str | None = True, compat: Literal['hta', 'hta-ns'] | None = None) -> Table:
        """How long annotated parts of the program take, on the devices or on the host.

        Sums the durations of annotations by name for each rank. On a device, an
        annotation lasts from the first kernel launched inside it to the end of the last
        one, including gaps. If a rank has more than num names, small ones are folded
        into 'others'. Nested annotations are each counted in full.

        Parameters:
            use_gpu: use the annotations on the devices; no: those on the host (default: yes)
            duration_ratio: fold annotations beyond this fraction of the cumulative sum, 0 to 1 (default: 0.8)
            num: keep this many annotations per rank by name (default: 1000)
            allow: never fold names that contain one of these strings, separated by commas
            include_last_step: include the last step; with compat: no, as HTA does (default: yes)
            compat: numbers as a reference implementation gives them, defects included; hta, hta-ns

        Tables:
            annotations: one row per rank and annotation, by rank and name

        >>> run.annotation_breakdown().name
        'annotations'
        """

    def annotated_kernels(self, *, expand_names: bool | str | None = True, shortest: bool | str | None = False, include_last_step: bool | str | None = True, compat: Literal['hta', 'hta-ns'] | None = None) -> AnnotatedKernelsResult:
        """Which annotated part of the program each kernel belongs to.

        Assigns to each kernel, copy and memset the shortest annotation on its device
        lane that overlaps it. Annotations appear on devices if the profiler recorded
        them (category gpu_user_annotation).

        Parameters:
            expand_names: include names and categories; no: event numbers only (default: yes)
            shortest: kernel names without templates and arguments (default: no)
            include_last_step: include the last step; with compat: no, as HTA does (default: yes)
            compat: numbers as a reference implementation gives them, defects included; hta, hta-ns

        Tables:
            annotated_kernels: one row per kernel, copy or memset, by rank, in file order
            by_annotation: one row per rank and annotation, by name

        >>> [table.name for table in run.annotated_kernels()]
        ['annotated_kernels', 'by_annotation']
        """

    def kernel_types(self, *, include_last_step: bool | str | None = True, compat: Literal['hta', 'hta-ns'] | None = None) -> Table:
        """How the names of device work are classified and shortened.

        Lists every name of a kernel, copy or memset with the type that other analyses
        use for it. Copies and memsets are classified by category, kernels by name.

        Parameters:
            include_last_step: include the last step; with compat: no, as HTA does (default: yes)
            compat: numbers as a reference implementation gives them, defects included; hta, hta-ns

        Tables:
            kernel_types: one row per name of device work, by name

        >>> run.kernel_types().name
        'kernel_types'
        """

    def steps(self, *, include_last_step: bool | str | None = True, compat: Literal['hta', 'hta-ns'] | None = None) -> Table:
        """Which steps are in the trace, and when they ran on host and device.

        The steps marked by the training loop (ProfilerStep#N): their extent on the
        host, and their extent on the device, which covers the work launched in them and
        may end after the step does on the host. Device work whose launch is not in the
        trace belongs to the step it starts in; work that starts before the first step's
        first kernel was launched before the recording and does not belong to any step.

        Parameters:
            include_last_step: include the last step; with compat: no, as HTA does (default: yes)
            compat: numbers as a reference implementation gives them, defects included; hta, hta-ns

        Tables:
            steps: one row per rank and step

        >>> run.steps().name
        'steps'
        """

    def queue_length(self, *, series: bool | str | None = False, include_last_step: bool | str | None = True, compat: Literal['hta', 'hta-ns'] | None = None) -> QueueLengthResult:
        """How much work is queued on each stream.

        A launch whose work is in the trace adds one to the queue of its stream; the
        start of the work removes it. Statistics are over the changes, not weighted by
        time. Launches are all calls that submit work to a device, graphs with all their
        kernels; with compat, only those that HTA knows.

        Parameters:
            series: also list every change of a queue (default: no)
            include_last_step: include the last step; with compat: no, as HTA does (default: yes)
            compat: numbers as a reference implementation gives them, defects included; hta, hta-ns

        Tables:
            queue_length_summary: one row per rank and stream
            queue_length_series: one row per change, by stream and time, if series is set

        >>> [table.name for table in run.queue_length()]
        ['queue_length_summary', 'queue_length_series']
        """

    def queue_blocked(self, *, max_queue_length: int | str | None = 1024, include_last_step: bool | str | None = True, compat: Literal['hta', 'hta-ns'] | None = None) -> Table:
        """How long launches had to wait because a stream's queue was full.

        The time in which a queue (see queue-length) held at least max_queue_length
        launches. CUDA accepts about 1024 pending launches; at the limit, the host
        blocks. With compat, only one stream per rank is shown, as in HTA.

        Parameters:
            max_queue_length: consider a queue of this length full (default: 1024)
            include_last_step: include the last step; with compat: no, as HTA does (default: yes)
            compat: numbers as a reference implementation gives them, defects included; hta, hta-ns

        Tables:
            time_blocked: one row per rank and stream whose queue was full

        >>> run.queue_blocked().name
        'time_blocked'
        """

    def launch_stats(self, *, runtime_cutoff: Time | None = '50us', launch_delay_cutoff: Time | None = '100us', include_memory: bool | str | None = False, include_last_step: bool | str | None = True, compat: Literal['hta', 'hta-ns'] | None = None) -> LaunchStatsResult:
        """Cost of launches: time in the call, on the device, and in between.

        Each launch with its work: how long the call took, how long the work ran, and
        the time from the end of the call to the start of the work (0 if it started
        earlier). A kernel that is shorter than its launch call is launch-bound. All
        launch calls count, graphs with all their kernels; with compat, only those that
        HTA knows.

        Parameters:
            runtime_cutoff: calls that take longer are outliers (default: 50us)
            launch_delay_cutoff: longer delays are outliers (default: 100us)
            include_memory: include copies and memsets (default: no)
            include_last_step: include the last step; with compat: no, as HTA does (default: yes)
            compat: numbers as a reference implementation gives them, defects included; hta, hta-ns

        Tables:
            launch_stats: one row per launch, by rank and correlation
            launch_summary: one row per rank

        >>> [table.name for table in run.launch_stats()]
        ['launch_stats', 'launch_summary']
        """

    def memory_bandwidth(self, *, series: bool | str | None = False, include_last_step: bool | str | None = True, compat: Literal['hta', 'hta-ns'] | None = None) -> MemoryBandwidthResult:
        """Memory traffic of copies and memsets over time, by kind.

        Sums the bandwidths of the copies of one kind that run at the same time, as
        recorded in the trace. The summary is over the changes after which something
        runs, not weighted by time. A copy without a duration counts as one nanosecond
        (with compat hta: one microsecond).

        Parameters:
            series: also list every change (default: no)
            include_last_step: include the last step; with compat: no, as HTA does (default: yes)
            compat: numbers as a reference implementation gives them, defects included; hta, hta-ns

        Tables:
            memory_bw_summary: one row per rank and kind
            memory_bw_series: one row per change, by kind and time, if series is set

        >>> [table.name for table in run.memory_bandwidth()]
        ['memory_bw_summary', 'memory_bw_series']
        """

    def op_kernels(self, *, include_last_step: bool | str | None = True, compat: Literal['hta', 'hta-ns'] | None = None) -> Table:
        """Which kernels ATen operators launch, and with what delay.

        A launch and its kernels belong to the innermost ATen operator enclosing it in
        its thread. Calls of an operator that launch the same kernels in the same order
        share one row; delays are those of the first launch of each call. With compat,
        operators of all threads and only the first kernel of each launch are
        considered, as in HTA.

        Parameters:
            include_last_step: include the last step; with compat: no, as HTA does (default: yes)
            compat: numbers as a reference implementation gives them, defects included; hta, hta-ns

        Tables:
            op_kernels: one row per operator and kernel sequence, most frequent first

        >>> run.op_kernels().name
        'op_kernels'
        """

    def call_graph(self, *, include_last_step: bool | str | None = True, compat: Literal['hta', 'hta-ns'] | None = None) -> CallGraphResult:
        """Who called whom in each thread, with the device work below each call.

        Spans of a thread nest by time; device work is placed below the call that
        launched it. The thread of the backward pass is attached to the steps of the
        main thread, or to its annotations '## backward ##'. Each span has its depth,
        its height and the device work below it.

        Parameters:
            include_last_step: include the last step; with compat: no, as HTA does (default: yes)
            compat: numbers as a reference implementation gives them, defects included; hta, hta-ns

        Tables:
            stacks: one row per rank and thread
            nodes: one row per span, in file order

        >>> [table.name for table in run.call_graph()]
        ['stacks', 'nodes']
        """

    def kernel_sequences(self, *, op: str | int | Iterable[str | int] | None = 'aten::', min_pattern_len: int | str | None = 3, top_k: int | str | None = 5, include_last_step: bool | str | None = True, calls: bool | str | None = False, compat: Literal['hta', 'hta-ns'] | None = None) -> KernelSequencesResult:
        """Which kernel sequences an operator runs, and how often.

        Uses the calls whose name contains a given text, are nearest to the top of their
        call trees (see call-graph) and have enough kernels below them. Calls that run
        the same kernels in the same order share one row.

        Parameters:
            op: use operators whose name contains this text (default: aten::)
            min_pattern_len: use only calls that run at least this many kernels (default: 3)
            top_k: show at most N sequences per rank; 0: all (default: 5)
            include_last_step: include the last step; with compat: no, as HTA does (default: yes)
            calls: also list the calls of these sequences (default: no)
            compat: numbers as a reference implementation gives them, defects included; hta, hta-ns

        Tables:
            kernel_sequences: one row per rank and sequence, the most frequent first
            kernel_sequence_calls: one row per call, if calls is set

        >>> [table.name for table in run.kernel_sequences(op="aten::linear")]
        ['kernel_sequences', 'kernel_sequence_calls']
        """

    def cupti_counters(self, *, compat: Literal['hta', 'hta-ns'] | None = None) -> CuptiCountersResult:
        """Hardware counters of each kernel, with the operators that launched it.

        Ranges with counters (category cuda_profiler_range) and kernel launches are
        paired one to one in order of their start; a rank that has different numbers of
        them is left out. The operators are those enclosing the launch. FLOP: 2 for each
        fused multiply-add instruction counted, 1 for each add or multiply.

        Parameters:
            compat: numbers as a reference implementation gives them, defects included; hta, hta-ns

        Tables:
            counters_by_kernel: one row per range, by start
            counter_values: one row per range and counter, in trace order

        >>> [table.name for table in run.cupti_counters()]
        ['counters_by_kernel', 'counter_values']
        """

    def ops_diff(self, *, control: str | int | Iterable[str | int] | None = None, test: str | int | Iterable[str | int] | None = None, control_steps: str | int | Iterable[str | int] | None = None, test_steps: str | int | Iterable[str | int] | None = None, device: Literal['all', 'cpu', 'gpu'] | None = 'all', short_names: bool | str | None = False, compat: Literal['hta', 'hta-ns'] | None = None) -> OpsDiffResult:
        """Operators and kernels of two traces or steps side by side, by name.

        Counts the spans in selected steps of two traces by name and sums their
        durations: kino analyze ops-diff old.json new.json --control old --test new.
        Traces are ordered by rank and path, not as on the command line. With one trace,
        two of its steps are compared (control_steps, test_steps). The last step is
        included. See kino diff for values per step, thresholds and trees.

        Parameters:
            control: trace on the left: a rank or a part of its path (default: the first)
            test: trace on the right (default: the next, or the same if there is only one)
            control_steps: steps on the left, such as 5 or 3-7 (default: the first)
            test_steps: steps on the right (default: the first)
            device: only what ran on the host or on the device; all, cpu, gpu (default: all)
            short_names: names without templates and arguments, which may merge several (default: no)
            compat: numbers as a reference implementation gives them, defects included; hta, hta-ns

        Tables:
            ops_diff: one row per name, by name
            sides: one row per side: what is compared

        >>> [table.name for table in run.ops_diff()]
        ['ops_diff', 'sides']
        """

    def stragglers(self, *, count: int | str | None = 2, profiler_steps: str | int | Iterable[str | int] | None = None, include_last_step: bool | str | None = True, compat: Literal['hta', 'hta-ns'] | None = None) -> StragglersResult:
        """Which ranks delay the others.

        The local time of a rank is the step time less its exposed communication. A
        straggler is a rank whose local time is consistently longer than its peers': by
        more than 5 % of the step over the median of the peers (2.5 % if the peers
        differ little), in the median over the common steps and in at least 80 % of
        them, while the other ranks wait for it in communication for at least half of
        that time. Peers are all ranks, or in a pipeline those of the same stage. Only
        durations are compared, so clocks do not need to be synchronized. Collectives on
        the host (Gloo) count as well.

        HTA's method (with compat, and for the table metric) uses the communication
        kernel whose durations differ most between ranks (at least 1 % of a mean step);
        in each step, the latest `count` ranks score a point.

        Parameters:
            count: for HTA's method: how many ranks to name (default: 2)
            profiler_steps: step numbers, as in 15,17-20 (default: all)
            include_last_step: include the last step; with compat: no, as HTA does (default: yes)
            compat: numbers as a reference implementation gives them, defects included; hta, hta-ns

        Tables:
            stragglers: one row per rank that delays the others, by rank
            metric: one row per rank and step: the kernel that HTA's method compares
            ranks: one row per rank: what the verdict is based on

        >>> [table.name for table in run.stragglers()]
        ['stragglers', 'metric', 'ranks']
        """

    def straggler_cause(self, *, align: Literal['auto', 'off'] | None = 'auto') -> StragglerCauseResult:
        """Which rank the others wait for, why, and the first span that differs.

        The verdict of stragglers with its cause: what a slow rank spends more time with
        than its peers (kernels, data loader, copies, host), and the first span of the
        step that takes longer there than at the same place on the peers. Then who comes
        last to each collective, on aligned clocks (clock-alignment), and whose lateness
        that is: a rank that comes last because it was kept waiting in another process
        group hands the blame on.

        Parameters:
            align: auto: arrivals on aligned clocks; off: from how long calls take; auto, off (default: auto)

        Tables:
            straggler_cause: one row per rank that delays the others, by rank
            arrivals: one row per collective that several ranks have, most waiting first
            waiting: one row per rank: whose lateness the others wait for
            rank_steps: one row per rank and step

        >>> [table.name for table in run.straggler_cause()]
        ['straggler_cause', 'arrivals', 'waiting', 'rank_steps']
        """

    def gaps(self, *, num: int | str | None = 10, min_gap: Time | None = '10us', steps: int | str | None = None) -> GapsResult:
        """Largest idle gaps of devices, what the host did meanwhile, and what caused them.

        A gap is the time between two pieces of work of a device in which none of its
        streams is active. The thread that launches the work after the gap is examined
        from the start of the gap: the activity that takes the most of that time is to
        blame (only innermost spans count; the launch is charged with the time from the
        call to the work). If the thread was waiting for the device when the gap began
        and did nothing unusual afterwards, the wait is to blame: without it, the work
        would have been queued. "device": the work was launched before the gap and
        waited for something else; "unknown": its launch is not in the trace.

        Parameters:
            num: show this many gaps per trace (default: 10)
            min_gap: ignore shorter gaps (default: 10us)
            steps: only these profiler steps: 5 or 3-7

        Tables:
            gaps: one row per gap: the longest of each trace, longest first
            activity: one row per gap, host thread and activity
            blame: one row per rank, device and cause, over all gaps

        >>> [table.name for table in run.gaps()]
        ['gaps', 'activity', 'blame']
        """

    def hang(self) -> HangResult:
        """Which rank a hanging collective waits for, from flight-recorder dumps.

        Matches collectives in the flight-recorder dumps of all ranks by process group
        and sequence number, and finds the first in each group that has not ended: who
        never issued it, issued something else, or has not started it, and who waits.

        Tables:
            hang: one row per process group (or pair of ranks) that hangs, causes first
            hang_ranks: one row per rank and process group

        >>> [table.name for table in run.hang()]
        ['hang', 'hang_ranks']
        """

    def critical_path(self, *, annotation: str | int | Iterable[str | int] | None = 'ProfilerStep', instance: str | int | Iterable[str | int] | None = '0', data_load_events: str | int | Iterable[str | int] | None = None, zero_weight_edges: bool | str | None = False, graph: bool | str | None = False, include_last_step: bool | str | None = True, compat: Literal['hta', 'hta-ns'] | None = None) -> CriticalPathResult:
        """Which events determined how long a step took.

        The longest path through a graph of dependencies: host events by their call
        stacks, device work by launches, streams and synchronization. Time between
        top-level operators of a thread is not attributed to anything and has no weight.
        Time on the path is charged to an event and to what bounds it: the host
        (cpu_bound, data_loading, or cpu_communication_bound for collectives of Gloo,
        MPI and UCC), the device (gpu_compute_bound, gpu_communication_bound), the gap
        between kernels of a stream (gpu_kernel_kernel_overhead), or the delay from a
        launch to its work (gpu_kernel_launch_overhead).

        Parameters:
            annotation: analyze events whose name contains this; "": all events (default: ProfilerStep)
            instance: which of these events, counting from 0; 1-3: the second to the fourth (default: 0)
            data_load_events: treat events whose name contains one of these as data loading, separated by commas
            zero_weight_edges: add an edge from every launch to its work (default: no)
            graph: also list all nodes and edges (default: no)
            include_last_step: include the last step; with compat: no, as HTA does (default: yes)
            compat: numbers as a reference implementation gives them, defects included; hta, hta-ns

        Tables:
            summary: one row per rank and cause
            path: one row per node of the critical path, in path order
            edges_by_type: one row per rank and type of edge
            breakdown: one row per edge of the critical path, in path order
            graph: one row per rank: the size of the graph and of its critical path
            nodes: one row per node, if graph is set
            edges: one row per edge, if graph is set

        >>> [table.name for table in run.critical_path()]
        ['summary', 'path', 'edges_by_type', 'breakdown', 'graph', 'nodes', 'edges']
        """

    def what_if(self, *, edits: str | int | Iterable[str | int] | None = None) -> WhatIfResult:
        """How long a step would take after a change, and the best changes.

        Runs the programs of all ranks again (calls of the host with the device work
        that they launch, across ranks through matched collectives) with some times
        changed: kernels that are faster, collectives that transfer nothing, data
        loaders that are hidden, a rank that is like the median of the others, launches
        that are free (as with CUDA graphs). Gives the new step time, the new critical
        path, and the ten single changes that save most. Several edits are separated
        by ';'.

        Parameters:
            edits: kernel PATTERN=FACTOR; collective NAME; loader; rank N; launches

        Tables:
            what_if: one row: the step after the edits
            path: one row per name on the critical path after the edits, most time first
            best_edits: the ten single edits that save most

        >>> [table.name for table in run.what_if()]
        ['what_if', 'path', 'best_edits']
        """

    def collectives(self, *, steps: int | str | None = None) -> CollectivesResult:
        """Collectives by operation and process group: sizes, waiting, bandwidth.

        Kernels of communication libraries by operation and process group; for libraries
        that move data on the host (Gloo, MPI, UCC), their host spans. A call on several
        ranks ends on all of them at the same time: the shortest kernel is the transfer,
        and whatever another rank spends beyond that is waiting for the last rank to
        arrive. Algorithm bandwidth is the message size divided by the transfer time;
        bus bandwidth is that times 2(n-1)/n for all-reduce, (n-1)/n for all-gather,
        reduce-scatter, all-to-all, gather and scatter, and 1 for the others, as in
        nccl-tests.

        Parameters:
            steps: only these profiler steps: 5 or 3-7

        Tables:
            collectives: one row per operation and process group, most time first
            sizes: one row per operation, process group and message size
            ranks: one row per rank, operation and process group

        >>> [table.name for table in run.collectives()]
        ['collectives', 'sizes', 'ranks']
        """

    def clock_alignment(self) -> Table:
        """Offset and drift of each rank's clock, from matched collectives.

        Ranks leave an all-reduce, all-gather, reduce-scatter, all-to-all or barrier
        together, within microseconds: no rank can leave before all have come. The ends
        of calls that match on two ranks (process group, sequence number, name, size)
        show how far their clocks are apart; sends and their receives do the same. A
        robust line through them gives offset and drift, with an error bar that holds
        for all times of the trace. Where that is not certain (too few calls, calls
        without a match, ends that scatter or contradict each other), the clock is left
        as it is and the reason is given.

        Tables:
            clocks: one row per rank

        >>> run.clock_alignment().name
        'clocks'
        """

    def launch_bound(self, *, steps: int | str | None = None) -> Table:
        """Whether each operator is bound by the host or by the device.

        Work whose launch began after all earlier work of its stream had ended was
        starved: the host is too slow there. Work launched earlier was queued: the
        device is the limit. An operator is bound by the host if more of its kernels
        were starved than queued. The first work of a stream and work without a launch
        in the trace count as neither.

        Parameters:
            steps: only these profiler steps: 5 or 3-7

        Tables:
            launch_bound: one row per rank and operator, most idle time first

        >>> run.launch_bound().name
        'launch_bound'
        """

    def fwd_bwd(self) -> FwdBwdResult:
        """Which backward operator belongs to which forward operator.

        Links each backward operator to the forward operator that recorded it, by the
        thread of the forward pass and autograd's sequence number, else by autograd's
        flows. Sequence numbers count per thread: the number alone does not identify an
        operator. The table 'pairs' (JSON, CSV, SQL) has one row per backward operator.

        Tables:
            operators: one row per pair of operators, most device time first
            pairs: one row per backward operator, in order of threads and time

        >>> [table.name for table in run.fwd_bwd()]
        ['operators', 'pairs']
        """

    def kernel_costs(self, *, pyprof: Literal['none', 'dict', 'csv', 'table'] | None = 'none', columns: str | int | Iterable[str | int] | None = 'idx,dir,sub,mod,op,kernel,params,sil', width: int | str | None = 0, costs: str | int | Iterable[str | int] | None = None, compat: Literal['pyprof'] | None = None) -> KernelCostsResult:
        """For each kernel its layer, line, operator, inputs, direction and cost.

        One row per kernel, copy and memset: who launched it and for what, and its share
        of the operations and bytes of its operator. An operator is charged once; its
        kernels share the cost by their time. If the trace has PyProf's markers, layers,
        lines and inputs come from them. --compat pyprof gives PyProf's table, with its
        order, numbering and costs; --pyprof gives its outputs as text.

        Parameters:
            pyprof: fill the table lines as PyProf prints it: dictionaries of its parse, CSV, table; none, dict, csv, table (default: none)
            columns: columns of these lines, by PyProf's names (default: idx,dir,sub,mod,op,kernel,params,sil)
            width: width of the table in characters; 0: separated by blanks (default: 0)
            costs: file with costs of further operators
            compat: numbers as a reference implementation gives them, defects included; pyprof

        Tables:
            kernel_costs: one row per kernel, copy and memset, in order of time
            lines: the output of PyProf

        >>> [table.name for table in run.kernel_costs()]
        ['kernel_costs', 'lines']
        """

    def op_costs(self, *, group: Literal['name', 'name-shape'] | None = 'name', merge_ranks: bool | str | None = False, peak: str | int | Iterable[str | int] | None = None, costs: str | int | Iterable[str | int] | None = None) -> OpCostsResult:
        """What operators compute and move, and how close they get to the device's limit.

        Computes operations (FLOPs) and bytes of each operator from the shapes and types
        of its inputs, and compares them with the time of its kernels. An operator is
        charged once; its kernels share the cost by their time. Unknown costs stay
        unknown: 'known' is the share of the time whose cost is known, and the table
        'unknown' gives the reasons. The peak rates come from the table of 'kino peaks'.
        Without a device, the times are those of the operators on the host.

        Parameters:
            group: one row per name and type, or also per shapes of the inputs; name, name-shape (default: name)
            merge_ranks: sums over all ranks (default: no)
            peak: device of 'kino peaks', or figures: fp32=19.5,memory=1555 (default: by name)
            costs: file with costs of further operators

        Tables:
            op_costs: one row per operator and type, most time first
            source_lines: one row per line of the program, most time first
            directions: forward and backward pass
            unknown: work whose cost is unknown, most time first

        >>> [table.name for table in run.op_costs()]
        ['op_costs', 'source_lines', 'directions', 'unknown']
        """

    def layers(self, *, merge_ranks: bool | str | None = False, peak: str | int | Iterable[str | int] | None = None, costs: str | int | Iterable[str | int] | None = None) -> Table:
        """What each layer costs in the forward and in the backward pass.

        A tree of modules (calls of nn.Module) or of ranges named 'layer:NAME', with
        device time, operations and bytes of the forward and the backward pass.
        Backward work belongs to the layer of its forward operator. Each layer includes
        the layers in it; a row without a name has the work outside of all layers.

        Parameters:
            merge_ranks: one tree over all ranks (default: no)
            peak: device of 'kino peaks', or figures: fp32=19.5,memory=1555 (default: by name)
            costs: file with costs of further operators

        Tables:
            layers: one row per layer, parents before children, in order of first work

        >>> run.layers().name
        'layers'
        """

    def roofline(self, *, by: Literal['op', 'layer', 'kernel'] | None = 'op', target: float | str | None = '80', merge_ranks: bool | str | None = False, peak: str | int | Iterable[str | int] | None = None, costs: str | int | Iterable[str | int] | None = None) -> RooflineResult:
        """How close work gets to the roofs of the device, and what a step makes of them.

        Each point is the work of an operator, a layer or a kernel: operations per byte
        and operations per second, against the peak rate of its precision and the memory
        bandwidth. 'percent_of_peak' is the time that the work would take at its roof,
        divided by the time it took. Far from both roofs, work is bound by launches (the
        stream had run dry) or by latency (too little work per kernel).

        The table 'mfu' compares the operations of each step with what the devices could
        do in its time; the denominator is in the table.

        Parameters:
            by: one point per operator, layer or kernel; op, layer, kernel (default: op)
            target: share of the roof that time_at_target assumes (default: 80)
            merge_ranks: points over all ranks (default: no)
            peak: device of 'kino peaks', or figures: fp32=19.5,memory=1555 (default: by name)
            costs: file with costs of further operators

        Tables:
            roofline: one row per point, most time first
            ceilings: the limits of each device
            mfu: one row per step: utilization of the device

        >>> [table.name for table in run.roofline()]
        ['roofline', 'ceilings', 'mfu']
        """

    def python_stacks(self, *, stacks: Literal['combined', 'python', 'op'] | None = 'combined', where: Literal['host', 'device', 'all'] | None = 'host', threads: bool | str | None = False, steps_apart: bool | str | None = False, min_share: float | str | None = '0') -> Table:
        """Time by call stack: the data of a flame graph.

        A span that lies inside another one on the same thread is its callee; spans with
        the same names from the root up share one stack, over all threads and ranks.
        total sums the spans of a stack; self is the part that its callees do not cover.
        If two spans overlap and neither contains the other, the later one starts a
        stack of its own. With --stacks python, only the spans of PyTorch's Python
        tracer are used; with op, all others, which skips the Python frames between two
        operators.

        Parameters:
            stacks: python: spans of the Python tracer; op: all others; combined: both; combined, python, op (default: combined)
            where: stacks of threads, of device streams, or all; host, device, all (default: host)
            threads: stacks begin with their thread (default: no)
            steps_apart: keep ProfilerStep#1, ProfilerStep#2, ... as separate stacks (default: no)
            min_share: leave out stacks with less than this share of the total time (default: 0)

        Tables:
            flame: one row per distinct stack, all ranks combined; callers before callees, longest first

        >>> run.python_stacks().name
        'flame'
        """

    def functions(self) -> FunctionsResult:
        """CPU functions by sampled time, and where threads wait.

        Functions by the CPU time sampled in them: self time, and total time with what
        they call; the lines where it was spent; and the places where threads were not
        running, with the system call they waited in. Python functions, which have
        samples of their own, are in another table. The samples come from `kino record`
        and, of Python functions, from kino.profile. All ranks and threads are summed.

        Tables:
            functions: one row per function, all ranks combined; most self time first
            lines: the same by line; lines without self time are left out
            waits: one row per place where threads were not running; longest first
            python: one row per Python function, by samples of the stacks of threads that use the processor; most self time first
            python_lines: the same by line, where it is known

        >>> [table.name for table in run.functions()]
        ['functions', 'lines', 'waits', 'python', 'python_lines']
        """

    def recommendations(self, *, set: str | int | Iterable[str | int] | None = None, compat: Literal['tensorboard'] | None = None) -> Table:
        """What to change, and the expected gain.

        Runs all rules over the run. Each recommendation says what was found, why it
        matters, what to do, and how much of the step time it could save, and lists the
        events that show it. Gains are estimates; the recommendations for one rank never
        count the same time twice. With compat tensorboard, only the rules of the
        TensorBoard plugin run, with its conditions.

        Rules: data-loading, data-parallel, nccl-backend, communication,
        gpu-utilization, mixed-precision, memory-limit, extra-copy, loop-indexing,
        fp32-matmul, single-tensor-optimizer, synchronous-loader, zeroed-gradients,
        conv-bias, matmul-alignment, conv-tensor-cores, casts-and-copies,
        pointwise-kernels, launch-bound, far-from-roof, exposed-collective, straggler,
        host-sync, pageable-copy, exposed-copy, allocator-churn, low-occupancy,
        idle-gaps, slow-steps, warm-up, start-up, missing-information.
        See docs/analyses/recommendations.md for their thresholds and how gains are
        estimated.

        Parameters:
            set: thresholds: rule.name=value, separated by commas
            compat: numbers as a reference implementation gives them, defects included; tensorboard

        Tables:
            recommendations: one row per recommendation, largest gain first

        >>> run.recommendations().name
        'recommendations'
        """
